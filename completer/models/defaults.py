"""Which models suit a machine, by its memory and by what will run them. Pure."""

from collections.abc import Sequence

from rich.filesize import decimal

from completer.models.registry import KnownModel

MEMORY_SHARE = 0.4
_CACHED_TOKENS = 16_384  # four documents' prompts and completions at the default budgets
_RUNTIME_BYTES = 600_000_000  # the interpreter, torch and a pass's activations


def projected_bytes(target: KnownModel, draft: KnownModel | None = None, *, has_kernels: bool) -> int:
    """Peak memory of serving with these models: weights, KV caches and the runtime.

    has_kernels: the CPU kernels run them, on weights of 4 to 8 bits.
    """
    models = [target] if draft is None else [target, draft]
    weight_bytes = sum(model.cpu_weight_bytes if has_kernels else model.weight_bytes for model in models)
    return _RUNTIME_BYTES + weight_bytes + sum(model.kv_bytes_per_token * _CACHED_TOKENS for model in models)


def choose_defaults(
    total_ram_bytes: int, known: Sequence[KnownModel], *, has_kernels: bool
) -> tuple[KnownModel, KnownModel | None, str]:
    """The largest target, with the largest smaller draft model if any, that stay within MEMORY_SHARE of the memory.

    Where not even the smallest target does, it is taken all the same. The third value says why in a sentence.
    """
    targets = sorted((m for m in known if "target" in m.roles), key=lambda m: m.weight_bytes, reverse=True)
    allowed_bytes = int(total_ram_bytes * MEMORY_SHARE)
    machine = f"this machine has {decimal(total_ram_bytes)} of memory"
    passed_over = ""
    for target in targets:
        for draft in [*_drafts_for(target, known), None]:
            pair = target.name if draft is None else f"{target.name} with draft model {draft.name}"
            needed_bytes = projected_bytes(target, draft, has_kernels=has_kernels)
            if needed_bytes <= allowed_bytes:
                return target, draft, f"{machine}: {pair} will use about {decimal(needed_bytes)} of it{passed_over}"
            passed_over = passed_over or (
                f" ({pair} would use {decimal(needed_bytes)}, more than the {decimal(allowed_bytes)} allowed)"
            )
    smallest = targets[-1]
    needed_bytes = projected_bytes(smallest, has_kernels=has_kernels)
    reason = (
        f"{machine}: {smallest.name}, the smallest model, will use about {decimal(needed_bytes)} of it, "
        f"more than the {decimal(allowed_bytes)} meant for it"
    )
    return smallest, None, reason


def _drafts_for(target: KnownModel, known: Sequence[KnownModel]) -> list[KnownModel]:
    fitting = (
        m for m in known if "draft" in m.roles and m.family == target.family and m.weight_bytes < target.weight_bytes
    )
    return sorted(fitting, key=lambda m: m.weight_bytes, reverse=True)
