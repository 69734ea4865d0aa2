"""The kernels' shared library: found, opened, and its C ABI by name. Knows addresses and no files.

COMPLETER_CPU_LEVEL caps the instructions used (avx2, avx-vnni, avx512-vnni, amx), for tests and measurements.
"""

import ctypes
import functools
import os
import platform
from ctypes import POINTER, c_char_p, c_float, c_int32, c_int64, c_void_p
from pathlib import Path

import numpy as np

PATH = Path(__file__).with_name("kernels.so")
LEVEL_VARIABLE = "COMPLETER_CPU_LEVEL"
LEVELS = ("avx2", "avx-vnni", "avx512-vnni", "amx")


TOP_TWO = np.dtype([("first", "i4"), ("second", "i4"), ("first_logit", "f4"), ("second_logit", "f4")])


class Shape(ctypes.Structure):
    _fields_ = [
        *((name, c_int32) for name in ("layers", "hidden", "intermediate", "heads", "key_heads", "head_size")),
        ("vocabulary", c_int32),
        ("epsilon", c_float),
        ("rope_base", c_float),
    ]


class Tensor(ctypes.Structure):
    """format -1: float32; others are numbered as in packing.FORMATS."""

    _fields_ = [
        ("format", c_int32),
        ("outputs", c_int32),
        ("inputs", c_int32),
        ("unused", c_int32),
        ("data", c_void_p),
    ]


class Cache(ctypes.Structure):
    _fields_ = [("memory", c_void_p), ("capacity", c_int32), ("length", c_int32)]


class Part(ctypes.Structure):
    _fields_ = [("cache", Cache), ("width", c_int32)]


MOST_WIDTH = 128
"""Tokens of a batched pass."""

_SIGNATURES = {
    "completer_level": (c_char_p, [c_char_p]),
    "completer_matrix_bytes": (c_int64, [POINTER(Tensor)]),
    "completer_open": (c_void_p, [POINTER(Shape), POINTER(Tensor), c_int32, c_char_p]),
    "completer_close": (None, [c_void_p]),
    "completer_padded_vocabulary": (c_int32, [c_void_p]),
    "completer_forward": (c_int32, [c_void_p, POINTER(Cache), c_void_p, c_int32, c_int32, c_void_p, c_void_p]),
    "completer_forward_batch": (c_int32, [c_void_p, POINTER(Part), c_int32, c_void_p, c_void_p, c_void_p]),
    "completer_log_sum_exp": (c_float, [c_void_p, c_int32, c_char_p]),
    "completer_top_two": (None, [c_void_p, c_int32, c_char_p, c_void_p]),
    "completer_multiply": (c_int32, [POINTER(Tensor), c_void_p, c_int32, c_void_p, c_char_p]),
}


@functools.cache
def library() -> ctypes.CDLL:
    """Raises OSError where it was not built or cannot be opened."""
    opened = ctypes.CDLL(str(PATH))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(opened, name)
        function.restype, function.argtypes = result, arguments
    return opened


def level() -> str:
    """The instructions in use, none better than COMPLETER_CPU_LEVEL says; empty where this processor has none."""
    return level_within(os.environ.get(LEVEL_VARIABLE, ""))


def level_within(limit: str) -> str:
    """The best of LEVELS that this processor has, up to limit; empty where it has none."""
    found: bytes | None = library().completer_level(limit.encode())
    return (found or b"").decode()


def multiply(matrix: Tensor, x: np.ndarray, out: np.ndarray, limit: str) -> None:
    """out = x @ matrix.T as a pass computes it, on one thread; x and out are float32, out filled up to whole groups."""
    if library().completer_multiply(matrix, x.ctypes.data, len(x), out.ctypes.data, limit.encode()):
        raise MemoryError


def log_sum_exp(logits: np.ndarray) -> float:
    """log(sum(exp(logits))) of (n,) float32."""
    found: float = library().completer_log_sum_exp(logits.ctypes.data, len(logits), level().encode())
    return found


def top_two(logits: np.ndarray) -> np.void:
    """A TOP_TWO of (n,) float32, n > 1."""
    top = np.zeros(1, TOP_TWO)
    library().completer_top_two(logits.ctypes.data, len(logits), level().encode(), top.ctypes.data)
    return top[0]


def why_not() -> str:
    """Why the kernels cannot be used here, in half a sentence; empty where they can."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return f"the CPU kernels are written for x86-64, and this is {platform.machine()}"
    if not PATH.exists():
        return "the CPU kernels were not built: install g++ and reinstall completer"
    try:
        if not level():
            return "the CPU kernels need a processor with AVX2"
    except OSError as error:
        return f"the CPU kernels cannot be opened ({error})"
    return ""
