"""The environment that a configuration gives: the models and how they run. Loads no model."""

from adaptive.context_key import Environment
from completer.config import Config


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
        target=target.name,
        draft=draft.name if draft is not None else "",
        weights=weights,
        device=device,
        template=target.template.family if target.template is not None else "",
        threads=choose_threads(config.model),
    )
