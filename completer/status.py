"""What bare `completer` prints: the state of things in five lines, the last of them the next step. Opens no model."""

import os

from completer import __version__, machine
from completer.backends.cpu import library as kernels
from completer.config import Config
from completer.config_source import ConfigSource
from completer.models.defaults import choose_defaults
from completer.models.registry import KNOWN_MODELS
from completer.models.store import installed_names


def status_lines(source: ConfigSource) -> list[str]:
    config = source.load()
    wanted = _wanted_models(config)
    missing = [name for name in wanted if name not in installed_names() and not os.path.isdir(os.path.expanduser(name))]
    models = " with draft model ".join(wanted) + (f" (missing: {', '.join(missing)})" if missing else "")
    memory = f"{machine.memory_bytes() / 1e9:.0f} GB"
    cores = f"{machine.physical_cores()} cores"
    written = "" if source.file.exists() else " (not written; every setting is its default)"
    return [
        f"completer {__version__}",
        f"machine   {', '.join([machine.processor(), cores, memory, *machine.vector_instructions()])}",
        f"models    {models}",
        f"settings  {source.file}{written}",
        f"next      {_next_step(config, missing)}",
    ]


def _wanted_models(config: Config) -> list[str]:
    target, draft, _ = choose_defaults(machine.memory_bytes(), KNOWN_MODELS, has_kernels=not kernels.why_not())
    target_name = target.name if config.model.target == "auto" else config.model.target
    if config.model.draft == "auto":
        return [target_name] + ([draft.name] if draft is not None and target_name == target.name else [])
    return [target_name] + ([config.model.draft] if config.model.draft != "none" else [])


def _next_step(config: Config, missing: list[str]) -> str:
    if not missing:
        return "completer complete FILE:LINE:COLUMN"
    is_default = config.model.target == config.model.draft == "auto"
    return "completer models pull" if is_default else f"completer models pull {missing[0]}"
