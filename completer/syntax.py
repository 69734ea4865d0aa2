"""What is open at the cursor: brackets, block words and tags, as tree-sitter reads the text around it.

Only the leaves of the tree are trusted: they stay right in code that does not parse, as code being typed seldom does,
where the nodes above them do not. Knows nothing of tokens, modes or when to stop.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from completer.languages import Language, parser
from completer.parsing import parse

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

_WINDOW_CHARS = 48_000
_STATEMENT_LINES = 50
_STATEMENT_BYTES = 4_000
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_OPENING_TAGS = ("start_tag", "jsx_opening_element", "STag")
_CLOSING_TAGS = ("end_tag", "erroneous_end_tag", "jsx_closing_element", "ETag")
_VOID_TAGS = ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
_LOOP_WORDS = ("while", "until", "for")
_QUOTES = ('"""', "'''", "`", '"', "'")
_LITERAL_ENDS = {"/*": "*/", "[[": "]]", "<!--": "-->", "{-": "-}"} | {quote: quote for quote in _QUOTES}
_LITERAL = re.compile("string|comment|heredoc|raw_text|_content$")


def indent_of(line: str) -> int:
    """Columns of white space before the first character of line."""
    text = line.expandtabs(8)
    return len(text) - len(text.lstrip())


def statement_line(text: str) -> str:
    """The line on which the statement at the end of text began: up from the last one while more is closed than opened.

    >>> statement_line("x = 1\ndef f(a,\n      b):")
    'def f(a,'
    """
    lines = text.rsplit("\n", _STATEMENT_LINES)[-_STATEMENT_LINES:]
    depth = 0
    for line in reversed(lines):
        depth += line.count(")") + line.count("]") - line.count("(") - line.count("[")
        if depth <= 0:
            return line
    return lines[-1]


@dataclass(frozen=True, slots=True)
class Opener:
    """An opening token, what closes it, where it is in the bytes that were read, the indentation of its statement."""

    token: str
    closer: str
    start_byte: int
    indent: int


@dataclass(frozen=True, slots=True)
class Nesting:
    """What a text after the cursor does to what was open there.

    depth: openers left open by the text, less those from before the cursor that are gone: closed, or passed over when
    one further out was closed. passed_over: how many went that way. closes: which one from before the cursor was
    closed first, an index into Syntax.open. closes_at: where, in characters of the text.
    """

    depth: int
    passed_over: int = 0
    closes: int | None = None
    closes_at: int = 0


class Syntax:
    """The text before a cursor; texts that may follow it are read on demand, each in about a millisecond.

    open: what is open at the cursor, outermost first. is_whole: whether all of the text before the cursor was read.
    """

    def __init__(self, language: Language, parser: "Parser", before: bytes, tree: "Tree", is_whole: bool) -> None:
        """Use read_syntax. tree: of `before`, the text before the cursor."""
        self._brackets = tuple(language.brackets)
        self._words = dict(language.words) if language.block == "brackets" else {}
        self._closing_words = frozenset(self._words.values())
        self._parser = parser
        self._before = before
        self._tree = tree
        self.is_whole = is_whole
        self.open = tuple(self._read(b"", (), 0)[0])

    def is_on_cursor_line(self, opener: Opener) -> bool:
        return b"\n" not in self._before[opener.start_byte :]

    def nesting(self, text: str) -> Nesting:
        """What `text` would open and close, were it to follow the cursor."""
        after = _encode(text)
        stack, passed_over, first_closed = self._read(after, self.open, len(self._before))
        depth = len(stack) - len(self.open)
        if first_closed is None:
            return Nesting(depth, passed_over)
        index, at = first_closed
        return Nesting(depth, passed_over, index, len(after[: at - len(self._before)].decode("utf-8", "replace")))

    def literal_at_cursor(self, text: str) -> str | None:
        """The kind of string, comment or raw text that the cursor is in, were text to follow it."""
        literal = self._literal_over(_encode(text), len(self._before))
        return None if literal is None else literal.type

    def is_in_literal(self, text: str) -> bool:
        """Whether text, which follows the cursor, ends inside a string or comment that it began.

        One that does not end is no literal to the parser, so whatever may end it is tried.
        """
        after = _encode(text)
        ends = (end.encode() for start, end in _LITERAL_ENDS.items() if _may_be_open(text, start, end))
        literals = (self._literal_over(after + end, len(self._before) + len(after)) for end in ends)
        return any(literal is not None and literal.start_byte >= len(self._before) for literal in literals)

    def _literal_over(self, after: bytes, at: int) -> "Node | None":
        """The string, comment or raw text that has the byte `at` but not as its first, `after` following the cursor."""
        node = self._parse(after).root_node.descendant_for_byte_range(at, at + 1)
        if node is not None and node.parent and not _LITERAL.search(node.type):
            node = node.parent  # the quote that ends a string
        while node is not None and node.parent and _LITERAL.search(node.parent.type):
            node = node.parent
        return node if node is not None and _LITERAL.search(node.type) and node.start_byte < at else None

    def _parse(self, after: bytes) -> "Tree":
        """The tree of the text before the cursor and `after`; what was read before is not read again.

        Where `after` is too hard to read, it is left out: it opens and closes nothing.
        """
        source = self._before + after
        start, start_point = len(self._before), _point(self._before)
        tree = self._tree.copy()
        tree.edit(start, start, len(source), start_point, start_point, _point(source))
        return parse(self._parser, source, tree) or self._tree

    def _read(
        self, after: bytes, opened: tuple[Opener, ...], start_byte: int
    ) -> tuple[list[Opener], int, tuple[int, int] | None]:
        """What is open behind `after`; how many were passed over; which of `opened` was closed first, at which byte.

        A closer closes the nearest opener it fits and passes over what is open in between; one that fits none is noise.
        """
        source = self._before + after
        tree = self._parse(after) if after else self._tree
        stack = list(opened)
        passed_over, first_closed = 0, None
        for at, token, closer in self._delimiters(tree.root_node, source, start_byte):
            if at < start_byte:
                continue
            if closer:
                if not (token == "do" and stack and _is_head_of_loop(source, stack[-1], at)):
                    stack.append(Opener(token, closer, at, _indent_at(source, at)))
                continue
            index = next((i for i in reversed(range(len(stack))) if stack[i].closer == token), None)
            if index is not None:
                if index < len(opened) and first_closed is None:
                    first_closed = index, at
                passed_over += len(stack) - 1 - index
                del stack[index:]
        return stack, passed_over, first_closed

    def _delimiters(self, root: "Node", source: bytes, cursor_byte: int) -> Iterator[tuple[int, str, str]]:
        """(start byte, token, what closes it) of every opener, (start byte, token, "") of every closer, in order."""
        to_visit = [*reversed(root.children)]
        while to_visit:
            node = to_visit.pop()
            kind = node.type
            if kind in _OPENING_TAGS:
                name = _tag_name(node, source)
                if name.lower() not in _VOID_TAGS:
                    yield node.start_byte, f"<{name}", f"</{name}"
            elif kind in _CLOSING_TAGS:
                yield node.start_byte, f"</{_tag_name(node, source)}", ""
            elif node.child_count:
                if not _is_balanced(node, cursor_byte):
                    to_visit.extend(reversed(node.children))
            elif node.is_named or node.is_missing:
                continue
            elif kind in self._words:
                yield node.start_byte, kind, self._words[kind]
            elif kind in self._closing_words:
                yield node.start_byte, kind, ""
            elif kind.endswith(self._brackets):
                yield node.start_byte, kind, _CLOSING[kind[-1]]
            elif kind.startswith((")", "]", "}")):
                yield node.start_byte, kind[0], ""


def read_syntax(language: Language, fim_prefix: str) -> Syntax | None:
    """The syntax at the end of fim_prefix, of which the last 48,000 characters are read.

    None without a grammar, and for a text too hard to read.
    """
    found = parser(language)
    if found is None:
        return None
    window = _window(fim_prefix)
    is_whole = len(window) == len(fim_prefix)
    before = _encode(window if is_whole else language.preamble + window)
    tree = parse(found, before)
    return None if tree is None else Syntax(language, found, before, tree, is_whole)


def _is_balanced(node: "Node", cursor_byte: int) -> bool:
    """Whether node closes all it opens, on one side of the cursor. Elements may end without a closing tag."""
    if node.has_error or node.start_byte < cursor_byte < node.end_byte:
        return False
    return not node.type.endswith("element") or node.children[-1].type in (*_CLOSING_TAGS, "self_closing_tag")


def _may_be_open(text: str, start: str, end: str) -> bool:
    return text.count(start) % 2 == 1 if start == end else text.rfind(start) > text.rfind(end)


def _tag_name(tag: "Node", source: bytes) -> str:
    """The name of a tag, empty for a fragment of JSX."""
    names = [source[child.start_byte : child.end_byte] for child in tag.named_children[:1]]
    return b"".join(names).decode("utf-8", "replace")


def _is_head_of_loop(source: bytes, opener: Opener, at: int) -> bool:
    """Whether the `do` at byte `at` only completes the loop that opener began on the same line, as in Ruby."""
    return opener.token in _LOOP_WORDS and b"\n" not in source[opener.start_byte : at]


def _indent_at(source: bytes, at: int) -> int:
    return indent_of(statement_line(source[max(0, at - _STATEMENT_BYTES) : at].decode("utf-8", "replace") + "."))


def _point(source: bytes) -> tuple[int, int]:
    """Row and column, in bytes, of the end of source."""
    return source.count(b"\n"), len(source) - source.rfind(b"\n") - 1


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "replace")  # half a surrogate pair becomes one byte


def _window(fim_prefix: str) -> str:
    """The end of fim_prefix, from the start of a line that is likely to begin a definition."""
    if len(fim_prefix) <= _WINDOW_CHARS:
        return fim_prefix
    window = fim_prefix[-_WINDOW_CHARS:]
    start = re.search(r"\n(?=[A-Za-z_@<#])", window[: _WINDOW_CHARS // 2]) or re.search(r"\n", window)
    return window[start.end() :] if start else window
