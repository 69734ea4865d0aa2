"""From what a model wrote to what is worth showing: pure filters, one after another. Knows no model and no editor.

A filter takes a completion and what is around the cursor, and gives the completion back, changed, or "" to discard it.
FILTERS run on a finished completion, in this order: first what is at its beginning, then its end, as later filters
compare lines and brackets that earlier ones put right.

While a completion is still growing, settle() gives the beginning that no filter will take back. FILTERS_PER_CHUNK has
a partner for every filter, in the same order: where text u begins with text v, partner(v) is a beginning of filter(u),
white space at its end apart, which hold_beyond_block holds back. Chained, they keep the promise: what settle() gives
for v is a beginning of what apply_filters() gives for u. A filter that decides by what comes first is its own partner;
one that decides by what comes later has a hold_... beside it, which ends before all that the filter may drop.
"""

from collections.abc import Callable

from completer.postprocess.blank import drop_blank
from completer.postprocess.block import drop_beyond_block, hold_beyond_block
from completer.postprocess.block_indent import shift_block
from completer.postprocess.closers import drop_closers, hold_closers
from completer.postprocess.context import FilterContext
from completer.postprocess.control_tokens import drop_control_tokens, hold_control_tokens
from completer.postprocess.double_space import drop_double_space
from completer.postprocess.first_indent import drop_first_indent
from completer.postprocess.following_lines import drop_following_lines, hold_following_lines
from completer.postprocess.line_ends import match_line_ends
from completer.postprocess.repetition import drop_repetition, hold_repetition
from completer.postprocess.rest_of_line import drop_repeated_rest, hold_repeated_rest
from completer.postprocess.rewritten_lines import drop_rewritten_lines, hold_rewritten_lines
from completer.postprocess.tabs import match_tabs
from completer.postprocess.trailing_space import drop_trailing_space

__all__ = ["FILTERS", "FILTERS_PER_CHUNK", "FilterContext", "apply_filters", "settle"]

Filter = Callable[[str, FilterContext], str]

FILTERS: tuple[Filter, ...] = (
    drop_control_tokens,
    match_line_ends,
    match_tabs,
    drop_first_indent,
    shift_block,
    drop_rewritten_lines,
    drop_double_space,
    drop_repetition,
    drop_beyond_block,
    drop_repeated_rest,
    drop_following_lines,
    drop_closers,
    drop_trailing_space,
    drop_blank,
)

FILTERS_PER_CHUNK: tuple[Filter, ...] = (
    hold_control_tokens,
    match_line_ends,
    match_tabs,
    drop_first_indent,
    shift_block,
    hold_rewritten_lines,
    drop_double_space,
    hold_repetition,
    hold_beyond_block,
    hold_repeated_rest,
    hold_following_lines,
    hold_closers,
    drop_trailing_space,
    drop_blank,
)


def apply_filters(text: str, context: FilterContext) -> tuple[str, tuple[str, ...]]:
    """What is left of a finished completion, "" where nothing is, and the names of the filters that changed it."""
    changed_by = []
    for apply in FILTERS:
        filtered = apply(text, context)
        if filtered != text:
            changed_by.append(apply.__name__)
            text = filtered
        if not text:
            break
    return text, tuple(changed_by)


def settle(text: str, context: FilterContext) -> str:
    """The beginning of an unfinished completion that may be shown: more text can only make it longer."""
    for apply in FILTERS_PER_CHUNK:
        text = apply(text, context)
    return text
