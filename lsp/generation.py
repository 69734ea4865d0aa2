"""From a request to text that may be shown, in the engine thread: the engine's chunks through the filters."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from completer.languages import language
from completer.postprocess import FilterContext, apply_filters, settle
from completer.request import CompletionRequest, CompletionResult, RoundPlanner
from lsp.worker import Engine


@dataclass(frozen=True, slots=True)
class Progress:
    """text: all that may be shown so far. has_line: a whole line is there. result: of the engine, once it is done."""

    text: str
    has_line: bool
    result: CompletionResult | None = None
    changed_by: tuple[str, ...] = ()


def generate(
    engine: Engine, request: CompletionRequest, planner: RoundPlanner, cancelled: Callable[[], bool]
) -> Iterator[Progress]:
    """Each text begins with the one before."""
    context = FilterContext(language(request.language), request.fim_prefix, request.fim_suffix, request.mode)
    raw = ""
    for chunk in engine.complete(request, planner, cancelled):
        raw += chunk.text
        if chunk.result is None:
            yield Progress(settle(raw, context), "\n" in raw.lstrip())
        elif chunk.result.stop_reason != "cancelled":
            text, changed_by = apply_filters(chunk.result.text, context)
            yield Progress(text, True, chunk.result, changed_by)
