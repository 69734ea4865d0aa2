"""How fast this machine reads and writes, as measured, and what of a budget it reads in a given time. Pure."""

from dataclasses import dataclass

from completer.prompt import PromptBudget

_GUESS_TOKENS_PER_MS = 0.2  # two cores with AVX-512; measured after the first pass
_GUESS_MS_PER_TOKEN = 60.0
_WEIGHT = 0.3
_LINE_TOKENS = 8
_LEAST_SHARE = 0.25
_LEAST_TOKENS = 64


@dataclass(slots=True)
class Pace:
    """tokens_per_ms: read, in wide passes. ms_per_token: written."""

    tokens_per_ms: float = _GUESS_TOKENS_PER_MS
    ms_per_token: float = _GUESS_MS_PER_TOKEN

    def wrote(self, ms_per_token: float) -> None:
        self.ms_per_token += _WEIGHT * (ms_per_token - self.ms_per_token)

    def reading_ms(self, first_line_ms: float) -> float:
        """How long reading may take, so that a usual first line is written by then; a quarter of the time at least."""
        return max(first_line_ms * _LEAST_SHARE, first_line_ms - _LINE_TOKENS * self.ms_per_token)

    def read(self, tokens: int, ms: float) -> None:
        """A pass over so many tokens took so long."""
        if ms > 0:
            self.tokens_per_ms += _WEIGHT * (tokens / ms - self.tokens_per_ms)

    def ms_for(self, tokens: int) -> float:
        return tokens / self.tokens_per_ms

    def within(self, budget: PromptBudget, ms: float) -> PromptBudget:
        """What of a budget is read in this time: the text round the cursor first, other files with what is left."""
        tokens = max(_LEAST_TOKENS, int(ms * self.tokens_per_ms))
        own_tokens = budget.prefix_tokens + budget.suffix_tokens
        share = min(1.0, tokens / own_tokens)
        return PromptBudget(
            int(budget.prefix_tokens * share),
            int(budget.suffix_tokens * share),
            min(budget.context_tokens, max(0, tokens - own_tokens)),
        )
