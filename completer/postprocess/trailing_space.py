"""White space that ends a line."""

import re

from completer.postprocess.context import FilterContext

_BEFORE_LINE_END = re.compile(r"[ \t]+(?=\r?\n)")


def drop_trailing_space(text: str, context: FilterContext) -> str:
    """Leave no white space before a line end, save in Markdown, where two spaces break a line.

    At the end of text it stays where something follows right after the cursor.
    """
    if context.language.id != "markdown":
        text = _BEFORE_LINE_END.sub("", text)
    follows = context.current_line_suffix[:1].strip()
    return text if follows else text.rstrip()
