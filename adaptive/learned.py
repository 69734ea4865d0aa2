"""All that is known under one key: acceptance, achieved rate, guard, what was chosen last, and what changed and why.

Pure: time comes in. One project in one language with one pair of models; costs belong to the machine and are apart.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adaptive.acceptance import Acceptance
from adaptive.buckets import SOURCES
from adaptive.guard import Guard
from completer.request import PLAIN, Choice

RATE_KEPT = 0.98
RATE_ROUNDS = 16.0
FORCE_KEPT = 0.95
ENDS_KEPT = 0.9995
EXPLORED_SHARE = 0.01
EXPLORED_PASSES = 2.0
"""Of decoding time, the share that may be lost by trying the draft model, and how much may be saved up for it."""

DOUBTFUL_SPEEDUP = 1.15
COMPARED_ONE_IN, COMPARED_AT_LEAST_ONE_IN = 12, 128
CHANGES = 20
_SHIFTED = 1.2
"""A shift of the log-odds so large is a change of its own: .8 becomes .55, or .93."""


@dataclass(frozen=True, slots=True)
class Change:
    """at_s: seconds since the epoch. cause: a sentence."""

    at_s: float
    cause: str


@dataclass(frozen=True, slots=True)
class Seen:
    """What a round came to: tokens, its milliseconds without reading a prompt, and those of a plain round."""

    tokens: int
    ms: float
    plain_ms: float


class Learned:
    def __init__(
        self,
        acceptance: Acceptance | None = None,
        state: Mapping[str, Any] | None = None,
        changes: Sequence[Change] = (),
    ) -> None:
        """state: as `state()` gave it."""
        state = state or {}
        self.acceptance = acceptance or Acceptance(shift=state.get("shift"))
        self.guard = Guard(*state.get("guard", ()))
        self._tokens, self._passes = state.get("rate", (RATE_ROUNDS, RATE_ROUNDS))
        self._started, self._written = state.get("starts", (1.0, 24.0))
        self._to_explore_ms = 0.0
        self._since_plain = 0
        self.force: dict[str, list[float]] = {name: list(value) for name, value in state.get("force", {}).items()}
        self.changes: deque[Change] = deque(changes, maxlen=CHANGES)
        self._new_changes: list[Change] = []
        self._shifted: dict[str, bool] = dict.fromkeys(SOURCES, False) | state.get("shifted", {})
        self._in_force: str | None = state.get("in_force")

    def state(self) -> dict[str, Any]:
        """What is not counts, as JSON takes it."""
        return {
            "shift": dict(self.acceptance.shift),
            "guard": [self.guard.balance, self.guard.pause, self.guard.next_pause],
            "rate": [self._tokens, self._passes],
            "starts": [self._started, self._written],
            "force": {name: list(entry) for name, entry in self.force.items()},
            "shifted": dict(self._shifted),
            "in_force": self._in_force,
        }

    def rate(self, plain_ms: float) -> float:
        """Tokens per millisecond achieved of late, plain decoding's as long as little has been seen."""
        return self._tokens / (self._passes * plain_ms)

    @property
    def goes_on(self) -> float:
        """The chance that a completion does not end with its next token."""
        return 1.0 - min(0.5, self._started / self._written)

    def must_compare(self, plain_ms: float) -> bool:
        """Whether plain decoding must be timed again: soon where little is gained, as an error would hide a loss."""
        is_doubtful = self.rate(plain_ms) * plain_ms < DOUBTFUL_SPEEDUP
        return self._since_plain >= (COMPARED_ONE_IN if is_doubtful else COMPARED_AT_LEAST_ONE_IN)

    def may_explore(self, lost_ms: float) -> bool:
        return lost_ms <= self._to_explore_ms

    def explored(self, lost_ms: float) -> None:
        self._to_explore_ms -= lost_ms

    def observe_start(self) -> None:
        """A completion has begun; as many end as begin."""
        self._started += 1.0

    def observe_round(self, choice: Choice, drafted: int, seen: Seen, at_s: float) -> None:
        tokens, ms, plain_ms = seen.tokens, seen.ms, seen.plain_ms
        self._tokens = RATE_KEPT * self._tokens + tokens
        self._passes = RATE_KEPT * self._passes + ms / plain_ms
        self.observe_tokens(tokens)
        self._to_explore_ms = min(self._to_explore_ms + EXPLORED_SHARE * ms, EXPLORED_PASSES * plain_ms)
        self._since_plain = self._since_plain + 1 if drafted else 0
        was_closed = self.guard.is_closed
        self.guard.observe(tokens, ms, plain_ms, is_plain=drafted == 0)
        if self.guard.is_closed != was_closed:
            self._note(at_s, _OFF if self.guard.is_closed else _ON)
        self._note_force(choice, drafted, at_s)
        self._note_shift(at_s)

    def observe_tokens(self, tokens: int) -> None:
        """So many more were written, by whatever choice."""
        self._written = ENDS_KEPT**tokens * self._written + tokens
        self._started = ENDS_KEPT**tokens * self._started

    def soften(self, cause: str, at_s: float) -> None:
        """Halve the weight of what was counted, for a cause such as another branch."""
        for source in SOURCES:
            self.acceptance.discount(source, 0.5)
        self._note(at_s, cause)

    def restart(self, acceptance: Acceptance, at_s: float) -> None:
        """Forget everything, in place: planners that are at work go on with it."""
        self.__init__(acceptance)  # type: ignore[misc]
        self._note(at_s, "reset by hand: everything is learned anew")

    def take_changes(self) -> list[Change]:
        """Those since the last call."""
        changes, self._new_changes = self._new_changes, []
        return changes

    def _note_force(self, choice: Choice, drafted: int, at_s: float) -> None:
        """force: by source, its recent share of the rounds and the k drafted in them."""
        source = choice.source if drafted else PLAIN
        share, k = self.force.setdefault(source, [0.0, float(drafted)])
        self.force[source][1] = k + (drafted - k) * (1.0 - FORCE_KEPT)
        for name, entry in self.force.items():
            entry[0] = FORCE_KEPT * entry[0] + (1.0 - FORCE_KEPT) * (name == source)
        first = max(self.force, key=lambda name: self.force[name][0])
        if first != self._in_force and self.force[first][0] > 0.5:
            before, self._in_force = self._in_force, first
            if before is not None:
                self._note(at_s, f"{first} took over from {before}: it now serves most rounds")

    def _note_shift(self, at_s: float) -> None:
        """Say where a source's acceptance has left its counts behind."""
        for source, shift in self.acceptance.shift.items():
            is_shifted = abs(shift) > (_SHIFTED if not self._shifted[source] else _SHIFTED / 2)
            if is_shifted and not self._shifted[source]:
                direction = "fell" if shift < 0 else "rose"
                self._note(at_s, f"acceptance of {source} {direction} suddenly: the newest trials decide")
            self._shifted[source] = is_shifted

    def _note(self, at_s: float, cause: str) -> None:
        self.changes.append(Change(at_s, cause))
        self._new_changes.append(self.changes[-1])


_OFF = "speculation had cost more than it saved here: plain decoding until that is made up for"
_ON = "speculation is tried again"
