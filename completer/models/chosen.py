"""Which installed models a configuration means. Loads nothing, so that a missing one is said at once."""

import logging

from completer.backends.cpu import library as kernels
from completer.config import Config
from completer.machine import memory_bytes
from completer.models.defaults import choose_defaults
from completer.models.registry import KNOWN_MODELS
from completer.models.store import InstalledModel, find, installed_names

log = logging.getLogger(__name__)


def chosen_models(config: Config) -> tuple[InstalledModel, InstalledModel | None]:
    """The configured target and draft model. Raises ModelNotInstalled.

    `auto` takes the target that suits the machine's memory, and for that target the draft model that goes with it
    where it is installed; any other target drafts by lookup alone unless a draft model is named.
    """
    default_target, default_draft, _ = choose_defaults(memory_bytes(), KNOWN_MODELS, has_kernels=not kernels.why_not())
    target = find(default_target.name if config.model.target == "auto" else config.model.target)
    if config.model.draft == "none":
        return target, None
    if config.model.draft != "auto":
        return target, find(config.model.draft)
    if default_draft is None or target.name != default_target.name or default_draft.name not in installed_names():
        log.info("no draft model: drafts come from lookup alone")
        return target, None
    return target, find(default_draft.name)
