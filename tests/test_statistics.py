"""`completer stats`, `why` and `tune`: what they say of a store that was really learned into."""

import base64
import hashlib
import json
import random
import re
import shutil
import sqlite3
import time
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from adaptive.buckets import MATCH_EDGES
from adaptive.calibration import Measured
from adaptive.context_key import project_of
from adaptive.costs import CostTable
from adaptive.environment import environment_of
from adaptive.learning import Learning
from adaptive.news import Key
from adaptive.page import _bars
from adaptive.profile import merged, read_profile, uses_of
from adaptive.report import sparkline
from adaptive.simulation import Simulation
from adaptive.statistics import LEAST_CHECKS, _decoding, since_day
from adaptive.store import Store
from adaptive.synthetic import completions
from adaptive.tally import SourceTally, Tally
from adaptive.tune_report import learn
from completer import cli, paths
from completer.config import Config
from completer.errors import InputError
from tests.learning_process import ENVIRONMENT, play
from tests.test_store import Event

TABLE = CostTable.of("table", {1: 67, 2: 76, 4: 85, 8: 118, 16: 190, 32: 350}, 30, 2)
Command = Callable[..., CompletedProcess[str]]


@pytest.fixture
def completer(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command line in this process: a dozen interpreters would say no more."""

    def run(*arguments: str | Path) -> CompletedProcess[str]:
        capsys.readouterr()
        code = cli.run([*map(str, arguments)])
        return CompletedProcess(arguments, code, *capsys.readouterr())

    return run


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project in which 40 completions were made, Python and Go, half of them shown and one accepted."""
    folder = tmp_path.resolve() / "shop"
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    (folder / "cart.py").touch()
    learning = Learning(ENVIRONMENT)
    learning.controller.calibrate({width: [TABLE.verify_ms[width]] for width in (1, 2, 4, 8, 16, 32)}, [30.0])
    simulation = Simulation(TABLE, random.Random(1), 0.1)
    for index, traced in enumerate(completions(40, lambda _: 0.8, random.Random(2), match=5)):
        language = "go" if index % 4 == 0 else "python"
        simulation.walk(traced, learning.planner(language, folder / "cart.py", is_automatic=True))
    event = Event("shown", 10, 10)
    for kind in ["shown"] * 20 + ["accepted"]:
        event.kind = kind
        learning.record(event, folder / "cart.py")
    learning.close()
    assert learning.status == ""
    return folder


def test_nineteen_intervals_in_twenty_hold_the_time_saved() -> None:
    draw, held = random.Random(1), 0
    for _ in range(2000):
        tally = Tally()
        tally.sources["ngram"] = SourceTally(ms=600.0, plain_ms=1000.0)
        for _ in range(LEAST_CHECKS):
            tally.observe_check(draw.gauss(0.9, 0.2))
        low, high = _decoding(tally)["saved_ms_interval"]
        held += low <= 300.0 <= high
    assert 0.93 < held / 2000 < 0.97


def test_too_few_checks_make_no_interval() -> None:
    tally = Tally()
    for _ in range(LEAST_CHECKS - 1):
        tally.observe_check(1.0)
    assert _decoding(tally)["saved_ms_interval"] is None


def test_stats_adds_up(project: Path, completer: Command) -> None:
    document = json.loads(completer("stats", "--json").stdout)
    assert document["completions"] == 40 and document["decoding"]["tokens"] == 40 * 24
    assert document["suggestions"]["shown"] == {"count": 20, "chars": 200}
    assert document["suggestions"]["accepted"]["count"] == 1
    assert document["decoding"]["saved_ms"] > 0.0
    assert 0.5 < document["decoding"]["draft_acceptance_rate"] <= 1.0
    assert {row["language"] for row in document["in_force"]} == {"go", "python"}
    by = json.loads(completer("stats", "show", "--by", "language", "--json").stdout)["by"]
    assert (by["go"]["completions"], by["python"]["completions"]) == (10, 30)
    for part in ("source", "day", "project"):
        parts = json.loads(completer("stats", "--by", part, "--json").stdout)["by"]
        assert sum(row["tokens"] for row in parts.values()) == 40 * 24, part
    assert json.loads(completer("stats", "--language", "go", "--json").stdout)["completions"] == 10
    assert json.loads(completer("stats", "--project", project, "--json").stdout)["completions"] == 40
    for option in ("--project", "--language"):
        unknown = completer("stats", option, "other")
        assert unknown.returncode == 2 and "'other' is known" in unknown.stderr
    assert json.loads(completer("stats", "--since", "2100-01-01", "--json").stdout)["completions"] == 0
    shown = completer("stats", "--by", "day").stdout
    assert "ngram" in shown and "partially accepted" in shown and "shop" in shown
    assert completer("stats", "--since", "soon").returncode == 2


def test_nothing_learned_yet_is_said(completer: Command) -> None:
    assert json.loads(completer("stats", "--json").stdout)["completions"] == 0
    done = completer("stats")
    assert done.returncode == 0
    assert done.stdout.startswith("Nothing has been learned yet") and len(done.stdout.splitlines()) == 1
    assert "Nothing has been learned" in completer("why").stdout
    exported = completer("stats", "export", "-")
    assert (exported.returncode, exported.stdout) == (1, "") and "nothing to export" in exported.stderr


def test_why_says_it_in_sentences(project: Path, completer: Command) -> None:
    said = completer("why", project / "cart.py").stdout
    assert said.startswith("python in shop") and "go in shop" not in said
    assert re.search(r"Drafts by ngram serve \d+% of recent rounds", said)
    document = json.loads(completer("why", "--json").stdout)
    assert {key["language"] for key in document["keys"]} == {"go", "python"}
    assert all(key["sentences"] for key in document["keys"])


def test_projects_of_one_name_are_told_apart(project: Path, tmp_path: Path, completer: Command) -> None:
    other = tmp_path.resolve() / "b" / "shop"
    other.mkdir(parents=True)
    (other / "pyproject.toml").touch()
    learning = Learning(ENVIRONMENT)
    simulation = Simulation(TABLE, random.Random(1), 0.1)
    for traced in completions(5, lambda _: 0.8, random.Random(3), match=5):
        simulation.walk(traced, learning.planner("python", other / "cart.py"))
    learning.close()
    parts = json.loads(completer("stats", "--by", "project", "--json").stdout)["by"]
    assert {name: part["completions"] for name, part in parts.items()} == {
        f"shop ({project})": 40,
        f"shop ({other})": 5,
    }
    assert f"python in shop ({other})" in completer("why").stdout
    assert list(json.loads(completer("stats", "--by", "project", "--project", other, "--json").stdout)["by"]) == [
        f"shop ({other})"
    ]


def test_why_gives_the_numbers_behind_the_choice(project: Path, completer: Command) -> None:
    by_language = {key["language"]: key["outlook"] for key in json.loads(completer("why", "--json").stdout)["keys"]}
    outlook = by_language["python"]
    assert list(outlook["pass_ms"]) == ["1", "2", "4", "8", "16"]
    assert outlook["plain_tokens_per_s"] == pytest.approx(1000 / outlook["pass_ms"]["1"], rel=0.05)
    ngram = {draft["match"]: draft for draft in outlook["drafts"] if draft["source"] == "ngram"}
    assert list(ngram) == list(MATCH_EDGES)
    assert 0.6 < ngram[6]["chance"] < 0.95  # that of the fixture's drafts is 0.8
    assert ngram[6]["k"] > 1 and ngram[6]["tokens_per_s"] > outlook["plain_tokens_per_s"]
    model = [draft for draft in outlook["drafts"] if draft["source"] == "draft_model"]
    assert len(model) == 1 and model[0]["match"] is None
    shown = completer("why", project / "cart.py").stdout
    assert f"{ngram[4]['chance']:.0%} {ngram[4]['tokens_per_s']:.1f}/s k {ngram[4]['k']}" in shown
    assert "a pass over 1, 2, 4, 8, 16 positions" in shown
    assert max(map(len, shown.splitlines())) <= 100 and len(shown.splitlines()) < 16, shown


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "data", "action")]


def test_the_page_holds_everything_and_runs_nothing(project: Path, tmp_path: Path, completer: Command) -> None:
    (tmp_path / "x").mkdir()
    file = tmp_path / "page.html"
    assert completer("stats", "--html", file).returncode == 0
    text = file.read_text("utf-8")
    page = _Page()
    page.feed(text)
    assert "svg" in page.tags and "script" not in page.tags and page.links == []
    assert "default-src 'none'" in text and "prefers-color-scheme: dark" in text
    style = text.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in text and "style=" not in text and "unsafe" not in text
    assert "in force" in text and re.search(r"ngram \d+% k", text)
    assert "://" not in text and "url(" not in text and "@import" not in text


def test_a_loss_is_drawn_to_the_left_of_zero_and_a_gain_to_its_right() -> None:
    picture = _bars("saved", {"gain": {"ms": 300.0}, "loss": {"ms": -100.0}}, "ms", str)
    gain, loss = re.findall(r'<rect class="(\w+)" x="([\d.]+)" y="\d+" width="([\d.]+)"', picture)
    assert gain == ("one", "300.0", "300.0")
    assert loss == ("loss", "200.0", "100.0")


def test_statistics_are_those_of_the_configured_models(
    tiny_model: Path, tmp_path: Path, completer: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the thread count, and though another folder of the same name was used later."""
    models = [tiny_model, shutil.copytree(tiny_model, tmp_path / "another" / tiny_model.name)]
    for language, model in zip(("rust", "java"), models, strict=True):
        configured = replace(Config(), model=replace(Config().model, target=str(model), draft="none"))
        learning = Learning(replace(environment_of(configured), threads=7))
        play(learning.planner(language))
        learning.close()
    monkeypatch.setenv("COMPLETER_MODEL_DRAFT", "none")
    monkeypatch.setenv("COMPLETER_MODEL_TARGET", str(models[0]))
    assert [key["language"] for key in json.loads(completer("why", "--json").stdout)["keys"]] == ["rust"]
    monkeypatch.setenv("COMPLETER_MODEL_DRAFT", str(models[1]))
    assert json.loads(completer("why", "--json").stdout)["keys"] == []
    monkeypatch.setenv("COMPLETER_MODEL_TARGET", str(tmp_path / "gone"))
    assert [key["language"] for key in json.loads(completer("why", "--json").stdout)["keys"]] == ["java"]
    store = Store(paths.statistics_file())
    assert not any("/" in known.target for known in store.environments())
    store.close()


def test_a_profile_carries_no_text_and_no_path_and_warms_a_new_project(
    project: Path, tmp_path: Path, completer: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "team.json"
    assert completer("stats", "export", file).returncode == 0
    text = file.read_text("utf-8")
    assert "shop" not in text and str(project) not in text and "/" not in text
    assert set(read_profile(file)["languages"]) == {"go", "python"}
    twice = tmp_path / "twice.json"
    assert completer("stats", "merge", file, file, "-o", twice).returncode == 0
    shown = completer("stats", "merge", file, file).stdout
    assert "learned with target, draft" in shown and "python" in shown and "ngram" in shown and "%" in shown
    one, two = read_profile(file), read_profile(twice)
    assert sum(map(_sum, two["languages"].values())) == pytest.approx(2 * sum(map(_sum, one["languages"].values())))
    assert merged([one]) == one
    document = json.loads(completer("stats", "--language", "python", "--json").stdout)
    use = uses_of(two)["python"]
    assert use.tokens == 2 * document["decoding"]["tokens"] and use.plain_ms > use.ms > 0
    assert use.suggestions["shown"].count == 2 * document["suggestions"]["shown"]["count"] > 0
    assert "speedup" in shown and f"{use.tokens:,.0f}" in shown
    del one["use"]  # as it was written before
    assert merged([one, one])["use"] == {} and uses_of(one) == {}


def test_an_imported_profile_replaces_the_one_before_and_is_not_said_to_be_in_force(
    project: Path, tmp_path: Path, tiny_model: Path, completer: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = json.loads(completer("stats", "export", "-").stdout)
    monkeypatch.setenv("COMPLETER_MODEL_TARGET", str(tiny_model))
    monkeypatch.setenv("COMPLETER_MODEL_DRAFT", "none")
    del profile["languages"]["go"]
    file = tmp_path / "team.json"
    file.write_text(json.dumps(profile))
    assert completer("stats", "reset", "--yes").returncode == 0
    done = completer("stats", "import", file)
    assert done.returncode == 0 and "1 language imported" in done.stderr
    assert "target, draft, bfloat16" in done.stderr  # what it was learned with, which is not what is configured
    assert _imported_trials("ngram") > 10.0
    assert "imported" not in completer("why").stdout
    assert json.loads(completer("stats", "--json").stdout)["in_force"] == []
    for table in profile["languages"]["python"]["ngram"]:
        table[:] = [0.0] * len(table)
    file.write_text(json.dumps(profile))
    done = completer("stats", "import", file, "--json")
    assert json.loads(done.stdout) == {"languages": ["python"], "is_of_these_models": False}
    assert _imported_trials("ngram") == 0.0


def _imported_trials(source: str) -> float:
    store = Store(paths.statistics_file())
    known = [store.known(environment, time.time()) for environment in store.environments()]
    store.close()
    (entry,) = [entry for keys in known for key, entry in keys.items() if key.project_id == "imported"]
    return float(entry.counts[source].sum())


def test_every_command_answers_with_one_document(project: Path, tmp_path: Path, completer: Command) -> None:
    file = tmp_path / "team.json"
    written = {"file": str(file), "languages": ["go", "python"]}
    assert json.loads(completer("stats", "export", file, "--json").stdout) == written
    assert json.loads(completer("stats", "merge", file, file, "-o", file, "--json").stdout) == written
    assert json.loads(completer("stats", "reset", "--language", "go", "--yes", "--json").stdout) == {
        "keys_forgotten": 1
    }


@pytest.mark.parametrize(
    ("statement", "said"),
    [("drop table keys", "no such table: keys"), ("update days set tally = '{}'", "the table days holds")],
)
def test_what_is_wrong_with_the_database_is_said_in_a_sentence(
    project: Path, completer: Command, statement: str, said: str
) -> None:
    connection = sqlite3.connect(paths.statistics_file(), isolation_level=None)
    connection.execute(statement)
    connection.close()
    done = completer("stats")
    assert done.returncode == 1 and said in done.stderr and "move the file away" in done.stderr
    assert completer("stats", "reset", "--yes").returncode == (1 if "drop" in statement else 0)


def test_a_database_that_another_process_has_locked_is_said(
    project: Path, completer: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adaptive.store.BUSY_S", 0.1)
    connection = sqlite3.connect(paths.statistics_file(), isolation_level=None)
    connection.execute("begin immediate")
    done = completer("stats", "reset", "--yes")
    connection.close()
    assert done.returncode == 1 and "locked" in done.stderr and "try again" in done.stderr
    assert "as long as this process" not in done.stderr


def _sum(sources: dict[str, list[list[float]]]) -> float:
    return sum(trials for table in sources.values() for outcome in table for trials in outcome)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"format": "completer-statistics"}',
        '{"format": "x", "version": 1}',
        '{"format": "completer-statistics", "version": 1, "languages": {}}',
        '{"format": "completer-statistics", "version": 1, "languages": {}, "models": [], "use": {"go": {}}}',
    ],
)
def test_what_is_no_profile_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "p.json").write_text(content)
    with pytest.raises(InputError, match=r"p\.json"):
        read_profile(tmp_path / "p.json")


def test_reset_forgets_what_it_is_told_to(project: Path, completer: Command) -> None:
    assert completer("stats", "reset", "--language", "go", "--yes").returncode == 0
    assert json.loads(completer("stats", "--json").stdout)["completions"] == 30
    assert completer("stats", "reset", "--project", "nowhere", "--yes").returncode == 2
    assert completer("stats", "reset", "--project", "shop", "--yes").returncode == 0
    assert json.loads(completer("stats", "--json").stdout)["completions"] == 0


def test_spans() -> None:
    day = 86400.0
    now_s = time.mktime((2026, 3, 10, 12, 0, 0, 0, 0, -1))
    assert since_day("1d", now_s) == "2026-03-10"
    assert since_day("0d", now_s) == "2026-03-10"
    assert since_day("7d", now_s) == since_day("7D", now_s) == "2026-03-04"
    assert since_day("2026-01-31", now_s + day) == "2026-01-31"
    for wrong in ("", "d", "7x", "yesterday"):
        with pytest.raises(ValueError):
            since_day(wrong, now_s)


def test_sparklines() -> None:
    assert sparkline([0.0, 0.5, 1.0, None]) == " ▄█·"


def test_tune_learns_from_a_folder_and_counts_nothing_as_the_users(
    tiny_model: Path, project: Path, tmp_path: Path, completer: Command
) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "pyproject.toml").touch()
    (code / "a.py").write_text("".join(f"def function_{i}(x):\n    return x + {i} * {i}\n\n\n" for i in range(40)))
    arguments = ("tune", code, "--target", tiny_model, "--draft", tiny_model, "--holes", "6", "--json")
    done = completer(*arguments)
    assert done.returncode == 0, done.stderr
    predicted = json.loads(done.stdout)["predicted"]
    assert predicted[-1]["language"] == "all" and predicted[-1]["tokens"] > 0
    store = Store(paths.statistics_file())
    known = [store.known(environment, time.time()) for environment in store.environments()]
    own = project_of(code / "a.py").id
    learned = [entry for keys in known for key, entry in keys.items() if key.project_id == own]
    assert sum(1 for *_, tally in store.tallies()) == 2  # those of the fixture
    assert len(learned) == 1 and learned[0].state == {} and learned[0].changes == ()
    store.close()
    trace = tmp_path / "trace.jsonl.gz"
    assert completer(*arguments[:-1], "--trace", trace).returncode == 0
    assert trace.exists()


def test_tuning_again_replaces_what_tuning_had_counted_and_says_where_it_cannot(
    tiny_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = replace(Config(), model=replace(Config().model, target=str(tiny_model), draft="none"))
    environment = environment_of(config)
    (tmp_path / "pyproject.toml").touch()
    costs = Measured({1: [67.0], 8: [118.0], 32: [350.0]}, [30.0])
    recorded = completions(10, lambda _: 0.8, random.Random(1), match=5)
    key = Key(project_of(tmp_path / "a.py").id, "python")

    def tuned() -> float:
        learn(config, tmp_path, recorded, costs)
        store = Store(paths.statistics_file())
        known = store.known(environment, time.time())[key]
        store.close()
        return float(known.counts["ngram"].sum())

    once = tuned()
    assert once > 0.0 and tuned() == pytest.approx(once, rel=0.02)
    assert "added" not in capsys.readouterr().err
    learning = Learning(environment)
    learning.wait(20.0)
    play(learning.planner("python", tmp_path / "a.py"))
    learning.close()
    assert tuned() > 1.5 * once
    assert "python: added to what is known here" in capsys.readouterr().err
