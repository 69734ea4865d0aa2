"""The learning planner against exact replays of made-up traces: when it drafts, how much, and what it never costs."""

import gc
import random
import statistics
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import pytest

from adaptive.context_key import Project
from adaptive.controller import Controller
from adaptive.cost import Cost
from adaptive.costs import CostTable
from adaptive.learned import Learned
from adaptive.planner import LearningPlanner
from adaptive.replay import NOISE
from adaptive.simulation import Simulation, Walked, walk_all
from adaptive.synthetic import completions
from adaptive.trace import Traced
from completer.planner import FixedPlanner
from completer.request import Choice, Draft, RoundState

FLAT = CostTable.of("flat", {1: 45, 8: 46, 16: 50, 32: 70}, 20, 1)
STEEP_MS = {1: 66.0, 2: 103.0, 4: 107.0, 8: 141.0, 16: 153.0, 32: 212.0}
STEEP = CostTable.of("steep", STEEP_MS, 42, 2)
SLOPED = CostTable.of("sloped", {1: 67, 2: 76, 4: 85, 8: 118, 16: 190, 32: 350}, 20, 1)
CHEAP = CostTable.of("cheap draft model", {1: 60, 8: 62, 32: 80}, 6, 0.3)
TABLES = (FLAT, STEEP, SLOPED)


def controller(table: CostTable, seed: int = 1) -> Controller:
    made = Controller(clock_s=lambda: 0.0, clock_ms=lambda: 0.0, rng=random.Random(seed))
    made.cost.replace(table.cost())
    return made


def learned_walk(traces: list[Traced], table: CostTable, seed: int, costs: Controller | None = None) -> Walked:
    own = costs or controller(table, seed)
    simulation = Simulation(table, random.Random(seed), NOISE)
    return walk_all(traces, simulation, lambda traced: own.planner(traced.language, Project(traced.project, "", "")))


def best_fixed_ms(traces: list[Traced], table: CostTable) -> float:
    """Of drafts from the n-gram lookup, and of plain decoding."""
    simulation = Simulation(table)
    arms = [FixedPlanner(("ngram",), k) for k in (0, 1, 2, 3, 4, 6, 8, 12)]
    return min(sum(simulation.walk(traced, arm).ms for traced in traces) for arm in arms)


def state(offers: dict[str, Draft], **changes: object) -> RoundState:
    plain = RoundState(
        offers=offers,
        draft_lag_tokens=None,
        context_tokens=500,
        remaining_tokens=64,
        first_line_done=False,
        deadline_ms=None,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


ADVERSARIES: dict[str, Callable[[int], float]] = {
    "always wrong": lambda token: 0.0,
    "flips every fifty tokens": lambda token: 0.95 if token // 50 % 2 else 0.0,
    "right at first, then wrong": lambda token: 0.95 if token < 400 else 0.0,
    "barely not worth it": lambda token: 0.1,
}

MODEL_ADVERSARIES: dict[str, Callable[[int], float]] = {
    "always wrong": lambda token: 0.0,
    "middling": lambda token: 0.6,
    "flips every fifty tokens": lambda token: 0.95 if token // 50 % 2 else 0.0,
    "right at first, then wrong": lambda token: 0.98 if token < 600 else 0.0,
}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("seeds", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_it_never_costs_more_than_one_per_cent(table: CostTable, adversary: str, seeds: int) -> None:
    """From a cold start, at no time after 2,000 rounds, whatever the match length promises."""
    for seed in range(seeds):
        traces = completions(168, ADVERSARIES[adversary], random.Random(seed), match=16)
        walked = learned_walk(traces, table, seed)
        assert walked.worst_slowdown <= 0.01, (seed, walked)


@pytest.mark.parametrize("new_tokens", [12, 2000], ids=["one document", "always a new one"])
@pytest.mark.parametrize("table", [*TABLES, CHEAP], ids=lambda table: table.name)
@pytest.mark.parametrize("adversary", MODEL_ADVERSARIES)
@pytest.mark.parametrize("seeds", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_neither_does_a_draft_model(table: CostTable, adversary: str, new_tokens: int, seeds: int) -> None:
    """Which has to read all of a document that is new to it before it drafts."""
    for seed in range(seeds):
        chance = MODEL_ADVERSARIES[adversary]
        made = completions(168, lambda token: 0.0, random.Random(seed), match=16, model_chance=chance)
        traces = [replace(traced, context_tokens=new_tokens, new_tokens=new_tokens) for traced in made]
        walked = learned_walk(traces, table, seed)
        assert walked.worst_slowdown <= 0.01, (seed, walked)


@pytest.mark.parametrize("widths", ["all widths", "all but one position"])
def test_it_never_costs_more_when_passes_take_twice_as_long_from_now_on(widths: str) -> None:
    """Half way through 2,000 rounds of plain decoding, in which drafts had been about worth their time."""
    slower = {width: ms * (2.0 if width > 1 or widths == "all widths" else 1.0) for width, ms in STEEP_MS.items()}
    for seed in range(3):
        traces = completions(168, lambda _: 0.45, random.Random(seed), match=4)
        own = controller(STEEP, seed)
        walked = learned_walk(traces[:84], STEEP, seed, own)
        walked.add(after := learned_walk(traces[84:], CostTable.of("slower", slower, 42, 2), seed, own))
        assert walked.ms <= 1.01 * walked.plain_ms and after.ms <= 1.02 * after.plain_ms, (seed, walked, after)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
@pytest.mark.parametrize("chance", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("seeds", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_it_comes_close_to_the_best_fixed_arm(table: CostTable, chance: float, seeds: int) -> None:
    """Where nothing tells one round from another, knowing better in hindsight is the most there is to gain."""
    regrets = []
    for seed in range(seeds):
        traces = completions(120, lambda _: chance, random.Random(seed), match=5, has_offer=0.85)
        regrets.append(learned_walk(traces, table, seed).ms / best_fixed_ms(traces, table) - 1.0)
    assert statistics.median(regrets) <= 0.03, regrets


@pytest.mark.parametrize("seeds", [5, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("chances", [(0.05, 0.9), (0.9, 0.05)], ids=["up", "down"])
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_it_recovers_from_a_step_within_sixty_rounds(
    table: CostTable, chances: tuple[float, float], seeds: int
) -> None:
    """From the sixtieth round on, within a tenth of a controller that has known only what came after the step."""
    lost = []
    for seed in range(seeds):
        rng = random.Random(seed)
        before = completions(80, lambda _: chances[0], rng, match=6)
        after = completions(60, lambda _: chances[1], rng, match=6)
        stepped, settled = controller(table, seed), controller(table, seed)
        learned_walk(before, table, seed, stepped)
        learned_walk(after, table, seed, settled)
        rounds = 0
        while rounds < 60:
            rounds += learned_walk([after.pop(0)], table, seed, stepped).rounds
        ours, theirs = learned_walk(after, table, seed, stepped), learned_walk(after, table, seed, settled)
        lost.append(ours.ms / theirs.ms - 1.0)
    assert statistics.median(lost) <= 0.10, lost


@pytest.mark.parametrize("seeds", [5, pytest.param(20, marks=pytest.mark.slow)])
def test_a_new_project_in_a_known_language_starts_where_the_others_are(seeds: int) -> None:
    """Of what a settled controller gains over plain decoding, nine tenths from the first thirty rounds on."""
    shares = []
    for seed in range(seeds):
        rng = random.Random(seed)
        known = controller(SLOPED, seed)
        for project in ("a", "b", "c"):
            learned_walk(completions(60, lambda _: 0.9, rng, match=2, project=project), SLOPED, seed, known)
        new = completions(60, lambda _: 0.9, rng, match=2, project="new")
        start = learned_walk(new[:8], SLOPED, seed, known)
        settled = controller(SLOPED, seed)
        learned_walk(new, SLOPED, seed, settled)
        converged = learned_walk(new[:8], SLOPED, seed, settled)
        shares.append((start.plain_ms - start.ms) / (converged.plain_ms - converged.ms))
    assert statistics.median(shares) >= 0.9, shares


def test_the_parts_of_a_repository_and_itself_lend_to_one_another_first() -> None:
    own = controller(SLOPED)
    projects = [Project(f"repo/{i}", "", "", "repo") for i in range(2)] + [
        Project(f"else {i}", "", "") for i in range(6)
    ]
    for index, project in enumerate(projects):
        chance = 0.95 if project.parent_id else 0.1
        for traced in completions(40, lambda _, chance=chance: chance, random.Random(index), match=2):  # type: ignore[misc]
            Simulation(SLOPED).walk(traced, own.planner("python", project))

    def expected(new: Project) -> float:
        own.planner("python", new)
        return own.learned("python", new).acceptance.chance("ngram", 1)

    assert expected(Project("repo/new", "", "", "repo")) > 0.75
    assert expected(Project("repo", "", "")) > 0.75
    assert expected(Project("another/new", "", "", "another")) < 0.4


def test_languages_learn_apart() -> None:
    own = controller(STEEP)
    rng = random.Random(5)
    good = completions(80, lambda _: 0.95, rng, match=5, language="java")
    bad = completions(80, lambda _: 0.05, rng, match=5, language="rust")
    learned_walk([traced for pair in zip(good, bad, strict=True) for traced in pair], STEEP, 1, own)
    offer = {"ngram": Draft(tuple(range(16)), 5)}
    project = Project("project", "", "")
    assert own.planner("java", project).choose(state(offer)).k >= 4
    assert own.planner("rust", project).choose(state(offer)) == Choice()


def test_the_draft_model_is_used_where_it_pays_and_left_alone_where_not() -> None:
    rng = random.Random(7)
    traces = completions(200, lambda _: 0.0, rng, model_chance=lambda _: 0.9, has_offer=0.0)
    cheap = CostTable.of("cheap", {1: 60, 8: 62, 32: 80}, 6, 0.3)
    dear = CostTable.of("dear", {1: 60, 8: 90, 32: 200}, 55, 3)
    gained, lost = learned_walk(traces, cheap, 1), learned_walk(traces, dear, 1)
    assert gained.ms < 0.5 * gained.plain_ms
    assert lost.ms <= 1.005 * lost.plain_ms


def test_the_draft_model_is_tried_again_when_its_past_was_bad() -> None:
    own = controller(cheap := CostTable.of("cheap", {1: 60, 8: 62, 32: 80}, 6, 0.3))
    rng = random.Random(8)
    learned_walk(completions(60, lambda _: 0, rng, model_chance=lambda _: 0.02, has_offer=0.0), cheap, 1, own)
    after = completions(400, lambda _: 0, rng, model_chance=lambda _: 0.95, has_offer=0.0)
    learned_walk(after[:300], cheap, 1, own)
    walked = learned_walk(after[300:], cheap, 1, own)
    assert walked.ms < 0.7 * walked.plain_ms


def test_a_draft_is_no_longer_than_what_is_left() -> None:
    own = controller(FLAT)
    planner = own.planner("python")
    offers = {"ngram": Draft(tuple(range(16)), 16)}
    assert planner.choose(state(offers)).k > 4
    assert planner.choose(state(offers, remaining_tokens=4)).k <= 3
    assert planner.choose(state(offers, remaining_tokens=1)) == Choice()


def test_a_draft_that_would_miss_the_deadline_of_the_first_line_is_cut() -> None:
    now_ms = 1000.0
    cost = Cost({1: 60, 2: 61, 3: 62, 4: 63, 5: 90, 32: 130}, 20, 1, 0)
    planner = LearningPlanner(Learned(), cost, lambda: now_ms, lambda: 0.0)
    offers = {"ngram": Draft(tuple(range(16)), 16)}
    unhurried = planner.choose(state(offers, deadline_ms=now_ms + 10_000.0)).k
    assert unhurried > 4
    assert 1 <= planner.choose(state(offers, deadline_ms=now_ms + 70.0)).k <= 3
    assert planner.choose(state(offers, deadline_ms=now_ms + 40.0)).k == unhurried  # late whatever is drafted
    assert planner.choose(state(offers, deadline_ms=now_ms + 70.0, first_line_done=True)).k == unhurried


def test_another_branch_halves_the_weight_of_the_counts_and_says_so() -> None:
    own = controller(FLAT)
    project = Project("id", "name", "/root")
    learned_walk(completions(20, lambda _: 0.9, random.Random(1), project="id"), FLAT, 1, own)
    own.planner("python", project, branch="main")
    before = own.learned("python", project).acceptance.counts["ngram"].sum()
    own.planner("python", project, branch="main")
    assert own.learned("python", project).acceptance.counts["ngram"].sum() == before
    own.planner("python", project, branch="other")
    assert own.learned("python", project).acceptance.counts["ngram"].sum() == pytest.approx(before / 2)
    assert "branch" in own.learned("python", project).changes[-1].cause


def test_one_automatic_request_in_fifty_runs_plain_and_no_manual_one() -> None:
    own = controller(FLAT, 3)
    offers = {"ngram": Draft(tuple(range(16)), 16)}
    automatic = [own.planner("python", is_automatic=True).choose(state(offers)).k for _ in range(2000)]
    manual = [own.planner("python").choose(state(offers)).k for _ in range(500)]
    assert 20 <= automatic.count(0) <= 65
    assert 0 not in manual


def test_nothing_grows_while_rounds_go_by() -> None:
    own, simulation = controller(CHEAP), Simulation(CHEAP)
    traces = completions(60, lambda _: 0.7, random.Random(2), model_chance=lambda _: 0.8)

    def work() -> None:
        walk_all(traces, simulation, lambda traced: own.planner(traced.language))
        own.take_news()  # as the writer does

    for _ in range(3):
        work()
    gc.collect()
    tracemalloc.start()
    try:
        work()
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(5):
            work()
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 20_000
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_choosing_and_observing_takes_less_than_half_a_millisecond() -> None:
    """Of processor time, in 99 of 100 rounds with two lookups and a draft model."""
    table = CostTable.of("cheap", {1: 60, 8: 70, 32: 120}, 6, 0.3)
    traces = completions(150, lambda _: 0.7, random.Random(2), model_chance=lambda _: 0.8)
    traces = [replace(t, offers={**t.offers, "previous_suggestion": t.offers["ngram"]}) for t in traces]
    own = controller(table)
    spent: list[float] = []

    class Timed:
        def __init__(self, traced: Traced) -> None:
            self._planner = own.planner(traced.language)

        def choose(self, state: RoundState) -> Choice:
            started = time.thread_time()
            choice = self._planner.choose(state)
            self._spent = time.thread_time() - started
            return choice

        def observe(self, outcome: object) -> None:
            started = time.thread_time()
            self._planner.observe(outcome)  # type: ignore[arg-type]
            spent.append(self._spent + time.thread_time() - started)

    walk_all(traces, Simulation(table), Timed)
    assert statistics.quantiles(spent, n=100)[98] < 0.0005, statistics.quantiles(spent, n=100)[98]
