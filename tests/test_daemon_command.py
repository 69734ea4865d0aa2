"""`completer daemon` and `completer lsp`, the real commands."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from click.testing import CliRunner

from completer import paths
from completer.config_source import ConfigSource
from completer.errors import ResourceError
from lsp import commands, control
from lsp.control import ask, retire_older
from lsp.daemon import run_daemon
from lsp.endpoint import socket_path
from lsp.frames import as_frame, read_frame
from lsp.protocol import DAEMON_STATUS, STOP_DAEMON
from tests.conftest import ROOT

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(autouse=True)
def no_daemon_stays(own_folders: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("COMPLETER_SERVICE_IDLE_EXIT_MINUTES", "1")
    yield
    ask(socket_path(), STOP_DAEMON)


def running(completer: Run) -> Any:
    return json.loads(completer("daemon", "status", "--json").stdout)


def test_start_status_restart_and_stop(completer):
    assert completer("daemon", "status").stdout == "the daemon does not run\n"
    assert completer("daemon", "stop").stderr == "the daemon does not run\n"
    assert completer("daemon", "start").stdout.startswith("the daemon runs: process ")
    first = running(completer)
    assert (first["model"], first["connections"]) == ("unloaded", 0)
    assert completer("daemon", "start").returncode == 0
    assert running(completer)["pid"] == first["pid"]
    assert completer("daemon", "restart").returncode == 0
    assert running(completer)["pid"] != first["pid"]
    assert completer("daemon", "stop").returncode == 0
    assert running(completer) is None
    assert not socket_path().exists()


def test_it_is_started_isolated_from_the_folder_it_is_started_in(completer):
    completer("daemon", "start")
    daemon = psutil.Process(running(completer)["pid"])
    assert daemon.cmdline()[:4] == [sys.executable, "-I", "-m", "completer"]
    assert daemon.cwd() == "/"


@pytest.mark.skipif(not hasattr(os, "nice"), reason="Windows has no such priorities")
def test_its_threads_have_lowered_priority(completer):
    completer("daemon", "start")
    daemon = psutil.Process(running(completer)["pid"])
    assert daemon.nice() == min(19, os.nice(0) + 5)


def test_other_settings_have_a_daemon_of_their_own(completer, tmp_path):
    completer("daemon", "start")
    other = tmp_path / "other.toml"
    other.write_text('[model]\ntarget = "smollm2-135m"\n')
    assert json.loads(completer("--config", str(other), "daemon", "status", "--json").stdout) is None
    assert completer("--config", str(other), "daemon", "start").returncode == 0
    found = json.loads(completer("--config", str(other), "daemon", "status", "--json").stdout)
    assert found["pid"] != running(completer)["pid"] and found["engine"] != running(completer)["engine"]
    assert completer("--config", str(other), "daemon", "stop").returncode == 0
    assert running(completer) is not None


def test_a_daemon_that_hangs_is_said_to_and_restart_ends_it(completer, monkeypatch):
    completer("daemon", "start")
    hung = running(completer)["pid"]
    os.kill(hung, signal.SIGSTOP)
    monkeypatch.setattr(control, "ANSWER_S", 0.2)
    with pytest.raises(ResourceError, match="end it with completer daemon restart"):
        ask(socket_path(), DAEMON_STATUS)
    done = CliRunner().invoke(commands.stop, obj=ConfigSource(paths.config_file(), {}))
    assert (done.exit_code, done.stderr) == (0, f"the daemon did not answer; its process {hung} was ended\n")
    assert completer("daemon", "start").returncode == 0
    assert running(completer)["pid"] != hung


def test_a_second_daemon_leaves_the_first_alone(completer):
    completer("daemon", "start")
    first = running(completer)
    second = completer("daemon", "run")
    assert (second.returncode, second.stderr) == (0, "the daemon runs already\n")
    assert running(completer)["pid"] == first["pid"]


def test_an_editor_without_a_model_is_told_what_to_do(start):
    with start("lsp", "--stdio", stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        stdin, stdout = process.stdin.buffer, process.stdout.buffer
        initialize: dict[str, Any] = {"capabilities": {}, "processId": None, "rootUri": None}
        for message in (
            {"id": 1, "method": "initialize", "params": initialize},
            {"method": "initialized", "params": {}},
        ):
            stdin.write(as_frame({"jsonrpc": "2.0"} | message))
        stdin.flush()
        while b"completer models pull" not in (body := read_frame(stdout) or b""):
            assert body and b'"error"' not in body
        stdin.write(as_frame({"jsonrpc": "2.0", "id": 2, "method": "shutdown"}))
        stdin.write(as_frame({"jsonrpc": "2.0", "method": "exit"}))
        stdin.flush()
        while read_frame(stdout) is not None:
            pass
    assert process.returncode == 0
    assert ask(socket_path(), DAEMON_STATUS)["connections"] == 0


def test_the_log_of_the_daemon_is_where_logs_are(completer):
    completer("daemon", "start")
    completer("daemon", "stop")
    assert "lsp.daemon: daemon ends" in completer("logs").stdout


def test_a_folder_that_others_can_enter_is_refused(completer):
    socket_path().parent.chmod(0o755)
    refused = completer("daemon", "start")
    assert refused.returncode == 1
    assert "only you can enter" in refused.stderr
    Path(os.environ["COMPLETER_RUNTIME_DIR"]).chmod(0o700)


def test_an_idle_daemon_of_an_older_protocol_is_retired_and_one_of_a_newer_is_not():
    older, newer = (socket_path().with_name(f"{os.getuid()}-{major}.sock") for major in (0, 2))
    code = (
        "import os, sys, pathlib; from completer.config_source import ConfigSource; from lsp.daemon import run_daemon; "
        "run_daemon(ConfigSource(pathlib.Path('none'), os.environ), None, pathlib.Path(sys.argv[1]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    daemons = [subprocess.Popen([sys.executable, "-c", code, str(path)], env=environment) for path in (older, newer)]
    while not all(ask(path, DAEMON_STATUS) for path in (older, newer)):
        assert not any(daemon.poll() for daemon in daemons)
    retire_older(socket_path())
    assert daemons[0].wait(20) == 0
    assert ask(newer, DAEMON_STATUS) is not None
    ask(newer, STOP_DAEMON)
    assert daemons[1].wait(20) == 0


def test_run_daemon_gives_up_at_once_where_one_runs(completer):
    completer("daemon", "start")
    source = ConfigSource(Path("none"), os.environ)
    assert run_daemon(source, lambda config: pytest.fail("it has an engine already"), socket_path()) is False
