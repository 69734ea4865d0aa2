"""How fast this machine reads and writes, as measured, and what of a budget it reads in a given time. Pure."""

from collections import deque

from completer.prompt import PromptBudget

_GUESS_TOKENS_PER_MS = 0.15  # two cores with AVX-512
_GUESS_LINE_MS = 600.0
_WEIGHT = 0.3
_LINES, _GUESSED_LINES = 40, 20
_SHARE_IN_TIME = 0.9
_IN_HAND = 0.2  # a pass takes up to twice as long from one minute to the next, on a machine that others share
_LEAST_SHARE = 0.25
_LEAST_TOKENS = 64


class Pace:
    """tokens_per_ms: read at once; a guess until the first."""

    def __init__(self) -> None:
        self.tokens_per_ms = _GUESS_TOKENS_PER_MS
        self._is_measured = False
        self._lines_ms = deque([_GUESS_LINE_MS] * _GUESSED_LINES, maxlen=_LINES)

    def wrote_line(self, ms: float) -> None:
        """A first line took so long once its prompt was read."""
        self._lines_ms.append(ms)

    def reading_ms(self, first_line_ms: float) -> float:
        """How long reading may take, so that nine first lines in ten are written by then; a quarter of it at least."""
        line_ms = sorted(self._lines_ms)[int(_SHARE_IN_TIME * len(self._lines_ms))]
        return max(first_line_ms * _LEAST_SHARE, first_line_ms * (1.0 - _IN_HAND) - line_ms)

    def read(self, tokens: int, ms: float) -> None:
        """So many tokens were read in so long; few of them tell nothing, as narrow passes are slower."""
        if ms > 0 and tokens >= _LEAST_TOKENS // 2:
            weight = _WEIGHT if self._is_measured else 1.0
            self.tokens_per_ms += weight * (tokens / ms - self.tokens_per_ms)
            self._is_measured = True

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
