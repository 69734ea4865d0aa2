"""The planner that does not learn: the same sources, in order of preference, and the same k, every round."""

from dataclasses import dataclass

from completer.draft.source import MAX_K
from completer.errors import UsageError
from completer.request import PLAIN, Choice, RoundOutcome, RoundState

SOURCES = ("previous_suggestion", "ngram", "draft_model")
LOOKUP_CASCADE = ("previous_suggestion", "ngram")


@dataclass(frozen=True, slots=True)
class FixedPlanner:
    """Take the first source of `sources` that has something to offer. The draft model always has."""

    sources: tuple[str, ...]
    k: int
    stop_below: float = 0.0

    def choose(self, state: RoundState) -> Choice:
        if self.k > 0:
            for source in self.sources:
                if source == "draft_model":
                    return Choice(source, self.k, self.stop_below)
                if source in state.offers:
                    return Choice(source, min(self.k, len(state.offers[source])))
        return Choice()

    def observe(self, outcome: RoundOutcome) -> None:
        """Learns nothing."""


def fixed_planner(source: str, k: int, stop_below: float = 0.0) -> FixedPlanner:
    """A FixedPlanner from what a user writes: `auto`, `none`, a source's name, or several separated by commas.

    Raises UsageError for an unknown source or k outside 0..MAX_K.
    """
    if not 0 <= k <= MAX_K:
        raise UsageError(f"k = {k} is not possible; it must be between 0 and {MAX_K}")
    if source == PLAIN:
        return FixedPlanner((), 0)
    names = LOOKUP_CASCADE if source == "auto" else tuple(name.strip() for name in source.split(","))
    for name in names:
        if name not in SOURCES:
            raise UsageError(f"unknown draft source {name!r}; choose auto, {PLAIN}, or any of {', '.join(SOURCES)}")
    return FixedPlanner(names, k, stop_below)
