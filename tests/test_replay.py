"""Traces and their replay: the same file back, exact walks, and a regret table that says what it should."""

import gzip
import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from adaptive.costs import CostTable, read_tables
from adaptive.hindsight import best_policy_ms, oracle_ms
from adaptive.replay import fixed_planners, replay
from adaptive.simulation import Simulation, Walked
from adaptive.synthetic import completions
from adaptive.trace import Offers, Trace, Traced, joined, read_trace, write_trace
from completer.errors import InputError
from completer.planner import FixedPlanner
from tests.conftest import ROOT

TABLE = CostTable.of("table", {1: 10, 2: 11, 4: 13, 8: 20, 16: 40}, 3, 0.5, 1)
TRACED = Traced(
    language="python",
    project="p",
    tokens=6,
    offers={"ngram": Offers([3, 1, 2, 0, 4, 5], [4, 4, 4, 0, 4, 4], [2, 0, 1, 0, 2, 1])},
    model=[90, 80, -40, 70, 60, 99],
    split="held_out",
    first_line=4,
    context_tokens=100,
    new_tokens=12,
)


@pytest.mark.parametrize("name", ["trace.jsonl", "trace.jsonl.gz"])
def test_a_trace_is_read_as_it_was_written(tmp_path: Path, name: str) -> None:
    trace = Trace([TRACED, replace(TRACED, language="go", model=[])], {"target": "t", "seed": 1})
    write_trace(tmp_path / name, trace)
    again = read_trace(tmp_path / name)
    assert again.about == trace.about
    assert [t.language for t in again.completions] == ["python", "go"]
    assert list(again.completions[0].offers["ngram"].match) == TRACED.offers["ngram"].match
    assert again.tokens == 12
    write_trace(tmp_path / "again.jsonl.gz", again)
    write_trace(tmp_path / "twice.jsonl.gz", again)
    assert (tmp_path / "again.jsonl.gz").read_bytes() == (tmp_path / "twice.jsonl.gz").read_bytes()
    assert joined([again, again]).tokens == 24


@pytest.mark.parametrize(
    "content",
    [b"", b"x", b"{}", b'{"format": "other", "version": 1}', b'{"format": "completer-trace", "version": 1}\n{}',
     gzip.compress(b"x")[:10], b'{"format": "completer-trace", "version": 2}'],
)  # fmt: skip
def test_what_is_no_trace_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    for name in ("trace.jsonl", "trace.jsonl.gz"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=name):
            read_trace(tmp_path / name)
    with pytest.raises(InputError, match="nothing"):
        read_trace(tmp_path / "nothing.jsonl")


def test_a_walk_costs_what_its_rounds_cost() -> None:
    """ngram, k = 3. At 0: 2 of 3 right, 3 tokens. At 3: no offer. At 4: the offer is right to the end."""
    walked = Simulation(TABLE).walk(TRACED, FixedPlanner(("ngram",), 3))
    assert walked.ms == TABLE.round_ms(3) + TABLE.round_ms(0) + TABLE.round_ms(3)
    assert (walked.tokens, walked.rounds, walked.speculative_rounds) == (6, 3, 2)
    assert walked.plain_ms == 6 * TABLE.round_ms(0)


def test_a_walk_with_the_draft_model_pays_for_its_steps_and_for_catching_up() -> None:
    """k = 2. At 0: both right, 3 tokens; at 3: both right."""
    walked = Simulation(TABLE).walk(TRACED, FixedPlanner(("draft_model",), 2))
    assert walked.ms == TABLE.round_ms(2, 2, 12) + TABLE.round_ms(2, 2, 2)
    stopped = Simulation(TABLE).walk(TRACED, FixedPlanner(("draft_model",), 4, 0.5))
    assert stopped.ms == TABLE.round_ms(2, 3, 12) + TABLE.round_ms(4, 4, 2)


def test_no_policy_beats_the_oracle() -> None:
    rng = random.Random(3)
    for traced in completions(30, lambda _: 0.6, rng, model_chance=lambda _: 0.7, has_offer=0.8):
        oracle = oracle_ms(traced, TABLE)
        for make in fixed_planners().values():
            assert Simulation(TABLE).walk(traced, make()).ms >= oracle - 1e-9


def test_the_best_policy_is_no_worse_than_any_fixed_k_of_its_source() -> None:
    traces = completions(80, lambda _: 0.5, random.Random(3), has_offer=0.7)
    best = sum(best_policy_ms(traces, TABLE))
    for k in (0, 1, 2, 4, 8):
        assert best <= 1.001 * sum(Simulation(TABLE).walk(t, FixedPlanner(("ngram",), k)).ms for t in traces)


def test_the_regret_table() -> None:
    rng = random.Random(4)
    good = completions(60, lambda _: 0.9, rng, project="good", match=5)
    bad = completions(60, lambda _: 0.1, rng, project="bad", match=2)
    document = replay([*good, *bad], [TABLE], seeds=2)
    assert document == replay([*good, *bad], [TABLE], seeds=2)
    assert {row["project"] for row in document["by_key"]} == {"good", "bad"}
    times = document["time_vs_plain"]
    assert times["plain"] == pytest.approx(1.0)
    assert times["oracle"] < times["best policy"] < 1.0
    assert times["controller"] == pytest.approx(times["best policy"] * (1.0 + document["gap_to_best_policy"]))
    assert times[document["best_global_fixed"]] == min(time for name, time in times.items() if name in fixed_planners())
    assert document["worst_slowdown_vs_plain"] < 0.0
    assert document["regret_vs_best_fixed"] < 0.03
    json.dumps(document)


def test_the_command(tmp_path: Path, completer: Callable[..., CompletedProcess[str]]) -> None:
    traces = completions(20, lambda _: 0.8, random.Random(1), match=5)
    write_trace(tmp_path / "traces" / "a.jsonl.gz", Trace([replace(t, split="held_out") for t in traces[:10]]))
    write_trace(tmp_path / "traces" / "b.jsonl", Trace(traces[10:]))
    missing = completer("replay", tmp_path / "traces")
    assert missing.returncode == 1 and "costs.toml" in missing.stderr
    (tmp_path / "traces" / "costs.toml").write_bytes((ROOT / "benchmarks" / "traces" / "costs.toml").read_bytes())
    done = completer("replay", tmp_path / "traces", "--seeds", "2", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["completions"] == 10 and len(document["tables"]) >= 3
    wanted = {"regret_vs_best_fixed", "gain_vs_global_fixed", "gap_to_best_policy", "gap_to_oracle",
              "worst_slowdown_vs_plain", "by_key"}  # fmt: skip
    assert wanted <= document.keys()
    shown = completer("replay", tmp_path / "traces", "--seeds", "1", "--split", "all", "--table", "openvino-i4")
    assert "controller" in shown.stdout and "20 completions" in shown.stdout
    nothing = completer("replay", tmp_path)
    assert nothing.returncode == 1 and "no traces" in nothing.stderr


def test_the_cost_tables_that_come_along_can_be_read(tmp_path: Path) -> None:
    tables = read_tables(ROOT / "benchmarks" / "traces" / "costs.toml")
    assert len({table.name for table in tables}) >= 3
    assert all(table.verify_ms[1] > 0 and table.verify_ms[64] >= table.verify_ms[32] for table in tables)
    (tmp_path / "costs.toml").write_text("[[table]]\nname = 'x'\n")
    with pytest.raises(InputError, match="cost tables"):
        read_tables(tmp_path / "costs.toml")


def test_the_worst_slowdown_is_that_of_the_worst_long_beginning() -> None:
    walked = Walked()
    walked.add(Walked(ms=300.0, plain_ms=100.0, tokens=100, rounds=100))
    assert walked.worst_slowdown == pytest.approx(2.0)  # of all there is, so far
    walked.add(Walked(ms=2000.0, plain_ms=2100.0, tokens=2100, rounds=1900))
    assert walked.worst_slowdown == pytest.approx(2300 / 2200 - 1.0)
    walked.add(Walked(ms=2000.0, plain_ms=4000.0, tokens=4000, rounds=2000))
    assert walked.worst_slowdown == pytest.approx(2300 / 2200 - 1.0)
