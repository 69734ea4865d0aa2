"""Exact replay of a traced completion under any planner, its rounds costed by a table. Pure.

Tokens are stood in for by their positions in the completion: an offer's right tokens are the positions they stand for,
wrong ones are -1. The planner sees what it would see live; noise, where wanted, is in the times that it sees, never in
those that are added up.
"""

import math
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from adaptive.buckets import DRAFT_MODEL
from adaptive.costs import CostTable
from adaptive.trace import Traced
from completer.draft.source import MAX_K
from completer.request import Choice, Draft, RoundOutcome, RoundPlanner, RoundState

MAX_TOKENS = 64
_BEYOND_MISMATCH = 0.6


LONG_ROUNDS = 2000
"""From so many rounds on the controller is to have cost nothing, or next to it."""


@dataclass(slots=True)
class Walked:
    """What a replay came to. rounds: of them, speculative_rounds verified a draft.

    worst_slowdown: the most time lost against plain decoding in any beginning of at least LONG_ROUNDS rounds; in all of
    it where it is shorter.
    """

    ms: float = 0.0
    plain_ms: float = 0.0
    tokens: int = 0
    rounds: int = 0
    speculative_rounds: int = 0
    _worst: float = -math.inf

    @property
    def worst_slowdown(self) -> float:
        return self._worst if self.rounds >= LONG_ROUNDS else self.ms / self.plain_ms - 1.0

    def add(self, other: "Walked") -> None:
        self.ms += other.ms
        self.plain_ms += other.plain_ms
        self.tokens += other.tokens
        self.rounds += other.rounds
        self.speculative_rounds += other.speculative_rounds
        if self.rounds >= LONG_ROUNDS:
            self._worst = max(self._worst, self.ms / self.plain_ms - 1.0)


class Simulation:
    def __init__(self, table: CostTable, rng: random.Random | None = None, noise: float = 0.0) -> None:
        """noise: standard deviation of the logarithm of the times that planners see."""
        self._table = table
        self._rng, self._noise = rng or random.Random(0), noise
        self._drafts: dict[int, tuple[Traced, list[dict[str, Draft]]]] = {}
        self._unread = 0

    def walk(self, traced: Traced, planner: RoundPlanner) -> Walked:
        """One completion, from its first token to its last. Those of a document are walked in their order: what the
        draft model has not read in one it has to read in the next."""
        offers = self._offers(traced)
        walked = Walked(tokens=traced.tokens, plain_ms=traced.tokens * self._table.round_ms(0))
        position, lag = 0, traced.new_tokens + (self._unread if traced.goes_on else 0)
        while position < traced.tokens:
            state = RoundState(
                offers=offers[position],
                draft_lag_tokens=lag if traced.model else None,
                context_tokens=traced.context_tokens + position,
                remaining_tokens=max(MAX_TOKENS, traced.tokens) - position,
                first_line_done=position >= traced.first_line,
                deadline_ms=None,
            )
            choice = planner.choose(state)
            outcome, ms = self._round(traced, position, state, choice)
            planner.observe(outcome)
            walked.ms += ms
            walked.rounds += 1
            walked.speculative_rounds += len(outcome.draft) > 0
            emitted = len(outcome.emitted)
            has_drafted = choice.source == DRAFT_MODEL and choice.k > 0
            lag = (
                (2 if outcome.accepted and outcome.accepted == len(outcome.draft) else 1)
                if has_drafted
                else lag + emitted
            )
            position += emitted
        self._unread = lag
        return walked

    def _round(self, traced: Traced, position: int, state: RoundState, choice: Choice) -> tuple[RoundOutcome, float]:
        k = max(0, min(choice.k, state.remaining_tokens - 1))
        steps = catch_up = 0
        draft = Draft.EMPTY
        if choice.source == DRAFT_MODEL and k and traced.model:
            draft, steps = _model_draft(traced, position, k, choice.stop_below)
            catch_up = state.draft_lag_tokens or 1
        elif choice.source in state.offers:
            draft = state.offers[choice.source].first(k)
        accepted = next((i for i, token in enumerate(draft.token_ids) if token != position + i), len(draft))
        emitted = tuple(range(position, min(position + accepted + 1, traced.tokens)))
        ms = self._table.round_ms(len(draft), steps, catch_up)
        draft_ms = ms - self._table.round_ms(len(draft))
        outcome = RoundOutcome(
            state=state,
            choice=choice,
            draft=draft,
            accepted=min(accepted, len(emitted)),
            emitted=emitted,
            cut_by_stop=len(emitted) <= accepted,
            width=len(draft) + 1,
            prefill_ms=0.0,
            draft_ms=self._seen(draft_ms),
            verify_ms=self._seen(float(self._table.verify_ms[len(draft) + 1])),
            sample_ms=0.0,
            schedule_ms=self._table.overhead_ms,
            catch_up_tokens=catch_up,
        )
        return outcome, ms

    def _seen(self, ms: float) -> float:
        return ms * math.exp(self._rng.gauss(0.0, self._noise)) if self._noise else ms

    def _offers(self, traced: Traced) -> list[dict[str, Draft]]:
        if id(traced) not in self._drafts:  # kept with it, as the number of one that is gone is given to another
            self._drafts[id(traced)] = traced, [_offers_at(traced, position) for position in range(traced.tokens)]
        return self._drafts[id(traced)][1]


def walk_all(
    completions: Iterable[Traced], simulation: Simulation, planner: Callable[[Traced], RoundPlanner]
) -> Walked:
    """One after the other, each with the planner that it is given."""
    walked = Walked()
    for traced in completions:
        walked.add(simulation.walk(traced, planner(traced)))
    return walked


def _offers_at(traced: Traced, position: int) -> dict[str, Draft]:
    drafts = {}
    for source, offers in traced.offers.items():
        length = min(offers.length[position], MAX_K)
        if length:
            right = min(offers.accepted[position], length)
            ends = position + right >= traced.tokens  # what the text never reached is neither right nor wrong
            token_ids = (*range(position, position + right), *(-2 if ends else -1 for _ in range(length - right)))
            drafts[source] = Draft(token_ids, offers.match[position])
    return drafts


def _model_draft(traced: Traced, position: int, k: int, stop_below: float) -> tuple[Draft, int]:
    """What the draft model drafts, and in how many passes. Behind its first wrong token it is taken to be middling
    sure of itself; those tokens are never accepted, only paid for."""
    right = traced.model_accepted(position, k)
    token_ids: list[int] = []
    probabilities: list[float] = []
    for i in range(k):
        at = position + i
        probability = abs(traced.model[at]) / 100 if i <= right and at < traced.tokens else _BEYOND_MISMATCH
        if probability < stop_below:
            return Draft(tuple(token_ids), 0, tuple(probabilities)), i + 1
        token_ids.append(at if i < right else -1)
        probabilities.append(probability)
    return Draft(tuple(token_ids), 0, tuple(probabilities)), k
