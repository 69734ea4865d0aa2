"""A user's own completions as traces: what is left of their rounds replays, and is what the rounds have shown."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from adaptive.context_key import Project
from adaptive.controller import Controller
from adaptive.costs import CostTable
from adaptive.news import COMPLETIONS_KEPT, Key, KeyNews, News
from adaptive.own_rounds import OwnRounds
from adaptive.simulation import Simulation
from adaptive.store import Store
from adaptive.synthetic import completions
from adaptive.trace import Traced
from completer import paths
from completer.planner import FixedPlanner
from completer.request import Choice, Draft, RoundOutcome, RoundPlanner, RoundState
from tests.learning_process import ENVIRONMENT

TABLE = CostTable.of("table", {1: 10, 2: 11, 4: 13, 8: 20, 16: 40}, 3)


class Noted:
    """A planner whose rounds are noted."""

    def __init__(self, planner: RoundPlanner) -> None:
        self._planner = planner
        self.rounds = OwnRounds()

    def choose(self, state: RoundState) -> Choice:
        return self._planner.choose(state)

    def observe(self, outcome: RoundOutcome) -> None:
        self.rounds.observe(outcome)


def noted(traced: Traced, planner: RoundPlanner) -> Traced:
    own = Noted(planner)
    Simulation(TABLE).walk(traced, own)
    return own.rounds.traced(traced.language, traced.project)


def test_plain_decoding_leaves_all_that_was_offered() -> None:
    for traced in completions(10, lambda _: 0.6, random.Random(1), match=5, has_offer=0.8):
        own = noted(traced, FixedPlanner((), 0))
        assert own.tokens == traced.tokens and own.first_line == traced.first_line
        for name in ("match", "length", "accepted"):
            assert list(getattr(own.offers["ngram"], name)) == list(getattr(traced.offers["ngram"], name))


@pytest.mark.parametrize("k", [1, 3, 8])
def test_the_same_planner_replays_to_the_same_time(k: int) -> None:
    planner = FixedPlanner(("ngram",), k)
    for traced in completions(10, lambda _: 0.7, random.Random(2), match=5, has_offer=0.8):
        assert Simulation(TABLE).walk(noted(traced, planner), planner).ms == Simulation(TABLE).walk(traced, planner).ms


def test_what_was_retyped_is_no_part_of_it() -> None:
    """Three tokens retype; behind them the verified draft was 7 8 9, of which 7 8 were right."""
    state = RoundState({"ngram": Draft((1, 2, 3, 7, 8, 9), 4)}, None, 100, 64, False, None)
    outcome = RoundOutcome(
        state=state,
        choice=Choice("ngram", 3),
        draft=Draft((7, 8, 9)),
        accepted=2,
        emitted=(1, 2, 3, 7, 8, 5),
        cut_by_stop=False,
        width=7,
        prefill_ms=0.0,
        draft_ms=0.0,
        verify_ms=50.0,
        sample_ms=0.0,
        schedule_ms=0.0,
        catch_up_tokens=0,
        healing=True,
    )
    rounds = OwnRounds()
    rounds.observe(outcome)
    own = rounds.traced("python", "p")
    assert own.tokens == 3
    offers = own.offers["ngram"]
    assert (offers.match, offers.length, offers.accepted) == ([4, 5, 6], [3, 2, 1], [2, 1, 0])


def test_a_completion_is_kept_when_the_next_one_has_begun(tmp_path: Path) -> None:
    controller = Controller(clock_s=lambda: 0.0, clock_ms=lambda: 0.0)
    simulation = Simulation(TABLE)
    project = Project("project-id", "shop", "/shop")
    store = Store(tmp_path / "statistics.sqlite3")
    for traced in completions(6, lambda _: 0.7, random.Random(3)):
        simulation.walk(traced, controller.planner(traced.language, project))
        store.write(ENVIRONMENT, controller.take_news(), 0.0)
    kept = store.completions(ENVIRONMENT)
    assert [traced.tokens for traced in kept] == [24] * 5
    assert {traced.project for traced in kept} == {"project-id"}
    assert store.reset("project-id") == 1 and store.completions(ENVIRONMENT) == []
    store.close()


def test_the_newest_are_kept(tmp_path: Path) -> None:
    traces = [Traced("python", "p", tokens, {}) for tokens in range(1, COMPLETIONS_KEPT + 101)]
    store = Store(tmp_path / "statistics.sqlite3")
    for part in (traces[:1500], traces[1500:]):
        store.write(ENVIRONMENT, News({Key("p", "python"): KeyNews(completions=part)}), 0.0)
    kept = [traced.tokens for traced in store.completions(ENVIRONMENT)]
    store.close()
    assert kept == list(range(101, COMPLETIONS_KEPT + 101))


def test_replay_without_a_trace_takes_ones_own(completer: Callable[..., CompletedProcess[str]]) -> None:
    nothing = completer("replay")
    assert nothing.returncode == 1 and "nothing has been completed" in nothing.stderr
    controller = Controller()
    controller.calibrate({width: [TABLE.verify_ms[width]] for width in (1, 2, 4, 8, 16)})
    simulation = Simulation(TABLE)
    for traced in completions(12, lambda _: 0.8, random.Random(4), match=5):
        simulation.walk(traced, controller.planner(traced.language, Project("project-id", "shop", "/shop")))
    store = Store(paths.statistics_file())
    store.write(ENVIRONMENT, controller.take_news(), 0.0)
    store.close()
    done = completer("replay", "--json", "--seeds", "1")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["completions"], document["tokens"], document["tables"]) == (11, 11 * 24, ["this machine"])
    assert [row["project"] for row in document["by_key"]] == ["shop"]
