"""The environment that a configuration gives: the models and how they run. Loads no model."""

from adaptive.context_key import Environment
from completer.config import Config
from completer.machine import physical_cores


def environment_of(config: Config) -> Environment:
    """Raises ModelNotInstalled and the like where the engine could not be loaded either."""
    from completer.loading import choose_device, choose_dtype, chosen_models

    target, draft = chosen_models(config)
    device = choose_device(config.model.device)
    return Environment(
        target=target.name,
        draft=draft.name if draft is not None else "",
        weights=str(choose_dtype(config.model.dtype, device)).removeprefix("torch."),
        device=device,
        template=target.template.family if target.template is not None else "",
        threads=config.model.threads or physical_cores(),
    )
