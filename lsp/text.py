"""The text of a document as an editor counts it: lines, and columns in units of UTF-8, UTF-16 or UTF-32.

A line ends with \\n, \\r\\n or \\r and with nothing else, so not at a form feed, where str.splitlines would end it too.
Standard library alone: both ends of the connection to the daemon keep their texts with it.
"""

import re
from bisect import bisect_right

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}

Position = tuple[int, int]
"""(line, column), both from 0. One that lies outside the text means the nearest that lies inside."""


def units(text: str, encoding: str) -> int:
    """Length of text in units of an encoding. Half a surrogate pair counts as what it is, one unit of UTF-16."""
    codec, unit_bytes = _CODECS[encoding]
    return len(text) if text.isascii() else len(text.encode(codec, "surrogatepass")) // unit_bytes


def index_at(text: str, column: int, encoding: str) -> int:
    """The index of the character at a column. Within a character that is several units long: its beginning."""
    if text.isascii():
        return max(0, min(column, len(text)))
    ends = range(len(text) + 1)
    return max(0, bisect_right(ends, column, key=lambda end: units(text[:end], encoding)) - 1)


class Text:
    """Lines with their ends; all but the last have one. Editing costs what is edited, not the whole."""

    def __init__(self, text: str, encoding: str = "utf-16") -> None:
        self.encoding = encoding
        self.lines = _split(text, is_last=True)
        self.size_bytes = units(text, "utf-8")
        self._whole: str | None = text

    def __str__(self) -> str:
        if self._whole is None:
            self._whole = "".join(self.lines)
        return self._whole

    def replace(self, start: Position, end: Position, new: str) -> None:
        (first, from_index), (last, to_index) = sorted((self._locate(start), self._locate(end)))
        changed = self.lines[first][:from_index] + new + self.lines[last][to_index:]
        if first > 0 and self.lines[first - 1].endswith("\r"):  # a \n may have come right behind it
            first -= 1
            changed = self.lines[first] + changed
        before = sum(units(line, "utf-8") for line in self.lines[first : last + 1])
        self.lines[first : last + 1] = _split(changed, is_last=last == len(self.lines) - 1)
        self.size_bytes += units(changed, "utf-8") - before
        self._whole = None

    def split_at(self, position: Position) -> tuple[str, str]:
        """The text before a position, and the text from there on."""
        line, index = self._locate(position)
        before = "".join(self.lines[:line]) + self.lines[line][:index]
        return before, str(self)[len(before) :]

    def between(self, start: Position, end: Position) -> str:
        (first, from_index), (last, to_index) = sorted((self._locate(start), self._locate(end)))
        if first == last:
            return self.lines[first][from_index:to_index]
        return "".join([self.lines[first][from_index:], *self.lines[first + 1 : last], self.lines[last][:to_index]])

    def line_end(self, line: int) -> str:
        """The line end in use at a line, from 0: its own, else that of the nearest line above."""
        for i in range(min(line, len(self.lines) - 1), -1, -1):
            if end := self.lines[i][len(self.lines[i].rstrip("\r\n")) :]:
                return end
        return "\n"

    def _locate(self, position: Position) -> tuple[int, int]:
        """(line, index of a character in it), inside the text."""
        line, column = position
        if line >= len(self.lines):
            return len(self.lines) - 1, len(self.lines[-1])
        return max(0, line), index_at(self.lines[line].rstrip("\r\n"), column, self.encoding) if line >= 0 else 0


def _split(text: str, is_last: bool) -> list[str]:
    lines = _LINE.findall(text)
    if is_last and (not lines or lines[-1].endswith(("\r", "\n"))):
        lines.append("")
    return lines
