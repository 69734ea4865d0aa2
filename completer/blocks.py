"""Where a block begins and where it ends. Knows the text around the cursor and its syntax; no tokens, no limits.

A block ends in one of three ways, by language: `brackets`, when what was open at the cursor closes; `indentation`,
before the first line that is indented no deeper than where the block began; `paragraph`, before a blank line.
Where no block is open at the cursor, the block is the statement under it.
A closing line belongs to the completion unless the text after the cursor already has it.
"""

import re
from functools import cached_property
from typing import Protocol

from completer.languages import Language
from completer.request import Mode
from completer.syntax import Syntax, indent_of, read_syntax, statement_line

_SUFFIX_CHARS = 20_000
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)


class Block(Protocol):
    """Asked twice a line. Both answers are where in text, which follows the cursor, the block ends; None: not yet."""

    def line_started(self, text: str, line_start: int) -> int | None:
        """text ends with the first visible character of its last line, which begins at line_start."""

    def line_ended(self, text: str, line_start: int) -> int | None:
        """text ends with a whole line, which begins at line_start."""


class Brackets:
    """Ends when the innermost bracket, block word or tag open at the cursor closes; else when the statement does."""

    def __init__(self, language: Language, syntax: Syntax, fim_prefix: str, fim_suffix: str) -> None:
        self._syntax = syntax
        self._suffix = _suffix_window(fim_suffix)
        self._suffix_is_whole = len(self._suffix) == len(fim_suffix)
        opened = syntax.open[-1:]
        line = _cursor_line(fim_prefix)
        is_inside = not line.strip() or (language.words and language.opens_block(line))  # `then` or `else` of an `if`
        self._is_open = any(is_inside or syntax.is_on_cursor_line(opener) for opener in opened)

    def line_started(self, text: str, line_start: int) -> int | None:
        return self._end_before_suffix(text) if text.endswith((")", "]", "}")) else None

    def line_ended(self, text: str, line_start: int) -> int | None:
        if not text[line_start:].strip():
            return None
        end = self._end_before_suffix(text)
        if end is not None:
            return end
        depth = self._syntax.nesting(text).depth
        is_end = depth < 0 or (depth == 0 and not self._is_open)
        return len(text) if is_end and not self._syntax.is_in_literal(text) else None

    def _end_before_suffix(self, text: str) -> int | None:
        nesting = self._syntax.nesting(text)
        if nesting.closes is None or nesting.closes != self._closed_by_suffix or self._syntax.is_in_literal(text):
            return None
        return len(text[: nesting.closes_at].rstrip(" \t"))

    @cached_property
    def _closed_by_suffix(self) -> int | None:
        """The opener that the suffix closes first, unless its closer is rather that of an outer one.

        A closer in line with an outer opener is, where the suffix does not close all that is open. Where not all can
        be seen, the closer of the innermost one is indented no less than that.
        """
        nesting, opened = self._syntax.nesting(self._suffix), self._syntax.open
        if nesting.closes is None:
            return None
        line_start = self._suffix.rfind("\n", 0, nesting.closes_at) + 1
        indent = indent_of(self._suffix[line_start:])
        is_aligned = line_start > 0 and any(opener.indent == indent for opener in opened[: nesting.closes])
        if not is_aligned:
            return nesting.closes
        if self._syntax.is_whole and self._suffix_is_whole:
            return nesting.closes if nesting.depth + nesting.passed_over <= -len(opened) else None
        return nesting.closes if indent >= opened[nesting.closes].indent else None


class Indentation:
    """Ends before a line indented no deeper than the cursor's line or, where that is blank, less than the first line.

    Lines that begin inside a bracket or a token opened by the completion do not count.
    """

    def __init__(self, language: Language, syntax: Syntax | None, fim_prefix: str, fim_suffix: str) -> None:
        self._language = language
        self._syntax = syntax
        self._cursor_line = _cursor_line(fim_prefix)
        self._suffix = fim_suffix[:_SUFFIX_CHARS]
        self._outer: int | None = _depth_of(statement_line(fim_prefix)) if self._cursor_line.strip() else None
        self._may_close = {closer[0] for closer in (")", "]", "}", "</", *(word for _, word in language.words))}

    def line_started(self, text: str, line_start: int) -> int | None:
        if self._outer is None:
            line = text[line_start:] if line_start else self._cursor_line + text
            self._outer = max(_depth_of(line) - 1, 0)
            return None
        if text[-1] in self._may_close or not self._is_dedent(text, line_start):
            return None
        return line_start

    def line_ended(self, text: str, line_start: int) -> int | None:
        line = text[line_start:]
        if line.lstrip()[:1] not in self._may_close or not self._is_dedent(text, line_start):
            return None
        is_missing = self._language.closes_block(line) and not self._suffix_closes(indent_of(line))
        return len(text) if is_missing else line_start

    def _is_dedent(self, text: str, line_start: int) -> bool:
        assert self._outer is not None
        line = text[line_start:]
        if line_start == 0 or _depth_of(line) > self._outer:
            return False
        if self._syntax is None:
            return True
        start = len(text) - len(line.lstrip())
        return not self._syntax.is_in_literal(text[:start]) and self._syntax.nesting(text[:line_start]).depth <= 0

    def _suffix_closes(self, indent: int) -> bool:
        rest, *following = self._suffix.split("\n")
        if self._language.closes_block(rest):
            return True
        outside = next((line for line in following if line.strip() and indent_of(line) <= indent), "")
        return indent_of(outside) == indent and self._language.closes_block(outside)


class Paragraph:
    """Ends before a blank line; within a code fence, with the fence."""

    def __init__(self, fim_prefix: str, fim_suffix: str) -> None:
        self._is_fenced = len(_FENCE.findall(fim_prefix)) % 2 == 1
        self._suffix_closes = len(_FENCE.findall(fim_suffix)) % 2 == 1

    def line_started(self, text: str, line_start: int) -> int | None:
        return None

    def line_ended(self, text: str, line_start: int) -> int | None:
        is_in_fence = self._is_fenced ^ (len(_FENCE.findall(text)) % 2 == 1)
        if self._is_fenced and not is_in_fence:
            return line_start if self._suffix_closes else len(text)
        is_end = not is_in_fence and not text[line_start:].strip() and text.strip() != ""
        return line_start if is_end else None


def block_at(language: Language, fim_prefix: str, fim_suffix: str) -> Block:
    """The block under the cursor."""
    if language.block == "paragraph":
        return Paragraph(fim_prefix, fim_suffix)
    syntax = read_syntax(language, fim_prefix)
    if syntax is None:
        return Indentation(language, None, fim_prefix, fim_suffix)
    if language.block == "indentation":
        is_bracketed = bool(syntax.open) and not _follows_block_head(language, fim_prefix)
    else:
        is_bracketed = syntax.literal_at_cursor(_suffix_window(fim_suffix)) is None
    if is_bracketed:
        return Brackets(language, syntax, fim_prefix, fim_suffix)
    return Indentation(language, syntax, fim_prefix, fim_suffix)


def resolve_mode(mode: Mode, language: Language, fim_prefix: str, fim_suffix: str) -> Mode:
    """`auto` as `block` at the start or on a blank line of a block, as `line` everywhere else; other modes as given."""
    if mode != "auto":
        return mode
    rest, *following = fim_suffix[:_SUFFIX_CHARS].split("\n")
    if language.block == "paragraph" or rest.strip(" \t\r;,)]}"):
        return "line"
    line = _cursor_line(fim_prefix)
    if line.strip():
        is_comment = bool(language.line_comment) and line.lstrip().startswith(language.line_comment)
        return "block" if not is_comment and language.opens_block(line) else "line"
    syntax = read_syntax(language, fim_prefix)
    if syntax is not None and syntax.literal_at_cursor(_suffix_window(fim_suffix)) not in (None, "raw_text"):
        return "line"
    next_line = next((line for line in following if line.strip()), "")
    is_inside = indent_of(line) or indent_of(next_line) or language.closes_block(next_line)
    return "block" if is_inside or language.opens_block(_line_above(fim_prefix)) else "line"


def _follows_block_head(language: Language, fim_prefix: str) -> bool:
    above = _line_above(fim_prefix)
    is_blank = not _cursor_line(fim_prefix).strip()
    return is_blank and language.opens_block(above) and not above.endswith(("(", "[", "{"))


def _cursor_line(fim_prefix: str) -> str:
    return fim_prefix[fim_prefix.rfind("\n") + 1 :]


def _line_above(fim_prefix: str) -> str:
    """The last visible line above the cursor's, without white space at its end."""
    above = fim_prefix[: fim_prefix.rfind("\n") + 1].rstrip()
    return _cursor_line(above)


def _suffix_window(fim_suffix: str) -> str:
    window = fim_suffix[:_SUFFIX_CHARS]
    return window if len(window) == len(fim_suffix) else window[: window.rfind("\n") + 1] or window


def _depth_of(line: str) -> int:
    """Indentation, the dash of a list item included: in YAML, items may stand flush with their key."""
    return indent_of(line) + 2 * line.lstrip().startswith("-")
