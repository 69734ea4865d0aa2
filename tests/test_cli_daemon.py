"""Commands beside a running daemon: `complete` uses its engine, those that measure have it make room."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable

import pytest
import pytest_asyncio

from completer.config import Config, ModelConfig
from completer.planner import FixedPlanner
from completer.request import CompletionRequest, ContextChunk, Sampling
from lsp.control import ask
from lsp.endpoint import socket_path
from lsp.protocol import DAEMON_STATUS, STOP_DAEMON
from lsp.remote import RemoteEngine, RunningDaemon, fingerprint
from tests.conftest import ROOT
from tests.editor import until, within

pytestmark = pytest.mark.asyncio
LITTLE = {
    "bench": ("--draft", "none", "--quick", "--holes", "1", "--minutes", "0.1"),
    "verify": ("--draft", "none", "--limit", "1"),
    "tune": ("--draft", "none", "--holes", "3"),
    "eval holes": ("--limit", "1"),
}
"""Options with which a command that measures takes little time."""

BEGIN, REST = "def f():\n    return ", "1\nprint(f())\n"


@pytest_asyncio.fixture
async def daemon(script, monkeypatch):
    """A daemon by script; its process."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("COMPLETER_SERVICE_IDLE_EXIT_MINUTES", "1")
    process = subprocess.Popen([sys.executable, "-m", "tests.scripted_daemon", str(script.folder)])
    await until(lambda: ask(socket_path(), DAEMON_STATUS))
    script.write(writes=BEGIN + REST)
    yield process
    await asyncio.to_thread(ask, socket_path(), STOP_DAEMON)
    process.wait(20)


@pytest.fixture
def run(completer, tmp_path) -> Callable[..., Awaitable[subprocess.CompletedProcess[str]]]:
    (tmp_path / "a.py").write_text(BEGIN)
    return lambda *arguments: asyncio.to_thread(completer, *arguments)


async def test_complete_uses_a_running_daemon_with_the_same_settings(daemon, run, script, tmp_path):
    done = await run("complete", tmp_path / "a.py", "--k", "3")
    assert done.stdout == REST
    assert "completer: the running daemon completes\n" in done.stderr and f"{len(REST)} tokens" in done.stderr
    assert script.count("loaded") == 1
    quiet = await run("--quiet", "complete", tmp_path / "a.py", "--json")
    assert (json.loads(quiet.stdout)["text"], quiet.stderr) == (REST, "")
    assert script.count("loaded") == 1


async def test_complete_goes_on_alone_where_the_settings_are_others(daemon, run, script, tmp_path):
    done = await run("complete", tmp_path / "a.py", "--target", "none-such")
    assert done.returncode == 1 and "none-such" in done.stderr and "daemon" not in done.stderr
    assert script.count("begun") == 0


async def test_the_whole_request_reaches_the_daemon_s_engine(daemon, script):
    engine = await asyncio.to_thread(RunningDaemon().engine, Config())
    assert isinstance(engine, RemoteEngine)
    request = CompletionRequest(
        BEGIN, "", language="python", mode="text", context_chunks=(ContextChunk("é.py", "x"),), sampling=Sampling(0.5)
    )
    planner = FixedPlanner(("ngram",), 2)
    chunks = await asyncio.to_thread(lambda: list(engine.complete(request, planner, lambda: False)))
    assert "".join(chunk.text for chunk in chunks) == REST
    result = chunks[-1].result
    assert result is not None and (result.text, result.sources["ngram"].accepted) == (REST, 3)
    (call,) = script.calls()
    assert (call["mode"], call["context"]) == ("text", ["é.py"])


async def test_ctrl_c_frees_the_daemon_s_engine(daemon, start, script, tmp_path):
    script.write(pace="steps")
    (tmp_path / "a.py").write_text(BEGIN)
    with start("complete", tmp_path / "a.py") as process:
        await until(lambda: script.count("begun") == 1)
        process.send_signal(signal.SIGINT)
        assert await asyncio.to_thread(process.wait, 20) == 130
    assert [call["stop"] for call in await until(script.calls)] == ["cancelled"]


async def test_what_fails_in_the_daemon_is_told(daemon, run, script, tmp_path):
    script.write(load="no model: run completer models pull")
    done = await run("complete", tmp_path / "a.py")
    assert done.returncode == 1
    assert "the daemon could not complete: no model: run completer models pull" in done.stderr


async def test_a_daemon_that_dies_meanwhile_is_told(daemon, start, script, tmp_path):
    script.write(pace="steps")
    (tmp_path / "a.py").write_text(BEGIN)
    with start("complete", tmp_path / "a.py") as process:
        await until(lambda: script.count("begun") == 1)
        os.kill(daemon.pid, signal.SIGKILL)
        _, stderr = await within(asyncio.to_thread(process.communicate))
    assert process.returncode == 1 and "the daemon ended while it completed; run the command again" in stderr


@pytest.mark.parametrize("command", [pytest.param("bench", marks=pytest.mark.slow), "verify", "tune", "eval holes"])
async def test_measuring_has_the_daemon_unload_its_model_first(daemon, run, script, tmp_path, tiny_model, command):
    await run("complete", tmp_path / "a.py")
    assert (await asyncio.to_thread(ask, socket_path(), DAEMON_STATUS))["model"] == "ready"
    example = ROOT / "benchmarks" / "cart.py"
    measured = await run(*command.split(), example, "--target", tiny_model, *LITTLE[command])
    assert "the running daemon has unloaded its model" in measured.stderr
    assert (await asyncio.to_thread(ask, socket_path(), DAEMON_STATUS))["model"] == "unloaded"


async def test_without_a_daemon_commands_go_on_alone(own_folders):
    assert RunningDaemon().engine(Config()) is None
    assert RunningDaemon().unload() is False


async def test_the_fingerprint_is_of_what_the_engine_is_made_from():
    assert fingerprint(Config()) == fingerprint(Config())
    assert fingerprint(Config()) != fingerprint(Config(model=ModelConfig(threads=3)))
