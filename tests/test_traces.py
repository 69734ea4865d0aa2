"""The recorded traces: what the controller must reach on them. The held-out half is for the slow run alone."""

import random
import statistics
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from adaptive.context_key import Project
from adaptive.controller import Controller
from adaptive.costs import CostTable, read_tables
from adaptive.replay import NOISE, fixed_planners, other_planners, replay
from adaptive.simulation import Simulation, Walked, walk_all
from adaptive.store import Store
from adaptive.trace import Traced, joined, read_trace, trace_files
from tests.conftest import ROOT
from tests.learning_process import ENVIRONMENT

TRACES = ROOT / "benchmarks" / "traces"
TABLES = read_tables(TRACES / "costs.toml")


@cache
def traces(split: str) -> tuple[Traced, ...]:
    recorded = joined(map(read_trace, trace_files(TRACES))).completions
    return tuple(traced for traced in recorded if traced.split == split and traced.tokens)


def walked(controller: Controller, some: Sequence[Traced], table: CostTable, seed: int) -> Walked:
    simulation = Simulation(table, random.Random(seed), NOISE)
    return walk_all(some, simulation, lambda t: controller.planner(t.language, Project(t.project, t.project, "")))


def new_controller(table: CostTable, seed: int) -> Controller:
    controller = Controller(clock_s=lambda: 0.0, clock_ms=lambda: 0.0, rng=random.Random(seed))
    controller.cost.replace(table.cost())
    return controller


def check(document: dict[str, Any]) -> None:
    assert document["regret_vs_best_fixed"] <= 0.03
    assert document["gap_to_best_policy"] <= 0.05
    assert document["gain_vs_global_fixed"] > 0.0
    assert document["worst_slowdown_vs_plain"] <= 0.01
    times = document["time_vs_plain"]
    assert all(times["controller"] < times[name] for name in (*fixed_planners(), *other_planners()))


def test_there_is_as_much_of_both_halves_in_every_language() -> None:
    tune, held_out = traces("tune"), traces("held_out")
    assert not {traced.project for traced in tune} & {traced.project for traced in held_out}
    languages = {traced.language for traced in tune}
    assert len(languages) >= 6 and languages == {traced.language for traced in held_out}
    assert sum(traced.tokens for traced in held_out) == pytest.approx(sum(traced.tokens for traced in tune), rel=0.25)


def test_the_half_for_tuning() -> None:
    check(replay(traces("tune"), TABLES, seeds=1))


@pytest.mark.slow
def test_the_held_out_half() -> None:
    document = replay(traces("held_out"), TABLES, seeds=20)
    check(document)
    for key in document["by_key"]:
        assert key["regret_vs_best_fixed"] <= 0.03 and key["gap_to_best_policy"] <= 0.05, key


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_after_thirty_rounds_in_a_new_project_of_a_known_language_it_gains_as_if_it_knew_it(table: CostTable) -> None:
    """Nine tenths of what a controller gains there that has been through the whole project before."""
    ours_ms = converged_ms = plain_ms = 0.0
    for seed in range(2):
        known = new_controller(table, seed)
        walked(known, traces("tune"), table, seed)
        for project, language in sorted({(t.project, t.language) for t in traces("held_out")}):
            new = [t for t in traces("held_out") if (t.project, t.language) == (project, language)]
            settled = new_controller(table, seed)
            walked(settled, [*traces("tune"), *new], table, seed)
            rounds = 0
            while rounds < 30:
                rounds += walked(known, [new.pop(0)], table, seed).rounds
            ours, converged = walked(known, new, table, seed), walked(settled, new, table, seed)
            ours_ms, converged_ms = ours_ms + ours.ms, converged_ms + converged.ms
            plain_ms += ours.plain_ms
    assert plain_ms - ours_ms >= 0.9 * (plain_ms - converged_ms)


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_what_was_learned_is_not_learned_again(table: CostTable, tmp_path: Path) -> None:
    """A restart half way: the rest goes as it went without one."""
    lost = []
    for seed in range(20):
        half = len(traces("tune")) // 2
        own = new_controller(table, seed)
        walked(own, traces("tune")[:half], table, seed)
        restarted = new_controller(table, seed)
        store = Store(tmp_path / f"{seed}.sqlite3")
        store.write(ENVIRONMENT, own.take_news(), 0.0)
        restarted.rebase(store.known(ENVIRONMENT, 0.0), store.projects(), None)
        store.close()
        rest = traces("tune")[half:]
        lost.append(walked(restarted, rest, table, seed).ms / walked(own, rest, table, seed).ms - 1.0)
    assert abs(statistics.median(lost)) <= 0.005, lost
