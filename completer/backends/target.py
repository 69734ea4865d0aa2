"""What the engine asks of a model: append tokens to a KV cache, and answer for the last few positions."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from completer.request import Sampling

Allowed = Sequence[np.ndarray | None]
"""Per row, the token ids that may be chosen there, or None where all may."""


WIDEST_VERIFICATION = 64
"""Most positions in a pass that verifies a draft. Up to this width a backend must give a position the same result
whatever the width of the pass, or speculation could change the text."""


class KVCache(Protocol):
    """Keys and values of `length` positions, room for `capacity`."""

    length: int
    capacity: int

    def crop(self, length: int) -> None:
        """Forget every position from length on. O(1). Raises ValueError when length is not in 0..self.length."""


class TargetRows(Protocol):
    """The model's answers for the last positions of a pass; row i answers what follows position i."""

    def argmax(self, allowed: Allowed | None = None) -> list[int]:
        """The most probable token per row, the lowest id on ties."""

    def top2(self) -> list[tuple[int, float, int, float]]:
        """Per row (best id, its logit, second id, its logit)."""

    def top1_probs(self) -> list[float]:
        """Per row the probability of the most probable token, over the whole vocabulary."""

    def probs(self, sampling: Sampling, allowed: Allowed | None = None) -> np.ndarray:
        """(rows, vocabulary) float64: the distributions to sample from."""


class Target(Protocol):
    vocabulary_size: int
    prefill_width: int
    """Tokens a pass over a prompt reads: as wide as makes reading faster, and no wider, as a cancelled request waits
    for one to end. Always the same, so that the same prompt gives the same keys and values every time it is read."""

    def new_cache(self, capacity: int) -> KVCache: ...

    def forward(self, cache: KVCache, token_ids: Sequence[int], rows: int) -> TargetRows:
        """Append token_ids to cache and answer for the last `rows` of them, 0 <= rows <= len(token_ids).

        The row of a position has seen that position and those before it, never one behind it.
        """


@runtime_checkable
class BatchTarget(Target, Protocol):
    """One that reads its weights once for the tokens of several texts."""

    def forward_batch(self, parts: Sequence[tuple[KVCache, Sequence[int]]]) -> list[list[int]]:
        """Append its tokens to each cache; for each part, the most probable token behind every one of them.

        As many calls of forward would answer the same.
        """


def read(target: Target, cache: KVCache, token_ids: Sequence[int]) -> None:
    """Append token_ids to cache, in passes of the target's width, and answer for none of them."""
    for start in range(0, len(token_ids), target.prefill_width):
        target.forward(cache, token_ids[start : start + target.prefill_width], rows=0)
