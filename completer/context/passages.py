"""Passages: texts cut where blank lines part them, with what is needed to compare them. Pure; knows no ranking.

A cut depends only on the lines near it, so that an edit leaves the passages elsewhere in its file as they were.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from completer.request import ContextChunk
from completer.syntax import indent_of

MIN_LINES = 8
MAX_LINES = 32
MAX_CHARS = 1600
_MAX_LINE_CHARS = 400
_MIN_TELLING_CHARS = 8
_BYTES_OF_TOKEN = 3
_WORD = re.compile(r"[^\W\d]\w{2,}")


def words_of(text: str) -> frozenset[str]:
    """The names and other words in text."""
    return frozenset(_WORD.findall(text))


def telling_lines(lines: Iterable[str]) -> frozenset[str]:
    """The lines that say enough to be recognised elsewhere, whatever their indentation."""
    stripped = (line.strip() for line in lines if len(line) <= _MAX_LINE_CHARS)
    return frozenset(line for line in stripped if len(line) >= _MIN_TELLING_CHARS)


@dataclass(frozen=True)
class Passage:
    """A piece of the file at `path`, as the editor or the disk names it; chunk.path is for the model to read."""

    path: str
    chunk: ContextChunk

    @cached_property
    def tokens(self) -> int:
        """What a prompt spends on it, estimated; seldom less than a tokenizer makes of code."""
        return len(f"{self.chunk.path}\n{self.chunk.text}".encode("utf-8", "replace")) // _BYTES_OF_TOKEN + 1

    @cached_property
    def words(self) -> frozenset[str]:
        return words_of(self.chunk.text)

    @cached_property
    def lines(self) -> frozenset[str]:
        return telling_lines(self.chunk.text.split("\n"))

    def is_mostly_in(self, lines: frozenset[str] | set[str]) -> bool:
        """Whether it would say little new beside these telling lines."""
        return 2 * len(self.lines & lines) >= len(self.lines)


def split(text: str) -> list[str]:
    """Pieces of whole lines, in order, each ending with a newline; lines no person writes are left out."""
    lines = [line for line in text.replace("\r\n", "\n").split("\n") if len(line) <= _MAX_LINE_CHARS]
    pieces, start = [], 0
    while start < len(lines):
        if lines[start].strip():
            end = _end(lines, start)
            pieces.append("\n".join(lines[start:end]).rstrip() + "\n")
            start = end
        else:
            start += 1
    return pieces


def _end(lines: list[str], start: int) -> int:
    """Where the piece that begins at start should end.

    After MIN_LINES, at the first line behind a blank one that is indented no deeper than the piece's first; when
    MAX_LINES or MAX_CHARS are used up, at the last of the least indented lines behind a blank one, if there is any.
    """
    outermost, chars = indent_of(lines[start]), 0
    seam, seam_indent = 0, 0
    for at in range(start, len(lines)):
        line = lines[at]
        chars += len(line) + 1
        if at > start and (at == start + MAX_LINES or chars > MAX_CHARS):
            return seam or at
        if at >= start + MIN_LINES and line.strip() and not lines[at - 1].strip():
            indent = indent_of(line)
            if indent <= outermost:
                return at
            if not seam or indent <= seam_indent:
                seam, seam_indent = at, indent
    return len(lines)
