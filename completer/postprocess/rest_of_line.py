"""What follows the cursor on its line, written a second time."""

import re

from completer.postprocess.context import FilterContext
from completer.postprocess.lines import Line, word_chars

_MIN_WORD_CHARS = 3
_MOST_CHARS = 80
_WORD_CHAR = re.compile(r"\w")


def drop_repeated_rest(text: str, context: FilterContext) -> str:
    """End before the rest of the line, where text ends with it.

    A rest that says little, like `)`, or only the beginning of one, counts where text would not parse with it.
    """
    rest, end = context.current_line_suffix.strip(), text.rstrip()
    if not rest:
        return text
    if word_chars([Line(rest, 0)]) >= _MIN_WORD_CHARS and _ends_with(rest, end):
        return end[: -len(rest)]
    repeated = [chars for chars in range(1, min(len(rest), _MOST_CHARS) + 1) if end.endswith(rest[:chars])]
    return context.fewest_errors(text, [end[:-chars] for chars in reversed(repeated)])


def hold_repeated_rest(text: str, context: FilterContext) -> str:
    rest = context.current_line_suffix.strip()
    repeated = [chars for chars in range(1, min(len(rest), len(text)) + 1) if text.endswith(rest[:chars])]
    return text[: -max(repeated)] if repeated else text


def _ends_with(rest: str, text: str) -> bool:
    """With the whole of it: not `items)` with `s)`."""
    before = text.removesuffix(rest)
    return before != text and not (_WORD_CHAR.match(rest) and _WORD_CHAR.match(before[-1:]))
