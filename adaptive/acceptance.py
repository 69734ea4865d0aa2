"""How likely the target accepts a drafted token: at-risk counts by source, bucket and position. Pure.

Counts, not rates: a position is a trial only when all before it were accepted and its own outcome is known, as in the
estimator of Kaplan and Meier; rates over all rounds would be too low wherever k varies. A project's counts are pulled
towards its language's, those towards all languages', by a fixed weight of imagined trials, so that a new project starts
from what is known and some thirty trials of its own outweigh it. What sets in all at once is followed by `shift`, one
number per source added to the log-odds of all its cells and learned by the gradient of the logistic loss: it moves in
a few tens of trials, long before the cells have. Plain lists: this runs some twenty times a round.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from adaptive.buckets import (
    BUCKETS,
    DRAFT_MODEL,
    MATCH_EDGES,
    POSITIONS,
    SOURCES,
    confidence_bucket,
    match_bucket,
)
from adaptive.counts import HALF_LIFE_TRIALS, PRIOR_TRIALS, CountNews, Counts, no_counts, with_news
from adaptive.priors import priors, seed_means

SHIFT_RATE = 0.1
SHIFT_LIMIT = 4.0
SHIFT_KEPT = 0.995
_KEPT = 2.0 ** (-1.0 / HALF_LIFE_TRIALS)
_LAST = POSITIONS - 1
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
        self._share = priors()[DRAFT_MODEL]["share"]
        self._forget_news()

    @property
    def counts(self) -> Counts:
        return {source: np.array((self._accepted[source], self._failed[source])) for source in SOURCES}

    def trial(self, source: str, bucket: int, position: int, accepted: bool) -> None:
        """Older trials of the same cell fade: half their weight is gone after HALF_LIFE_TRIALS of them."""
        position = min(position, _LAST)
        shift = self.shift[source]
        shift = SHIFT_KEPT * (shift + SHIFT_RATE * (accepted - self.chance(source, bucket, position)))
        self.shift[source] = max(-SHIFT_LIMIT, min(SHIFT_LIMIT, shift))
        successes, failures = self._accepted[source][bucket], self._failed[source][bucket]
        successes[position] *= _KEPT
        failures[position] *= _KEPT
        (successes if accepted else failures)[position] += 1.0
        self._fresh[source][0 if accepted else 1][bucket][position] += 1.0
        if source == DRAFT_MODEL:
            self._model_chances.clear()

    def chance(self, source: str, bucket: int, position: int) -> float:
        """Of a drafted token, those before it having been accepted. position < POSITIONS."""
        mean = self._mean(source, bucket, position)
        odds = math.exp(self.shift[source]) * mean
        return odds / (1.0 - mean + odds)

    def chances(self, source: str, match_length: int, k: int) -> list[float]:
        """Of each of k looked-up tokens."""
        chances = [
            self.chance(source, match_bucket(match_length, position), min(position, _LAST))
            for position in range(min(k, _ALIKE_FROM))
        ]
        return chances + chances[-1:] * (k - _ALIKE_FROM)

    def model_chances(self, stop_below: float) -> list[tuple[float, float, float]]:
        """By position, those before it having been accepted: the chance that the draft model drafts a token at all,
        when it stops below this confidence; that it does and the token is accepted; the standard deviation of that.
        """
        if stop_below not in self._model_chances:
            first = confidence_bucket(stop_below)
            chances = []
            for position in range(POSITIONS):
                seen = [self._trials(DRAFT_MODEL, b, position) + PRIOR_TRIALS * self._share[b] for b in range(BUCKETS)]
                total = sum(seen)
                right = sum(seen[b] * self.chance(DRAFT_MODEL, b, position) for b in range(first, BUCKETS)) / total
                chances.append((sum(seen[first:]) / total, right, math.sqrt(right * (1.0 - right) / total)))
            self._model_chances[stop_below] = chances
        return self._model_chances[stop_below]

    def model_trials(self, probabilities: Sequence[float], accepted: int, failed: bool, stopped_below: float) -> None:
        """A draft of the draft model, with its probability of each token.

        stopped_below > 0: it drafted no more because its next token was less probable than that. Where all before were
        accepted, that counts in the buckets below as they are expected to be: as a share, not as news of acceptance.
        """
        for position, probability in enumerate(probabilities[: accepted + failed]):
            self.trial(DRAFT_MODEL, confidence_bucket(probability), position, position < accepted)
        if stopped_below > 0.0 and accepted == len(probabilities):
            self._unseen(min(accepted, _LAST), confidence_bucket(stopped_below))

    def discount(self, source: str, kept: float) -> None:
        """Trust what was counted of this source less."""
        for table in (self._accepted[source], self._failed[source], *self._fresh[source]):
            for row in table:
                row[:] = [kept * trials for trials in row]
        self._kept[source] *= kept
        self._model_chances.clear()

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
        self._model_chances: dict[float, list[tuple[float, float, float]]] = {}

    def _news(self) -> CountNews:
        return {source: (self._kept[source], np.array(self._fresh[source])) for source in SOURCES}

    def _forget_news(self) -> None:
        self._fresh = {source: np.zeros((2, BUCKETS, POSITIONS)).tolist() for source in SOURCES}
        self._kept = dict.fromkeys(SOURCES, 1.0)

    def _unseen(self, position: int, buckets: int) -> None:
        seen = [self._trials(DRAFT_MODEL, bucket, position) + self._share[bucket] for bucket in range(buckets)]
        for bucket, weight in enumerate(seen):
            mean = self._mean(DRAFT_MODEL, bucket, position)
            for outcome, table in enumerate((self._accepted, self._failed)):
                trials = weight / sum(seen) * (mean if outcome == 0 else 1.0 - mean)
                table[DRAFT_MODEL][bucket][position] += trials
                self._fresh[DRAFT_MODEL][outcome][bucket][position] += trials
        self._model_chances.clear()

    def _trials(self, source: str, bucket: int, position: int) -> float:
        return self._accepted[source][bucket][position] + self._failed[source][bucket][position]

    def _mean(self, source: str, bucket: int, position: int) -> float:
        accepted = self._accepted[source][bucket][position]
        prior = self._prior[source][bucket][position]
        return (accepted + PRIOR_TRIALS * prior) / (accepted + self._failed[source][bucket][position] + PRIOR_TRIALS)
