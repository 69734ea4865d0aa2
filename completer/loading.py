"""From a configuration to a running engine: which models, which limits.

The one place that knows configuration, model store and engine at once.
"""

from functools import partial

from completer.backends.chosen import load_target
from completer.config import Config
from completer.engine import Engine, EngineLimits
from completer.errors import ModelCorrupt, UsageError
from completer.models.chosen import chosen_models
from completer.models.pairing import check_draft
from completer.models.store import InstalledModel
from completer.models.tokenizer import Tokenizer
from completer.prompt import PromptBudget


def load_engine(config: Config) -> Engine:
    """Load the target, and see to it that the draft model can be loaded when it is first chosen.

    Raises ModelNotInstalled naming the pull to run, ModelCorrupt, DraftMismatch, ResourceError, UsageError.
    """
    target_model, draft_model = chosen_models(config)
    tokenizer = Tokenizer.load(target_model.folder)
    if draft_model is not None:
        check_draft(target_model, draft_model)
    is_canonical = config.speculation.exact == "canonical"
    budget = _budget(target_model, config)
    return Engine(
        load_target(target_model, config.model, is_canonical),
        tokenizer,
        target_model.template,
        stop_token_ids(target_model, tokenizer),
        EngineLimits(budget, config.completion.max_tokens, config.cache.slots),
        partial(load_target, draft_model, config.model) if draft_model is not None else None,
    )


def stop_token_ids(model: InstalledModel, tokenizer: Tokenizer) -> set[int]:
    """Ids that end a completion: the template's stops and the model's own end of text."""
    ids = set(model.eos_ids)
    if model.template is not None:
        ids |= {tokenizer.special_id(name) for name in model.template.stops if tokenizer.has_special(name)}
    return ids


def _budget(model: InstalledModel, config: Config) -> PromptBudget:
    """The configured budget, as far as the model has positions for it and a completion.

    Raises ModelCorrupt where it does not say how many it has, UsageError where a completion would take all of them.
    """
    positions = model.config.get("max_position_embeddings", model.config.get("n_positions", 1 << 20))
    if not isinstance(positions, int):
        raise ModelCorrupt(f"the model in {model.folder} cannot be used: max_position_embeddings is {positions!r}")
    wanted = PromptBudget(config.prompt.prefix_tokens, config.prompt.suffix_tokens, config.prompt.context_tokens)
    budget = wanted.within(positions - config.completion.max_tokens)
    if budget.prefix_tokens == 0:
        most = f"max_tokens = {config.completion.max_tokens}"
        raise UsageError(f"{model.name} has {positions} positions, and {most} leaves too few of them for a prompt")
    return budget
