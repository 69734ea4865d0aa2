"""Indentation written again by a completion whose cursor already stands deep enough."""

import re

from completer.postprocess.context import FilterContext
from completer.postprocess.lines import visible_lines
from completer.syntax import indent_of, read_syntax

_INDENT = re.compile(r"[ \t]+(?=\S)")
_ENDS_OF_STATEMENT = (";", "{", "}")


def drop_first_indent(text: str, context: FilterContext) -> str:
    """Drop white space before the first line where the cursor stands as deep as the line above asks for.

    The lines below it are shifted too, if they stand where that white space would put them. At the margin, where an
    indented line is seldom an accident, only a single space is dropped.
    """
    found = _INDENT.match(text)
    if found is None or not (context.current_line_prefix or found[0] == " ") or not _is_deep_enough(context):
        return text
    indent, text = found[0], text[found.end() :]
    first, second = [*visible_lines(text), None, None][:2]
    if first is None or second is None:
        return text
    column = indent_of(context.current_line_prefix + indent + "|")
    level = context.level_width if context.language.opens_block(first.text) else 0
    return text.replace("\n" + indent, "\n") if indent_of(second.text) >= column + level else text


def _is_deep_enough(context: FilterContext) -> bool:
    """Whether the cursor stands on a blank line, at the indentation of a statement after the line above."""
    known, above = context.language, context.lines_above[-1:]
    if context.current_line_prefix.strip() or not context.is_at_line_end or not above:
        return False
    line = above[0].text
    level = context.level_width if known.opens_block(line) else 0
    if indent_of(context.current_line_prefix + "|") < indent_of(line) + level:
        return False
    if known.block == "brackets" and not line.endswith(_ENDS_OF_STATEMENT):
        return False
    if known.block != "brackets" and (known.id != "python" or line.endswith("\\")):
        return False
    syntax = read_syntax(known, context.fim_prefix)
    if syntax is None or context.is_in_literal(""):
        return False
    return not syntax.open or (known.block == "brackets" and syntax.open[-1].token not in "([")
