"""At-risk counts as arrays: what is stored, what other projects lend, what has been added since. Pure."""

from collections.abc import Sequence

import numpy as np

from adaptive.buckets import BUCKETS, SOURCES
from adaptive.priors import seed_means

PRIOR_TRIALS = 20.0
SEED_TRIALS = 4.0
HALF_LIFE_TRIALS = 256.0
HALF_LIFE_DAYS = 14.0

Counts = dict[str, np.ndarray]
"""By source (2, BUCKETS): trials that were accepted, trials that were not."""

CountNews = dict[str, tuple[float, np.ndarray]]
"""By source, the share of older counts that is still to be kept, and trials to be added."""


def no_counts() -> Counts:
    return {source: np.zeros((2, BUCKETS)) for source in SOURCES}


def with_news(counts: Counts, news: CountNews) -> Counts:
    """counts as they are after news has been added: older trials of a cell fade by those that come to it."""
    sums = dict(counts)
    for source, (kept, fresh) in news.items():
        sums[source] = kept * counts[source] * 2.0 ** (-fresh.sum(axis=0) / HALF_LIFE_TRIALS) + fresh
    return sums


def joined_news(older: CountNews, newer: CountNews) -> CountNews:
    """Both, one after the other."""
    none = (1.0, np.zeros((2, BUCKETS)))
    joined = {}
    for source in older.keys() | newer.keys():
        (kept, fresh), (kept_later, fresh_later) = older.get(source, none), newer.get(source, none)
        joined[source] = (kept * kept_later, kept_later * fresh + fresh_later)
    return joined


def faded(counts: np.ndarray, days: float) -> np.ndarray:
    """What counts are worth after so many days."""
    return counts * 2.0 ** (-max(0.0, days) / HALF_LIFE_DAYS)


def pulled(counts: np.ndarray, towards: np.ndarray, trials: float) -> np.ndarray:
    """Mean of a Beta posterior whose prior has the mean `towards` and the weight of so many trials."""
    means: np.ndarray = (counts[0] + trials * towards) / (counts[0] + counts[1] + trials)
    return means


def expected(*circles: Sequence[Counts]) -> dict[str, np.ndarray]:
    """By source, what others let expect of a project: (BUCKETS,).

    circles: of others, the closest first, such as projects in the same language and then all others. Each is pulled
    towards the next one, the last towards priors.toml.
    """
    means = dict(seed_means())
    for trials, members in zip((SEED_TRIALS, *[PRIOR_TRIALS] * len(circles)), reversed(circles), strict=False):
        for source in SOURCES if members else ():
            means[source] = pulled(np.sum([member[source] for member in members], axis=0), means[source], trials)
    return means
