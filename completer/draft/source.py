"""The DraftSource protocol, and what a source is told when a request starts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from completer.healing import Vocabulary
from completer.models.tokenizer import Tokenizer
from completer.request import Draft, Sampling

MAX_K = 32


@dataclass(frozen=True, slots=True)
class DraftContext:
    """One request, as far as a source may care.

    prompt_ids end at the healing seam; remainder is what the model must type again first. reference_ids are tokens of
    other files that are not in the prompt. rng draws the drafts when sampling is set.
    """

    prompt_ids: Sequence[int]
    remainder: bytes
    document_id: str
    previous_suggestion: str
    reference_ids: Sequence[int]
    tokenizer: Tokenizer
    vocabulary: Vocabulary
    sampling: Sampling | None
    rng: np.random.Generator


class DraftSource(Protocol):
    name: str

    def start(self, context: DraftContext) -> None:
        """Begin a request (or one more alternative of it)."""

    def offer(self, token_ids: Sequence[int], max_k: int, stop_below: float = 0.0) -> Draft:
        """At most max_k tokens to follow token_ids, which begin with the prompt and only grow within a request."""
