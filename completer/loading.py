"""From a configuration to a running engine: which models, which limits.

The one place that knows configuration, model store and engine at once.
"""

from functools import partial

from completer.backends.chosen import load_target
from completer.config import Config
from completer.engine import Engine, EngineLimits
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
    positions = int(target_model.config.get("max_position_embeddings", 1 << 20))
    budget = PromptBudget(config.prompt.prefix_tokens, config.prompt.suffix_tokens, config.prompt.context_tokens)
    return Engine(
        load_target(target_model, config.model, is_canonical),
        tokenizer,
        target_model.template,
        stop_token_ids(target_model, tokenizer),
        EngineLimits(
            budget.within(positions - config.completion.max_tokens), config.completion.max_tokens, config.cache.slots
        ),
        partial(load_target, draft_model, config.model) if draft_model is not None else None,
    )


def stop_token_ids(model: InstalledModel, tokenizer: Tokenizer) -> set[int]:
    """Ids that end a completion: the template's stops and the model's own end of text."""
    ids = set(model.eos_ids)
    if model.template is not None:
        ids |= {tokenizer.special_id(name) for name in model.template.stops if tokenizer.has_special(name)}
    return ids
