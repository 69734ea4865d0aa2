"""What others do, as planners to replay against: they choose k by rule, for a source in a fixed order of preference."""

import math
from collections.abc import Sequence

from adaptive.buckets import DRAFT_MODEL, LOOKUPS
from completer.request import Choice, RoundOutcome, RoundState


def _first_choice(state: RoundState, sources: Sequence[str], k: int) -> Choice:
    for source in sources:
        if source == DRAFT_MODEL and state.draft_lag_tokens is not None:
            return Choice(source, k)
        if source in state.offers:
            return Choice(source, min(k, len(state.offers[source])))
    return Choice()


class Heuristic:
    """transformers' schedule "heuristic": k grows by 2 when all of a draft was accepted, else shrinks by 1."""

    def __init__(self, sources: Sequence[str] = LOOKUPS, k: int = 5) -> None:
        self._sources, self._k = sources, k

    def choose(self, state: RoundState) -> Choice:
        return _first_choice(state, self._sources, self._k)

    def observe(self, outcome: RoundOutcome) -> None:
        if outcome.draft:
            self._k = self._k + 2 if outcome.accepted == len(outcome.draft) else max(1, self._k - 1)


class Staircase:
    """SGLang's adaptive steps: k on a staircase, moved by an average of accepted lengths with hysteresis."""

    STEPS = (1, 3, 5, 7)

    def __init__(self, sources: Sequence[str] = LOOKUPS) -> None:
        self._sources, self._average, self._step, self._rounds = sources, 1.0, 1, 0

    def choose(self, state: RoundState) -> Choice:
        return _first_choice(state, self._sources, self.STEPS[self._step])

    def observe(self, outcome: RoundOutcome) -> None:
        if not outcome.draft:
            return
        self._average += 0.2 * (outcome.accepted - self._average)
        self._rounds += 1
        if self._rounds < 10 or self._rounds % 5:
            return
        if self._step and self._average <= self.STEPS[self._step - 1] - 0.75:
            self._step -= 1
        elif self._step + 1 < len(self.STEPS) and self._average > self.STEPS[self._step] - 0.5:
            self._step += 1


class Ucb:
    """UCB1 on tokens per millisecond over a few arms, plain among them; rewards scaled by the best seen."""

    ARMS = (
        (LOOKUPS, 0),
        (LOOKUPS, 2),
        (LOOKUPS, 4),
        (LOOKUPS, 8),
        (LOOKUPS, 15),
        ((DRAFT_MODEL,), 1),
        ((DRAFT_MODEL,), 3),
    )

    def __init__(self) -> None:
        self._tokens = [0.0] * len(self.ARMS)
        self._ms = [0.0] * len(self.ARMS)
        self._pulls = [0] * len(self.ARMS)
        self._arm = 0

    def choose(self, state: RoundState) -> Choice:
        arms = [
            i for i, (sources, _) in enumerate(self.ARMS) if sources == LOOKUPS or state.draft_lag_tokens is not None
        ]
        self._arm = next((arm for arm in arms if not self._pulls[arm]), -1)
        if self._arm < 0:
            rates = {arm: self._tokens[arm] / self._ms[arm] for arm in arms}
            best, total = max(rates.values()), sum(self._pulls)
            self._arm = max(
                arms, key=lambda arm: rates[arm] / best + 0.3 * math.sqrt(math.log(total) / self._pulls[arm])
            )
        sources, k = self.ARMS[self._arm]
        return _first_choice(state, sources, k) if k else Choice()

    def observe(self, outcome: RoundOutcome) -> None:
        self._pulls[self._arm] += 1
        self._tokens[self._arm] += len(outcome.emitted)
        self._ms[self._arm] += outcome.draft_ms + outcome.verify_ms + outcome.schedule_ms
