"""The same lines written over and over, up to the end. Knows no text around the completion but the lines next to it."""

from collections.abc import Iterator, Sequence

from completer.postprocess.context import FilterContext
from completer.postprocess.lines import Line, visible_lines, word_chars

_OCCURRENCES = 3
_MOST_LINES_REPEATED = 20
_MIN_WORD_CHARS = 20


def drop_repetition(text: str, context: FilterContext) -> str:
    """End after the first of three or more equal lines, or groups of lines, in a row that text ends with.

    Lines that say little, like `NULL,`, have to come more often. Where lines repeat next to the cursor, none is
    dropped.
    """
    lines = [*visible_lines(text, context.current_line_prefix)]
    loops = (
        second
        for count, second in _repetitions(lines)
        if len(lines) - second >= count * (_OCCURRENCES - 1) and word_chars(lines[second:]) >= _MIN_WORD_CHARS
    )
    second = None if context.has_equal_lines else min(loops, default=None)
    return text if second is None else text[: lines[second].start].rstrip()


def hold_repetition(text: str, context: FilterContext) -> str:
    lines = [*visible_lines(text, context.current_line_prefix)]
    second = min((second for _, second in _repetitions(lines)), default=None)
    return text if second is None else text[: lines[second].start].rstrip()


def _repetitions(lines: Sequence[Line]) -> Iterator[tuple[int, int]]:
    """(count, index) of the lines from index to the end that equal those `count` above; the last may be unfinished."""
    for count in range(1, min(_MOST_LINES_REPEATED, len(lines) - 1) + 1):
        if not lines[-1 - count].text.startswith(lines[-1].text):
            continue
        second = len(lines) - 1
        while second > count and lines[second - 1].text == lines[second - 1 - count].text:
            second -= 1
        yield count, second
