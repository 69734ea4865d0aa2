"""Traces of real completions: the engine fills a hole once, then every source is asked at every position of its text.

A draft that is right so far has the context of the text itself, so one pass of the draft model over the finished text
says what it would have drafted at every position. Knows the engine; keeps numbers only.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from adaptive.trace import Offers, Traced
from completer.draft.source import MAX_K, DraftContext, DraftSource
from completer.engine import Engine, never
from completer.holes import Hole
from completer.planner import FixedPlanner
from completer.prompt import build_prompt
from completer.request import Choice, CompletionRequest, RoundOutcome, RoundState

UNTYPED = 3
"""What was suggested so many characters earlier is the previous suggestion."""


class _Emitted:
    """A planner that drafts by lookup and notes down the text's tokens; healing: how many retype the seam, about."""

    def __init__(self) -> None:
        self._planner = FixedPlanner(("previous_suggestion", "ngram"), 8)
        self.token_ids: list[int] = []
        self.healed = 0

    def choose(self, state: RoundState) -> Choice:
        return self._planner.choose(state)

    def observe(self, outcome: RoundOutcome) -> None:
        self.token_ids += outcome.emitted
        if outcome.healing:
            self.healed = len(self.token_ids)


def record(
    engine: Engine,
    hole: Hole,
    project: str,
    split: str,
    with_previous: bool,
    cancelled: Callable[[], bool] = never,
) -> Traced | None:
    """The hole's completion as a trace, None where it is empty or was cancelled."""
    previous = ""
    if with_previous:
        before = hole.request(untyped=UNTYPED)
        before = replace(before, document_id=f"before {before.document_id}")  # it must not move the hole's anchor
        old = _complete(engine, before, _Emitted(), cancelled)
        previous = "" if old.startswith(hole.typed_text(UNTYPED)) else old
    request = hole.request(previous_suggestion=previous)
    prompt = build_prompt(request, engine.tokenizer, engine.template, engine.limits.budget, None)
    planner = _Emitted()
    text = _complete(engine, request, planner, cancelled)
    if cancelled() or len(planner.token_ids) <= planner.healed:
        return None
    context = DraftContext(
        prompt_ids=prompt.token_ids,
        remainder=prompt.remainder.encode(),
        document_id=request.document_id,
        previous_suggestion=previous,
        reference_ids=prompt.reference_ids,
        tokenizer=engine.tokenizer,
        vocabulary=engine.vocabulary,
        sampling=None,
        rng=np.random.default_rng(0),
    )
    first = max(planner.healed - 1, 0)  # the round that healed also wrote the first token that nobody typed
    written = planner.token_ids
    sources = engine.lookups()
    return Traced(
        language=hole.file.language,
        project=project,
        tokens=len(written) - first,
        offers={source.name: _offers(source, context, written, first) for source in sources},
        model=_judged(engine, prompt.token_ids, written, first),
        split=split,
        first_line=_first_line(engine, text, written, first),
        context_tokens=len(prompt.token_ids),
    )


def _complete(engine: Engine, request: CompletionRequest, planner: _Emitted, cancelled: Callable[[], bool]) -> str:
    return "".join(chunk.text for chunk in engine.complete(request, planner, cancelled))


def _offers(source: DraftSource, context: DraftContext, written: Sequence[int], first: int) -> Offers:
    source.start(context)
    offers = Offers([], [], [])
    for position in range(first, len(written)):
        draft = source.offer([*context.prompt_ids, *written[:position]], MAX_K)
        pairs = zip(draft.token_ids, written[position:], strict=False)
        right = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(draft), len(written) - position))
        for column, value in zip(
            (offers.match, offers.length, offers.accepted), (draft.match_length, len(draft), right), strict=True
        ):
            column.append(value)  # type: ignore[attr-defined]
    return offers


def _judged(engine: Engine, prompt_ids: Sequence[int], written: Sequence[int], first: int) -> Sequence[int]:
    """() without a draft model."""
    draft_model = engine.draft_target()
    if draft_model is None:
        return ()
    before = [*prompt_ids, *written[:first]]
    cache = draft_model.new_cache(len(before) + len(written))
    for start in range(0, len(before) - 1, 128):
        draft_model.forward(cache, before[start : min(start + 128, len(before) - 1)], rows=0)
    judged: list[int] = []
    text = [before[-1], *written[first:]]
    for start in range(0, len(text) - 1, 32):
        part = text[start : min(start + 32, len(text) - 1)]
        rows = draft_model.forward(cache, part, rows=len(part))
        wanted = text[start + 1 : start + 1 + len(part)]
        for token_id, drafted, probability in zip(wanted, rows.argmax(), rows.top1_probs(), strict=True):
            judged.append(max(1, round(100 * probability)) * (1 if drafted == token_id else -1))
    return judged


def _first_line(engine: Engine, text: str, written: Sequence[int], first: int) -> int:
    """Tokens up to the end of the first line of the text."""
    if "\n" not in text.rstrip("\n"):
        return len(written) - first
    so_far = b""
    for count, token_id in enumerate(written[first:], start=1):
        so_far += engine.vocabulary.token_bytes[token_id]
        if b"\n" in so_far.strip(b"\n"):
            return count
    return len(written) - first
