"""The CPU kernels against GGUF's own dequantisation and exact arithmetic, at every level of instructions here."""

import ctypes

import numpy as np
import pytest
from gguf import GGMLQuantizationType
from gguf.quants import dequantize

from completer.backends.cpu import library as native
from completer.backends.cpu.packing import FORMATS, repack

pytestmark = pytest.mark.skipif(bool(native.why_not()), reason=native.why_not())

BLOCK_BYTES = {"Q4_0": 18, "Q4_1": 20, "Q5_0": 22, "Q5_1": 24, "Q8_0": 34, "Q4_K": 144, "Q5_K": 176, "Q6_K": 210}
HALVES = {"Q6_K": (-2,), "Q4_1": (0, 2), "Q5_1": (0, 2), "Q4_K": (0, 2), "Q5_K": (0, 2)}
"""Where in a block its half-precision numbers lie; at 0 where not named."""


def random_blocks(type_: GGMLQuantizationType, rows: int, inputs: int, seed: int = 1) -> np.ndarray:
    """(rows, bytes of a row) of random bits, with scales of sensible size."""
    rng = np.random.default_rng(seed)
    size = BLOCK_BYTES[type_.name]
    blocks = rng.integers(0, 256, (rows, inputs // (256 if size > 34 else 32), size), dtype=np.uint8)
    for at in HALVES.get(type_.name, (0,)):
        values = rng.normal(0, 0.01, blocks.shape[:2]).astype(np.float16)
        blocks[:, :, at % size : at % size + 2] = values[:, :, None].view(np.uint8)
    return blocks.reshape(rows, -1)


def multiply(packed: np.ndarray, type_: GGMLQuantizationType, rows: int, x: np.ndarray, level: str) -> np.ndarray:
    """(len(x), rows) products of x with a packed matrix of that many rows."""
    matrix = native.Tensor(FORMATS[type_], rows, x.shape[1], 0, packed.ctypes.data)
    out = np.full((len(x), -(-rows // 16) * 16), np.nan, np.float32)
    native.multiply(matrix, x, out, level)
    return out[:, :rows]


def levels() -> list[str]:
    return [level for level in native.LEVELS if native.level_within(level) == level]


def quantised(x: np.ndarray) -> np.ndarray:
    """What the kernels make of activations: int8 in blocks of 32."""
    blocks = x.reshape(len(x), -1, 32)
    largest = np.abs(blocks).max(axis=2, keepdims=True)
    inverse = np.divide(np.float32(127), largest, out=np.zeros_like(largest), where=largest > 0)
    return (np.rint(blocks * inverse) * (largest / np.float32(127)).astype(np.float64)).reshape(x.shape)


@pytest.mark.parametrize("level", levels())
@pytest.mark.parametrize("type_", list(FORMATS), ids=lambda type_: type_.name)
def test_products_are_those_of_the_dequantised_weights(type_, level):
    raw = random_blocks(type_, rows=40, inputs=512)
    x = np.random.default_rng(2).normal(0, 1, (21, 512)).astype(np.float32)
    x[3, 64:96] = 0
    found = multiply(repack(raw, type_), type_, 40, x, level)
    weights = dequantize(raw, type_).astype(np.float64)
    scale = np.abs(quantised(x)) @ np.abs(weights).T
    assert np.abs(found - quantised(x) @ weights.T).max() < 1e-6 * scale.max()


@pytest.mark.parametrize("type_", list(FORMATS), ids=lambda type_: type_.name)
@pytest.mark.parametrize("inputs", [256, 768])
def test_every_level_and_every_width_give_the_same_bits(type_, inputs):
    packed = repack(random_blocks(type_, rows=48, inputs=inputs), type_)
    x = np.random.default_rng(3).normal(0, 1, (150, inputs)).astype(np.float32)
    one_by_one = np.concatenate([multiply(packed, type_, 48, x[i : i + 1], "avx2") for i in range(len(x))])
    for level in levels():
        for width in (1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 33, 150):
            assert np.array_equal(multiply(packed, type_, 48, x[:width], level), one_by_one[:width]), (level, width)


@pytest.mark.parametrize("level", levels())
@pytest.mark.parametrize("type_", list(FORMATS), ids=lambda type_: type_.name)
def test_the_largest_values_do_not_overflow(type_, level):
    """All bits of the quants set, and activations at the ends of their range."""
    raw = random_blocks(type_, rows=16, inputs=256)
    blocks = raw.reshape(-1, BLOCK_BYTES[type_.name])
    start = {"Q4_0": 2, "Q4_1": 4, "Q5_0": 2, "Q5_1": 4, "Q8_0": 2, "Q4_K": 16, "Q5_K": 16, "Q6_K": 0}[type_.name]
    blocks[:, start : start + (192 if type_.name == "Q6_K" else BLOCK_BYTES[type_.name])] = 255
    if type_.name == "Q6_K":
        blocks[:, -2:] = np.float16(0.01).reshape(1).view(np.uint8)
    x = np.tile(np.array([1, 1, -1, -1], np.float32), 64)[None]
    x = np.concatenate([x, np.abs(x), -np.abs(x)])
    found = multiply(repack(raw, type_), type_, 16, x, level)
    expected = quantised(x) @ dequantize(raw, type_).astype(np.float64).T
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


def test_an_unknown_level_is_no_level():
    assert native.level_within("avx3") == ""


def test_the_structures_have_the_size_that_the_library_expects():
    assert ctypes.sizeof(native.Tensor) == 24 and ctypes.sizeof(native.Cache) == 16
