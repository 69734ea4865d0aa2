"""What each mechanism of the controller is worth: replays with one of them switched off at a time.

    python -m benchmarks.ablation [--split tune|held_out] [--seeds N] [NAME...]

For each: the time relative to the whole controller's on the traces, and the most that it lost against plain decoding on
made-up adversaries (sources always wrong, right at first, flipping every fifty tokens, never quite worth it).
"""

import argparse
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from adaptive import acceptance, counts, pending, planner
from adaptive.context_key import Project
from adaptive.cost import Cost
from adaptive.costs import CostTable, read_tables
from adaptive.guard import Guard
from adaptive.learned import Learned
from adaptive.pending import Pending
from adaptive.replay import NOISE, cold_controller
from adaptive.simulation import Simulation, walk_all
from adaptive.synthetic import completions
from adaptive.trace import Traced, joined, read_trace, trace_files

TRACES = Path(__file__).with_name("traces")
Patch = tuple[Any, str, Any]

MECHANISMS: dict[str, Sequence[Patch]] = {
    "nothing": (),
    "shift of a source's log-odds": ((acceptance, "SHIFT_RATE", 0.0),),
    "fading by trials": ((acceptance, "_KEPT", 1.0),),
    "match-length buckets": tuple(
        (module, "match_bucket", lambda length, position=0: 3) for module in (acceptance, pending)
    ),
    "offers not chosen scored": ((Pending, "add", lambda self, offers: None),),
    "achieved rate in the index (plain's instead)": ((Learned, "rate", lambda self, plain_ms: 1.0 / plain_ms),),
    "chance that a completion ends": ((Learned, "goes_on", 1.0),),
    "guard": ((Guard, "close", lambda self: None), (Guard, "credit", 1e9)),
    "plain decoding timed again": ((Learned, "must_compare", lambda self, plain_ms: False),),
    "exploration of the draft model": ((Learned, "may_explore", lambda self, lost_ms: False),),
    "draft model": ((planner, "DRAFT_MODEL_MOST", 0),),
    "priors of other projects": ((counts, "PRIOR_TRIALS", 1e-9), (acceptance, "PRIOR_TRIALS", 1e-9)),
    "costs followed while running": (
        (Cost, "observe_verify", lambda self, width, ms: None),
        (Cost, "observe_draft", lambda self, steps, catch_up_tokens, ms: None),
    ),
}

ADVERSARIES: dict[str, Callable[[int], float]] = {
    "always wrong": lambda token: 0.0,
    "flips": lambda token: 0.95 if token // 50 % 2 else 0.0,
    "right at first": lambda token: 0.95 if token < 400 else 0.0,
    "never quite": lambda token: 0.1,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Replay with one mechanism of the controller off at a time.")
    parser.add_argument("names", nargs="*", help="only these mechanisms")
    parser.add_argument("--split", choices=["tune", "held_out"], default="tune")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--traces", type=Path, default=TRACES)
    options = parser.parse_args()
    traces = joined(map(read_trace, trace_files(options.traces))).completions
    traces = [traced for traced in traces if traced.split == options.split]
    tables = read_tables(options.traces / "costs.toml")
    whole: dict[str, float] = {}
    print(f"{sum(t.tokens for t in traces)} tokens; time relative to the whole controller by cost table; worst loss")
    for name in ["nothing", *(options.names or [name for name in MECHANISMS if name != "nothing"])]:
        with _without(MECHANISMS[name]):
            times = {table.name: _relative_time(traces, table, options.seeds) for table in tables}
            lost = max(_worst_loss(table, options.seeds) for table in tables)
        whole = whole or times
        changes = "  ".join(f"{name_} {times[name_] / whole[name_] - 1:+.2%}" for name_ in times)
        mean = statistics.fmean(times[name_] / whole[name_] for name_ in times) - 1
        print(f"{name:46} {mean:+.2%}   {changes}   lost {lost:+.2%}", flush=True)


@contextmanager
def _without(patches: Sequence[Patch]) -> Iterator[None]:
    with ExitStack() as stack:
        for owner, name, value in patches:
            stack.enter_context(mock.patch.object(owner, name, value))
        yield


def _relative_time(traces: Sequence[Traced], table: CostTable, seeds: int) -> float:
    times = []
    for seed in range(seeds):
        controller, simulation = cold_controller(table, seed), Simulation(table, random.Random(seed), NOISE)
        walked = walk_all(
            traces, simulation, lambda t, c=controller: c.planner(t.language, Project(t.project, t.project, ""))
        )
        times.append(walked.ms / walked.plain_ms)
    return statistics.median(times)


def _worst_loss(table: CostTable, seeds: int) -> float:
    worst = float("-inf")
    for chance in ADVERSARIES.values():
        for seed in range(seeds):
            traces = completions(84, chance, random.Random(seed), match=16)
            controller, simulation = cold_controller(table, seed), Simulation(table, random.Random(seed), NOISE)
            walked = walk_all(traces, simulation, lambda t, c=controller: c.planner(t.language))
            worst = max(worst, walked.ms / walked.plain_ms - 1.0)
    return worst


if __name__ == "__main__":
    main()
