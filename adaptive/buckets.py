"""How trials are sorted: by source, by what was known of the draft, and by position. Pure.

A trial is one drafted token that the target judged, all before it in its draft having been accepted.
"""

from bisect import bisect_right

SOURCES = ("previous_suggestion", "ngram", "draft_model")
LOOKUPS = ("previous_suggestion", "ngram")
DRAFT_MODEL = "draft_model"

MATCH_EDGES = (1, 2, 3, 4, 6, 10, 16)
CONFIDENCE_EDGES = (0.0, 0.3, 0.5, 0.7, 0.85, 0.95)
BUCKETS = 7
POSITIONS = 9
"""Positions 1 to 8 of a draft, and all later ones together."""


def match_bucket(match_length: int) -> int:
    return max(0, bisect_right(MATCH_EDGES, match_length) - 1)


def confidence_bucket(probability: float) -> int:
    return max(0, bisect_right(CONFIDENCE_EDGES, probability) - 1)


def column(position: int) -> int:
    """Where position (0 for a draft's first token) is counted."""
    return min(position, POSITIONS - 1)
