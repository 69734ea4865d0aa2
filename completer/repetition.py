"""Loops in what a model writes: the same line, or the same few tokens, over and over. Knows no text around it."""

import re

_MAX_PERIOD_TOKENS = 32
_MIN_LOOP_TOKENS = 24
_OCCURRENCES = 3


class Repetition:
    """Fed every token and every whole line; answers where a loop should be cut, None where there is none.

    limit: while something may yet turn out to be a loop, the position in the text where the cut would fall.
    """

    def __init__(self) -> None:
        self._tokens: list[int] = []
        self._ends: list[int] = []
        self._runs = [0] * (_MAX_PERIOD_TOKENS + 1)  # by period: tokens in a row equal to the one a period before
        self._line = ""
        self._line_count = 0
        self._line_end = 0
        self._token_limit: int | None = None

    @property
    def limit(self) -> int | None:
        limits = [self._line_end] if self._line_count > 1 else []
        if self._token_limit is not None:
            limits.append(self._token_limit)
        return min(limits, default=None)

    def token(self, token_id: int, end: int) -> int | None:
        """One token, which brings the text to length `end`.

        A loop is a unit of up to 32 tokens three times over and at least 24 tokens long; its first two are kept.
        """
        count = len(self._tokens)
        self._token_limit = None
        for period in range(1, min(count, _MAX_PERIOD_TOKENS) + 1):
            if self._tokens[count - period] != token_id:
                self._runs[period] = 0
                continue
            self._runs[period] = run = self._runs[period] + 1
            if run > period:
                kept = self._ends[count - run + period]
                if run >= (_OCCURRENCES - 1) * period and run + period >= _MIN_LOOP_TOKENS:
                    return kept
                self._token_limit = kept if self._token_limit is None else min(kept, self._token_limit)
        self._tokens.append(token_id)
        self._ends.append(end)
        return None

    def line(self, line: str, end: int) -> int | None:
        """One whole visible line, which ends at `end`. The same one three times is a loop; the first is kept."""
        if line == self._line and re.search(r"\w", line):
            self._line_count += 1
            return self._line_end if self._line_count == _OCCURRENCES else None
        self._line, self._line_count, self._line_end = line, 1, end
        return None
