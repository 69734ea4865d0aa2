"""How trials are sorted: by source, by what was known of the token, and by whether it was its draft's first. Pure.

A trial is one drafted token that the target judged, all before it in its draft having been accepted. So a looked-up
token's match is as long as the draft's and the tokens before it together: on recorded completions it is that length
which tells how likely it is, whatever its position.
"""

from bisect import bisect_right

SOURCES = ("previous_suggestion", "ngram", "draft_model")
LOOKUPS = ("previous_suggestion", "ngram")
DRAFT_MODEL = "draft_model"

MATCH_EDGES = (1, 2, 3, 4, 6, 10, 16)
CONFIDENCE_EDGES = (0.0, 0.3, 0.5, 0.7, 0.85, 0.95)
BUCKETS = 7
POSITIONS = 2
"""A draft's first token, and all later ones."""


def match_bucket(match_length: int, position: int = 0) -> int:
    """Of the token at a position of a draft that was found by a match of this length."""
    return max(0, bisect_right(MATCH_EDGES, match_length + position) - 1)


def confidence_bucket(probability: float) -> int:
    return max(0, bisect_right(CONFIDENCE_EDGES, probability) - 1)
