"""Frozen cost tables to replay against: what passes cost on a machine, as it was measured. Pure but for one file."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adaptive.cost import WIDEST, Cost
from completer.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True, slots=True)
class CostTable:
    """verify_ms[w]: of a pass over w positions; catch_up_ms: the draft model reads one more token."""

    name: str
    verify_ms: Sequence[float]
    draft_step_ms: float
    catch_up_ms: float
    overhead_ms: float

    @classmethod
    def of(
        cls,
        name: str,
        verify_ms: Mapping[int, float],
        draft_step_ms: float,
        catch_up_ms: float = 0.0,
        overhead_ms: float = 0.0,
    ) -> "CostTable":
        """verify_ms: at some widths; between them costs are interpolated, beyond them they go on as before."""
        cost = Cost(verify_ms, draft_step_ms, catch_up_ms, overhead_ms)
        return cls(name, cost.verify_ms, draft_step_ms, catch_up_ms, overhead_ms)

    @classmethod
    def now(cls, name: str, cost: Cost) -> "CostTable":
        """As a controller knows it now."""
        return cls(name, cost.verify_ms, cost.draft_step_ms, cost.catch_up_ms, cost.overhead_ms)

    def cost(self) -> Cost:
        """As the controller knows it after a calibration."""
        curve = {width: self.verify_ms[width] for width in range(1, WIDEST + 1)}
        return Cost(curve, self.draft_step_ms, self.catch_up_ms, self.overhead_ms)

    def round_ms(self, drafted: int, draft_steps: int = 0, catch_up_tokens: int = 0) -> float:
        """draft_steps: passes of the draft model, the first of which reads catch_up_tokens (one at least)."""
        draft_ms = draft_steps * self.draft_step_ms + max(0, catch_up_tokens - 1) * self.catch_up_ms
        return self.verify_ms[drafted + 1] + self.overhead_ms + draft_ms


def read_tables(path: Path) -> list[CostTable]:
    """Raises InputError for a file that holds no cost tables."""
    try:
        documents = tomllib.loads(path.read_text("utf-8"))["table"]
        return [
            CostTable.of(
                table["name"],
                {int(width): float(ms) for width, ms in table["verify_ms"].items()},
                float(table["draft_step_ms"]),
                float(table["catch_up_ms"]),
                float(table["overhead_ms"]),
            )
            for table in documents
        ]
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} holds no cost tables: {error}") from error
