"""How trials are sorted: by source, and by the length of the match that the token extends. Pure.

A trial is one drafted token that the target judged, all before it in its draft having been accepted. So a looked-up
token's match is as long as the draft's and the tokens before it together: on recorded completions it is that length
which tells how likely it is, whatever its position. The draft model's tokens extend a match of one.
"""

from bisect import bisect_right

SOURCES = ("previous_suggestion", "ngram", "draft_model")
LOOKUPS = ("previous_suggestion", "ngram")
DRAFT_MODEL = "draft_model"

MATCH_EDGES = (1, 2, 3, 4, 6, 10, 16)
BUCKETS = 7


def match_bucket(match_length: int, position: int = 0) -> int:
    """Of the token at a position of a draft that was found by a match of this length."""
    return max(0, bisect_right(MATCH_EDGES, match_length + position) - 1)
