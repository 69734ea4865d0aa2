"""model.cpu: a model's weights as the kernels read them.

    8 bytes: length of the header; header: JSON filled up with spaces; tensors, each on a 64-byte boundary

Quantised matrices are GGUF's own blocks, repacked (packing.py); vectors are float32. Tensors have the names they have
in Hugging Face form. An input embedding that is the output head too is stored once.
"""

import hashlib
import json
import mmap
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gguf.quants import dequantize

from completer.backends.cpu.packing import BLOCK, FORMATS, GROUP, repack
from completer.errors import ModelCorrupt
from completer.models.conversion import GgufModel, Weight
from completer.models.reporter import Advance

FLOATS = -1
_VERSION = 1
_ALIGNMENT = 64
_PIECE_VALUES = 1 << 20
_SIZES = ("hidden_size", "intermediate_size")


def why_not(model: GgufModel) -> str:
    """Why the kernels cannot run this model, in half a sentence; empty where they can."""
    for weight in model.weights:
        if len(weight.shape) == 2 and weight.source.tensor_type not in FORMATS:
            return f"the CPU kernels have no {weight.source.tensor_type.name} weights, as {weight.source.name} has"
    config = model.config
    if config["head_dim"] % (2 * GROUP) or any(config[size] % BLOCK for size in _SIZES):
        return "the CPU kernels want heads and layers whose sizes are multiples of 32"
    return ""


def write(model: GgufModel, path: Path, advance: Advance) -> str:
    """Write a model that why_not finds nothing against; returns the SHA-256. advance is told source bytes."""
    header = {"version": _VERSION, "config": model.config, "tensors": _places(model.weights)}
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for piece in _all_pieces(text, model.weights, advance):
            digest.update(piece)
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def file_bytes(model: GgufModel) -> int:
    """About what the file will take."""
    return sum(_stored_bytes(weight) for weight in model.weights)


def _places(weights: tuple[Weight, ...]) -> dict[str, dict[str, Any]]:
    places, offset = {}, 0
    for weight in weights:
        number = FORMATS[weight.source.tensor_type] if len(weight.shape) == 2 else FLOATS
        places[weight.name] = {"format": number, "shape": weight.shape, "offset": offset}
        offset += _stored_bytes(weight)
    return places


def _stored_bytes(weight: Weight) -> int:
    if len(weight.shape) == 1:
        return -(-4 * weight.shape[0] // _ALIGNMENT) * _ALIGNMENT
    one_group = repack(np.zeros((GROUP, weight.source.data.shape[1]), np.uint8), weight.source.tensor_type)
    return -(-weight.shape[0] // GROUP) * one_group.shape[1]


def _all_pieces(header: bytes, weights: tuple[Weight, ...], advance: Advance) -> Iterator[bytes]:
    yield len(header).to_bytes(8, "little")
    yield header
    for weight in weights:
        rows = weight.rows()
        if len(weight.shape) == 1:
            values = dequantize(rows[0], weight.source.tensor_type).astype(np.float32)
            yield values.tobytes() + b"\0" * (-values.nbytes % _ALIGNMENT)
            advance(rows.nbytes)
            continue
        step = max(1, _PIECE_VALUES // weight.shape[1] // GROUP) * GROUP
        for start in range(0, len(rows), step):
            piece = rows[start : start + step]
            yield repack(piece, weight.source.tensor_type).tobytes()
            advance(piece.nbytes)


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """format: of packing.FORMATS, or FLOATS. shape: (outputs, inputs), or (size,). address: in this process."""

    format: int
    shape: tuple[int, ...]
    address: int


class WeightsFile:
    """An opened model.cpu; addresses hold as long as this object lives. Raises ModelCorrupt."""

    def __init__(self, path: Path) -> None:
        try:
            self._map = _read(path)
            header_bytes = int.from_bytes(self._map[:8], "little")
            header = json.loads(self._map[8 : 8 + header_bytes])
            if header["version"] != _VERSION:
                raise ValueError(f"it is of version {header['version']}, not {_VERSION}")
            self.config: Mapping[str, Any] = header["config"]
            self._places: Mapping[str, dict[str, Any]] = header["tensors"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelCorrupt(f"{path} is not a whole file of CPU weights ({error}); pull the model again") from error
        self._bytes = np.frombuffer(self._map, np.uint8)
        self._path = path
        self._data_start = 8 + header_bytes

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def tensor(self, name: str, *shape: int) -> StoredTensor:
        """The tensor of that name, which must have that shape and lie within the file."""
        place = self._places.get(name)
        if place is None or tuple(place["shape"]) != shape:
            raise ModelCorrupt(f"{self._path} has no {name} of shape {shape}; pull the model again")
        address = int(self._bytes.ctypes.data) + self._data_start + place["offset"]
        return StoredTensor(place["format"], shape, address)

    def room_behind(self, tensor: StoredTensor) -> int:
        """Bytes from a tensor's address to the end of the file."""
        return int(self._bytes.ctypes.data) + len(self._bytes) - tensor.address


def _read(path: Path) -> mmap.mmap:
    """The whole file in memory of large pages, from which weights come a tenth to a quarter faster than from a mapped
    file's small ones; reading takes half a second a gigabyte when the file is cached. Raises OSError, ValueError."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            with suppress(OSError):  # a kernel built without them
                memory.madvise(mmap.MADV_HUGEPAGE)
        if file.readinto(memory) != size:
            raise ValueError("it became shorter while it was read")
    return memory
