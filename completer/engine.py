"""The engine: a request in, chunks of text out. Joins prompt, caches, draft sources, loop and stops.

Knows no editor and learns nothing: the planner is an argument, and everything it needs to learn is handed to it.
One engine serves one thread.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from completer.backends.target import KVCache, Target, read
from completer.draft.draft_model import DraftModelSource
from completer.draft.ngram import NgramSource
from completer.draft.offers import DraftSources
from completer.draft.previous_suggestion import PreviousSuggestionSource
from completer.draft.source import MAX_K, DraftContext, DraftSource
from completer.healing import LONGEST_REMAINDER_BYTES, Vocabulary
from completer.languages import language
from completer.models.fim import FimTemplate
from completer.models.tokenizer import Tokenizer
from completer.prefix_cache import PrefixCache, Slot
from completer.prompt import Anchor, Prompt, PromptBudget, build_prompt
from completer.reading import Pace
from completer.request import (
    CompletionChunk,
    CompletionRequest,
    CompletionResult,
    RoundOutcome,
    RoundPlanner,
    SourceCounts,
)
from completer.speculative import Decoding, speculate
from completer.stops import Stops

FUSED_TAIL = 32
"""An uncached prompt tail of up to this many tokens travels with the first draft; a longer one is prefilled before."""

DRAFT_UNUSED_MS = 600_000.0
"""A draft model that has not drafted for so long is unloaded; the next choice of it loads it again."""

_BRIEF = "\0brief"  # what a document's shorter prompt is cached as, besides its whole one


def never() -> bool:
    return False


def now_ms() -> float:
    return time.perf_counter() * 1000.0


@dataclass(frozen=True, slots=True)
class EngineLimits:
    """budget bounds the prompt, max_tokens a completion; slots: recent documents whose KV cache is kept."""

    budget: PromptBudget
    max_tokens: int
    slots: int = 4


class Engine:
    def __init__(
        self,
        target: Target,
        tokenizer: Tokenizer,
        template: FimTemplate | None,
        stop_token_ids: Collection[int],
        limits: EngineLimits,
        load_draft_model: Callable[[], Target] | None = None,
        clock_ms: Callable[[], float] = now_ms,
    ) -> None:
        """stop_token_ids end a completion. load_draft_model is called when a planner first chooses the draft model."""
        self.tokenizer = tokenizer
        self.target = target
        self.template = template
        self.stop_token_ids = frozenset(stop_token_ids)
        self.limits = limits
        self._clock_ms = clock_ms
        self.vocabulary = Vocabulary(tokenizer.token_bytes)
        capacity = limits.budget.total_tokens + limits.max_tokens + LONGEST_REMAINDER_BYTES + MAX_K
        self._prefix_cache = PrefixCache(target, limits.slots, capacity)
        self._draft_model = load_draft_model and DraftModelSource(load_draft_model, limits.slots, capacity)
        self._sources = DraftSources(self.lookups(), self._draft_model)
        self._anchors: OrderedDict[str, Anchor] = OrderedDict()
        self._pace = Pace()
        self._drafted_ms = clock_ms()

    def complete(
        self, request: CompletionRequest, planner: RoundPlanner, cancelled: Callable[[], bool] = never
    ) -> Iterator[CompletionChunk]:
        """Stream request.n alternatives, one after another; the last chunk of each carries its result.

        cancelled is read before every round, prefill chunk and draft-model step. Closing the iterator cancels too.
        """
        started_ms = self._clock_ms()
        prompt = self._prompt(request, self.limits.budget)
        if request.first_line_ms is not None:
            missing = self._prefix_cache.missing(request.document_id, prompt.token_ids)
            reading_ms = self._pace.reading_ms(request.first_line_ms)
            if missing > FUSED_TAIL and self._pace.ms_for(missing) > reading_ms:
                budget = self._pace.within(self.limits.budget, reading_ms)
                request = replace(request, document_id=request.document_id + _BRIEF)
                prompt = self._prompt(request, budget)
        for alternative in range(request.n):
            yield from self._alternative(alternative, request, prompt, planner, cancelled, started_ms)
            started_ms = self._clock_ms()
        self.rest()

    def rest(self) -> None:
        """Give back what has not been used for long."""
        if self._draft_model is not None and self._clock_ms() - self._drafted_ms > DRAFT_UNUSED_MS:
            self._draft_model.unload()

    def warm(self, request: CompletionRequest, cancelled: Callable[[], bool] = never) -> None:
        """Read the whole prompt of a request that is likely to come. What was read before a cancellation stays."""
        prompt = self._prompt(request, self.limits.budget)
        self._prefill(self._prefix_cache.acquire(request.document_id, prompt.token_ids), cancelled)

    def read(self, document_id: str, token_ids: Sequence[int]) -> KVCache:
        """A document's cache with token_ids in it but for the last one; what it holds already is not read again."""
        slot = self._prefix_cache.acquire(document_id, token_ids)
        read(self.target, slot.cache, token_ids[slot.cache.length : -1])
        return slot.cache

    def lookups(self) -> list[DraftSource]:
        """Lookup sources as the engine has them, fresh ones."""
        return [PreviousSuggestionSource(), NgramSource()]

    def draft_target(self) -> Target | None:
        """The draft model, loaded, None where there is none."""
        return None if self._draft_model is None else self._draft_model.target()

    def forget(self) -> None:
        """Drop everything kept from earlier requests, so that the next one starts cold."""
        self._prefix_cache.clear()
        self._anchors.clear()
        if self._draft_model is not None:
            self._draft_model.forget()

    def _prompt(self, request: CompletionRequest, budget: PromptBudget) -> Prompt:
        document_id = request.document_id
        prompt = build_prompt(request, self.tokenizer, self.template, budget, self._anchors.get(document_id))
        self._anchors[document_id] = prompt.anchor
        self._anchors.move_to_end(document_id)
        if len(self._anchors) > self.limits.slots:
            self._anchors.popitem(last=False)
        return prompt

    def _alternative(
        self,
        alternative: int,
        request: CompletionRequest,
        prompt: Prompt,
        planner: RoundPlanner,
        cancelled: Callable[[], bool],
        started_ms: float,
    ) -> Iterator[CompletionChunk]:
        slot = self._prefix_cache.acquire(request.document_id, prompt.token_ids)
        result = CompletionResult(prompt_tokens=len(prompt.token_ids), cached_tokens=slot.cache.length)
        result.is_brief = request.document_id.endswith(_BRIEF)
        self._prefill(slot, cancelled)
        prefilled_ms = self._clock_ms()
        result.ms.prefill = prefilled_ms - started_ms
        decoding = self._decoding(alternative, request, prompt, planner, slot, cancelled, started_ms)
        shown = 0
        for outcome in speculate(decoding, cancelled):
            if outcome.choice.source == "draft_model":
                self._drafted_ms = self._clock_ms()
            _account(result, outcome, decoding, self._clock_ms() - started_ms)
            text, settled = decoding.stops.text, decoding.stops.settled
            if settled > shown:
                yield CompletionChunk(text[shown:settled], alternative)
                shown = settled
        result.stop_reason = decoding.stop_reason or "cancelled"
        result.text = decoding.stops.text
        _conclude(result, self._clock_ms() - started_ms)
        if result.stop_reason != "cancelled":
            self._pace.wrote_line(result.first_line_ms - result.ms.prefill)
        yield CompletionChunk(result.text[shown:], alternative, result)

    def _prefill(self, slot: Slot, cancelled: Callable[[], bool]) -> None:
        """Read the prompt up to its last token, unless what is missing is short enough for the first round."""
        last, width = len(slot.token_ids) - 1, self.target.prefill_width
        if last + 1 - slot.cache.length <= FUSED_TAIL:
            return
        begin, began_ms = slot.cache.length, self._clock_ms()
        while slot.cache.length < last and not cancelled():
            end = min(slot.cache.length + width, last)
            self.target.forward(slot.cache, slot.token_ids[slot.cache.length : end], rows=0)
        self._pace.read(slot.cache.length - begin, self._clock_ms() - began_ms)

    def _decoding(
        self,
        alternative: int,
        request: CompletionRequest,
        prompt: Prompt,
        planner: RoundPlanner,
        slot: Slot,
        cancelled: Callable[[], bool],
        started_ms: float,
    ) -> Decoding:
        remainder = prompt.remainder.encode()
        seed = request.sampling.seed if request.sampling else 0
        rng = np.random.default_rng([seed, alternative])
        if self._draft_model is not None:
            self._draft_model.cancelled = cancelled
        self._sources.start(
            DraftContext(
                prompt_ids=prompt.token_ids,
                remainder=remainder,
                document_id=request.document_id,
                previous_suggestion=request.previous_suggestion,
                reference_ids=prompt.reference_ids,
                tokenizer=self.tokenizer,
                vocabulary=self.vocabulary,
                sampling=request.sampling,
                rng=rng,
            )
        )
        deadline_ms = None if request.deadline_ms is None else started_ms + request.deadline_ms
        first_line_ms = None if request.first_line_ms is None else started_ms + request.first_line_ms
        max_tokens = min(request.max_tokens, self.limits.max_tokens)
        stops = Stops(
            language=language(request.language),
            fim_prefix=request.fim_prefix,
            fim_suffix=request.fim_suffix,
            mode=request.mode,
            stop_token_ids=self.stop_token_ids,
            max_tokens=max_tokens,
            max_lines=request.max_lines,
            deadline_ms=deadline_ms,
            now_ms=self._clock_ms,
        )
        return Decoding(
            target=self.target,
            cache=slot.cache,
            token_ids=slot.token_ids,
            remainder=remainder,
            vocabulary=self.vocabulary,
            sources=self._sources,
            planner=planner,
            stops=stops,
            sampling=request.sampling,
            rng=rng,
            max_tokens=max_tokens,
            deadline_ms=min((ms for ms in (deadline_ms, first_line_ms) if ms is not None), default=None),
            now_ms=self._clock_ms,
        )


def _account(result: CompletionResult, outcome: RoundOutcome, decoding: Decoding, elapsed_ms: float) -> None:
    result.rounds += 1
    result.tokens = decoding.emitted_tokens
    result.ms.draft += outcome.draft_ms
    result.ms.verify += outcome.verify_ms
    result.ms.sample += outcome.sample_ms
    result.ms.schedule += outcome.schedule_ms
    counts = result.sources.setdefault(outcome.choice.source, SourceCounts())
    counts.rounds += 1
    counts.drafted += len(outcome.draft)
    counts.accepted += outcome.accepted
    if not result.ttft_ms and decoding.emitted_tokens:
        result.ttft_ms = elapsed_ms
    if not result.first_line_ms and decoding.stops.first_line_done:
        result.first_line_ms = elapsed_ms


def _conclude(result: CompletionResult, elapsed_ms: float) -> None:
    result.total_ms = elapsed_ms
    result.first_line_ms = result.first_line_ms or elapsed_ms
    result.ttft_ms = result.ttft_ms or elapsed_ms
    if result.tokens > 1:
        result.tpot_ms = (elapsed_ms - result.ttft_ms) / (result.tokens - 1)
    if result.rounds:
        accepted = sum(counts.accepted for counts in result.sources.values())
        result.mean_acceptance_length = 1.0 + accepted / result.rounds
