"""GGUF's quantised blocks repacked for the kernels: the same integers and scales, in the order they are multiplied in.

Sixteen output rows lie together as a group. A group is the scales of all its blocks of 32 inputs, padded to 64
bytes, then their quants. Byte 4 * lane + i of the j-th vector of a block belongs to output `lane` and input 4 * j + i;
the low four bits of vectors j and j + 4 share a byte, fifth and sixth bits follow in vectors of their own. tensor.h
says the same.
GGUF's layouts: https://github.com/ggml-org/llama.cpp/blob/master/ggml/src/ggml-common.h
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from gguf import GGMLQuantizationType

GROUP = 16
BLOCK = 32
_SUPER = 8  # blocks of a K format's super-block

FORMATS = {
    GGMLQuantizationType.Q4_0: 0,
    GGMLQuantizationType.Q4_1: 1,
    GGMLQuantizationType.Q5_0: 2,
    GGMLQuantizationType.Q5_1: 3,
    GGMLQuantizationType.Q8_0: 4,
    GGMLQuantizationType.Q4_K: 5,
    GGMLQuantizationType.Q5_K: 6,
    GGMLQuantizationType.Q6_K: 7,
}
"""The types that can be repacked, and their numbers in model.cpu and tensor.h."""


@dataclass(frozen=True, slots=True)
class _Unpacked:
    """quants: (rows, inputs) uint8. scales: arrays of shape (rows, units, n), each stored for 16 rows side by side."""

    bits: int
    quants: np.ndarray
    scales: tuple[np.ndarray, ...]


def repack(raw: np.ndarray, type_: GGMLQuantizationType) -> np.ndarray:
    """(rows, bytes of a row) uint8 of GGUF blocks -> (groups, bytes of a group) uint8. Missing rows are zero."""
    missing = -len(raw) % GROUP
    unpacked = _UNPACK[type_](np.pad(raw, ((0, missing), (0, 0))))
    scales = np.concatenate([_side_by_side(values) for values in unpacked.scales], axis=2)
    scales = scales.reshape(len(scales), -1)
    scales = np.pad(scales, ((0, 0), (0, -scales.shape[1] % 64)))
    return np.concatenate([scales, _pack_quants(unpacked.quants, unpacked.bits)], axis=1)


def _side_by_side(values: np.ndarray) -> np.ndarray:
    """(rows, units, n) of any type -> (groups, units, bytes): n times 16 rows' values."""
    rows, units, count = values.shape
    lanes = values.reshape(rows // GROUP, GROUP, units, count).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(lanes).view(np.uint8).reshape(rows // GROUP, units, -1)


def _pack_quants(quants: np.ndarray, bits: int) -> np.ndarray:
    rows, inputs = quants.shape
    tiles = quants.reshape(rows // GROUP, GROUP, inputs // BLOCK, 8, 4).transpose(0, 2, 3, 1, 4)
    vectors = np.ascontiguousarray(tiles).reshape(rows // GROUP, inputs // BLOCK, 8, 4 * GROUP)
    if bits == 8:
        return vectors.reshape(len(vectors), -1)
    low, high = vectors & 15, vectors >> 4
    parts = [low[:, :, :4] | low[:, :, 4:] << 4]
    if bits == 5:
        parts.append(_joined(high, 1))
    elif bits == 6:
        parts += [_joined(high[:, :, :4], 2), _joined(high[:, :, 4:], 2)]
    return np.concatenate(parts, axis=2).reshape(len(vectors), -1)


def _joined(fields: np.ndarray, bits: int) -> np.ndarray:
    """(groups, blocks, n, 64) -> (groups, blocks, 1, 64): field i of a byte is what vector i held."""
    shifts = np.arange(fields.shape[2], dtype=np.uint8)[:, None] * np.uint8(bits)
    return np.bitwise_or.reduce(fields << shifts, axis=2, keepdims=True)


def _simple(bits: int, has_min: bool) -> Callable[[np.ndarray], _Unpacked]:
    """Blocks of 32 with a half-precision scale, and with a minimum in Q4_1 and Q5_1."""
    block_bytes = 2 + 2 * has_min + 4 * bits

    def unpack(raw: np.ndarray) -> _Unpacked:
        rows = len(raw)
        blocks = raw.reshape(rows, -1, block_bytes)
        header, data = blocks[:, :, : 2 + 2 * has_min], blocks[:, :, 2 + 2 * has_min :]
        halves = np.ascontiguousarray(header).view(np.float16)
        scales = halves.copy()
        if has_min:
            scales[:, :, 1] = -halves[:, :, 1]  # GGUF adds it
        if bits == 8:
            quants = data ^ 0x80  # from signed
        else:
            nibbles = data[:, :, -16:]
            quants = np.concatenate([nibbles & 15, nibbles >> 4], axis=2)
            if bits == 5:
                quants |= np.unpackbits(data[:, :, :4], axis=2, bitorder="little") << 4
        return _Unpacked(bits, quants.reshape(rows, -1), (scales,))

    return unpack


def _with_six_bit_scales(bits: int) -> Callable[[np.ndarray], _Unpacked]:
    """Q4_K and Q5_K: super-blocks of 256 with two half-precision factors, and 6-bit scales and minima of 8 blocks."""
    block_bytes = 16 + 32 * bits

    def unpack(raw: np.ndarray) -> _Unpacked:
        rows = len(raw)
        blocks = raw.reshape(rows, -1, block_bytes)
        factors = np.ascontiguousarray(blocks[:, :, :4]).view(np.float16)
        scales, minima = _six_bit(blocks[:, :, 4:16])
        nibbles = blocks[:, :, -128:].reshape(rows, -1, 4, 1, BLOCK)
        quants = np.concatenate([nibbles & 15, nibbles >> 4], axis=3).reshape(rows, -1, _SUPER, BLOCK)
        if bits == 5:
            bit = np.arange(_SUPER, dtype=np.uint8)[:, None]
            quants |= (blocks[:, :, None, 16:48] >> bit & 1) << 4
        return _Unpacked(bits, quants.reshape(rows, -1), (factors, scales, minima))

    return unpack


def _six_bit(packed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(rows, units, 12) -> scales and minima, each (rows, units, 8)."""
    first, second, third = packed[:, :, 0:4], packed[:, :, 4:8], packed[:, :, 8:12]
    scales = np.concatenate([first & 63, third & 15 | first >> 6 << 4], axis=2)
    minima = np.concatenate([second & 63, third >> 4 | second >> 6 << 4], axis=2)
    return scales, minima


def _q6_k(raw: np.ndarray) -> _Unpacked:
    """Super-blocks of 256 with a half-precision factor and signed 8-bit scales of every 16."""
    rows = len(raw)
    blocks = raw.reshape(rows, -1, 210)
    low = blocks[:, :, :128].reshape(rows, -1, 2, 1, 64)
    high = blocks[:, :, 128:192].reshape(rows, -1, 2, 1, BLOCK)
    nibbles = np.concatenate([low & 15, low >> 4], axis=3).reshape(rows, -1, 2, 4, BLOCK)
    shifts = np.arange(0, 8, 2, dtype=np.uint8)[:, None]
    quants = nibbles | (high >> shifts & 3) << 4
    factors = np.ascontiguousarray(blocks[:, :, 208:]).view(np.float16)
    return _Unpacked(6, quants.reshape(rows, -1), (factors, blocks[:, :, 192:208]))


_UNPACK = {
    GGMLQuantizationType.Q4_0: _simple(4, has_min=False),
    GGMLQuantizationType.Q4_1: _simple(4, has_min=True),
    GGMLQuantizationType.Q5_0: _simple(5, has_min=False),
    GGMLQuantizationType.Q5_1: _simple(5, has_min=True),
    GGMLQuantizationType.Q8_0: _simple(8, has_min=False),
    GGMLQuantizationType.Q4_K: _with_six_bit_scales(4),
    GGMLQuantizationType.Q5_K: _with_six_bit_scales(5),
    GGMLQuantizationType.Q6_K: _q6_k,
}
