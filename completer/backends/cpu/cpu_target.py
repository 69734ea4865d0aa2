"""The fast CPU target: weights in GGUF's own 4 to 8 bits, one native call a pass. Knows token ids; knows no text.

A position's result is the same to the bit whatever the width of the pass, the number of threads and the instructions
of the processor.
"""

import ctypes
import math
import weakref
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from completer.backends.cpu.library import MOST_WIDTH, TOP_TWO, Cache, Part, Shape, Tensor, level, library, log_sum_exp
from completer.backends.cpu.weights_file import FLOATS, WeightsFile
from completer.backends.target import Allowed, KVCache
from completer.errors import ModelCorrupt, ModelError, ResourceError
from completer.models.store import CPU_WEIGHTS
from completer.request import Sampling
from completer.sampling import distributions

_LANES = 16


class CpuKVCache:
    """Half-precision keys and values of all layers; capacity is rounded up to whole vectors."""

    def __init__(self, values_per_token: int, capacity: int) -> None:
        self.capacity = -(-capacity // _LANES) * _LANES
        self.length = 0
        self._memory = np.zeros(self.capacity * values_per_token, np.float16)

    def crop(self, length: int) -> None:
        if not 0 <= length <= self.length:
            raise ValueError(f"cannot crop a cache of {self.length} positions to {length}")
        self.length = length

    def native(self) -> Cache:
        return Cache(self._memory.ctypes.data, self.capacity, self.length)


class CpuRows:
    """logits: (rows, vocabulary) float32. top: (rows,) of TOP_TWO."""

    def __init__(self, logits: np.ndarray, top: np.ndarray) -> None:
        self._logits = logits
        self._top = top

    def argmax(self, allowed: Allowed | None = None) -> list[int]:
        best: list[int] = self._top["first"].tolist()
        for i, ids in enumerate(allowed or ()):
            if ids is not None:
                best[i] = int(ids[int(np.argmax(self._logits[i, ids]))])
        return best

    def top2(self) -> list[tuple[int, float, int, float]]:
        return [
            (int(t["first"]), float(t["first_logit"]), int(t["second"]), float(t["second_logit"])) for t in self._top
        ]

    def top1_probs(self) -> list[float]:
        rows = zip(self._top["first_logit"].tolist(), self._logits, strict=True)
        return [math.exp(first - log_sum_exp(logits)) for first, logits in rows]

    def probs(self, sampling: Sampling, allowed: Allowed | None = None) -> np.ndarray:
        return distributions(self._logits.astype(np.float64), sampling, allowed)


class CpuTarget:
    prefill_width = 64

    def __init__(self, weights: WeightsFile, threads: int) -> None:
        """Raises ModelCorrupt where the file lacks a tensor, ResourceError where threads or memory do not suffice."""
        self._weights = weights
        self._shape = _shape_of(weights)
        self.vocabulary_size = self._shape.vocabulary
        tensors = _tensors(weights, self._shape)
        native = library().completer_open(self._shape, tensors, threads, level().encode())
        if not native:
            raise ResourceError("not enough memory or threads for the model; set model.threads lower")
        self._native = native
        weakref.finalize(self, library().completer_close, native)
        self._row_values: int = library().completer_padded_vocabulary(native)

    @classmethod
    def load(cls, folder: Path, threads: int) -> "CpuTarget":
        return cls(WeightsFile(folder / CPU_WEIGHTS), threads)

    def new_cache(self, capacity: int) -> CpuKVCache:
        shape = self._shape
        return CpuKVCache(shape.layers * 2 * shape.key_heads * shape.head_size, capacity)

    def forward(self, cache: KVCache, token_ids: Sequence[int], rows: int) -> CpuRows:
        assert isinstance(cache, CpuKVCache)
        width = len(token_ids)
        if not 0 <= rows <= width or width == 0:
            raise ValueError(f"cannot answer for {rows} rows of a pass over {width} tokens")
        ids = self._checked(cache, token_ids)
        logits = np.empty((rows, self._row_values), np.float32)
        top = np.empty(rows, TOP_TWO)
        failed = library().completer_forward(
            self._native, cache.native(), ids.ctypes.data, width, rows, logits.ctypes.data, top.ctypes.data
        )
        if failed:
            raise ResourceError(f"not enough memory for a pass over {width} tokens; choose a smaller model")
        cache.length += width
        return CpuRows(logits[:, : self.vocabulary_size], top)

    def forward_batch(self, parts: Sequence[tuple[KVCache, Sequence[int]]]) -> list[list[int]]:
        """Whole parts in sweeps of at most MOST_WIDTH tokens, each part no wider than that."""
        answers: list[list[int]] = []
        while len(answers) < len(parts):
            left, taken = MOST_WIDTH, len(answers)
            while taken < len(parts) and len(parts[taken][1]) <= left:
                left -= len(parts[taken][1])
                taken += 1
            if taken == len(answers):
                raise ValueError(f"a part of {len(parts[taken][1])} tokens is wider than {MOST_WIDTH}")
            answers += self._sweep(parts[len(answers) : taken])
        return answers

    def _sweep(self, parts: Sequence[tuple[KVCache, Sequence[int]]]) -> list[list[int]]:
        native, ids = (Part * len(parts))(), []
        for i, (cache, token_ids) in enumerate(parts):
            assert isinstance(cache, CpuKVCache)
            ids.append(self._checked(cache, token_ids))
            native[i] = Part(cache.native(), len(token_ids))
        all_ids = np.concatenate(ids)
        logits = np.empty((len(all_ids), self._row_values), np.float32)
        top = np.empty(len(all_ids), TOP_TWO)
        failed = library().completer_forward_batch(
            self._native, native, len(parts), all_ids.ctypes.data, logits.ctypes.data, top.ctypes.data
        )
        if failed:
            raise ResourceError(f"not enough memory for a pass over {len(all_ids)} tokens; choose a smaller model")
        best, answers = top["first"].tolist(), []
        for cache, token_ids in parts:
            cache.length += len(token_ids)
            answers.append(best[: len(token_ids)])
            del best[: len(token_ids)]
        return answers

    def _checked(self, cache: CpuKVCache, token_ids: Sequence[int]) -> np.ndarray:
        """The ids, which the model has and the cache has room for."""
        wanted = cache.length + len(token_ids)
        if wanted > cache.capacity:
            raise ModelError(f"{wanted} tokens do not fit the KV cache of {cache.capacity}; lower the prompt budget")
        ids = np.asarray(token_ids, np.int32)
        if ids.min() < 0 or ids.max() >= self.vocabulary_size:
            raise ValueError(f"a token id is not below the vocabulary's {self.vocabulary_size}")
        return ids


def _shape_of(weights: WeightsFile) -> Shape:
    config = weights.config
    return Shape(
        layers=config["num_hidden_layers"],
        hidden=config["hidden_size"],
        intermediate=config["intermediate_size"],
        heads=config["num_attention_heads"],
        key_heads=config["num_key_value_heads"],
        head_size=config["head_dim"],
        vocabulary=config["vocab_size"],
        epsilon=config["rms_norm_eps"],
        rope_base=config["rope_theta"],
    )


def _tensors(weights: WeightsFile, shape: Shape) -> ctypes.Array[Tensor]:
    """In the order that completer_open wants them."""
    hidden, inner = shape.hidden, shape.intermediate
    queries, keys = shape.heads * shape.head_size, shape.key_heads * shape.head_size
    embedding = _native(weights, "model.embed_tokens.weight", shape.vocabulary, hidden)
    head = embedding
    if "lm_head.weight" in weights:
        head = _native(weights, "lm_head.weight", shape.vocabulary, hidden)
    tensors = [embedding, head, _native(weights, "model.norm.weight", hidden)]
    for number in range(shape.layers):
        layer = f"model.layers.{number}"
        tensors += [
            _native(weights, f"{layer}.input_layernorm.weight", hidden),
            _native(weights, f"{layer}.post_attention_layernorm.weight", hidden),
            _native(weights, f"{layer}.self_attn.q_proj.weight", queries, hidden),
            _native(weights, f"{layer}.self_attn.k_proj.weight", keys, hidden),
            _native(weights, f"{layer}.self_attn.v_proj.weight", keys, hidden),
            _native(weights, f"{layer}.self_attn.o_proj.weight", hidden, queries),
            _native(weights, f"{layer}.mlp.gate_proj.weight", inner, hidden),
            _native(weights, f"{layer}.mlp.up_proj.weight", inner, hidden),
            _native(weights, f"{layer}.mlp.down_proj.weight", hidden, inner),
        ]
        for projection, outputs in (("q", queries), ("k", keys), ("v", keys)):
            name = f"{layer}.self_attn.{projection}_proj.bias"
            tensors.append(_native(weights, name, outputs) if name in weights else Tensor(format=FLOATS))
    return (Tensor * len(tensors))(*tensors)


def _native(weights: WeightsFile, name: str, *shape: int) -> Tensor:
    stored = weights.tensor(name, *shape)
    tensor = Tensor(stored.format, shape[0], shape[-1], 0, stored.address)
    is_matrix = len(shape) == 2
    needed_bytes = library().completer_matrix_bytes(tensor) if is_matrix else 4 * shape[0]
    if is_matrix == (stored.format == FLOATS) or weights.room_behind(stored) < needed_bytes:
        raise ModelCorrupt(f"the CPU weights are cut short at {name}; pull the model again")
    return tensor
