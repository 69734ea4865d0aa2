"""Whether a draft model can draft for a target."""

from completer.errors import DraftMismatch
from completer.models.store import InstalledModel
from completer.models.tokenizer import Tokenizer


def check_draft(target: InstalledModel, draft: InstalledModel) -> None:
    """Raises DraftMismatch when the two do not share one vocabulary: a drafted token id must mean the same to both."""
    if (target.folder / "tokenizer.json").read_bytes() == (draft.folder / "tokenizer.json").read_bytes():
        return
    ours, theirs = Tokenizer.load(target.folder), Tokenizer.load(draft.folder)
    if ours.same_vocabulary(theirs):
        return
    counts = f"{theirs.vocabulary_size} tokens and {ours.vocabulary_size}"
    if theirs.vocabulary_size == ours.vocabulary_size:
        counts = f"{ours.vocabulary_size} tokens each, but not the same ones"
    raise DraftMismatch(
        f"{draft.name} cannot draft for {target.name}: their tokenizers differ ({counts}); "
        "choose a draft model of the target's family, or none"
    )
