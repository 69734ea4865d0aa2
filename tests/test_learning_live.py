"""The real command, the real daemon, a real model: what is learned in one project is not what is learned in another."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from adaptive.context_key import project_of
from adaptive.store import Store
from completer import paths
from lsp.control import ask
from lsp.endpoint import socket_path
from lsp.protocol import STOP_DAEMON
from tests.editor import Editor, until

pytestmark = [pytest.mark.asyncio, pytest.mark.slow, pytest.mark.model("qwen2.5-coder-0.5b")]

NAMES = ("apple", "berry", "cherry", "damson", "elder", "fig", "grape", "hazel", "iris", "jasmine", "kale", "lemon")
UNALIKE = (
    "import math\n\n\ndef area(radius):\n    return ",
    "def is_leap(year):\n    return ",
    "class Stack:\n    def __init__(self):\n        ",
    "def read_lines(path):\n    with open(path) as stream:\n        ",
    "import re\n\n\ndef words(text):\n    return ",
    "def swap(pair):\n    first, second = ",
    "import json\n\n\ndef load(text):\n    try:\n        ",
    "def fahrenheit(celsius):\n    return ",
    "def greet(name: str) -> str:\n    return ",
    "import random\n\n\ndef roll(sides):\n    return ",
    "def biggest(numbers):\n    best = None\n    for number in numbers:\n        ",
    "from pathlib import Path\n\n\ndef size(folder):\n    return ",
)


def repeating() -> list[str]:
    """A table that is written row by row."""
    rows = [f'    Plant("{name}", height_cm=30, water_days=2, is_edible=True),\n' for name in NAMES]
    return ["PLANTS = [\n" + "".join(rows[: count + 2]) + '    Plant("' for count in range(len(NAMES) - 2)]


async def complete_in(editor: Editor, project: Path, texts: list[str]) -> None:
    project.mkdir()
    (project / "pyproject.toml").touch()
    for turn in range(3):
        for index, text in enumerate(texts):
            uri = (project / f"module_{turn}_{index}.py").as_uri()
            editor.open(uri, text)
            await editor.text(uri)
            editor.close(uri)


async def test_two_projects_learn_different_choices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, completer: Callable[..., CompletedProcess[str]]
) -> None:
    monkeypatch.setenv("COMPLETER_MODEL_TARGET", "qwen2.5-coder-0.5b")
    monkeypatch.setenv("COMPLETER_MODEL_DRAFT", "none")
    monkeypatch.setenv("COMPLETER_SERVICE_IDLE_EXIT_MINUTES", "2")
    table, varied = tmp_path / "table", tmp_path / "varied"
    editor = await Editor.start(sys.executable, "-m", "completer", "lsp")
    try:
        await editor.initialize()
        await until(lambda: any(status.message == "ready" for status in editor.statuses), 120)
        await complete_in(editor, table, repeating())
        await complete_in(editor, varied, list(UNALIKE))
    finally:
        await editor.stop()
        ask(socket_path(), STOP_DAEMON)
    drafted, chances = {}, {}
    store = Store(paths.statistics_file())
    (environment,) = store.environments()
    for _, project_id, _, tally in store.tallies():
        rounds = sum(source.rounds for source in tally.sources.values())
        drafted[project_id] = sum(source.drafted for source in tally.sources.values()) / rounds
    for key, known in store.known(environment, 0.0).items():
        accepted, failed = known.counts["ngram"]
        chances[key.project_id] = accepted.sum() / (accepted.sum() + failed.sum())
    store.close()
    ids = [project_of(folder / "a.py").id for folder in (table, varied)]
    assert chances[ids[0]] > chances[ids[1]] + 0.1, chances
    assert drafted[ids[0]] > 1.5 * drafted[ids[1]], drafted
    said = json.loads(completer("why", "--json").stdout)["keys"]
    assert {row["project"] for row in said} == {"table", "varied"}
