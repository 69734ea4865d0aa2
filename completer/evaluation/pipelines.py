"""Ways to complete a problem: as the product does it, and the same with parts left out. Knows no scores.

whole    prompt with anchor and healing, stops, filters: what an editor shows
raw      the same before the filters
plain    the family's own prompt, text up to the cursor as it is, until the model ends it, or the line in mode line
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from completer.backends.target import read
from completer.engine import Engine
from completer.evaluation.problems import Problem
from completer.languages import language
from completer.planner import fixed_planner
from completer.postprocess import FilterContext, apply_filters

PIPELINES = ("whole", "raw", "plain")


@dataclass(frozen=True, slots=True)
class Completed:
    """changed_by: filters that changed the text. ms: prompt to last token."""

    pipeline: str
    text: str
    tokens: int
    ms: float
    stop_reason: str
    changed_by: tuple[str, ...] = ()


def complete(engine: Engine, problem: Problem, pipelines: tuple[str, ...]) -> Iterator[Completed]:
    """The problem through some of PIPELINES, from an empty prompt cache each. whole and raw share one run."""
    engine.forget()
    if "whole" in pipelines or "raw" in pipelines:
        raw = _run(engine, problem)
        if "raw" in pipelines:
            yield raw
        if "whole" in pipelines:
            request = problem.request
            context = FilterContext(language(request.language), request.fim_prefix, request.fim_suffix, request.mode)
            text, changed_by = apply_filters(raw.text, context)
            yield replace(raw, pipeline="whole", text=text, changed_by=changed_by)
    if "plain" in pipelines:
        yield _plain(engine, problem)


def _run(engine: Engine, problem: Problem) -> Completed:
    result = None
    for chunk in engine.complete(problem.request, fixed_planner("ngram", 8)):  # any planner gives the same text
        result = chunk.result or result
    assert result is not None, "the last chunk carries it"
    return Completed("raw", result.text, result.tokens, result.total_ms, result.stop_reason)


def _plain(engine: Engine, problem: Problem) -> Completed:
    """Of ours only the tokenizer and the target: the model's own word, one token a pass."""
    tokenizer, template, request = engine.tokenizer, engine.template, problem.request
    started = time.perf_counter()
    before, after = tokenizer.encode(request.fim_prefix), tokenizer.encode(request.fim_suffix)
    if template is None:
        prompt_ids = before
    else:
        begin = [tokenizer.special_id(template.begin)] if template.begin else []
        names = (template.prefix, template.suffix, template.middle)
        prefix, suffix, middle = (tokenizer.special_id(name) for name in names)
        prompt_ids = [*begin, prefix, *before, suffix, *after, middle]
    cache = engine.target.new_cache(len(prompt_ids) + request.max_tokens)
    read(engine.target, cache, prompt_ids[:-1])
    written: list[int] = []
    text, last, stop_reason = "", prompt_ids[-1], "max_tokens"
    while len(written) < request.max_tokens:
        (last,) = engine.target.forward(cache, [last], rows=1).argmax()
        if last in engine.stop_token_ids:
            stop_reason = "eos"
            break
        written.append(last)
        text = tokenizer.decode(written)
        if request.mode == "line" and "\n" in text:
            text, stop_reason = text.partition("\n")[0], "line"
            break
    ms = (time.perf_counter() - started) * 1000.0
    return Completed("plain", text, len(written), ms, stop_reason)
