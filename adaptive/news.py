"""What the memory tells the store, and what the store tells the memory. Counts and times, no text."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from adaptive.context_key import Project
from adaptive.counts import CountNews, Counts, joined_news
from adaptive.learned import CHANGES, Change
from adaptive.tally import Tally
from adaptive.trace import Traced

COMPLETIONS_KEPT = 2000
"""For replays, under all keys together: the newest."""


@dataclass(frozen=True, slots=True)
class Key:
    """A project, and a language in it; the models are the environment's."""

    project_id: str
    language: str


@dataclass(frozen=True, slots=True)
class Known:
    """What a store holds under a key, old counts faded."""

    counts: Counts
    state: Mapping[str, Any]
    changes: tuple[Change, ...] = ()


@dataclass(slots=True)
class KeyNews:
    """What has happened under a key. state: as it is now. completions: whole ones, for replays."""

    counts: CountNews = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    completions: list[Traced] = field(default_factory=list)

    def add(self, newer: "KeyNews") -> None:
        self.counts = joined_news(self.counts, newer.counts)
        self.state = newer.state or self.state
        self.changes = [*self.changes, *newer.changes][-CHANGES:]
        self.tally.add(newer.tally)
        self.completions = [*self.completions, *newer.completions][-COMPLETIONS_KEPT:]


@dataclass(frozen=True, slots=True)
class SuggestionKey:
    """kind: shown, accepted, partially_accepted, typed_through, rejected, kept or removed."""

    project_id: str
    language: str
    kind: str


@dataclass(slots=True)
class SuggestionCount:
    """chars: of of_chars that the suggestions had."""

    count: int = 0
    chars: int = 0
    of_chars: int = 0

    def add(self, other: "SuggestionCount") -> None:
        self.count += other.count
        self.chars += other.chars
        self.of_chars += other.of_chars


@dataclass(slots=True)
class News:
    """What has happened since the last news. cost: the document of a Cost, as it is now, {} for an unknown one."""

    keys: dict[Key, KeyNews] = field(default_factory=dict)
    projects: dict[str, Project] = field(default_factory=dict)
    suggestions: dict[SuggestionKey, SuggestionCount] = field(default_factory=dict)
    cost: dict[str, Any] = field(default_factory=dict)

    def add(self, newer: "News") -> None:
        for key, news in newer.keys.items():
            self.keys.setdefault(key, KeyNews()).add(news)
        for suggestion, count in newer.suggestions.items():
            self.suggestions.setdefault(suggestion, SuggestionCount()).add(count)
        self.projects |= newer.projects
        self.cost = newer.cost or self.cost

    @property
    def is_empty(self) -> bool:
        return not self.keys and not self.suggestions
