"""The controller against everything else, by exact replay of traces: what `completer replay` prints."""

import random
import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from adaptive.baselines import Heuristic, Staircase, Ucb
from adaptive.buckets import DRAFT_MODEL, LOOKUPS
from adaptive.context_key import Project
from adaptive.controller import Controller
from adaptive.cost import TIMED_WIDTHS
from adaptive.costs import CostTable
from adaptive.hindsight import best_policy_ms, oracle_ms
from adaptive.simulation import Simulation, Walked
from adaptive.trace import Traced
from completer.planner import FixedPlanner
from completer.request import RoundPlanner

NOISE = 0.1
"""Standard deviation of the logarithm of the times that the controller sees, as measured between like rounds."""

FIXED_KS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 15)
MODEL_KS = (1, 2, 3, 4, 5, 6, 7, 8)
Place = tuple[str, str, str]
"""Project, language, cost table."""


def replay(completions: Sequence[Traced], tables: Sequence[CostTable], seeds: int) -> dict[str, Any]:
    """The regret table as a document. Figures are fractions: of the other's time for regrets and gaps, of the best
    single arm's for the gain. Where chance enters, medians over the seeds."""
    places: dict[Place, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    worst = float("-inf")
    for table in tables:
        _add_planners(places, completions, table)
        for index, ms in enumerate(best_policy_ms(completions, table)):
            places[_place(completions[index], table)]["best policy"] += ms
        runs = [_controlled(completions, table, seed) for seed in range(seeds)]
        worst = max(worst, *(whole.worst_slowdown for _, whole in runs))
        for place in {_place(traced, table) for traced in completions}:
            places[place]["controller"] = statistics.median(run[place] for run, _ in runs)
    return _document(places, worst, [table.name for table in tables], completions, seeds)


def fixed_planners() -> dict[str, Callable[[], RoundPlanner]]:
    """Arms that never change, by name."""
    arms: dict[str, Callable[[], RoundPlanner]] = {"plain": lambda: FixedPlanner((), 0)}
    for k in FIXED_KS:
        arms[f"ngram k={k}"] = lambda k=k: FixedPlanner(("ngram",), k)  # type: ignore[misc]
        arms[f"previous_suggestion k={k}"] = lambda k=k: FixedPlanner(("previous_suggestion",), k)  # type: ignore[misc]
        arms[f"previous_suggestion,ngram k={k}"] = lambda k=k: FixedPlanner(LOOKUPS, k)  # type: ignore[misc]
    for k in MODEL_KS:
        arms[f"draft_model k={k}"] = lambda k=k: FixedPlanner((DRAFT_MODEL,), k)  # type: ignore[misc]
        arms[f"ngram,draft_model k={k}"] = lambda k=k: FixedPlanner((*LOOKUPS, DRAFT_MODEL), k)  # type: ignore[misc]
    return arms


def other_planners() -> dict[str, Callable[[], RoundPlanner]]:
    """What others do."""
    return {
        "transformers heuristic": Heuristic,
        "transformers heuristic, draft model": lambda: Heuristic((DRAFT_MODEL,)),
        "confidence threshold 0.4, draft model": lambda: FixedPlanner((DRAFT_MODEL,), 8, 0.4),
        "EMA staircase": Staircase,
        "EMA staircase, draft model": lambda: Staircase((DRAFT_MODEL,)),
        "UCB on tokens/ms": Ucb,
    }


def _add_planners(places: dict[Place, dict[str, float]], completions: Sequence[Traced], table: CostTable) -> None:
    simulation = Simulation(table)
    has_model = any(traced.model for traced in completions)
    for name, make in {**fixed_planners(), **other_planners()}.items():
        if has_model or "draft" not in name:
            planner = make()
            for traced in completions:
                places[_place(traced, table)][name] += simulation.walk(traced, planner).ms
    for traced in completions:
        places[_place(traced, table)]["oracle"] += oracle_ms(traced, table)


def cold_controller(table: CostTable, seed: int) -> Controller:
    """One that has learned nothing but what passes cost, as a daemon does: of the draft model it has assumptions."""
    controller = Controller(clock_s=lambda: 0.0, clock_ms=lambda: 0.0, rng=random.Random(seed))
    controller.calibrate({width: [table.verify_ms[width]] for width in TIMED_WIDTHS})
    return controller


def _controlled(completions: Sequence[Traced], table: CostTable, seed: int) -> tuple[dict[Place, float], Walked]:
    """(milliseconds by place, all of it)"""
    controller = cold_controller(table, seed)
    simulation = Simulation(table, random.Random(seed), NOISE)
    run: dict[Place, float] = defaultdict(float)
    whole = Walked()
    for traced in completions:
        project = Project(traced.project, traced.project, "")
        walked = simulation.walk(traced, controller.planner(traced.language, project))
        run[_place(traced, table)] += walked.ms
        whole.add(walked)
    return run, whole


def _document(
    places: dict[Place, dict[str, float]], worst: float, tables: list[str], completions: Sequence[Traced], seeds: int
) -> dict[str, Any]:
    fixed = [name for name in fixed_planners() if all(name in times for times in places.values())]
    plain = {place: times["plain"] for place, times in places.items()}

    def relative(name: str) -> float:
        """Time over plain decoding's, every cost table weighing the same."""
        by_table = [
            sum(times[name] for place, times in places.items() if place[2] == table)
            / sum(ms for place, ms in plain.items() if place[2] == table)
            for table in tables
        ]
        return statistics.fmean(by_table)

    best_global = min(fixed, key=relative)
    rows = []
    for (project, language, table), times in sorted(places.items()):
        best = min(fixed, key=lambda name: times[name])
        rows.append(
            {
                "project": project,
                "language": language,
                "table": table,
                "best_fixed": best,
                "regret_vs_best_fixed": times["controller"] / times[best] - 1.0,
                "gap_to_best_policy": times["controller"] / times["best policy"] - 1.0,
                "gap_to_oracle": times["controller"] / times["oracle"] - 1.0,
                "speedup_vs_plain": times["plain"] / times["controller"],
            }
        )
    best_by_key = sum(min(times[name] for name in fixed) / plain[place] for place, times in places.items())
    ours_by_key = sum(times["controller"] / plain[place] for place, times in places.items())
    names = ["controller", "best policy", "oracle", *fixed, *other_planners()]
    return {
        "completions": len(completions),
        "tokens": sum(traced.tokens for traced in completions),
        "seeds": seeds,
        "tables": tables,
        "regret_vs_best_fixed": ours_by_key / best_by_key - 1.0,
        "best_global_fixed": best_global,
        "gain_vs_global_fixed": 1.0 - relative("controller") / relative(best_global),
        "gap_to_best_policy": relative("controller") / relative("best policy") - 1.0,
        "gap_to_oracle": relative("controller") / relative("oracle") - 1.0,
        "worst_slowdown_vs_plain": worst,
        "time_vs_plain": {name: relative(name) for name in names if all(name in times for times in places.values())},
        "by_key": rows,
    }


def _place(traced: Traced, table: CostTable) -> Place:
    return traced.project, traced.language, table.name
