"""The controller: a planner for every request, over one memory and one store. What the editor service talks to.

Planners run on the engine's thread, news is taken on the store's: one lock between them, held for microseconds. Nothing
here waits for a disk.
"""

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from adaptive.context_key import NO_PROJECT, Project
from adaptive.cost import Cost
from adaptive.learned import Learned, Seen
from adaptive.memory import Memory
from adaptive.news import Key, Known, News, SuggestionCount, SuggestionKey
from adaptive.own_rounds import OwnRounds
from adaptive.planner import LearningPlanner
from adaptive.tally import Tally
from completer.request import Choice, RoundOutcome, RoundPlanner, RoundState

CHECKED_ONE_IN = 50
"""Automatic requests, one of which runs plain to check what speculation is said to save."""


class SuggestionEvent(Protocol):
    """What became of a suggestion, as the editor service records it."""

    @property
    def kind(self) -> str: ...
    @property
    def language(self) -> str: ...
    @property
    def chars(self) -> int: ...
    @property
    def of_chars(self) -> int: ...


class Controller:
    def __init__(
        self,
        clock_s: Callable[[], float] = time.time,
        clock_ms: Callable[[], float] = lambda: time.perf_counter() * 1000.0,
        rng: random.Random | None = None,
    ) -> None:
        """clock_ms: the engine's. What is learned lasts as long as the controller, unless a Writer stores its news."""
        self.memory = Memory()
        self.cost = Cost.unknown()
        self._suggestions: dict[SuggestionKey, SuggestionCount] = {}
        self._branches: dict[str, str] = {}
        self._latest: _Counted | None = None
        self._clock_s, self._clock_ms = clock_s, clock_ms
        self._rng = rng or random.Random()
        self.lock = threading.Lock()

    def planner(
        self,
        language: str,
        project: Project = NO_PROJECT,
        is_automatic: bool = False,
        branch: str = "",
    ) -> RoundPlanner:
        """A planner for one completion. One in CHECKED_ONE_IN automatic ones decodes plainly, as a check.

        branch: what is checked out at the project's root, where that is known; a change of it makes old counts of all
        the project's languages weigh less.
        """
        key = Key(project.id, language)
        with self.lock:
            self.memory.projects[project.id] = project
            learned = self.memory.learned(key)
            if branch and self._branches.setdefault(project.root, branch) != branch:
                self._branches[project.root] = branch
                cause = "another branch is checked out: what was counted before weighs half"
                self.memory.soften(project.id, cause, self._clock_s())
        is_check = is_automatic and self._rng.randrange(CHECKED_ONE_IN) == 0
        planner = LearningPlanner(learned, self.cost, self._clock_ms, self._clock_s, is_check)
        return _Counted(self, key, planner, _Check() if is_check else None)

    def calibrate(self, verify_ms: Mapping[int, Sequence[float]], draft_ms: Sequence[float] = ()) -> None:
        """Take over measured times: of passes by width, and of single steps of the draft model."""
        with self.lock:
            self.cost.replace(Cost.measured(verify_ms, draft_ms))

    def refine(self, verify_ms: Mapping[int, Sequence[float]]) -> None:
        """Take over how times of passes by width, measured at leisure, relate to one another."""
        with self.lock:
            self.cost.reshape(verify_ms)

    def record(self, event: SuggestionEvent, project: Project = NO_PROJECT) -> None:
        """Count what became of a suggestion."""
        with self.lock:
            self.memory.projects[project.id] = project
            key = SuggestionKey(project.id, event.language, event.kind)
            count = self._suggestions.setdefault(key, SuggestionCount())
            count.add(SuggestionCount(1, event.chars, event.of_chars))

    def begun(self, planner: "_Counted") -> None:
        """A completion has had its first round: the one before has come to its end. To be called under `lock`."""
        if self._latest is not None:
            self.memory.completed(self._latest.key, self._latest.own_rounds)
        self._latest = planner

    def learned(self, language: str, project: Project = NO_PROJECT) -> Learned:
        """What is known of a language in a project; to be read under `lock`."""
        return self.memory.learned(Key(project.id, language))

    def take_news(self) -> News:
        """What has happened since the last call."""
        with self.lock:
            suggestions, self._suggestions = self._suggestions, {}
            return News(self.memory.take_news(), dict(self.memory.projects), suggestions, self.cost.as_document())

    def take_all(self) -> News:
        """As `take_news`, with all that was known before, for a store that holds nothing of it any more."""
        with self.lock:
            suggestions, self._suggestions = self._suggestions, {}
            return News(self.memory.take_all(), dict(self.memory.projects), suggestions, self.cost.as_document())

    def rebase(self, known: Mapping[Key, Known], projects: Mapping[str, Project], cost: Cost | None) -> None:
        """Go on from what a store holds, all news taken so far included.

        cost: as measured before on this machine, taken over while nothing better is known.
        """
        with self.lock:
            self.memory.projects = {**projects, **self.memory.projects}
            self.memory.rebase(known, self._clock_s())
            if cost is not None and self.cost.is_relative:
                self.cost.replace(cost)


class _Counted:
    """A planner under the controller's lock, with its rounds counted."""

    def __init__(self, controller: Controller, key: Key, planner: LearningPlanner, check: "_Check | None") -> None:
        self._controller, self.key, self._planner = controller, key, planner
        self._check = check
        self.own_rounds = OwnRounds()

    def choose(self, state: RoundState) -> Choice:
        with self._controller.lock:
            return self._planner.choose(state)

    def observe(self, outcome: RoundOutcome) -> None:
        with self._controller.lock:
            tally = self._controller.memory.tally(self.key)
            self.own_rounds.observe(outcome)
            is_first = self._planner.rounds == 0
            seen = self._planner.observe(outcome)
            tally.observe(outcome, seen)
            if is_first:
                self._controller.begun(self)
                tally.completions += 1
            if self._check is not None:
                self._check.observe(seen, tally)


class _Check:
    """A completion that runs plain: what its rounds take by what was expected when it began, the first left out.

    It counts once, as its rounds are alike; what it itself teaches of plain decoding must not change what was expected.
    """

    def __init__(self) -> None:
        self._round_ms = self._ms = self._expected_ms = 0.0

    def observe(self, seen: Seen, tally: Tally) -> None:
        if not self._round_ms:
            self._round_ms = seen.plain_ms
            return
        before = self._ms / self._expected_ms if self._expected_ms else None
        self._ms += seen.ms
        self._expected_ms += self._round_ms
        tally.observe_check(self._ms / self._expected_ms, before)
