"""Reuse across requests: a few KV caches, each remembering its tokens, handed out by longest common prefix.

Knows token ids; knows no text and no model beyond `new_cache`.
"""

from collections.abc import Sequence

from completer.backends.target import KVCache, Target


def common_prefix_length(a: Sequence[int], b: Sequence[int]) -> int:
    """Number of leading tokens two sequences share."""
    low, high = 0, min(len(a), len(b))
    while low < high:  # bisection over slices: comparing slices is far cheaper than a loop over tokens
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


class Slot:
    """One KV cache and the token ids its positions hold; token_ids may run on past what is cached."""

    def __init__(self, cache: KVCache) -> None:
        self.cache = cache
        self.document_id = ""
        self.token_ids: list[int] = []

    def align(self, token_ids: Sequence[int]) -> int:
        """Crop to the common prefix with token_ids, at least one token short of it; returns the positions kept."""
        known = self.token_ids[: self.cache.length]
        keep = min(common_prefix_length(known, list(token_ids)), len(token_ids) - 1)
        self.cache.crop(keep)
        self.token_ids = list(token_ids)
        return keep


class PrefixCache:
    def __init__(self, target: Target, slots: int, capacity: int) -> None:
        """slots: caches kept at most, one per recent document. capacity: tokens each can hold."""
        self._target = target
        self._limit = slots
        self._capacity = capacity
        self._slots: list[Slot] = []  # least recently used first

    def acquire(self, document_id: str, token_ids: Sequence[int]) -> Slot:
        """The document's slot, aligned with token_ids: a new one while there is room, else the least recently used."""
        slot = next((s for s in self._slots if s.document_id == document_id), None)
        if slot is not None:
            self._slots.remove(slot)
        elif len(self._slots) < self._limit:
            slot = Slot(self._target.new_cache(self._capacity))
        else:
            slot = self._slots.pop(0)
        slot.document_id = document_id
        slot.align(token_ids)
        self._slots.append(slot)
        return slot

    def missing(self, document_id: str, token_ids: Sequence[int]) -> int:
        """How many of token_ids would have to be read for a document."""
        slot = next((s for s in self._slots if s.document_id == document_id), None)
        known = [] if slot is None else slot.token_ids[: slot.cache.length]
        return len(token_ids) - common_prefix_length(known, token_ids)

    def clear(self) -> None:
        self._slots.clear()
