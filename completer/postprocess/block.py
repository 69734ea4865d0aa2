"""The end of the block, or of the line, that was to be completed."""

import re

from completer.postprocess.context import FilterContext

_FIRST_VISIBLE_LINE = re.compile(r"\s*[^\n]*")
_CLOSING_LINE = re.compile(r"\s*[)\]}][^\n]*")


def drop_beyond_block(text: str, context: FilterContext) -> str:
    """End where what the mode asks for is whole; mode `text` has no end.

    A closing line stays where the text around the cursor would not parse without it, and one that is all there is,
    like `} else {`, where it would parse as well with it.
    """
    if context.resolved_mode == "block":
        end = context.block_end.in_text(text)
        closing = None if end is None else _CLOSING_LINE.match(text, end)
        if closing is None:
            return text[:end]
        ends = text[:end], text[: closing.end()]
        preferred, other = ends if text[:end].strip() else reversed(ends)
        return context.fewest_errors(preferred, [other])
    return _first_line(text) if context.resolved_mode == "line" else text


def hold_beyond_block(text: str, context: FilterContext) -> str:
    """No line of a block before it is whole, and no white space behind what is visible."""
    if context.resolved_mode == "block":
        lines = text[: text.rfind("\n") + 1]
        text = lines[: context.block_end.in_lines(lines)]
    return (_first_line(text) if context.resolved_mode == "line" else text).rstrip()


def _first_line(text: str) -> str:
    found = _FIRST_VISIBLE_LINE.match(text)
    return found[0] if found else ""
