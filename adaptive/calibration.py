"""What passes cost on this machine, measured in some three seconds, right after the models were loaded."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from adaptive.cost import TIMED_WIDTHS
from adaptive.costs import CostTable
from completer.engine import Engine, never
from completer.passes import pass_ms, timed_passes

SECONDS = 3.0
_CONTEXT = 128
_DRAFT_STEPS = 9


@dataclass(frozen=True, slots=True)
class Measured:
    """Times in milliseconds: of the target's passes by width, and of the draft model's single steps, () without one."""

    verify_ms: Mapping[int, Sequence[float]]
    draft_ms: Sequence[float]

    def table(self) -> CostTable:
        """Medians."""
        from adaptive.cost import Cost

        cost = Cost.measured(self.verify_ms, self.draft_ms)
        return CostTable.now("this machine", cost)


def measure(
    engine: Engine,
    text: str,
    seconds: float = SECONDS,
    with_draft_model: bool = True,
    cancelled: Callable[[], bool] = never,
) -> Measured:
    """text: of source code, repeated where it is short. At least one time per width, however long that takes.

    with_draft_model: time its steps too, for which it is loaded. Who cancels gets nothing that is of use.
    """
    token_ids = engine.tokenizer.encode(text)
    token_ids = token_ids * (1 + (_CONTEXT + max(TIMED_WIDTHS)) // max(1, len(token_ids)))
    token_ids = token_ids[: _CONTEXT + max(TIMED_WIDTHS)]
    end = time.monotonic() + seconds
    verify_ms: dict[int, list[float]] = {width: [] for width in TIMED_WIDTHS}
    draft_model = engine.draft_target() if with_draft_model else None
    draft_ms = pass_ms(draft_model, token_ids, _CONTEXT, (1,), _DRAFT_STEPS)[1] if draft_model is not None else []
    for timed in timed_passes(engine.target, token_ids, _CONTEXT, TIMED_WIDTHS):
        if timed is not None:
            width, ms = timed
            verify_ms[width].append(ms)
        if cancelled() or (verify_ms[TIMED_WIDTHS[-1]] and time.monotonic() >= end):
            break
    return Measured(verify_ms, draft_ms)
