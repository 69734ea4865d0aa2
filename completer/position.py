"""FILE[:LINE[:COLUMN]] to a place in a text. Lines and columns start at 1; a column counts characters. Pure."""

import re
from dataclasses import dataclass

from completer.errors import InputError, UsageError

_PLACE = re.compile(r"(?P<file>.+?)(?::(?P<line>[0-9]{1,15})(?::(?P<column>[0-9]{1,15}))?)?", re.DOTALL)
_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Place:
    """Without a line: the end of the file. Without a column: the end of the line."""

    file: str
    line: int | None = None
    column: int | None = None


def parse_place(text: str) -> Place:
    """The file is whatever stands before one or two trailing numbers, so `C:\\x.py:3:5` and `a:b.py` parse.

    Raises UsageError for an empty file name, a line 0 or a column 0.
    """
    match = _PLACE.fullmatch(text)
    if match is None:
        raise UsageError("the file name is empty; say FILE, FILE:LINE or FILE:LINE:COLUMN")
    line, column = (int(number) if number else None for number in match.group("line", "column"))
    if line == 0 or column == 0:
        raise UsageError(f"{text}: lines and columns start at 1")
    return Place(match["file"], line, column)


def offset_of(place: Place, text: str) -> int:
    """Index in text of the place. Raises InputError, with the range there is, for one outside it."""
    if place.line is None:
        return len(text)
    ends = [*_LINE_END.finditer(text)]
    if place.line > len(ends) + 1:
        raise InputError(f"{place.file} has no line {place.line}; it has {len(ends) + 1}")
    start = ends[place.line - 2].end() if place.line > 1 else 0
    end = ends[place.line - 1].start() if place.line <= len(ends) else len(text)
    if place.column is None:
        return end
    if place.column > end - start + 1:
        last = end - start + 1
        raise InputError(f"{place.file}:{place.line} has no column {place.column}; its columns go from 1 to {last}")
    return start + place.column - 1
