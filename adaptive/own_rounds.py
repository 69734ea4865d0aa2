"""What a completion that a user waited for leaves for replays: its rounds' offers, as a trace. Pure; no tokens stay.

Sources are asked where a round begins, so of the places within an accepted draft nothing is known: there the offers are
taken to be what was left of those before, as far as they were right. The draft model is left out.
"""

from collections.abc import Sequence

from adaptive.buckets import LOOKUPS
from adaptive.trace import Offers, Traced
from completer.prefix_cache import common_prefix_length
from completer.request import Draft, RoundOutcome

NOTHING = (0, 0, 0)
_Offer = tuple[int, int, int]
"""(match, length, accepted)"""


class OwnRounds:
    """Of one completion."""

    def __init__(self) -> None:
        self._offers: dict[int, dict[str, Draft]] = {}
        self._written: list[int] = []
        self._context_tokens = self._first_line = 0

    def observe(self, outcome: RoundOutcome) -> None:
        position, state, offers = len(self._written), outcome.state, outcome.state.offers
        emitted = outcome.emitted
        if outcome.healing:  # the offers begin with what is retyped; the verified draft is known without it
            emitted = emitted[len(emitted) - outcome.accepted - 1 :]
            source = outcome.choice.source
            chosen = Draft(outcome.draft.token_ids, offers[source].match_length) if source in offers else Draft.EMPTY
            offers = {source: chosen} if chosen else {}
        self._offers[position] = {name: offers[name] for name in LOOKUPS if name in offers}
        self._written += emitted
        if not position:
            self._context_tokens = state.context_tokens
        if not state.first_line_done:
            self._first_line = len(self._written)

    def traced(self, language: str, project: str) -> Traced:
        columns = {source: self._columns(source) for source in LOOKUPS if self._written}
        return Traced(
            language=language,
            project=project,
            tokens=len(self._written),
            offers={source: Offers(*columns[source]) for source in columns if any(columns[source][1])},
            first_line=self._first_line,
            context_tokens=self._context_tokens,
            new_tokens=self._context_tokens,
        )

    def _columns(self, source: str) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
        offers: list[_Offer] = []
        for position in range(len(self._written)):
            if position in self._offers:
                offers.append(self._judged(position, self._offers[position].get(source)))
            else:
                match, length, accepted = offers[-1]
                offers.append((match + 1, length - 1, accepted - 1) if accepted and length > 1 else NOTHING)
        return [match for match, _, _ in offers], [length for _, length, _ in offers], [right for *_, right in offers]

    def _judged(self, position: int, draft: Draft | None) -> _Offer:
        if draft is None:
            return NOTHING
        right = common_prefix_length(draft.token_ids, tuple(self._written[position : position + len(draft)]))
        return draft.match_length, len(draft), right
