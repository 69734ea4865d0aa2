"""Lines of text as the filters compare them: the visible ones, without white space at their ends."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_LINE = re.compile(r"[^\n]+")
_WORD_CHAR = re.compile(r"[\w\x80-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Line:
    """text: without white space at its end. start: index of the line in the text it was cut from."""

    text: str
    start: int


def visible_lines(text: str, before: str = "") -> Iterator[Line]:
    """The lines of text that are not blank. `before` stands on the same line as the beginning of text."""
    for match in _LINE.finditer(text):
        if not match[0].isspace():
            line = before + match[0] if match.start() == 0 else match[0]
            yield Line(line.rstrip(), match.start())


def word_chars(lines: Sequence[Line]) -> int:
    """Letters, digits and all beyond ASCII: a measure of how much it says that two lines are equal."""
    return sum(len(_WORD_CHAR.findall(line.text)) for line in lines)


def common_lines(lines: Sequence[Line], others: Sequence[Line]) -> int:
    """How many lines both begin with."""
    count = 0
    while count < min(len(lines), len(others)) and lines[count].text == others[count].text:
        count += 1
    return count
