"""Which passages stand before a document's text, in which order. Pure; knows neither files nor time.

The order serves the KV cache. What was given keeps its place and what is new comes last, so that all before the first
change is never read again, and what changes often ends up at the end. A larger budget appends to what a smaller gave.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from completer.context.passages import Passage
from completer.request import ContextChunk

OPEN, IMPORTED, EDITED = 1.0, 1.5, 2.0
"""What similarity counts for in a passage of an open document, of an imported file, and one just edited."""

_LEAST_SIMILARITY = 0.04  # an open passage below is left out; an imported or edited one counts as if it had this
_GIVEN = 1.5  # a passage in the prompt gives way only to one that is clearly better
_MOST_RANKED = 64
_FEW_WORDS = 16
_FEW_PASSAGES = 50


class Layout:
    """The passages before one document's text."""

    def __init__(self) -> None:
        self._given: list[Passage] = []
        self._ranked: list[Passage] = []
        self._budget_tokens = 0

    def rank(self, candidates: Iterable[tuple[float, Passage]], words: frozenset[str], lines: frozenset[str]) -> None:
        """Rank (weight, passage) anew by the words round the cursor; drop given passages that others now outdo.

        lines: the telling ones round the cursor, not to be repeated.
        """
        given = set(self._given)
        weighted = list(candidates)
        similarities = _similarities([passage for _, passage in weighted], words)
        scores: dict[Passage, float] = {}
        for (weight, passage), similarity in zip(weighted, similarities, strict=True):
            if weight == OPEN and similarity < _LEAST_SIMILARITY:
                continue
            score = weight * max(similarity, _LEAST_SIMILARITY) * (_GIVEN if passage in given else 1.0)
            scores[passage] = max(score, scores.get(passage, 0.0))
        best = sorted(scores, key=lambda passage: -scores[passage])[:_MOST_RANKED]
        self._ranked = [passage for passage in best if not passage.is_mostly_in(lines)]
        wanted, left_tokens = set(), self._budget_tokens
        for passage in self._ranked:
            if passage.tokens <= left_tokens:
                wanted.add(passage)
                left_tokens -= passage.tokens
        self._given = [passage for passage in self._given if passage in wanted]

    def fill(
        self, budget_tokens: int, lines: frozenset[str], is_allowed: Callable[[str], bool]
    ) -> tuple[ContextChunk, ...]:
        """The chunks for a budget. Its largest value so far decides what is kept; a smaller one gives the beginning."""
        self._budget_tokens = max(self._budget_tokens, budget_tokens)
        chosen: dict[Passage, None] = {}
        verdicts: dict[str, bool] = {}
        seen, left_tokens = set(lines), self._budget_tokens
        for passage in chain(self._given, self._ranked):
            if passage.tokens > left_tokens or passage in chosen or passage.is_mostly_in(seen):
                continue
            if passage.path not in verdicts:
                verdicts[passage.path] = is_allowed(passage.path)
            if verdicts[passage.path]:
                chosen[passage] = None
                seen |= passage.lines
                left_tokens -= passage.tokens
        self._given = list(chosen)
        return tuple(self._beginning(budget_tokens))

    def _beginning(self, budget_tokens: int) -> Iterable[ContextChunk]:
        for passage in self._given:
            budget_tokens -= passage.tokens
            if budget_tokens < 0:
                return
            yield passage.chunk


def _similarities(passages: Sequence[Passage], words: frozenset[str]) -> list[float]:
    """The share of each passage's words that are among `words`, so that a short one that fits wins over a long one.

    A word that only one passage has counts 1, one that all of many have 0.
    """
    shared = [passage.words & words for passage in passages]
    counts = Counter(chain.from_iterable(shared))
    scale = math.log(max(len(passages), _FEW_PASSAGES))
    rarity = {word: 1 - math.log(count) / scale for word, count in counts.items()}
    return [
        sum(rarity[word] for word in found) / max(len(passage.words), _FEW_WORDS)
        for found, passage in zip(shared, passages, strict=True)
    ]
