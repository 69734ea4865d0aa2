"""Ways to complete a problem: as the product does it, and the same with parts left out. Knows no scores.

whole    prompt with anchor and healing, stops, filters: what an editor shows
raw      the same before the filters
alone    whole, without the text of other files
plain    the family's own prompt with the same text of this file, until the model ends it, or the line in mode line
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from completer.engine import Engine
from completer.evaluation.problems import Problem
from completer.languages import language
from completer.planner import fixed_planner
from completer.postprocess import FilterContext, apply_filters
from completer.prompt import build_prompt
from completer.request import CompletionRequest, CompletionResult

PIPELINES = ("whole", "raw", "alone", "plain")


@dataclass(frozen=True, slots=True)
class Completed:
    """changed_by: filters that changed the text. ms: first token to last."""

    pipeline: str
    text: str
    prompt_tokens: int
    tokens: int
    ms: float
    stop_reason: str
    changed_by: tuple[str, ...] = ()


def complete(engine: Engine, problem: Problem, pipelines: tuple[str, ...]) -> Iterator[Completed]:
    """The problem through some of PIPELINES. whole and raw share one run, and all of them what they read alike."""
    request = problem.request
    engine.forget()
    if "whole" in pipelines or "raw" in pipelines:
        raw = _raw(engine, request)
        if "raw" in pipelines:
            yield raw
        if "whole" in pipelines:
            yield _filtered("whole", raw, request)
    if "alone" in pipelines:
        alone = replace(request, context_chunks=())
        yield _filtered("alone", _raw(engine, alone), alone)
    if "plain" in pipelines:
        yield _plain(engine, request)


def _raw(engine: Engine, request: CompletionRequest) -> Completed:
    result: CompletionResult | None = None
    for chunk in engine.complete(request, fixed_planner("ngram", 3)):  # any planner gives the same text
        result = chunk.result or result
    assert result is not None, "the last chunk carries it"
    ms = result.total_ms - result.ttft_ms
    return Completed("raw", result.text, result.prompt_tokens, result.tokens, ms, result.stop_reason)


def _filtered(pipeline: str, raw: Completed, request: CompletionRequest) -> Completed:
    context = FilterContext(language(request.language), request.fim_prefix, request.fim_suffix, request.mode)
    text, changed_by = apply_filters(raw.text, context)
    return replace(raw, pipeline=pipeline, text=text, changed_by=changed_by)


def plain_prompt(engine: Engine, request: CompletionRequest) -> list[int]:
    """The family's own prompt, of the same windows as ours: all text up to the cursor, then what follows."""
    tokenizer, template = engine.tokenizer, engine.template
    anchor = build_prompt(request, tokenizer, template, engine.limits.budget).anchor
    line = request.fim_prefix[request.fim_prefix.rfind("\n") + 1 :]
    before = tokenizer.encode(anchor.prefix_text + line)
    if template is None:
        return before
    begin = [tokenizer.special_id(template.begin)] if template.begin else []
    names = (template.prefix, template.suffix, template.middle)
    prefix, suffix, middle = (tokenizer.special_id(name) for name in names)
    return [*begin, prefix, *before, suffix, *tokenizer.encode(anchor.suffix_text), middle]


def _plain(engine: Engine, request: CompletionRequest) -> Completed:
    """Of ours only the tokenizer, the windows and the target: the model's own word, one token a pass."""
    tokenizer, prompt_ids = engine.tokenizer, plain_prompt(engine, request)
    cache = engine.read(request.document_id, prompt_ids)
    written: list[int] = []
    text, last, stop_reason = "", prompt_ids[-1], "max_tokens"
    started = time.perf_counter()
    while len(written) < request.max_tokens:
        (last,) = engine.target.forward(cache, [last], rows=1).argmax()
        started = started if written else time.perf_counter()
        if last in engine.stop_token_ids:
            stop_reason = "eos"
            break
        written.append(last)
        text = tokenizer.decode(written)
        if request.mode == "line" and "\n" in text:
            text, stop_reason = text.partition("\n")[0], "line"
            break
    ms = (time.perf_counter() - started) * 1000.0
    return Completed("plain", text, len(prompt_ids), len(written), ms, stop_reason)
