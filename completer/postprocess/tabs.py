"""Tabs or spaces: a completion is indented as its document is."""

import re

from completer.postprocess.context import LEVEL_WIDTHS, FilterContext
from completer.postprocess.lines import Line, visible_lines
from completer.syntax import indent_of

_INDENT = re.compile(r"^(?:\t+ *|  +)(?=\S)", re.MULTILINE)


def match_tabs(text: str, context: FilterContext) -> str:
    """Turn indentation by spaces into tabs, or by tabs into spaces, where the lines around have only the other kind.

    The first indented line tells the kind of the completion, and how many spaces it has for a level.
    """
    line_start = 0 if not context.current_line_prefix else text.find("\n") + 1 or len(text)
    first = _INDENT.search(text, line_start)
    if first is None:
        return text
    around = (*context.lines_above, Line(context.current_line_prefix, 0), *context.next_lines)
    kinds = {_kind(line.text) for line in around} - {""}
    width = _level_width(first, text, context) if kinds == {"\t", " "} - {_kind(first[0])} else 0
    if not width:
        return text
    return text[:line_start] + _INDENT.sub(lambda indent: _converted(indent[0], width), text[line_start:])


def _kind(line: str) -> str:
    return "\t" if line.startswith("\t") else " " if line.startswith("  ") else ""


def _level_width(first: "re.Match[str]", text: str, context: FilterContext) -> int:
    """Spaces for a level, from the depth that the line above the first indented one asks for; 0 where they disagree."""
    above = [*context.lines_above, *visible_lines(context.current_line_prefix + text[: first.start()])][-1:]
    opened = sum(context.language.opens_block(line.text) for line in above)
    if first[0].startswith("\t"):
        levels = sum(indent_of(line.text) for line in above) // context.level_width + opened
        return context.level_width if _tabs(first[0]) == levels else 0
    levels = sum(_tabs(line.text) for line in above) + opened
    return next((width for width in LEVEL_WIDTHS if width * levels == len(first[0])), 0)


def _converted(indent: str, width: int) -> str:
    if "\t" in indent:
        return indent.replace("\t", " " * width)
    return "\t" * (len(indent) // width) + " " * (len(indent) % width)


def _tabs(line: str) -> int:
    return len(line) - len(line.lstrip("\t"))
