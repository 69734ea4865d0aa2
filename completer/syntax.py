"""What is open at the cursor: brackets, block words and tags, as tree-sitter reads the text around it.

Only the leaves of the tree are trusted: they stay right in code that does not parse, as code being typed seldom does,
where the nodes above them do not. Knows nothing of tokens, modes or when to stop.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from completer.languages import Language, parser

if TYPE_CHECKING:
    from tree_sitter import Node

_WINDOW_CHARS = 12_000
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


@dataclass(frozen=True, slots=True)
class Opener:
    """An opening token, what closes it, where it is in the bytes that were read, the indentation of its line."""

    token: str
    closer: str
    start_byte: int
    indent: int


@dataclass(frozen=True, slots=True)
class Nesting:
    """What a text after the cursor does to what was open there.

    depth: openers left open by the text, less those from before the cursor that it closed.
    closes: which of those it closed first, an index into Syntax.open. closes_at: where, in characters of the text.
    """

    depth: int
    closes: int | None = None
    closes_at: int = 0


class Syntax:
    """The text before a cursor; texts that may follow it are read on demand, each in about a millisecond."""

    def __init__(self, language: Language, fim_prefix: str) -> None:
        """language must have a grammar. At most the last 12,000 characters of fim_prefix are read."""
        found = parser(language)
        assert found is not None, language.id
        self._parser = found
        self._brackets = tuple(language.brackets)
        self._words = dict(language.words) if language.block == "brackets" else {}
        self._closing_words = frozenset(self._words.values())
        window = _window(fim_prefix)
        self._before = _encode((language.preamble if len(window) < len(fim_prefix) else "") + window)
        self.open = tuple(self._read(self._before, (), 0)[0])

    def is_on_cursor_line(self, opener: Opener) -> bool:
        return b"\n" not in self._before[opener.start_byte :]

    def nesting(self, text: str) -> Nesting:
        """What `text` would open and close, were it to follow the cursor."""
        source = self._before + _encode(text)
        stack, first_closed = self._read(source, self.open, len(self._before))
        depth = len(stack) - len(self.open)
        if first_closed is None:
            return Nesting(depth)
        index, at = first_closed
        return Nesting(depth, index, len(source[len(self._before) : at].decode("utf-8", "replace")))

    def literal_over(self, text: str, position: int) -> tuple[str, int] | None:
        """The string, comment or raw text that has the character at `position` of text, which follows the cursor.

        Its kind, and its start in characters of text, -1 if it starts before the cursor. None at the start of one.
        """
        source = self._before + _encode(text)
        at = len(self._before) + len(_encode(text[:position]))
        node = self._parser.parse(source).root_node.descendant_for_byte_range(at, at + 1)
        if node is not None and node.parent and not _LITERAL.search(node.type):
            node = node.parent  # the quote of a string
        while node is not None and node.parent and _LITERAL.search(node.parent.type):
            node = node.parent
        if node is None or not _LITERAL.search(node.type) or node.start_byte >= at:
            return None
        if node.start_byte < len(self._before):
            return node.type, -1
        return node.type, len(source[len(self._before) : node.start_byte].decode("utf-8", "replace"))

    def is_in_literal(self, text: str) -> bool:
        """Whether text ends inside a string or comment that it began.

        One that does not end is no literal to the parser, so whatever may end it is tried.
        """
        ends = (end for start, end in _LITERAL_ENDS.items() if start in text)
        literals = (self.literal_over(text + end, len(text)) for end in ends)
        return any(literal is not None and literal[1] >= 0 for literal in literals)

    def _read(
        self, source: bytes, opened: tuple[Opener, ...], start_byte: int
    ) -> tuple[list[Opener], tuple[int, int] | None]:
        """What is open after source; which of those open at start_byte was closed first, and at which byte.

        A closer closes the nearest opener it fits, whatever is open in between; one that fits none is noise.
        """
        stack = list(opened)
        first_closed = None
        for at, token, closer in self._delimiters(self._parser.parse(source).root_node, start_byte):
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
                del stack[index:]
        return stack, first_closed

    def _delimiters(self, root: "Node", cursor_byte: int) -> Iterator[tuple[int, str, str]]:
        """(start byte, token, what closes it) of every opener, (start byte, token, "") of every closer, in order."""
        to_visit = [root]
        while to_visit:
            node = to_visit.pop()
            kind = node.type
            if kind in _OPENING_TAGS:
                name = _tag_name(node)
                if name.lower() not in _VOID_TAGS:
                    yield node.start_byte, f"<{name}", f"</{name}"
            elif kind in _CLOSING_TAGS:
                yield node.start_byte, f"</{_tag_name(node)}", ""
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


def _is_balanced(node: "Node", cursor_byte: int) -> bool:
    """Whether node closes all it opens, on one side of the cursor. Elements may end without a closing tag."""
    if node.has_error or node.start_byte < cursor_byte < node.end_byte:
        return False
    return not node.type.endswith("element") or node.children[-1].type in (*_CLOSING_TAGS, "self_closing_tag")


def _tag_name(tag: "Node") -> str:
    name = tag.named_child(0)
    return "" if name is None or name.text is None else name.text.decode("utf-8", "replace")


def _is_head_of_loop(source: bytes, opener: Opener, at: int) -> bool:
    """Whether the `do` at byte `at` only completes the loop that opener began on the same line, as in Ruby."""
    return opener.token in _LOOP_WORDS and b"\n" not in source[opener.start_byte : at]


def _indent_at(source: bytes, at: int) -> int:
    line = source[source.rfind(b"\n", 0, at) + 1 : at]
    return indent_of(line.decode("utf-8", "replace") + ".")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "replace")  # half a surrogate pair becomes one byte


def _window(fim_prefix: str) -> str:
    """The end of fim_prefix, from the start of a line that is likely to begin a definition."""
    if len(fim_prefix) <= _WINDOW_CHARS:
        return fim_prefix
    window = fim_prefix[-_WINDOW_CHARS:]
    start = re.search(r"\n(?=[A-Za-z_@<#])", window[: _WINDOW_CHARS // 2]) or re.search(r"\n", window)
    return window[start.end() :] if start else window
