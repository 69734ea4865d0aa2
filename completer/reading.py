"""How fast this machine reads a prompt, as measured, and how much of a budget it reads in a given time. Pure."""

from dataclasses import dataclass

from completer.prompt import PromptBudget

_GUESS_TOKENS_PER_MS = 0.2  # two cores with AVX-512; measured after the first pass
_WEIGHT = 0.3
_LEAST_TOKENS = 64


@dataclass(slots=True)
class ReadingPace:
    tokens_per_ms: float = _GUESS_TOKENS_PER_MS

    def measured(self, tokens: int, ms: float) -> None:
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
