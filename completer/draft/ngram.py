"""Lookup in the text: what followed the last occurrence of the longest n-gram the text now ends with.

Prompt lookup decoding (Saxena 2023) with the longest, then most recent match. The index is kept across requests.
"""

from collections.abc import Sequence

from completer.draft.source import DraftContext
from completer.prefix_cache import common_prefix_length
from completer.request import Draft

LONGEST_NGRAM = 8
_LONGEST_MATCH = 32


class NgramIndex:
    """Where every n-gram, n = 1..LONGEST_NGRAM, of a growing token sequence was last followed by something.

    append and crop cost LONGEST_NGRAM dictionary operations per token, find at most that many.
    After [5 6 7 5 6] the index finds (2, 2): the last 2 tokens, "5 6", were followed by the token at position 2.
    """

    def __init__(self) -> None:
        self.token_ids: list[int] = []
        self._last: dict[tuple[int, ...], int] = {}
        self._undo: list[list[tuple[tuple[int, ...], int | None]]] = []

    def append(self, token_id: int) -> None:
        position = len(self.token_ids)
        replaced = []
        for n in range(1, min(LONGEST_NGRAM, position) + 1):
            ngram = tuple(self.token_ids[position - n :])
            replaced.append((ngram, self._last.get(ngram)))
            self._last[ngram] = position
        self._undo.append(replaced)
        self.token_ids.append(token_id)

    def crop(self, length: int) -> None:
        while len(self.token_ids) > length:
            self.token_ids.pop()
            for ngram, position in self._undo.pop():
                if position is None:
                    del self._last[ngram]
                else:
                    self._last[ngram] = position

    def align(self, token_ids: list[int]) -> None:
        """Make the indexed sequence equal token_ids, keeping what both begin with."""
        self.crop(common_prefix_length(self.token_ids, token_ids))
        for token_id in token_ids[len(self.token_ids) :]:
            self.append(token_id)

    def find(self) -> tuple[int, int]:
        """(match length, position of the token that followed), (0, 0) when even the last token is new."""
        end = len(self.token_ids)
        for n in range(min(LONGEST_NGRAM, end), 0, -1):
            position = self._last.get(tuple(self.token_ids[end - n :]))
            if position is not None:
                while (
                    n < min(position, _LONGEST_MATCH)
                    and self.token_ids[position - n - 1] == self.token_ids[end - n - 1]
                ):
                    n += 1
                return n, position
        return 0, 0


class NgramSource:
    name = "ngram"

    def __init__(self) -> None:
        self._index = NgramIndex()
        self._reference: list[int] = []
        self._control: frozenset[int] = frozenset()

    def start(self, context: DraftContext) -> None:
        self._reference = list(context.reference_ids)
        self._control = context.tokenizer.special_ids
        self._index.align([*self._reference, *context.prompt_ids])

    def offer(self, token_ids: Sequence[int], max_k: int, stop_below: float = 0.0) -> Draft:
        del stop_below  # a looked-up token has no probability
        known = len(self._index.token_ids) - len(self._reference)
        for token_id in token_ids[known:]:
            self._index.append(token_id)
        match_length, position = self._index.find()
        proposed: list[int] = []
        for token_id in self._index.token_ids[position : position + max_k] if match_length else ():
            if token_id in self._control:
                break
            proposed.append(token_id)
        return Draft(tuple(proposed), match_length) if proposed else Draft.EMPTY
