"""Offers that wait to be judged by the text itself. Pure.

Under greedy decoding the text does not depend on which draft was verified, so every lookup's offer, chosen or not, is
judged for nothing, token by token, as the text it covers is written. What the text never reaches is never a trial.
"""

from collections.abc import Callable, Mapping, Sequence

from adaptive.buckets import LOOKUPS, match_bucket
from completer.request import Draft

Trial = Callable[[str, int, bool], None]
"""Called with source, bucket and whether the token was the text's."""


JUDGED = 10
"""Tokens of an offer that are judged: later ones would tell little that is new."""


class Pending:
    """The offers of one completion."""

    def __init__(self) -> None:
        self._waiting: list[tuple[str, int, Sequence[int], int]] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, offers: Mapping[str, Draft]) -> None:
        """Offers for the text from here on."""
        for source in LOOKUPS:
            if source in offers:
                draft = offers[source]
                self._waiting.append((source, draft.match_length, draft.token_ids[:JUDGED], 0))

    def written(self, token_ids: Sequence[int], trial: Trial) -> None:
        """The text goes on with token_ids."""
        waiting = []
        for source, match_length, drafted, done in self._waiting:
            is_wrong = False
            for token_id in token_ids[: len(drafted) - done]:
                is_wrong = token_id != drafted[done]
                trial(source, match_bucket(match_length, done), not is_wrong)
                if is_wrong:
                    break
                done += 1
            if not is_wrong and done < len(drafted):
                waiting.append((source, match_length, drafted, done))
        self._waiting = waiting
