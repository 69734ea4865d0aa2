"""A space typed before the cursor, written a second time."""

import re

from completer.postprocess.context import FilterContext

_WORD = re.compile(r"\w")
_ONE_SPACE = re.compile(r"\S $")
_DOUBLED = re.compile(r" (?=[\w\"'(\[{])")
_ALIGNED = re.compile(r"\S[ \t]{2,}\S")


def drop_double_space(text: str, context: FilterContext) -> str:
    """Begin without a space where one stands before the cursor, unless a line next to it has such gaps itself."""
    before = context.current_line_prefix
    has_word = _WORD.search(before, 0, max(0, len(before) - 2))
    if not has_word or not _ONE_SPACE.search(before) or not _DOUBLED.match(text):
        return text
    near = (before, *(line.text for line in (*context.lines_above[-2:], *context.next_lines[:2])))
    return text if any(_ALIGNED.search(line) for line in near) else text[1:]
