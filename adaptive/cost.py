"""What a round costs on this machine: milliseconds of a pass by width, of a draft-model step, of everything else. Pure.

The curve's steps are kept as measured: kernels work in tiles, and the next position may be free or dear. Between the
widths that are kept, costs are interpolated. A machine that slows down as a whole (heat, another program) shows in
`drift` within some ten rounds, a width that has become dearer than the others in its own entry.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adaptive.priors import priors

WIDTHS = (1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 17, 24, 32, 33, 64)
WIDEST = 64
TIMED_WIDTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Those that a calibration measures."""

DRIFT_RATE = 0.12
WIDTH_RATE = 0.02
_ALL = np.arange(WIDEST + 1)
_SURPRISE = 3.0
"""A round that took so many times longer or shorter than expected teaches no more than this: the process was asleep."""


class Cost:
    """verify_ms[w]: of a pass over w positions, drift included; draft_step_ms, catch_up_ms, overhead_ms likewise."""

    def __init__(self, verify_ms: Mapping[int, float], draft_step_ms: float, catch_up_ms: float, overhead_ms: float):
        """verify_ms: at any widths, one at least. catch_up_ms: the draft model reads one more token in its pass."""
        given = sorted(verify_ms)
        self._knots = np.interp(WIDTHS, given, [verify_ms[width] for width in given])
        beyond = np.array(WIDTHS) > given[-1]
        slope = self._slope(given, verify_ms)
        self._knots[beyond] += slope * (np.array(WIDTHS)[beyond] - given[-1])
        self.draft_step_ms, self.catch_up_ms, self.overhead_ms = draft_step_ms, catch_up_ms, overhead_ms
        self.drift = 1.0
        self.is_relative = False
        self._tabulate()

    @classmethod
    def unknown(cls) -> "Cost":
        """In units of a pass over one position, from priors.toml, until the first round has been seen."""
        prior = priors()["cost"]
        curve = {1: 1.0, WIDEST: 1.0 + prior["slope"] * (WIDEST - 1)}
        cost = cls(curve, prior["draft"], prior["catch_up"], 0.0)
        cost.is_relative = True
        return cost

    @classmethod
    def measured(cls, verify_ms: Mapping[int, Sequence[float]], draft_ms: Sequence[float] = ()) -> "Cost":
        """From times of passes by width and, where there is a draft model, of its steps: medians."""
        prior = priors()["cost"]
        medians = {width: float(np.median(times)) for width, times in verify_ms.items()}
        one = medians.get(1) or min(medians.values())
        step = float(np.median(draft_ms)) if len(draft_ms) else prior["draft"] * one
        return cls(medians, step, prior["catch_up"] * one, 0.0)

    @property
    def plain_ms(self) -> float:
        """A round of plain decoding."""
        return self.verify_ms[1] + self.overhead_ms

    def replace(self, other: "Cost") -> None:
        """Become like other, in place: planners that are at work go on with it."""
        self.__dict__.update(other.__dict__)

    def reshape(self, verify_ms: Mapping[int, Sequence[float]]) -> None:
        """Take over the shape of a curve from times of passes by width; its level stays that of real rounds."""
        measured = Cost.measured(verify_ms)
        self._knots = measured._knots * (self.verify_ms[1] / measured.verify_ms[1])
        self.drift = 1.0
        self._tabulate()

    def as_document(self) -> dict[str, Any]:
        """As JSON takes it; {} as long as nothing is known."""
        if self.is_relative:
            return {}
        curve = {str(width): float(ms) * self.drift for width, ms in zip(WIDTHS, self._knots, strict=True)}
        return {
            "verify_ms": curve,
            "draft_step_ms": self.draft_step_ms,
            "catch_up_ms": self.catch_up_ms,
            "overhead_ms": self.overhead_ms,
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Cost":
        curve = {int(width): ms for width, ms in document["verify_ms"].items()}
        return cls(curve, document["draft_step_ms"], document["catch_up_ms"], document["overhead_ms"])

    def observe_verify(self, width: int, ms: float) -> None:
        width = min(width, WIDEST)
        if self.is_relative:
            self._scale(ms / self.verify_ms[width])
            self.is_relative = False
        ratio = min(max(ms / self.verify_ms[width], 1.0 / _SURPRISE), _SURPRISE)
        self.drift *= 1.0 + DRIFT_RATE * (ratio - 1.0)
        right = bisect_left(WIDTHS, width)
        left = right if WIDTHS[right] == width else right - 1
        far = (width - WIDTHS[left]) / max(1, WIDTHS[right] - WIDTHS[left])
        for knot, weight in {left: 1.0 - far, right: far or 1.0}.items():
            self._knots[knot] *= 1.0 + WIDTH_RATE * weight * (1.0 - DRIFT_RATE) * (ratio - 1.0)
        self._tabulate()

    def observe_draft(self, steps: int, catch_up_tokens: int, ms: float) -> None:
        """A draft of `steps` passes of the draft model, the first of which read catch_up_tokens (one at least)."""
        behind = max(0, catch_up_tokens - 1)
        if steps < 1 or ms <= 0.0:
            return
        if behind <= 2:
            self.draft_step_ms += DRIFT_RATE * (self._bounded(ms / steps, self.draft_step_ms) - self.draft_step_ms)
        elif behind >= 16:
            a_token = max(0.0, ms - steps * self.draft_step_ms) / behind
            self.catch_up_ms += DRIFT_RATE * (self._bounded(a_token, self.catch_up_ms) - self.catch_up_ms)

    def observe_overhead(self, ms: float) -> None:
        limit = max(self.overhead_ms, 0.02 * self.verify_ms[1]) * _SURPRISE
        self.overhead_ms += DRIFT_RATE * (min(ms, limit) - self.overhead_ms)

    def _scale(self, factor: float) -> None:
        """The first round sets the level of a curve of which nothing but an assumed shape is known."""
        self._knots *= factor
        self.draft_step_ms *= factor
        self.catch_up_ms *= factor
        self._tabulate()

    def _tabulate(self) -> None:
        self.verify_ms: list[float] = (np.interp(_ALL, WIDTHS, self._knots) * self.drift).tolist()

    @staticmethod
    def _bounded(ms: float, usual_ms: float) -> float:
        return min(max(ms, usual_ms / _SURPRISE), usual_ms * _SURPRISE)

    @staticmethod
    def _slope(given: Sequence[int], verify_ms: Mapping[int, float]) -> float:
        if len(given) < 2:
            return priors()["cost"]["slope"] * verify_ms[given[-1]] / given[-1]
        last, before = given[-1], given[-2]
        return max(0.0, (verify_ms[last] - verify_ms[before]) / (last - before))
