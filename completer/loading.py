"""From a configuration to a running engine: which models, which number format, how many threads.

The one place that knows configuration, model store and backend at once.
"""

import logging
from collections.abc import Callable
from pathlib import Path

import torch

from completer.backends.target import Target
from completer.backends.torch_target import TorchTarget
from completer.config import Config
from completer.engine import Engine, EngineLimits
from completer.errors import UsageError
from completer.machine import physical_cores, vector_instructions
from completer.models.chosen import chosen_models
from completer.models.pairing import check_draft
from completer.models.store import InstalledModel
from completer.models.tokenizer import Tokenizer
from completer.prompt import PromptBudget

log = logging.getLogger(__name__)

_DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}
_CPU_WITH_BFLOAT16 = {"AVX-512", "AVX-512 bf16", "AMX bf16", "bf16"}


def load_engine(config: Config) -> Engine:
    """Load the target, and see to it that the draft model can be loaded when it is first chosen.

    Raises ModelNotInstalled naming the pull to run, ModelCorrupt, DraftMismatch, ResourceError, UsageError.
    """
    target_model, draft_model = chosen_models(config)
    device = choose_device(config.model.device)
    dtype = choose_dtype(config.model.dtype, device)
    torch.set_num_threads(config.model.threads or physical_cores())
    tokenizer = Tokenizer.load(target_model.folder)
    if draft_model is not None:
        check_draft(target_model, draft_model)
    is_canonical = config.speculation.exact == "canonical"
    positions = int(target_model.config.get("max_position_embeddings", 1 << 20))
    budget = PromptBudget(config.prompt.prefix_tokens, config.prompt.suffix_tokens, config.prompt.context_tokens)
    return Engine(
        TorchTarget.load(target_model.folder, device=device, dtype=dtype, canonical=is_canonical),
        tokenizer,
        target_model.template,
        stop_token_ids(target_model, tokenizer),
        EngineLimits(
            budget.within(positions - config.completion.max_tokens), config.completion.max_tokens, config.cache.slots
        ),
        _loader(draft_model.folder, device, dtype) if draft_model is not None else None,
    )


def choose_device(wanted: str) -> str:
    """`auto` takes CUDA, then MPS, then the CPU. Raises UsageError for a device this machine does not offer."""
    is_there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if wanted == "auto":
        return next(device for device in ("cuda", "mps", "cpu") if is_there[device])
    if not is_there[wanted]:
        raise UsageError(f"device {wanted!r} is not available on this machine; choose cpu or auto")
    return wanted


def choose_dtype(wanted: str, device: str) -> torch.dtype:
    """`auto` takes bfloat16 where the device multiplies it natively, else float32 (CPU) or float16."""
    if wanted != "auto":
        return _DTYPES[wanted]
    if device == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    if device == "mps":
        return torch.float16
    if _CPU_WITH_BFLOAT16 & set(vector_instructions()):
        return torch.bfloat16
    log.warning("this processor has no bfloat16 arithmetic: the model runs in float32, twice as large and slower")
    return torch.float32


def stop_token_ids(model: InstalledModel, tokenizer: Tokenizer) -> set[int]:
    """Ids that end a completion: the template's stops and the model's own end of text."""
    ids = set(model.eos_ids)
    if model.template is not None:
        ids |= {tokenizer.special_id(name) for name in model.template.stops if tokenizer.has_special(name)}
    return ids


def _loader(folder: Path, device: str, dtype: torch.dtype) -> Callable[[], Target]:
    return lambda: TorchTarget.load(folder, device=device, dtype=dtype)
