"""How likely the target accepts a drafted token: at-risk counts by source and bucket. Pure.

Counts, not rates: a position is a trial only when all before it were accepted and its own outcome is known, as in the
estimator of Kaplan and Meier; rates over all rounds would be too low wherever k varies. A project's counts are pulled
towards its language's, those towards all languages', by a fixed weight of imagined trials, so that a new project starts
from what is known and some thirty trials of its own outweigh it. What sets in all at once is followed by `shift`, one
number per source added to the log-odds of all its cells and learned by the gradient of the logistic loss: it moves in
a few tens of trials, long before the cells have. Plain lists: this runs some twenty times a round.
"""

import math
from collections.abc import Mapping

import numpy as np

from adaptive.buckets import BUCKETS, MATCH_EDGES, SOURCES, match_bucket
from adaptive.counts import HALF_LIFE_TRIALS, PRIOR_TRIALS, CountNews, Counts, no_counts, with_news
from adaptive.priors import seed_means

SHIFT_RATE = 0.1
SHIFT_LIMIT = 4.0
SHIFT_KEPT = 0.995
_KEPT = 2.0 ** (-1.0 / HALF_LIFE_TRIALS)
_ALIKE_FROM = MATCH_EDGES[-1]


class Acceptance:
    """What one project in one language has shown, and what to expect from it."""

    def __init__(
        self,
        prior: Mapping[str, np.ndarray] | None = None,
        counts: Counts | None = None,
        shift: Mapping[str, float] | None = None,
    ) -> None:
        """prior: as of `expected`; without one, the assumptions of priors.toml."""
        self._set(prior or seed_means(), counts or no_counts())
        self.shift = dict.fromkeys(SOURCES, 0.0) | dict(shift or {})
        self._forget_news()

    @property
    def counts(self) -> Counts:
        return {source: np.array((self._accepted[source], self._failed[source])) for source in SOURCES}

    def trial(self, source: str, bucket: int, accepted: bool) -> None:
        """Older trials of the same cell fade: half their weight is gone after HALF_LIFE_TRIALS of them."""
        shift = self.shift[source]
        shift = SHIFT_KEPT * (shift + SHIFT_RATE * (accepted - self.chance(source, bucket)))
        self.shift[source] = max(-SHIFT_LIMIT, min(SHIFT_LIMIT, shift))
        successes, failures = self._accepted[source], self._failed[source]
        successes[bucket] *= _KEPT
        failures[bucket] *= _KEPT
        (successes if accepted else failures)[bucket] += 1.0
        self._fresh[source][0 if accepted else 1][bucket] += 1.0

    def trials(self, source: str, match_length: int, accepted: int, failed: bool) -> None:
        """A draft that began so, of which so many tokens were accepted and then, if it failed, one was not."""
        for position in range(accepted + failed):
            self.trial(source, match_bucket(match_length, position), position < accepted)

    def chance(self, source: str, bucket: int) -> float:
        """Of a drafted token, those before it having been accepted."""
        mean = self._mean(source, bucket)
        odds = math.exp(self.shift[source]) * mean
        return odds / (1.0 - mean + odds)

    def chances(self, source: str, match_length: int, k: int, optimism: float = 0.0) -> list[float]:
        """Of each of k drafted tokens. optimism: standard deviations by which they may be better than is known."""
        chances = []
        for position in range(min(k, _ALIKE_FROM)):
            bucket = match_bucket(match_length, position)
            chance = self.chance(source, bucket)
            if optimism:
                seen = self._accepted[source][bucket] + self._failed[source][bucket] + PRIOR_TRIALS
                chance = min(1.0, chance + optimism * math.sqrt(chance * (1.0 - chance) / seen))
            chances.append(chance)
        return chances + chances[-1:] * (k - _ALIKE_FROM)

    def discount(self, source: str, kept: float) -> None:
        """Trust what was counted of this source less."""
        for row in (self._accepted[source], self._failed[source], *self._fresh[source]):
            row[:] = [kept * trials for trials in row]
        self._kept[source] *= kept

    def take_news(self) -> CountNews:
        """What has happened since the last call, for somebody who keeps the same counts elsewhere."""
        news = self._news()
        self._forget_news()
        return {source: (kept, fresh) for source, (kept, fresh) in news.items() if kept != 1.0 or fresh.any()}

    def rebase(self, prior: Mapping[str, np.ndarray], counts: Counts) -> None:
        """Go on from counts that contain everything up to the last `take_news`, and from a newer prior."""
        self._set(prior, with_news(counts, self._news()))

    def _set(self, prior: Mapping[str, np.ndarray], counts: Counts) -> None:
        self._prior = {source: prior[source].tolist() for source in SOURCES}
        self._accepted = {source: counts[source][0].tolist() for source in SOURCES}
        self._failed = {source: counts[source][1].tolist() for source in SOURCES}

    def _news(self) -> CountNews:
        return {source: (self._kept[source], np.array(self._fresh[source])) for source in SOURCES}

    def _forget_news(self) -> None:
        self._fresh = {source: np.zeros((2, BUCKETS)).tolist() for source in SOURCES}
        self._kept = dict.fromkeys(SOURCES, 1.0)

    def _mean(self, source: str, bucket: int) -> float:
        accepted, prior = self._accepted[source][bucket], self._prior[source][bucket]
        return (accepted + PRIOR_TRIALS * prior) / (accepted + self._failed[source][bucket] + PRIOR_TRIALS)
