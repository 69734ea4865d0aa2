"""What `completer stats` counts of the rounds of a day under one key. Everything in it adds up. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from adaptive.learned import Seen
from completer.request import PLAIN, RoundOutcome

POSITIONS = 9
"""Positions 1 to 8 of a draft, and all later ones together."""

_NUMBERS = ("rounds", "drafted", "accepted", "tokens", "ms", "plain_ms", "draft_ms", "verify_ms")


@dataclass(slots=True)
class SourceTally:
    """Rounds served by one source. plain_ms: what the same tokens take in plain decoding, by the passes measured.

    at_risk and accepted_at: by position, drafted tokens that were judged, and those of them that were accepted.
    """

    rounds: int = 0
    drafted: int = 0
    accepted: int = 0
    tokens: int = 0
    ms: float = 0.0
    plain_ms: float = 0.0
    draft_ms: float = 0.0
    verify_ms: float = 0.0
    at_risk: list[int] = field(default_factory=lambda: [0] * POSITIONS)
    accepted_at: list[int] = field(default_factory=lambda: [0] * POSITIONS)

    def add(self, other: "SourceTally") -> None:
        for name in _NUMBERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.at_risk = [a + b for a, b in zip(self.at_risk, other.at_risk, strict=True)]
        self.accepted_at = [a + b for a, b in zip(self.accepted_at, other.accepted_at, strict=True)]


@dataclass(slots=True)
class Tally:
    """checks: completions that ran plain to check the accounting, with the sum and the sum of squares of measured by
    expected milliseconds."""

    sources: dict[str, SourceTally] = field(default_factory=dict)
    completions: int = 0
    checks: int = 0
    check_sum: float = 0.0
    check_squares: float = 0.0

    def observe(self, outcome: RoundOutcome, seen: Seen) -> None:
        drafted = len(outcome.draft)
        source = self.sources.setdefault(outcome.choice.source if drafted else PLAIN, SourceTally())
        source.rounds += 1
        source.drafted += drafted
        source.accepted += outcome.accepted
        source.tokens += seen.tokens
        source.ms += seen.ms
        source.plain_ms += seen.tokens * seen.plain_ms
        source.draft_ms += outcome.draft_ms
        source.verify_ms += outcome.verify_ms
        for position in range(outcome.accepted + outcome.has_failed):
            column = min(position, POSITIONS - 1)
            source.at_risk[column] += 1
            source.accepted_at[column] += position < outcome.accepted

    def observe_check(self, measured_by_expected: float, before: float | None = None) -> None:
        """before: what was counted of the same completion until now."""
        self.checks += before is None
        self.check_sum += measured_by_expected - (before or 0.0)
        self.check_squares += measured_by_expected**2 - (before or 0.0) ** 2

    def add(self, other: "Tally") -> None:
        for name, tally in other.sources.items():
            self.sources.setdefault(name, SourceTally()).add(tally)
        self.completions += other.completions
        self.checks += other.checks
        self.check_sum += other.check_sum
        self.check_squares += other.check_squares

    @property
    def is_empty(self) -> bool:
        return not self.sources and not self.completions

    def as_document(self) -> dict[str, Any]:
        names = SourceTally.__slots__
        return {
            "sources": {name: {part: getattr(tally, part) for part in names} for name, tally in self.sources.items()},
            "completions": self.completions,
            "checks": [self.checks, self.check_sum, self.check_squares],
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Tally":
        """Raises KeyError, TypeError or ValueError for what is none."""
        sources = {name: SourceTally(**parts) for name, parts in document["sources"].items()}
        return cls(sources, document["completions"], *document["checks"])
