"""What is known under all keys of one environment, and what of it is news to the store. Pure: time comes in.

A new project starts from the parts of its repository in its language, those from all projects in it, and those from
all others: that is worked out from the counts of the projects themselves, when a key is first used, so that nothing is
counted twice.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from adaptive.acceptance import Acceptance
from adaptive.context_key import Project
from adaptive.counts import Counts, expected, no_counts
from adaptive.learned import Learned
from adaptive.news import COMPLETIONS_KEPT, Key, KeyNews, Known
from adaptive.own_rounds import OwnRounds
from adaptive.tally import Tally
from adaptive.trace import Traced


class Memory:
    def __init__(self) -> None:
        self.projects: dict[str, Project] = {}
        self._known: dict[Key, Known] = {}
        self._learned: dict[Key, Learned] = {}
        self._tallies: dict[Key, Tally] = {}
        self._completions: dict[Key, list[Traced]] = {}
        self._is_stored: set[Key] = set()

    def learned(self, key: Key) -> Learned:
        """What is known under the key, to be learned on."""
        if key not in self._learned:
            known = self._known.get(key) or Known(no_counts(), {})
            acceptance = Acceptance(self._prior(key), known.counts, known.state.get("shift"))
            self._learned[key] = Learned(acceptance, known.state, known.changes)
        return self._learned[key]

    def tally(self, key: Key) -> Tally:
        """Where to count what happens under the key. What is counted is news."""
        return self._tallies.setdefault(key, Tally())

    def completed(self, key: Key, rounds: OwnRounds) -> None:
        """A completion under the key has come to its end."""
        self.tally(key)
        done = self._completions.setdefault(key, [])
        done.append(rounds.traced(key.language, key.project_id))
        del done[:-COMPLETIONS_KEPT]

    def soften(self, project_id: str, cause: str, at_s: float) -> None:
        """Halve the weight of what was counted in a project, in all its languages."""
        for key in [*self._known.keys() | self._learned.keys()]:
            if key.project_id == project_id:
                self.learned(key).soften(cause, at_s)
                self.tally(key)

    def take_news(self) -> dict[Key, KeyNews]:
        """What has happened since the last call."""
        news = {}
        for key, tally in self._tallies.items():
            learned = self._learned[key]
            news[key] = KeyNews(learned.acceptance.take_news(), learned.state(), learned.take_changes(), tally)
            news[key].completions = self._completions.pop(key, [])
            self._is_stored.add(key)
        self._tallies = {}
        return news

    def take_all(self) -> dict[Key, KeyNews]:
        """As `take_news`, with all that was known before, for a store that holds nothing of it any more."""
        news = self.take_news()
        for key, counts in [*self._all_counts()]:
            known: Known | Learned = self._learned.get(key) or self._known[key]
            state = known.state() if isinstance(known, Learned) else known.state
            if isinstance(known, Learned):
                known.acceptance.take_news()
            of_key = news.setdefault(key, KeyNews())
            of_key.counts = {source: (0.0, table) for source, table in counts.items()}
            of_key.state, of_key.changes = dict(state), list(known.changes)
        return news

    def rebase(self, known: Mapping[Key, Known], at_s: float) -> None:
        """Go on from what the store holds, which contains all news taken so far."""
        self._is_stored |= self._known.keys()
        self._known = dict(known)
        for key, learned in self._learned.items():
            if key in known:
                learned.acceptance.rebase(self._prior(key), known[key].counts)
            elif key in self._is_stored:  # somebody has reset it
                learned.restart(Acceptance(self._prior(key)), at_s)
            else:
                learned.acceptance.rebase(self._prior(key), no_counts())
        self._is_stored &= known.keys()

    def _prior(self, key: Key) -> dict[str, np.ndarray]:
        others = [(other, counts) for other, counts in self._all_counts() if other != key]
        alike = [(other, counts) for other, counts in others if other.language == key.language]
        repository = self._repository(key)
        return expected(
            [counts for other, counts in alike if self._repository(other) == repository],
            [counts for _, counts in alike],
            [counts for other, counts in others if other.language != key.language],
        )

    def _repository(self, key: Key) -> str:
        """The id of the project's parent, or its own where it has none."""
        project = self.projects.get(key.project_id)
        return project.parent_id or project.id if project is not None else key.project_id

    def _all_counts(self) -> Iterable[tuple[Key, Counts]]:
        for key in self._known.keys() | self._learned.keys():
            learned = self._learned.get(key)
            yield key, learned.acceptance.counts if learned is not None else self._known[key].counts
