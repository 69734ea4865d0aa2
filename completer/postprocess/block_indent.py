"""A block written as if the line that opens it stood at the margin."""

import re

from completer.postprocess.context import FilterContext
from completer.postprocess.lines import visible_lines
from completer.postprocess.parse_errors import has_strict_grammar
from completer.syntax import indent_of


def shift_block(text: str, context: FilterContext) -> str:
    """Indent a block by as much as the cursor's line, which opens it, where its first line is less deep than that.

    Only after a brace, and in Python after a colon, must a block be deeper than the line that opens it.
    """
    line_end = text.find("\n")
    head = context.current_line_prefix + text[:line_end].rstrip()
    below = next(visible_lines(text[line_end:]), None)
    if line_end < 0 or below is None or not 0 < indent_of(below.text) < indent_of(head):
        return text
    if not _opens_block(head, context) or context.is_in_literal(text[:line_end]):
        return text
    indent = head[: len(head) - len(head.lstrip())]
    return text[:line_end] + re.sub(r"\n(?=[^\r\n])", "\n" + indent, text[line_end:])


def _opens_block(head: str, context: FilterContext) -> bool:
    """Whether head opens a block, and is the first line of what opens it."""
    is_continuation = head.count(")") > head.count("(")
    return (
        has_strict_grammar(context.language)
        and head.endswith(":" if context.language.id == "python" else "{")
        and not is_continuation
    )
