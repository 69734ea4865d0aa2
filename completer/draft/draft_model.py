"""A small model as draft source: the same tokenizer, a KV cache of its own, one greedy step per token."""

from collections.abc import Callable, Sequence

import numpy as np

from completer.backends.target import Target, TargetRows
from completer.draft.source import DraftContext
from completer.prefix_cache import PrefixCache, Slot
from completer.request import Draft
from completer.verify import draw

_CATCH_UP_TOKENS = 64

LOADING_TOKENS = 500
"""Loading the model takes as long as reading so many tokens, about: some 0.5 to 1 s for 0.5B on a CPU."""


class DraftModelSource:
    """Loads its model at the first draft, and again after `unload`.

    offer catches its cache up with token_ids, which may be a whole prompt.
    """

    name = "draft_model"

    def __init__(
        self, load: Callable[[], Target], slots: int, capacity: int, cancelled: Callable[[], bool] = lambda: False
    ) -> None:
        self._load = load
        self._slots, self._capacity = slots, capacity
        self._prefix_cache: PrefixCache | None = None
        self._target: Target | None = None
        self._slot: Slot | None = None
        self.cancelled = cancelled
        self.catch_up_tokens = 0

    def start(self, context: DraftContext) -> None:
        self._context = context
        self._slot = None

    def forget(self) -> None:
        """Drop the KV caches; the model stays loaded."""
        self._slot = None
        if self._prefix_cache is not None:
            self._prefix_cache.clear()

    def unload(self) -> None:
        """Free the model's memory."""
        self._slot = self._prefix_cache = self._target = None

    def target(self) -> Target:
        """The model, loaded now if it was not."""
        if self._target is None:
            self._target = self._load()
        return self._target

    def lag_tokens(self, token_ids: Sequence[int]) -> int:
        """Tokens the model would have to read before it could draft; loading it counts as so many more."""
        if self._slot is not None:
            return len(token_ids) - self._slot.cache.length
        if self._prefix_cache is None:
            return len(token_ids) + (LOADING_TOKENS if self._target is None else 0)
        return self._prefix_cache.missing(self._context.document_id, token_ids)

    def offer(self, token_ids: Sequence[int], max_k: int, stop_below: float = 0.0) -> Draft:
        """At most max_k tokens; fewer when the model's own probability of its next token is below stop_below.

        Cancelled in between, it returns what it has.
        """
        context = self._context
        slot = self._acquire(token_ids)
        remainder = context.vocabulary.remainder_after(context.remainder, token_ids[len(context.prompt_ids) :])
        rows = self._catch_up(slot, token_ids)
        drafted: list[int] = []
        probs: list[float] = []
        distributions: list[np.ndarray] = []
        while rows is not None and len(drafted) < max_k and not self.cancelled():
            probability = rows.top1_probs()[0]
            if probability < stop_below and not remainder:
                break
            allowed = context.vocabulary.allowed_rows(remainder, ())
            if context.sampling is None:
                token_id = rows.argmax(allowed)[0]
            else:
                distributions.append(rows.probs(context.sampling, allowed)[0])
                token_id = draw(distributions[-1], context.rng)
            remainder = context.vocabulary.remainder_after(remainder, (token_id,))
            drafted.append(token_id)
            probs.append(probability)
            if len(drafted) < max_k:
                rows = self._forward(slot, [token_id])
        stacked = np.stack(distributions) if distributions else None
        return Draft(tuple(drafted), 0, tuple(probs), stacked) if drafted else Draft.EMPTY

    def _acquire(self, token_ids: Sequence[int]) -> Slot:
        target = self.target()
        if self._prefix_cache is None:
            self._prefix_cache = PrefixCache(target, self._slots, self._capacity)
        if self._slot is None:
            self._slot = self._prefix_cache.acquire(self._context.document_id, token_ids)
        else:
            self._slot.align(token_ids)
        return self._slot

    def _catch_up(self, slot: Slot, token_ids: Sequence[int]) -> TargetRows | None:
        """Feed what the cache lacks; after full acceptance that includes the model's own last draft, never fed."""
        missing = list(token_ids[slot.cache.length :])
        self.catch_up_tokens = len(missing)
        rows = None
        for start in range(0, len(missing), _CATCH_UP_TOKENS):
            if self.cancelled():
                return None
            rows = self.target().forward(slot.cache, missing[start : start + _CATCH_UP_TOKENS], 1)
        return rows

    def _forward(self, slot: Slot, token_ids: list[int]) -> TargetRows:
        slot.token_ids += token_ids
        return self.target().forward(slot.cache, token_ids, 1)
