"""What a daemon learns is there again after a restart, and goes to the project it belongs to."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from adaptive.cost import Cost
from adaptive.environment import environment_of
from adaptive.store import Store
from completer import paths
from completer.config import Config
from completer.engine import Engine, never
from completer.loading import load_engine
from completer.planner import FixedPlanner
from completer.request import CompletionRequest
from lsp.feedback import SuggestionEvent
from lsp.learning import Learning, learn_from

TEXT = "def first(value):\n    return value + 1\n\n\ndef second(value):\n    return "


@pytest.fixture
def config(tiny_model: Path) -> Config:
    return replace(Config(), model=replace(Config().model, target=str(tiny_model), draft="none"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    (folder / "a.py").write_text(TEXT)
    return folder


def request(project: Path) -> CompletionRequest:
    uri = (project / "a.py").as_uri()
    return CompletionRequest(
        TEXT, "", document_id=uri, language="python", project_id=str(project), mode="text", max_tokens=24
    )


def started(config: Config) -> tuple[Learning, Engine]:
    learning = Learning(paths.statistics_file())
    return learning, learn_from(learning, load_engine)(config)


def test_rounds_and_suggestions_are_there_again_after_a_restart(
    config: Config, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learning, engine = started(config)
    wanted = request(project)
    for _ in range(3):
        list(engine.complete(wanted, learning.plan(config, wanted, is_automatic=False)))
    learning.record(
        SuggestionEvent("shown", "s1", "r1", "python", wanted.document_id, wanted.project_id, chars=5, of_chars=5)
    )
    learning.close()
    store = Store(paths.statistics_file())
    known = store.known(environment_of(config), time.time())
    assert [found.name for found in store.projects().values()] == ["shop"]
    store.close()
    counted = next(iter(known.values())).counts
    assert sum(trials.sum() for trials in counted.values()) > 0
    monkeypatch.setattr("adaptive.calibration.measure", None)  # passes are not timed again
    again, _ = started(config)
    again.close()
    for file in paths.statistics_dir().iterdir():
        assert b"first(value)" not in file.read_bytes()


def test_at_rest_passes_are_timed_once_more_unless_somebody_needs_the_engine(config: Config) -> None:
    learning, engine = started(config)
    statistics = learning._statistics
    assert statistics is not None
    cost = statistics.controller.cost
    cost.replace(Cost({1: 1000.0, 32: 1000.0}, 20.0, 1.0, 0.0))
    learning.rested(engine, lambda: True)
    assert cost.verify_ms[32] == 1000.0
    learning.rested(engine, never)
    assert cost.verify_ms[1] == pytest.approx(1000.0)
    assert cost.verify_ms[32] != 1000.0
    wanted = [learning.wants_engine]
    learning.loaded(engine, config)
    assert [*wanted, learning.wants_engine] == [False, True]
    learning.close()


def test_what_the_settings_say_about_drafts_is_not_learned_away(config: Config, project: Path) -> None:
    learning = Learning(paths.statistics_file())
    for speculation in (replace(config.speculation, source="ngram"), replace(config.speculation, k=0)):
        planner = learning.plan(replace(config, speculation=speculation), request(project), is_automatic=False)
        assert isinstance(planner, FixedPlanner)


def test_a_store_that_cannot_be_written_stops_nothing_and_says_so(config: Config, project: Path) -> None:
    paths.statistics_dir().parent.mkdir(parents=True)
    paths.statistics_dir().write_text("in the way")
    learning, engine = started(config)
    wanted = request(project)
    *_, last = engine.complete(wanted, learning.plan(config, wanted, is_automatic=True))
    assert last.result is not None and last.result.tokens > 0
    assert str(paths.statistics_file()) in learning.notice
    learning.close()
