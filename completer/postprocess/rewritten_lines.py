"""What stands before the cursor, written a second time. Knows nothing of what it means."""

from collections.abc import Sequence

from completer.postprocess.context import FilterContext
from completer.postprocess.lines import Line, visible_lines, word_chars

_MOST_LINES = 10
_MIN_WORD_CHARS = 6


def drop_rewritten_lines(text: str, context: FilterContext) -> str:
    """Begin after what only repeats the beginning of the cursor's line, or the lines right above the completion.

    Where lines repeat next to the cursor, none is dropped.
    """
    begun, continued = context.current_line_prefix.lstrip(), text.lstrip(" \t")
    if " " in begun.strip() and word_chars([Line(begun, 0)]) >= _MIN_WORD_CHARS and continued.startswith(begun):
        return continued[len(begun) :]
    above, lines = _above(text, context), [*visible_lines(text, context.current_line_prefix)]
    if not context.has_equal_lines:
        for count in range(min(len(above), len(lines)), 0, -1):
            if _texts(lines[:count]) == above[-count:] and word_chars(lines[:count]) >= _MIN_WORD_CHARS:
                return _without(lines[:count], text, context)
    return text


def hold_rewritten_lines(text: str, context: FilterContext) -> str:
    """Nothing, as long as all of text may repeat what is before the cursor."""
    above, lines = _above(text, context), _texts([*visible_lines(text, context.current_line_prefix)])
    repeatable = ("\n".join(above[-count:]) for count in range(1, len(above) + 1))
    if any(old.startswith("\n".join(lines)) for old in repeatable):
        return ""
    if context.current_line_prefix.lstrip().startswith(text.lstrip(" \t")):
        return ""
    return drop_rewritten_lines(text, context)


def _above(text: str, context: FilterContext) -> list[str]:
    """The last visible lines above the first line that is all of the completion."""
    above = _texts(context.lines_above[-_MOST_LINES:])
    line = context.current_line_prefix.rstrip()
    if not line:
        return above if context.is_at_line_end else []
    return [*above[1 - _MOST_LINES :], line] if text.lstrip(" \t\r").startswith("\n") else []


def _without(lines: Sequence[Line], text: str, context: FilterContext) -> str:
    after = text.find("\n", lines[-1].start) + 1
    rest = text[after:] if after else ""
    if context.current_line_prefix.strip():
        return text[: lines[0].start] + rest
    return rest.removeprefix(context.current_line_prefix)


def _texts(lines: Sequence[Line]) -> list[str]:
    return [line.text for line in lines]
