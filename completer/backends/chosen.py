"""Which backend runs a model here, and the model loaded on it. torch is imported only where it is the one."""

import logging
import math
from typing import TYPE_CHECKING

from completer.backends.cpu import library as kernels
from completer.backends.target import Target
from completer.config import ModelConfig
from completer.errors import ModelCorrupt, UsageError
from completer.machine import may_have_gpu, performance_cores, vector_instructions
from completer.models.store import CPU_WEIGHTS, InstalledModel, is_ours

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)

_CPU_WITH_BFLOAT16 = {"AVX-512", "AVX-512 bf16", "AMX bf16", "bf16"}


def load_target(model: InstalledModel, settings: ModelConfig, canonical: bool = True) -> Target:
    """Raises ModelCorrupt, ResourceError, UsageError."""
    target = _load(model, settings, canonical)
    [(_, logit, _, _)] = target.forward(target.new_cache(1), [0], rows=1).top2()
    if not math.isfinite(logit):
        raise ModelCorrupt(
            f"{model.name} computes no numbers: its weights are damaged, or too large for the number format; "
            "pull the model again, or set model.dtype to float32"
        )
    return target


def _load(model: InstalledModel, settings: ModelConfig, canonical: bool) -> Target:
    threads = choose_threads(settings)
    if choose_backend(model, settings) == "cpu":
        from completer.backends.cpu.cpu_target import CpuTarget

        return CpuTarget.load(model.folder, threads)
    import torch

    from completer.backends.torch_target import TorchTarget

    torch.set_num_threads(threads)
    device = choose_device(settings.device)
    dtype = choose_dtype(settings.dtype, device)
    return TorchTarget.load(model.folder, device=device, dtype=dtype, canonical=canonical)


def choose_threads(settings: ModelConfig) -> int:
    """A core is left to the user and the editor, where there are more than two: of two, one alone would be too slow."""
    cores = performance_cores()
    return settings.threads or max(min(2, cores), cores - 1)


def weight_bytes(model: InstalledModel, settings: ModelConfig) -> int:
    """Of the weights that load_target would load."""
    uses_kernels = choose_backend(model, settings) == "cpu"
    return (model.folder / CPU_WEIGHTS).stat().st_size if uses_kernels else model.weight_bytes


def choose_backend(model: InstalledModel, settings: ModelConfig) -> str:
    """`auto` takes the CPU kernels where they can run the model and no GPU and no number format is asked for or there.

    Raises UsageError where they are asked for and cannot.
    """
    if settings.backend == "torch":
        return "torch"
    refusal = why_no_kernels(model)
    if settings.backend == "cpu":
        if refusal or settings.device not in ("auto", "cpu"):
            raise UsageError(f"model.backend is cpu, but {refusal or f'model.device is {settings.device}'}")
        return "cpu"
    if settings.dtype != "auto" or settings.device not in ("auto", "cpu"):
        return "torch"
    if settings.device == "auto" and may_have_gpu() and choose_device("auto") != "cpu":
        return "torch"
    if refusal and is_ours(model.folder):
        log.warning("%s; %s runs on torch, which is slower", refusal, model.name)
    return "torch" if refusal else "cpu"


def why_no_kernels(model: InstalledModel) -> str:
    """Why the CPU kernels cannot run this model, in half a sentence; empty where they can."""
    if reason := kernels.why_not():
        return reason
    if model.no_kernels or (model.folder / CPU_WEIGHTS).exists():
        return model.no_kernels
    if not is_ours(model.folder):
        return f"{model.name} is no model that was pulled, and has no weights for the CPU kernels"
    return f"{model.name} has no weights for the CPU kernels (completer models pull {model.name} makes them)"


def choose_device(wanted: str) -> str:
    """`auto` takes CUDA, then MPS, then the CPU. Raises UsageError for a device this machine does not offer."""
    import torch

    is_there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if wanted == "auto":
        return next(device for device in ("cuda", "mps", "cpu") if is_there[device])
    if not is_there[wanted]:
        raise UsageError(f"device {wanted!r} is not available on this machine; choose cpu or auto")
    return wanted


def choose_dtype(wanted: str, device: str) -> "torch.dtype":
    """`auto` takes bfloat16 where the device multiplies it natively, else float32 (CPU) or float16."""
    import torch

    if wanted != "auto":
        return {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}[wanted]
    if device == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    if device == "mps":
        return torch.float16
    if _CPU_WITH_BFLOAT16 & set(vector_instructions()):
        return torch.bfloat16
    log.warning("this processor has no bfloat16 arithmetic: the model runs in float32, twice as large and slower")
    return torch.float32
