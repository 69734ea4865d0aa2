"""Arms: ways of decoding to compare on the same hole, from the same prompt cache. Knows the engine, no command.

Cold: the engine has forgotten everything. Warm: it answered the same request as it was before the last TYPED_CHARS
characters were typed, and so has that prompt in its KV caches (the draft model's too, for arms that draft with it).
The old text becomes previous_suggestion only where the user typed something else: an editor answers characters that
it has on screen already without asking.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from completer.engine import Engine, never
from completer.holes import Hole
from completer.planner import fixed_planner
from completer.request import PLAIN, Choice, CompletionRequest, CompletionResult, RoundOutcome, RoundPlanner, RoundState

TYPED_CHARS = 3
WARM, COLD = "warm", "cold"


@dataclass(frozen=True, slots=True)
class Arm:
    source: str
    k: int

    @property
    def uses_draft_model(self) -> bool:
        return "draft_model" in self.source


PLAIN_ARM = Arm(PLAIN, 0)


def speculative_arms(ks_by_source: Mapping[str, Sequence[int]], has_draft_model: bool) -> list[Arm]:
    """Each source with each k of its own; those that need a draft model only where there is one.

    Raises UsageError for a source or a k that does not exist.
    """
    arms = [Arm(source, k) for source, ks in ks_by_source.items() for k in ks]
    for arm in arms:
        fixed_planner(arm.source, arm.k)
    return [arm for arm in arms if has_draft_model or not arm.uses_draft_model]


@dataclass(frozen=True, slots=True)
class Run:
    """One hole through one arm. token_ids: everything emitted, the tokens that retyped the seam included."""

    hole: Hole
    arm: Arm
    state: str
    result: CompletionResult
    token_ids: tuple[int, ...]

    @property
    def is_cancelled(self) -> bool:
        return self.result.stop_reason == "cancelled"

    @property
    def bookkeeping_ms(self) -> float:
        """Per round, all but passes and argmax: the prompt, lookup, planning, stops. Of warm runs of lookup sources."""
        ms = self.result.ms
        return (self.result.total_ms - ms.verify - ms.sample) / max(1, self.result.rounds)


class _Recorder:
    """A planner that notes down what the one it asks led to."""

    def __init__(self, planner: RoundPlanner) -> None:
        self._planner = planner
        self.emitted: list[int] = []

    def choose(self, state: RoundState) -> Choice:
        return self._planner.choose(state)

    def observe(self, outcome: RoundOutcome) -> None:
        self.emitted += outcome.emitted


class Replay:
    """Runs holes through arms. A run during which cancelled() turns true says so and means nothing."""

    def __init__(self, engine: Engine, stop_below: float, cancelled: Callable[[], bool] = never) -> None:
        self._engine = engine
        self._stop_below = stop_below
        self._cancelled = cancelled
        self._old_texts: dict[Hole, str] = {}

    def run(self, hole: Hole, arm: Arm, state: str, planner: RoundPlanner | None = None) -> Run:
        """planner: asked instead of the arm's own, which drafts as the arm says."""
        previous_suggestion = ""
        if state == COLD:
            self._engine.forget()
        else:
            previous_suggestion = self._stale(hole)
            self._warm_up(hole, arm)
        recorder = _Recorder(planner or fixed_planner(arm.source, arm.k, self._stop_below))
        result = self._complete(hole.request(previous_suggestion=previous_suggestion), recorder)
        return Run(hole, arm, state, result, tuple(recorder.emitted))

    def _stale(self, hole: Hole) -> str:
        """What was suggested TYPED_CHARS characters ago, unless that is what was typed."""
        if hole not in self._old_texts:
            request = hole.request(untyped=TYPED_CHARS)
            self._old_texts[hole] = self._complete(request, fixed_planner("ngram", 8)).text
        old_text = self._old_texts[hole]
        return "" if old_text.startswith(hole.typed_text(TYPED_CHARS)) else old_text

    def _warm_up(self, hole: Hole, arm: Arm) -> None:
        """Crop the KV caches to the prompt as it was: what earlier arms left behind it must not help this one."""
        planner = fixed_planner("draft_model", 1) if arm.uses_draft_model else fixed_planner(PLAIN, 0)
        self._complete(replace(hole.request(untyped=TYPED_CHARS), max_tokens=2 if arm.uses_draft_model else 1), planner)

    def _complete(self, request: CompletionRequest, planner: RoundPlanner) -> CompletionResult:
        result = None
        for chunk in self._engine.complete(request, planner, self._cancelled):
            result = chunk.result
        assert result is not None, "the last chunk carries it"
        return result
