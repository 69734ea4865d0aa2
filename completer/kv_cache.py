"""The KV cache: preallocated, written in place, cropped by moving a number. Knows transformers' cache protocol.

transformers' own StaticCache hands attention its full capacity and its DynamicCache copies on every step; this one
returns a view of what is filled, rounded up to a multiple of `extent_multiple` positions. Whoever rounds must mask
the positions behind the end; they hold zeros or stale numbers, never NaN.
"""

import torch
from transformers.cache_utils import Cache, CacheLayerMixin


class _Layer(CacheLayerMixin):
    is_croppable = True

    def __init__(self, owner: "TorchKVCache") -> None:
        super().__init__()
        self._owner = owner

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        self.keys = self._room_like(key_states)
        self.values = self._room_like(value_states)
        self.is_initialized = True

    def _room_like(self, states: torch.Tensor) -> torch.Tensor:
        batch, heads, _, size = states.shape
        return states.new_zeros((batch, heads, self._owner.capacity, size))

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write (1, heads, width, size) states behind the end; return views of (1, heads, extent, size)."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        assert self.keys is not None and self.values is not None
        start = self._owner.length
        end = start + key_states.shape[-2]
        self.keys[:, :, start:end] = key_states
        self.values[:, :, start:end] = value_states
        extent = self._owner.extent(end)
        return self.keys[:, :, :extent], self.values[:, :, :extent]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self._owner.extent(self._owner.length + query_length), 0

    def get_seq_length(self) -> int:
        return self._owner.length

    def get_max_length(self) -> int:
        return self._owner.capacity


class TorchKVCache(Cache):
    """Keys and values of one sequence. A forward writes behind `length`; `advance` then makes the positions count."""

    def __init__(self, layers: int, capacity: int, extent_multiple: int = 1) -> None:
        self.extent_multiple = extent_multiple
        self.capacity = -(-capacity // extent_multiple) * extent_multiple
        self.length = 0
        super().__init__(layers=[_Layer(self) for _ in range(layers)])

    def extent(self, length: int) -> int:
        """Positions attention gets to see for a filled length."""
        return -(-length // self.extent_multiple) * self.extent_multiple

    def advance(self, tokens: int) -> None:
        self.length += tokens

    def crop(self, length: int) -> None:
        if not 0 <= length <= self.length:
            raise ValueError(f"cannot crop a cache of {self.length} positions to {length}")
        self.length = length
