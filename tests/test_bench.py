"""`completer bench` and `completer verify`, run for real on a tiny model."""

import json
import os
import signal

import pytest

from completer import arms, bench, comparison, speculative, verify_command
from completer.cli import run
from completer.source_files import find_source_files
from completer.verify import Verified, greedy_verify

SOURCE = "".join(
    f"def function_{i}(value):\n    result = value + {i}\n    return result * {i}\n\n\n" for i in range(40)
)


@pytest.fixture
def sources(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text(SOURCE)
    (folder / "b.py").write_text(SOURCE.replace("value", "other"))
    return folder


def test_bench_quick_prints_one_document(completer, tiny_model, sources):
    done = completer(
        "bench", "--quick", "--minutes", "10", "--json", "--target", tiny_model, "--draft", tiny_model, sources
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert list(document["verify_ms"]) == ["1", "2", "4", "8", "16"]
    assert all(ms > 0 for ms in document["verify_ms"].values())
    fields = {"class", "source", "k", "ttft_ms", "tpot_ms", "first_line_ms", "total_ms", "mean_acceptance_length"}
    assert all(fields | {"speedup_vs_plain"} <= arm.keys() for arm in document["arms"])
    arms = {(arm["source"], arm["k"]) for arm in document["arms"]}
    assert {("none", 0), ("ngram", 3), ("draft_model", 2)} <= arms
    assert {arm["state"] for arm in document["arms"]} == {"warm", "cold"}
    assert document["unequal"] == []
    assert document["holes"] > 0 and document["languages"] == ["python"]


def test_bench_prints_tables_and_its_peers(completer, tiny_model, sources):
    done = completer(
        "bench", "--quick", "--minutes", "10", "--target", tiny_model, "--draft", "none",
        "--source", "ngram", "--k", "4", "--holes", "2", "--peers", sources,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "ms of a target pass" in done.stdout
    assert "transformers prompt lookup:" in done.stdout


def test_bench_refuses_folders_without_source(completer, tiny_model, tmp_path):
    (tmp_path / "empty").mkdir()
    done = completer("bench", "--target", tiny_model, tmp_path / "empty")
    assert done.returncode == 1
    assert "no source files" in done.stderr and "Traceback" not in done.stderr


def test_bench_without_the_time_for_one_hole_is_an_error(capsys, monkeypatch, tiny_model, sources):
    monkeypatch.setattr(bench, "QUICK_SECONDS", 0)
    assert run(["bench", "--quick", "--target", str(tiny_model), "--draft", "none", str(sources)]) == 1
    out, err = capsys.readouterr()
    assert out == "" and "give it more with --minutes" in err


def test_verify_proves_nothing_where_there_is_no_hole(completer, tiny_model, tmp_path):
    (tmp_path / "a.py").write_text("x\n" * 30)
    done = completer("verify", "--target", tiny_model, tmp_path / "a.py")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no place for a hole" in done.stderr and "Traceback" not in done.stderr


def test_a_pipe_among_the_files_is_passed_over(sources):
    os.mkfifo(sources / "pipe.py")
    files = find_source_files([sources], 1, lambda path, language: None)
    assert {file.path for file in files} == {"a.py", "b.py"}


def test_verify_says_equal_and_exits_0(completer, tiny_model, sources):
    done = completer("verify", "--limit", "4", "--target", tiny_model, "--draft", tiny_model, sources)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("equal: 20 speculative replays of 4 holes")
    assert done.stderr.count(" tokens, equal\n") == 4


def test_verify_is_quiet_when_told(completer, tiny_model, sources):
    done = completer("--quiet", "verify", "--limit", "1", "--target", tiny_model, "--draft", "none", sources)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("native", [False, True], ids=["canonical", "native"])
def test_verify_finds_a_verification_that_accepts_too_much(capsys, monkeypatch, tiny_model, sources, native):
    def generous(draft_ids, target_argmax):
        right = greedy_verify(draft_ids, target_argmax)
        if right.accepted == len(draft_ids):
            return right
        return Verified(right.accepted + 1, target_argmax[right.accepted + 1])

    monkeypatch.setattr(speculative, "greedy_verify", generous)
    arguments = ["verify", "--limit", "4", "--target", str(tiny_model), "--json", str(sources)]
    assert run(arguments + ["--native"] * native) == (0 if native else 1)
    document = json.loads(capsys.readouterr().out)
    first = document["differences"][0]
    assert first["plain"] != first["speculative"] and first["margin"] > 0
    assert document["near_ties"] == sum(d["margin"] < verify_command.NEAR_TIE for d in document["differences"])


@pytest.mark.model("smollm2-135m")
def test_verify_proves_a_real_model(completer, sources):
    done = completer("verify", "--limit", "1", "--target", "smollm2-135m", "--draft", "none", sources)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("equal: 4 speculative replays of 1 holes")


@pytest.mark.parametrize("runs_before", [0, 4])
def test_an_interrupted_bench_reports_what_it_has(capsys, monkeypatch, tiny_model, sources, runs_before):
    run_hole, runs = arms.Replay.run, []

    def interrupted_run(replay, hole, arm, state):
        runs.append(hole)
        if state == arms.WARM and len(runs) > runs_before:
            signal.raise_signal(signal.SIGINT)
        return run_hole(replay, hole, arm, state)

    monkeypatch.setattr(comparison, "warm_up", lambda engine, hole, arms: None)
    monkeypatch.setattr(arms.Replay, "run", interrupted_run)
    options = "--quick --minutes 600 --source ngram --k 4 --json"  # the clock began when pytest did
    arguments = ["bench", *options.split(), "--target", str(tiny_model)]
    code = run([*arguments, str(sources)])
    if not runs_before:
        assert code == 130
    else:
        assert code == 0
        assert json.loads(capsys.readouterr().out)["holes"] == 2
