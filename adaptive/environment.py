"""The environment that a configuration gives: the models and how they run. Loads no model."""

import hashlib
from typing import TYPE_CHECKING

from adaptive.context_key import Environment
from completer.config import Config

if TYPE_CHECKING:
    from completer.models.store import InstalledModel


def environment_of(config: Config) -> Environment:
    """Raises ModelNotInstalled and the like where the engine could not be loaded either."""
    from completer.backends.chosen import choose_backend, choose_device, choose_dtype, choose_threads
    from completer.models.chosen import chosen_models

    target, draft = chosen_models(config)
    if choose_backend(target, config.model) == "cpu":
        device, weights = "cpu", "kernels"
    else:
        device = choose_device(config.model.device)
        weights = str(choose_dtype(config.model.dtype, device)).removeprefix("torch.")
    return Environment(
        target=_name(target),
        draft=_name(draft) if draft is not None else "",
        weights=weights,
        device=device,
        template=target.template.family if target.template is not None else "",
        threads=choose_threads(config.model),
    )


def _name(model: "InstalledModel") -> str:
    """Without a path. Folders that are not ours may have the same last name."""
    from completer.models.store import is_ours

    place = hashlib.sha256(str(model.folder.resolve()).encode()).hexdigest()
    return model.name if is_ours(model.folder) else f"{model.name}-{place[:8]}"
