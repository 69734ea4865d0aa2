"""The store: what survives, what is shared between processes, and what a bad disk or a strange file does not stop."""

import logging
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adaptive.context_key import Project
from adaptive.controller import Controller
from adaptive.costs import CostTable
from adaptive.guard import Guard
from adaptive.migrations import STEPS, migrations
from adaptive.news import Key, News, SuggestionCount, SuggestionKey
from adaptive.simulation import Simulation
from adaptive.store import Store, day_of
from adaptive.store_errors import NewerStore, StoreError
from adaptive.synthetic import completions
from adaptive.writer import Writer
from tests.conftest import ROOT, as_somebody_else
from tests.learning_process import ENVIRONMENT, PROJECT, play

NOW_S = time.time()
DAY_S = 86400.0
PYTHON = Key(PROJECT.id, "python")


class Event:
    def __init__(self, kind: str, chars: int, of_chars: int) -> None:
        self.kind, self.chars, self.of_chars = kind, chars, of_chars
        self.language = "python"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "statistics" / "statistics.sqlite3"


@pytest.fixture
def writers() -> Iterator[list[Writer]]:
    made: list[Writer] = []
    yield made
    for writer in made:
        writer.close()


def start(file: Path, writers: list[Writer]) -> tuple[Controller, Writer]:
    controller = Controller()
    writer = Writer(controller, file, ENVIRONMENT, batch_s=1000.0, clock_s=lambda: NOW_S)
    writers.append(writer)
    assert writer.has_loaded.wait(20.0)
    return controller, writer


def trials(controller: Controller) -> float:
    return float(controller.learned("python", PROJECT).acceptance.counts["ngram"].sum())


def stored_trials(file: Path) -> float:
    store = Store(file)
    try:
        known = store.known(ENVIRONMENT, NOW_S)
        return float(known[PYTHON].counts["ngram"].sum()) if PYTHON in known else 0.0
    finally:
        store.close()


def other_process(file: Path, *arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.learning_process", str(file), *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def learn(controller: Controller, rounds: int, is_right: bool = True) -> None:
    for _ in range(rounds):
        play(controller.planner("python", PROJECT), is_right)


def test_a_restart_keeps_what_was_learned(file: Path, writers: list[Writer]) -> None:
    first, writer = start(file, writers)
    learn(first, 60, is_right=False)
    before = first.learned("python", PROJECT)
    writer.close()
    second, _ = start(file, writers)
    after = second.learned("python", PROJECT)
    assert np.allclose(after.acceptance.counts["ngram"], before.acceptance.counts["ngram"], rtol=0.1)
    assert after.state() == before.state()
    assert second.cost.verify_ms == pytest.approx(first.cost.verify_ms)
    assert not second.cost.is_relative


def test_old_counts_weigh_less(file: Path, writers: list[Writer]) -> None:
    controller, writer = start(file, writers)
    learn(controller, 40)
    writer.close()
    store = Store(file)
    fresh = store.known(ENVIRONMENT, NOW_S)[PYTHON].counts["ngram"].sum()
    old = store.known(ENVIRONMENT, NOW_S + 28 * DAY_S)[PYTHON].counts["ngram"].sum()
    store.close()
    assert old == pytest.approx(fresh / 4)


def test_another_environment_starts_anew(file: Path, writers: list[Writer]) -> None:
    controller, writer = start(file, writers)
    learn(controller, 10)
    writer.close()
    store = Store(file)
    assert store.known(replace(ENVIRONMENT, target="another"), NOW_S) == {}
    assert store.cost(replace(ENVIRONMENT, threads=8)) is None
    assert store.environments() == [ENVIRONMENT]
    store.close()


def test_kill_loses_no_batch_that_was_written(file: Path) -> None:
    """At any moment: what was reported written is there, and the file opens without a complaint."""
    for batches in (1, 3, 7):
        with other_process(file, "python") as process:
            assert process.stdout is not None
            before = stored_trials(file) if file.exists() else 0.0
            reported = [int(process.stdout.readline()) for _ in range(batches)][-1]
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert stored_trials(file) >= 0.8 * (before + reported)  # they fade as they become many
        assert sorted(file.parent.glob("*damaged*")) == []


def test_two_processes_write_at_once_and_neither_undoes_the_other(file: Path) -> None:
    Store(file).close()
    with other_process(file, "python", "100") as first, other_process(file, "python", "100") as second:
        assert first.wait(120) == second.wait(120) == 0
    assert stored_trials(file) == pytest.approx(sum(2.0 ** (-i / 256) for i in range(200)), rel=0.05)
    store = Store(file)
    assert sum(tally.completions for *_, tally in store.tallies()) == 200
    store.close()


def test_what_another_process_writes_reaches_a_running_one(file: Path, writers: list[Writer]) -> None:
    controller, writer = start(file, writers)
    learn(controller, 10)
    writer.write_now()
    with other_process(file, "python", "50") as process:
        assert process.wait(120) == 0
    learn(controller, 5)
    writer.write_now()
    assert trials(controller) == pytest.approx(65.0, rel=0.15)
    store = Store(file)
    assert store.reset(language="python") == 1
    store.close()
    learned = controller.learned("python", PROJECT)
    writer.write_now()
    assert controller.learned("python", PROJECT) is learned  # planners at work hold it
    assert trials(controller) == 0.0
    assert "reset" in learned.changes[-1].cause
    learn(controller, 3)
    writer.write_now()
    assert stored_trials(file) == pytest.approx(3.0, rel=0.05)


@pytest.mark.parametrize("damage", ["not a database", "cut short", "a page overwritten"])
def test_a_damaged_file_is_moved_aside_and_nothing_else_stops(
    file: Path, writers: list[Writer], damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    controller, writer = start(file, writers)
    learn(controller, 30)
    writer.close()
    content = file.read_bytes()
    spoilt = {
        "not a database": b"x" * 5000,
        "cut short": content[: 4096 + 100],
        "a page overwritten": content[:4096] + b"\xff" * 16384 + content[4096 + 16384 :],
    }
    file.write_bytes(spoilt[damage])
    with caplog.at_level(logging.WARNING):
        again, writer = start(file, writers)
    assert "damaged" in caplog.text
    assert len(list(file.parent.glob("*.damaged-*"))) == 1
    learn(again, 10)
    writer.write_now()
    assert writer.status == ""
    assert stored_trials(file) == pytest.approx(10.0, rel=0.05)


def test_what_was_learned_outlives_a_file_that_is_damaged_meanwhile(file: Path, writers: list[Writer]) -> None:
    controller, writer = start(file, writers)
    learn(controller, 30)
    writer.write_now()
    changes = [change.cause for change in controller.learned("python", PROJECT).changes]
    connection = sqlite3.connect(file)
    connection.execute("drop table days")
    connection.commit()
    connection.close()
    learn(controller, 5)
    writer.write_now()
    assert len(list(file.parent.glob("*.damaged-*"))) == 1
    learn(controller, 5)
    writer.write_now()
    writer.close()
    assert stored_trials(file) == pytest.approx(40.0, rel=0.05)
    again, _ = start(file, writers)
    assert trials(again) == pytest.approx(40.0, rel=0.05)
    assert [change.cause for change in again.learned("python", PROJECT).changes][: len(changes)] == changes


@pytest.mark.parametrize(
    "statement",
    ["update keys set state = 'x'", "update keys set state = '[1]'", "update days set tally = '{}'", "drop table days"],
)
def test_content_that_cannot_be_is_damage(file: Path, writers: list[Writer], statement: str) -> None:
    controller, writer = start(file, writers)
    learn(controller, 10)
    writer.close()
    connection = sqlite3.connect(file)
    connection.execute(statement)
    connection.commit()
    connection.close()
    controller, writer = start(file, writers)
    learn(controller, 5)
    writer.write_now()
    aside = list(file.parent.glob("*.damaged-*"))
    assert len(aside) == 1
    assert aside[0].name in writer.status or writer.status == ""  # said for a turn
    learn(controller, 5)
    writer.write_now()
    assert writer.status == ""
    assert stored_trials(file) > 0.0


def test_what_is_moved_aside_replaces_nothing(file: Path) -> None:
    for index in range(3):
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"no database %d" % index * 500)
        Store(file).close()
    assert len({aside.read_bytes() for aside in file.parent.glob("*.damaged-*")}) == 3


@pytest.mark.parametrize("becomes_of_it", ["removed", "moved"])
@pytest.mark.skipif(os.name == "nt", reason="an open file stays where it is")
def test_a_file_that_is_removed_while_open_is_written_again(
    file: Path, writers: list[Writer], becomes_of_it: str
) -> None:
    controller, writer = start(file, writers)
    learn(controller, 40, is_right=False)
    controller.record(Event("shown", 20, 20), PROJECT)
    writer.write_now()
    before = trials(controller)
    for part in sorted(file.parent.iterdir()):
        if becomes_of_it == "removed":
            part.unlink()
        else:
            part.rename(part.with_name(f"old-{part.name}"))
    writer.write_now()
    assert not file.exists()  # who uninstalls is not defied by a process that rests
    learn(controller, 5)
    writer.write_now()
    assert writer.status == ""
    assert trials(controller) == pytest.approx(before + 5.0, rel=0.15)
    assert stored_trials(file) == pytest.approx(trials(controller), rel=0.01)
    assert not any("reset" in change.cause for change in controller.learned("python", PROJECT).changes)


def test_a_reset_reaches_a_process_that_has_unwritten_news(file: Path, writers: list[Writer]) -> None:
    controller, writer = start(file, writers)
    learn(controller, 100, is_right=False)
    writer.write_now()
    learn(controller, 5, is_right=False)
    controller.record(Event("shown", 20, 20), PROJECT)
    play(controller.planner("go", PROJECT))  # not stored yet: nobody can have reset it
    store = Store(file)
    assert store.reset() == 1
    writer.write_now()
    learned = controller.learned("python", PROJECT)
    assert trials(controller) == 0.0
    assert [change.cause for change in learned.changes] == ["reset by hand: everything is learned anew"]
    assert (learned.guard, learned.force) == (Guard(), {})
    assert set(learned.acceptance.shift.values()) == {0.0}
    assert set(store.known(ENVIRONMENT, NOW_S)) == {Key(PROJECT.id, "go")}
    assert list(store.suggestions()) == []
    store.close()
    learn(controller, 3)
    writer.write_now()
    assert stored_trials(file) == pytest.approx(3.0, rel=0.05)


def test_a_file_of_a_newer_version_is_left_alone(file: Path, writers: list[Writer]) -> None:
    Store(file).close()
    connection = sqlite3.connect(file)
    connection.execute(
        "insert into _sqlite_migrations (migration_set, name, applied_at) values ('completer', 'm999_later', '2030')"
    )
    connection.commit()
    connection.close()
    before = file.read_bytes()
    with pytest.raises(NewerStore, match="newer version"):
        Store(file)
    controller, writer = start(file, writers)
    learn(controller, 10)
    writer.write_now()
    assert "newer version" in writer.status and "m999_later" in writer.status
    assert trials(controller) > 9.0
    writer.close()
    assert file.read_bytes() == before


def test_where_nothing_can_be_written_learning_goes_on_and_is_written_later(file: Path, writers: list[Writer]) -> None:
    file.parent.parent.mkdir(parents=True, exist_ok=True)
    file.parent.write_text("in the way")
    controller, writer = start(file, writers)
    learn(controller, 10)
    writer.write_now()
    assert str(file) in writer.status
    assert trials(controller) > 9.0
    file.parent.unlink()
    writer.write_now()
    assert writer.status == ""
    assert stored_trials(file) == pytest.approx(10.0, rel=0.05)


def test_a_full_disk_is_said_and_overcome(file: Path, writers: list[Writer]) -> None:
    """SQLite's own limit on pages answers as a full disk does."""
    controller, writer = start(file, writers)
    assert writer._store is not None
    writer._store._db.execute("PRAGMA max_page_count = 1")
    for index in range(40):
        play(controller.planner(f"language {index}", PROJECT))
    learn(controller, 10)
    writer.write_now()
    assert "full" in writer.status
    writer._store._db.execute("PRAGMA max_page_count = 100000")
    writer.write_now()
    assert writer.status == ""
    assert stored_trials(file) == pytest.approx(10.0, rel=0.05)


@pytest.mark.skipif(os.name == "nt", reason="has other permissions")
def test_a_read_only_folder() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o555)
        with as_somebody_else(), pytest.raises(StoreError, match="readonly|unable to open|denied"):
            Store(folder / "statistics.db")
        assert [*folder.iterdir()] == []
        folder.chmod(0o755)


def test_suggestions_are_counted(file: Path, writers: list[Writer]) -> None:
    controller, writer = start(file, writers)
    for event in (Event("shown", 20, 20), Event("shown", 8, 8), Event("accepted", 20, 20)):
        controller.record(event, PROJECT)
    writer.write_now()
    controller.record(Event("shown", 2, 2), PROJECT)
    writer.close()
    store = Store(file)
    counted = {key.kind: count for _, key, count in store.suggestions()}
    store.close()
    assert counted == {"shown": SuggestionCount(3, 30, 30), "accepted": SuggestionCount(1, 20, 20)}


def test_old_days_become_months_and_the_sums_stay(file: Path) -> None:
    store = Store(file)
    for day in range(200):
        now_s = NOW_S + day * DAY_S
        news = News(suggestions={SuggestionKey("p", "python", "shown"): SuggestionCount(1, 2, 3)})
        controller = Controller()
        play(controller.planner("python", PROJECT))
        news.add(controller.take_news())
        store.write(ENVIRONMENT, news, now_s)
    store.roll_up(NOW_S + 200 * DAY_S)
    days = [day for day, *_ in store.tallies()]
    assert sum(tally.completions for *_, tally in store.tallies()) == 200
    assert sum(count.count for _, _, count in store.suggestions()) == 200
    assert len(days) < 100 and days == sorted(days)
    assert day_of(NOW_S + 199 * DAY_S) in days
    store.roll_up(NOW_S + 2000 * DAY_S)
    assert list(store.tallies()) == []
    store.close()


@pytest.mark.slow
def test_a_million_completions_take_less_than_fifty_megabytes(file: Path) -> None:
    """In two years, in twenty projects of three languages each, two projects a day."""
    controller = Controller(clock_s=lambda: NOW_S, clock_ms=lambda: 0.0)
    simulation = Simulation(CostTable.of("table", {1: 40, 8: 70, 32: 156}, 20), random.Random(1), 0.1)
    days: list[News] = []
    traces = completions(60, lambda _: 0.7, random.Random(2), model_chance=lambda _: 0.8)
    for index, traced in enumerate(traces):
        project = Project(f"project-{index // 3}", f"name {index // 3}", f"/home/user/project-{index // 3}")
        simulation.walk(traced, controller.planner(f"language-{index % 3}", project))
        if index % 6 == 5:
            days.append(controller.take_news())
    for news in days:
        for key, key_news in news.keys.items():
            key_news.tally.completions = 230
            for kind in ("shown", "accepted", "rejected"):
                news.suggestions[SuggestionKey(key.project_id, key.language, kind)] = SuggestionCount(230, 4000, 4000)
    store = Store(file)
    for day in range(730):
        store.write(ENVIRONMENT, days[day % len(days)], NOW_S + day * DAY_S)
        if day % 30 == 29:
            store.roll_up(NOW_S + day * DAY_S)
    assert sum(tally.completions for *_, tally in store.tallies()) > 1_000_000
    size = sum(part.stat().st_size for part in file.parent.iterdir())
    store.close()
    assert size < 50_000_000, size


def test_every_step_is_known_by_name() -> None:
    assert tuple(step.name for step in migrations._migrations) == STEPS


def test_neither_text_nor_paths_are_stored(file: Path, writers: list[Writer]) -> None:
    """All values of all tables: ids, names of languages and projects, the project's root, numbers."""
    controller, writer = start(file, writers)
    learn(controller, 5)
    controller.record(Event("shown", 20, 20), PROJECT)
    writer.close()
    connection = sqlite3.connect(file)
    tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
    values: list[Any] = [
        value for table in tables for row in connection.execute(f"select * from {table}") for value in row
    ]
    connection.close()
    with_slashes = {value for value in values if isinstance(value, str) and ("/" in value or "\\" in value)}
    assert with_slashes == {PROJECT.root}
