"""Control tokens written out as text. Knows their names, not which of them the model in use has.

A document that has such names itself, like the source of a tokenizer, may be completed with more of them.
"""

import re

from completer.models.templates import TEMPLATES
from completer.postprocess.context import FilterContext

_NAMES = sorted(
    {
        name
        for template in TEMPLATES
        for name in (
            *(template.prefix, template.suffix, template.middle),
            *(template.begin, template.repo, template.file),
            *template.stops,
        )
        if name
    }
)
_NAME = re.compile("|".join(map(re.escape, _NAMES)))
_BEGINNINGS = frozenset(name[:chars] for name in _NAMES for chars in range(1, len(name) + 1))
_LONGEST_BEGINNING = max(map(len, _NAMES)) - 1
_MIN_CUT_NAME_CHARS = 4


def drop_control_tokens(text: str, context: FilterContext) -> str:
    """End before the first control token, or before the larger part of one that the end of text cuts off."""
    end = _end(text, context)
    if end is not None:
        return text[:end]
    begun = _begun(text)
    return text[:-begun] if begun >= _MIN_CUT_NAME_CHARS and not _is_named_in(context) else text


def hold_control_tokens(text: str, context: FilterContext) -> str:
    end = _end(text, context)
    return text[:end] if end is not None else text[: len(text) - _begun(text)]


def _end(text: str, context: FilterContext) -> int | None:
    found = _NAME.search(text)
    return None if found is None or _is_named_in(context) else found.start()


def _begun(text: str) -> int:
    """How many characters at the end of text may be the beginning of a control token."""
    lengths = range(min(_LONGEST_BEGINNING, len(text)), 0, -1)
    return next((chars for chars in lengths if text[-chars:] in _BEGINNINGS), 0)


def _is_named_in(context: FilterContext) -> bool:
    return any(_NAME.search(text) for text in (context.fim_prefix, context.fim_suffix))
