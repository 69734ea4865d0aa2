"""The promise that speculation does not cost time: an account of passes saved, with a credit that runs out. Pure.

The text being the same, a round of n tokens that took t milliseconds has saved n - t / plain_ms passes against plain
decoding. The account takes savings up to a ceiling, so that old gains do not pay for a long loss. When it is overdrawn
every round is plain for a while, twice as long each time in a row, and then little credit is given, and only for drafts
that promise somewhat more.
"""

from dataclasses import dataclass

CREDIT_PASSES = 3.0
AGAIN_PASSES = 2.0
CEILING_PASSES = 6.0
SHORTEST_PAUSE = 32
LONGEST_PAUSE = 512
DOUBT_TOKENS = 0.05


@dataclass(slots=True)
class Guard:
    balance: float = 0.0
    pause: int = 0
    next_pause: int = SHORTEST_PAUSE

    @property
    def is_closed(self) -> bool:
        return self.pause > 0

    @property
    def credit(self) -> float:
        """Passes that the next round may lose."""
        return 0.0 if self.pause else self.balance + CREDIT_PASSES

    @property
    def doubt(self) -> float:
        """Tokens that a draft has to promise beyond plain decoding, after one that was closed lately."""
        return DOUBT_TOKENS if self.next_pause > SHORTEST_PAUSE else 0.0

    def observe(self, tokens: int, ms: float, plain_ms: float, is_plain: bool) -> None:
        if self.pause:
            self.pause -= 1
        elif not is_plain:
            self.balance = min(self.balance + tokens - ms / plain_ms, CEILING_PASSES)
            if self.balance <= -CREDIT_PASSES:
                self.close()
            elif self.balance >= CEILING_PASSES:
                self.next_pause = SHORTEST_PAUSE

    def close(self) -> None:
        self.pause = self.next_pause
        self.next_pause = min(2 * self.next_pause, LONGEST_PAUSE)
        self.balance = AGAIN_PASSES - CREDIT_PASSES
