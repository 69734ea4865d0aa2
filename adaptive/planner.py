"""The planner that learns: each round, which draft to verify and how much of it. Pure: clock and knowledge come in.

The index of a choice is what it gains over the long run: expected tokens minus R times expected milliseconds, R being
the tokens per millisecond achieved under this key. At the fixed point this maximises tokens over time (Dinkelbach);
the best ratio of each single round would not, as rounds differ in what they are offered. Plain decoding is a choice.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence

from adaptive.buckets import DRAFT_MODEL, LOOKUPS
from adaptive.cost import WIDEST, Cost
from adaptive.guard import AGAIN_PASSES
from adaptive.learned import Learned, Seen
from adaptive.pending import Pending
from completer.draft.source import MAX_K
from completer.request import Choice, RoundOutcome, RoundState

DRAFT_MODEL_MOST = 8
_SHORTEST_LOOK = 4.0
"""Catching up with a whole prompt is paid once and serves all rounds to come: at least so many tokens."""


class LearningPlanner:
    """Plans the rounds of one completion. observe is called after every round that choose began."""

    def __init__(
        self,
        learned: Learned,
        cost: Cost,
        clock_ms: Callable[[], float],
        clock_s: Callable[[], float],
        is_check: bool = False,
    ) -> None:
        """clock_ms: the engine's, on which deadlines lie. is_check: decode plainly, and learn nothing from choices."""
        self._learned, self._cost = learned, cost
        self._clock_ms, self._clock_s = clock_ms, clock_s
        self._is_check = is_check
        self._pending = Pending()
        self._rounds = 0

    @property
    def rounds(self) -> int:
        return self._rounds

    def choose(self, state: RoundState) -> Choice:
        learned = self._learned
        if self._is_check or learned.guard.is_closed or learned.must_compare(self._cost.plain_ms):
            return Choice()
        room = min(state.remaining_tokens - 1, MAX_K, self._most_in_time(state))
        credit = learned.guard.credit
        choice = self._best(state, room, credit)
        if not choice.k and credit < AGAIN_PASSES and self._best(state, room, AGAIN_PASSES).k:
            learned.guard.close()  # what would pay cannot be risked any more
        return choice

    def _best(self, state: RoundState, room: int, credit: float) -> Choice:
        """The choice of the highest index, drafting at most `room` tokens and risking so many passes."""
        cost, learned = self._cost, self._learned
        rate = learned.rate(cost.plain_ms)
        best, chosen = 1.0 - rate * cost.plain_ms + learned.guard.doubt, Choice()
        lookup_room = min(room, self._most_on_credit(credit))
        for source in LOOKUPS:
            draft = state.offers.get(source)
            if draft is not None:
                chances = learned.acceptance.chances(source, draft.match_length, min(lookup_room, len(draft)))
                index, k = self._best_k(chances, rate)
                if index > best:
                    best, chosen = index, Choice(source, k)
        if state.draft_lag_tokens is not None:
            room = min(room, self._most_drafted_on_credit(state, credit))
            return self._draft_model_instead(state, rate, room, best) or chosen
        return chosen

    def _draft_model_instead(self, state: RoundState, rate: float, room: int, best: float) -> Choice | None:
        """A draft of the draft model where its index is higher than `best`, or might be and trying costs little."""
        index, k = self._draft_model(state, rate, room)
        if index > best:
            return Choice(DRAFT_MODEL, k)
        best -= self._learned.guard.doubt  # what is tried out need promise no more
        lost_ms = (best - index) / rate
        if self._rounds and self._learned.may_explore(lost_ms):
            hoped, k = self._draft_model(state, rate, room, optimism=1.0)
            if hoped > best:
                self._learned.explored(lost_ms)
                return Choice(DRAFT_MODEL, k)
        return None

    def observe(self, outcome: RoundOutcome) -> Seen:
        cost, learned, acceptance = self._cost, self._learned, self._learned.acceptance
        drafted = len(outcome.draft)
        if outcome.healing:
            self._observe_healing(outcome)
        else:
            self._pending.add(outcome.state.offers)
            self._pending.written(outcome.emitted, acceptance.trial)
        if outcome.choice.source == DRAFT_MODEL and outcome.choice.k:
            self._observe_draft_model(outcome)
        plain_ms = cost.plain_ms
        more_ms = cost.verify_ms[min(outcome.width, WIDEST)] - cost.verify_ms[min(drafted + 1, WIDEST)]
        other_ms = outcome.sample_ms + outcome.schedule_ms
        cost.observe_verify(outcome.width, outcome.verify_ms)
        cost.observe_overhead(other_ms)
        tokens = outcome.accepted + 1 if outcome.healing else len(outcome.emitted)
        own_ms = max(0.5 * outcome.verify_ms, outcome.verify_ms - max(0.0, more_ms))
        seen = Seen(tokens, own_ms + outcome.draft_ms + other_ms, plain_ms)
        if self._is_check:
            learned.observe_tokens(tokens)
        else:
            learned.observe_round(outcome.choice, drafted, seen, self._clock_s())
        if not self._rounds:
            learned.observe_start()
        self._rounds += 1
        return seen

    def _observe_healing(self, outcome: RoundOutcome) -> None:
        """The offers begin with what is retyped: only the draft that was verified is known without it."""
        source = outcome.choice.source
        offer = outcome.state.offers.get(source)
        if offer is not None:
            self._learned.acceptance.trials(source, offer.match_length, outcome.accepted, outcome.has_failed)

    def _observe_draft_model(self, outcome: RoundOutcome) -> None:
        self._learned.acceptance.trials(DRAFT_MODEL, 1, outcome.accepted, outcome.has_failed)
        if not outcome.healing:  # those that retype are drafted too
            self._cost.observe_draft(len(outcome.draft), outcome.catch_up_tokens, outcome.draft_ms)

    def _best_k(self, chances: Sequence[float], rate: float, token_ms: float = 0.0) -> tuple[float, int]:
        """The best index of a draft whose tokens have these chances and take so long to draft, and its k."""
        verify_ms, goes_on = self._cost.verify_ms, self._learned.goes_on
        best, best_k = -math.inf, 0
        tokens = survives = 1.0
        for k, chance in enumerate(chances, start=1):
            survives *= chance * goes_on
            tokens += survives
            index = tokens - rate * (verify_ms[k + 1] + self._cost.overhead_ms + k * token_ms)
            if index > best:
                best, best_k = index, k
        return best, best_k

    def _draft_model(self, state: RoundState, rate: float, room: int, optimism: float = 0.0) -> tuple[float, int]:
        """The best index of a draft by the draft model, and its k."""
        chances = self._learned.acceptance.chances(DRAFT_MODEL, 1, room, optimism)
        index, k = self._best_k(chances, rate, self._cost.draft_step_ms)
        return index - rate * self._catch_up_ms(state), k

    def _catch_up_ms(self, state: RoundState) -> float:
        """What this round has to bear of it."""
        lag = (state.draft_lag_tokens or 0) - 1
        if lag <= 2:
            return 0.0
        to_come = min(state.remaining_tokens, max(_SHORTEST_LOOK, 1.0 / max(0.001, 1.0 - self._learned.goes_on)))
        return lag * self._cost.catch_up_ms / max(1.0, to_come / 2.0)

    def _most_on_credit(self, credit: float) -> int:
        """The longest draft that, all of it wrong, costs no more than so many passes of plain decoding."""
        verify_ms = self._cost.verify_ms
        return bisect_right(verify_ms, verify_ms[1] + credit * self._cost.plain_ms, lo=1) - 2

    def _most_drafted_on_credit(self, state: RoundState, credit: float) -> int:
        """The same by the draft model, which takes time, too, and has to catch up now, whatever that serves later."""
        cost = self._cost
        left_ms = credit * cost.plain_ms - ((state.draft_lag_tokens or 1) - 1) * cost.catch_up_ms + cost.verify_ms[1]
        fitting = (
            k for k in range(DRAFT_MODEL_MOST, 0, -1) if cost.verify_ms[k + 1] + k * cost.draft_step_ms <= left_ms
        )
        return next(fitting, 0)

    def _most_in_time(self, state: RoundState) -> int:
        """The longest draft whose round ends before the deadline, one token at least; any where it is too late."""
        if state.deadline_ms is None or state.first_line_done:
            return MAX_K
        left_ms = state.deadline_ms - self._clock_ms()
        fitting = bisect_right(self._cost.verify_ms, left_ms - self._cost.overhead_ms, lo=1) - 1
        return max(1, fitting - 1) if fitting else MAX_K
