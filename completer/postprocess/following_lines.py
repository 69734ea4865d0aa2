"""Lines below the cursor, written a second time."""

from collections.abc import Iterator

from completer.postprocess.context import FilterContext
from completer.postprocess.lines import Line, common_lines, visible_lines, word_chars

_MIN_WORD_CHARS = 6


def drop_following_lines(text: str, context: FilterContext) -> str:
    """End before the lines that follow the cursor, where text ends with the first of them or has all of them.

    Lines that say little, like `);`, count where text would not parse with them; a word like `end` always counts,
    which the lines of a block never have at the same indentation. Where lines repeat next to the cursor, none is
    dropped.
    """
    for start, is_end, repeated in _repetitions(text, context):
        if word_chars(repeated) >= _MIN_WORD_CHARS or any(_is_closing_word(line, context) for line in repeated):
            return text[:start]
        if is_end and repeated:
            text = context.repaired(text, text[:start])
    return text


def hold_following_lines(text: str, context: FilterContext) -> str:
    return text[: next((start for start, _, _ in _repetitions(text, context)), None)]


def _is_closing_word(line: Line, context: FilterContext) -> bool:
    return line.text.strip().isalpha() and context.language.closes_block(line.text)


def _repetitions(text: str, context: FilterContext) -> Iterator[tuple[int, bool, list[Line]]]:
    """Where text begins to have the lines below the cursor, whether it ends with them, and those that it has.

    The last line of text may be the beginning of one. A line equal to the one above it repeats that one.
    """
    below = context.next_lines
    if not below or context.has_equal_lines:
        return
    lines = [*visible_lines(text, context.current_line_prefix)]
    for i, line in enumerate(lines):
        count = common_lines(lines[i:], below)
        rest = lines[i + count :]
        is_end = not rest or (len(rest) == 1 and len(below) > count and below[count].text.startswith(rest[0].text))
        above = lines[i - 1] if i else None
        if (is_end or count == len(below)) and not (above and above.text == below[0].text):
            yield line.start, is_end, lines[i : i + count]
