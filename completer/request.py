"""The records that cross rooms. They carry text, counts and milliseconds; they know no tensors and no editor."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol

import numpy as np

Mode = Literal["auto", "line", "block", "text"]
"""How far a completion may run: `line` to the end of the line, `block` to the end of the syntactic block,
`text` until the model stops, `auto` lets the syntax at the cursor choose between `line` and `block`."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to draw tokens. temperature > 0; top_k 0 and top_p 1.0 switch those limits off."""

    temperature: float = 0.8
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class ContextChunk:
    """A piece of another file, worth reading before this one."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """Everything needed to complete at one cursor.

    fim_prefix and fim_suffix are the whole text before and after the cursor; the prompt cuts its own windows.
    document_id picks the cache slot. previous_suggestion is text once proposed to follow the cursor, used as a draft.
    first_line_ms: by when the first line should be there; of a prompt that would take longer to read, only as much is
    read as fits, and the result says is_brief. None reads all of it. sampling None means greedy. n > 1 asks for
    alternatives and needs sampling.
    """

    fim_prefix: str
    fim_suffix: str
    request_id: str = ""
    document_id: str = ""
    language: str = ""
    project_id: str = ""
    path: str = ""
    context_chunks: tuple[ContextChunk, ...] = ()
    previous_suggestion: str = ""
    mode: Mode = "auto"
    max_tokens: int = 64
    max_lines: int = 0
    deadline_ms: float | None = None
    first_line_ms: float | None = None
    sampling: Sampling | None = None
    n: int = 1


@dataclass(frozen=True, slots=True)
class Draft:
    """Proposed tokens.

    match_length: tokens of context a lookup matched, 0 for a draft model.
    token_probs: the proposer's probability of each token, empty where it has none.
    distributions: (len(token_ids), vocabulary) float32, the rows the tokens were really sampled from; None for a
    one-hot proposal (any lookup, any greedy draft).
    """

    token_ids: tuple[int, ...] = ()
    match_length: int = 0
    token_probs: tuple[float, ...] = ()
    distributions: np.ndarray | None = None

    EMPTY: ClassVar["Draft"]

    def __len__(self) -> int:
        return len(self.token_ids)

    def first(self, k: int) -> "Draft":
        """The first k tokens of this draft."""
        if k >= len(self.token_ids):
            return self
        rows = None if self.distributions is None else self.distributions[:k]
        return Draft(self.token_ids[:k], self.match_length, self.token_probs[:k], rows)

    def behind(self, k: int) -> "Draft":
        """This draft without its first k tokens."""
        rows = None if self.distributions is None else self.distributions[k:]
        return Draft(self.token_ids[k:], self.match_length, self.token_probs[k:], rows)


Draft.EMPTY = Draft()

PLAIN = "none"


@dataclass(frozen=True, slots=True)
class RoundState:
    """What a planner may look at before a round. offers: drafts of the lookup sources by name, empty ones left out.

    deadline_ms: of the engine's clock, by which the first line is wanted. load: texts that share the target pass; the
    engine serves one at a time.
    """

    offers: Mapping[str, Draft]
    draft_lag_tokens: int | None
    context_tokens: int
    remaining_tokens: int
    first_line_done: bool
    deadline_ms: float | None
    load: int = 1


@dataclass(frozen=True, slots=True)
class Choice:
    """k = 0 is plain decoding. stop_below ends a draft model's draft before a token less probable than this."""

    source: str = PLAIN
    k: int = 0
    stop_below: float = 0.0


@dataclass(frozen=True, slots=True)
class RoundOutcome:
    """One round: draft, one target pass, verification. Times in milliseconds.

    emitted: tokens this round added to the text, the target's own included. accepted: drafted tokens kept.
    cut_by_stop: the text ended inside this round, so drafts behind the cut were never judged.
    width: positions in the target pass. healing: text at the seam was still to be retyped when the round began, so that
    emitted and the offers begin with tokens that nobody had to guess; they count neither in accepted nor in draft.
    """

    state: RoundState
    choice: Choice
    draft: Draft
    accepted: int
    emitted: tuple[int, ...]
    cut_by_stop: bool
    width: int
    prefill_ms: float
    draft_ms: float
    verify_ms: float
    sample_ms: float
    schedule_ms: float
    catch_up_tokens: int
    healing: bool = False

    @property
    def has_failed(self) -> bool:
        """Whether a drafted token was judged, and not accepted."""
        return self.accepted < len(self.draft) and not self.cut_by_stop


class RoundPlanner(Protocol):
    def choose(self, state: RoundState) -> Choice: ...

    def observe(self, outcome: RoundOutcome) -> None: ...


@dataclass(slots=True)
class SourceCounts:
    rounds: int = 0
    drafted: int = 0
    accepted: int = 0


@dataclass(slots=True)
class PhaseMs:
    """Milliseconds of a completion by phase."""

    prefill: float = 0.0
    draft: float = 0.0
    verify: float = 0.0
    sample: float = 0.0
    schedule: float = 0.0


@dataclass(slots=True)
class CompletionResult:
    """A finished completion and its numbers.

    tokens: generated, the ones that retyped the seam left out. ttft_ms: request to first verified token.
    tpot_ms: (total_ms - ttft_ms) / (tokens - 1). first_line_ms: request to the end of the first line.
    cached_tokens of prompt_tokens were already in the KV cache.
    """

    text: str = ""
    tokens: int = 0
    rounds: int = 0
    mean_acceptance_length: float = 1.0
    ttft_ms: float = 0.0
    tpot_ms: float = 0.0
    first_line_ms: float = 0.0
    total_ms: float = 0.0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    ms: PhaseMs = field(default_factory=PhaseMs)
    sources: dict[str, SourceCounts] = field(default_factory=dict)
    stop_reason: str = ""
    is_brief: bool = False


@dataclass(frozen=True, slots=True)
class CompletionChunk:
    """New text of one alternative, safe to show. The last chunk of an alternative carries its result."""

    text: str
    alternative: int = 0
    result: CompletionResult | None = None
