"""No test sees the user's own folders or variables; those marked `model` see the models pulled there."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from hypothesis import settings

from completer import paths
from tests.tiny_model import write_tiny_model

if TYPE_CHECKING:
    from tests.editor import Editor
    from tests.scripted_engine import Script

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

ROOT = Path(__file__).resolve().parent.parent
USER_CACHE = paths.cache_dir()


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("model"):
        for name in mark.args:
            if not (USER_CACHE / "models" / name).is_dir():
                pytest.skip(f"needs the weights of {name}; run: completer models pull {name}")


@pytest.fixture(autouse=True)
def own_folders(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in [name for name in os.environ if name.startswith("COMPLETER_")]:
        monkeypatch.delenv(variable)
    for variable in paths.FOLDER_VARIABLES:
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))
    if request.node.get_closest_marker("model"):
        monkeypatch.setenv("COMPLETER_CACHE_DIR", str(USER_CACHE))


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a tiny random model, as `--target` takes it."""
    return write_tiny_model(tmp_path_factory.mktemp("tiny-model"))


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Start the real command in a process of its own, from another folder than the repository's."""

    def start(*arguments: str | Path, **options: object) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        environment.pop("PYTHONUNBUFFERED", None)  # with it, Python drops what a broken pipe did not take, unseen
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        command = [sys.executable, "-m", "completer", *map(str, arguments)]
        return subprocess.Popen(command, cwd=tmp_path, env=environment, encoding="utf-8", **streams)  # type: ignore[call-overload]

    return start


@pytest.fixture
def completer(start: Callable[..., subprocess.Popen[str]]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the real command in a process of its own, to its end."""

    def run(*arguments: str | Path, input: str | None = None) -> subprocess.CompletedProcess[str]:
        with start(*arguments, stdin=subprocess.DEVNULL if input is None else subprocess.PIPE) as process:
            stdout, stderr = process.communicate(input, timeout=120)
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)

    return run


@pytest.fixture
def script(tmp_path: Path) -> "Script":
    """What the engine below the server does."""
    from tests.scripted_engine import Script

    folder = tmp_path / "engine"
    folder.mkdir()
    return Script(folder)


@pytest_asyncio.fixture
async def start_editor(script: "Script") -> "AsyncIterator[Callable[[], Awaitable[Editor]]]":
    """Start an editor with a real server process of its own, an engine by script in it."""
    from tests.editor import Editor

    editors = []

    async def start() -> Editor:
        editor = await Editor.start(sys.executable, "-m", "tests.scripted_server", str(script.folder))
        editors.append(editor)
        return editor

    yield start
    for editor in editors:
        await editor.stop()


@pytest_asyncio.fixture
async def editor(start_editor: "Callable[[], Awaitable[Editor]]") -> "Editor":
    """An initialized editor whose model is loaded."""
    editor = await start_editor()
    await editor.initialize()
    await editor.has_status(message="ready", busy=False)
    return editor


@contextmanager
def as_somebody_else() -> Iterator[None]:
    """As a user who may do nothing, where the tests are run by root, whom no permissions bind."""
    if os.name == "nt" or os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
