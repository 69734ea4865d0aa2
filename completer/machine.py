"""What this machine is: processor, its vector instructions, memory. Reads the operating system; imports no torch."""

import functools
import platform
import sys
from pathlib import Path

import psutil

_VECTOR_FLAGS = {
    "avx2": "AVX2",
    "avx512f": "AVX-512",
    "avx512_vnni": "VNNI",
    "avx_vnni": "VNNI",
    "avx512_bf16": "AVX-512 bf16",
    "amx_bf16": "AMX bf16",
    "amx_int8": "AMX int8",
    "asimd": "NEON",
    "bf16": "bf16",
    "i8mm": "i8mm",
    "sve": "SVE",
}

_GPU_DEVICES = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")  # NVIDIA's driver, Windows' below WSL, AMD's


def processor() -> str:
    """Its name, as the operating system gives it."""
    return _cpuinfo().get("model name") or platform.processor() or platform.machine()


def vector_instructions() -> tuple[str, ...]:
    """Those that matter for speed, as far as the operating system tells; empty when it does not."""
    cpuinfo = _cpuinfo()
    flags = (cpuinfo.get("flags") or cpuinfo.get("Features") or "").split()
    if not flags and platform.machine() == "arm64":
        return ("NEON",)
    return tuple(dict.fromkeys(name for flag, name in _VECTOR_FLAGS.items() if flag in flags))


def physical_cores() -> int:
    return psutil.cpu_count(logical=False) or psutil.cpu_count() or 1


def may_have_gpu() -> bool:
    """False only where it is certain without asking a driver that torch would find no GPU."""
    return sys.platform != "linux" or any(Path(device).exists() for device in _GPU_DEVICES)


def performance_cores() -> int:
    """Physical cores but for those made to save power, where the operating system tells them apart."""
    fast = Path("/sys/devices/cpu_core/cpus")  # on Linux, of processors with both kinds
    if not fast.exists():
        return physical_cores()
    spans = (span.split("-") for span in fast.read_text("utf-8").strip().split(","))
    logical = sum(int(span[-1]) - int(span[0]) + 1 for span in spans)
    return max(1, min(physical_cores(), logical // 2))


def memory_bytes() -> int:
    return psutil.virtual_memory().total


@functools.cache
def _cpuinfo() -> dict[str, str]:
    """The first processor's entries on Linux, empty elsewhere."""
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return {}
    first, _, _ = path.read_text("utf-8").partition("\n\n")
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def peak_memory_bytes() -> int:
    """Most memory this process has had resident so far, pages of mapped files included."""
    if sys.platform == "win32":
        return psutil.Process().memory_info().peak_wset
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
