"""How long to wait for the next key before a completion is worth starting. Pure: times are arguments."""

from collections import deque
from statistics import median

SHORTEST_S, LONGEST_S = 0.015, 0.300
_PAUSE_S = 1.0  # a longer gap between keys says nothing about the rhythm
_KEYS = 12


class Debounce:
    """Waits as long as the next key usually takes, but no longer than a completion takes to begin.

    A completion that begins fast costs little when the next key makes it void; one that is slow is worth a wait.
    """

    def __init__(self) -> None:
        self._gaps_s: deque[float] = deque(maxlen=_KEYS)
        self._last_key_s = float("-inf")
        self._ttft_s = LONGEST_S

    def typed(self, now_s: float) -> None:
        if now_s - self._last_key_s < _PAUSE_S:
            self._gaps_s.append(now_s - self._last_key_s)
        self._last_key_s = now_s

    def began(self, ttft_s: float) -> None:
        """A completion took so long to its first token."""
        self._ttft_s += 0.3 * (ttft_s - self._ttft_s)

    def delay_s(self) -> float:
        usual_gap_s = median(self._gaps_s) * 1.2 if self._gaps_s else LONGEST_S
        return max(SHORTEST_S, min(LONGEST_S, usual_gap_s, self._ttft_s))
