"""What an editor notices of a daemon that fails, and what the next one is told: as little, and as much, as can be."""

import io
import json
import math
import os
import signal
import socket
import sys
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from click.testing import CliRunner
from lsprotocol import types

from completer import __version__, paths
from completer.config import Config
from completer.config_source import ConfigSource
from completer.errors import ResourceError
from completer.privacy.rules import LONGEST_SNOOZE_MINUTES
from lsp import commands, connect, remote
from lsp.control import ask
from lsp.frames import as_frame, frame, read_frame
from lsp.protocol import DAEMON_STATUS, SNOOZE
from lsp.remote import RunningDaemon, fingerprint
from lsp.replay import Replay
from tests.conftest import as_somebody_else
from tests.editor import AUTOMATIC, Editor, until
from tests.scripted_engine import Script
from tests.test_daemon_connection import BEGIN, SHOWN, URI, daemon_status, open_window

__all__ = ["open_window"]
FAILING = """
import sys
from pathlib import Path
from lsp import connect
connect.LONGEST_PAUSE_S = 0.01
def reach():
    open(sys.argv[1], "a").write("x")
    raise connect.DaemonUnavailable("the daemon ended at once")
sys.exit(connect.Bridge(sys.stdin.buffer, sys.stdout.buffer, Path(sys.argv[1]), reach, 1000).run())
"""


async def kill_daemon(window: Editor) -> None:
    window.statuses.clear()
    os.kill((await daemon_status())["pid"], signal.SIGKILL)
    await window.has_status(kind="Warning", message="the daemon has ended; starting another one")


def has_loaded(script: Script, times: int) -> bool:
    return script.count("loaded") == times


def said(window: Editor, method: str, params: Any) -> None:
    window.stdin.write(frame(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode()))


def opened(uri: str, text: str) -> dict[str, Any]:
    document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    return {"method": "textDocument/didOpen", "params": {"textDocument": document}}


def changed(uri: str, change: dict[str, Any]) -> dict[str, Any]:
    params = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [change]}
    return {"method": "textDocument/didChange", "params": params}


def replay_of(max_bytes: int, **params: Any) -> Replay:
    replay = Replay(max_bytes)
    replay.sent({"method": "initialize", "id": 1, "params": params})
    return replay


@pytest.mark.asyncio
async def test_what_makes_no_sense_does_not_keep_the_next_daemon_away(open_window):
    window = await open_window()
    window.open(URI, BEGIN)
    said(window, "notebookDocument/didOpen", {"notebookDocument": {"uri": "file:///a.ipynb"}, "cellTextDocuments": []})
    said(window, "workspace/didChangeWorkspaceFolders", {"event": {"added": [{}], "removed": [3]}})
    assert await window.text(URI) == SHOWN
    await kill_daemon(window)
    await window.has_status(message="ready")
    assert await window.text(URI) == SHOWN


def test_a_notebook_without_cells_is_not_kept():
    replay = replay_of(1000)
    for notebook in ({"uri": "n"}, {"uri": "n", "cells": [{}]}, {"uri": "n", "cells": [{"document": []}]}):
        with pytest.raises((LookupError, TypeError)):
            replay.sent(
                {
                    "method": "notebookDocument/didOpen",
                    "params": {"notebookDocument": notebook, "cellTextDocuments": []},
                }
            )
    assert len(replay.messages("r")) == 1


def test_no_daemon_takes_anything_else_for_the_text_of_a_document_that_was_too_large():
    replay = replay_of(10)
    replay.sent(opened("small", "x"))
    replay.sent(opened("large", "x" * 11))
    replay.sent(opened("grown", "x"))
    replay.sent(changed("grown", {"text": "x" * 11}))
    _, small = replay.messages("r")
    assert small["params"]["textDocument"] == {"uri": "small", "languageId": "python", "version": 1, "text": "x"}
    end = {"line": 0, "character": 11}
    longer = changed("large", {"text": "y", "range": {"start": end, "end": end}})
    assert replay.sent(longer) is longer
    told = replay.sent(changed("large", {"text": "now small"}))
    assert told["method"] == "textDocument/didOpen"
    assert told["params"]["textDocument"] == {"uri": "large", "languageId": "python", "version": 2, "text": "now small"}
    later = changed("large", {"text": "z"})
    assert replay.sent(later) is later


@pytest.mark.parametrize(("given", "limit"), [("5000000", 5_000_000), ("many", Config().service.max_document_bytes)])
def test_the_user_s_limit_of_a_document_is_that_of_the_bridge(monkeypatch, given, limit):
    bridge = Mock()
    bridge.return_value.run.return_value = 0
    monkeypatch.setattr(commands, "Bridge", bridge)
    source = ConfigSource(paths.config_file(), {"COMPLETER_SERVICE_MAX_DOCUMENT_BYTES": given})
    assert CliRunner().invoke(commands.lsp, obj=source).exit_code == 0
    assert bridge.call_args.args[-1] == limit


def test_a_document_too_large_is_not_taken_apart():
    text = "x = 1\n" * 500_000
    replay = replay_of(1000)
    tracemalloc.start()
    try:
        replay.sent(opened(URI, text))
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_options_add_up_as_they_do_in_the_daemon():
    replay = replay_of(1000, initializationOptions={"streaming": True})
    for settings in ({"completer": {"automatic": False}}, {"single_line": True}, {"completer": {"automatic": 3}}, None):
        replay.sent({"method": "workspace/didChangeConfiguration", "params": {"settings": settings}})
    _, told = replay.messages("r")
    options = told["params"]["settings"]["completer"]
    assert (options["streaming"], options["automatic"], options["single_line"]) == (True, False, True)


class SpokenTo:
    """A bridge whose editor and daemon are the test: what the editor was told, and the daemon's end of the socket."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, ping_s: float) -> None:
        path = folder / "daemon.sock"
        connect.process_file(path).write_text(str(os.getpid()))
        self.ended: list[int] = []
        monkeypatch.setattr(connect, "end_hung", self._ended)
        bridges_end, self.daemon = socket.socketpair()
        ends = iter([bridges_end])
        stdin, self.editor = os.pipe()
        self.stdin, self.stdout = os.fdopen(stdin, "rb"), io.BytesIO()
        self.bridge = connect.Bridge(self.stdin, self.stdout, path, lambda: self._reach(ends), 1000, ping_s)
        self._thread = threading.Thread(target=self.bridge.run)
        self._thread.start()

    def _reach(self, ends: Iterator[socket.socket]) -> socket.socket:
        if (end := next(ends, None)) is None:
            raise connect.DaemonUnavailable("there is but one in this test")
        return end

    def _ended(self, process_id: int) -> None:
        self.ended.append(process_id)
        self.daemon.close()

    def say(self, **message: Any) -> None:
        os.write(self.editor, as_frame({"jsonrpc": "2.0", **message}))

    def leave(self) -> None:
        os.close(self.editor)
        self._thread.join()
        self.stdin.close()


def test_a_daemon_that_hangs_is_ended_once_the_editor_waits_for_it(tmp_path, monkeypatch):
    spoken = SpokenTo(tmp_path, monkeypatch, ping_s=0.01)
    spoken.say(id=7, method="textDocument/inlineCompletion", params={})
    while b'"id":7' not in spoken.stdout.getvalue().replace(b" ", b""):
        time.sleep(0.01)
    spoken.leave()
    assert spoken.ended == [os.getpid()]
    assert b"the daemon does not answer any more; it is ended" in spoken.stdout.getvalue()


def test_a_daemon_that_reads_no_more_is_ended_too(tmp_path, monkeypatch):
    spoken = SpokenTo(tmp_path, monkeypatch, ping_s=0.01)
    spoken.say(method="textDocument/didOpen", params={"text": "x" * 10_000_000})
    while not spoken.ended:
        time.sleep(0.01)
    spoken.leave()


def test_a_daemon_that_is_slow_but_answers_pings_lives(tmp_path, monkeypatch):
    spoken = SpokenTo(tmp_path, monkeypatch, ping_s=0.25)
    with spoken.daemon.makefile("rb") as stream:
        spoken.say(id=7, method="textDocument/inlineCompletion", params={})
        pings = 0
        while pings < connect.MOST_SILENT_PINGS + 2:
            message = json.loads(read_frame(stream) or b"null")
            if message["method"] == DAEMON_STATUS:
                pings += 1
                spoken.daemon.sendall(as_frame({"jsonrpc": "2.0", "id": message["id"], "result": {}}))
        assert spoken.ended == []
        spoken.leave()
    assert spoken.stdout.getvalue() == b""


@pytest.mark.asyncio
async def test_after_a_daemon_that_hung_the_next_one_answers(open_window, script, monkeypatch):
    monkeypatch.setenv("TEST_PING_S", "0.5")
    window = await open_window()
    window.open(URI, BEGIN)
    assert await window.text(URI) == SHOWN
    hung = (await daemon_status())["pid"]
    os.kill(hung, signal.SIGSTOP)
    assert await window.items(URI, position=(0, 0)) == []
    window.statuses.clear()
    await window.has_status(message="ready", busy=False)
    assert await window.text(URI) == SHOWN
    assert (await daemon_status())["pid"] != hung


@pytest.mark.asyncio
async def test_what_is_registered_is_not_registered_again_by_the_next_daemon(open_window):
    inline = types.InlineCompletionClientCapabilities(dynamic_registration=True)
    window = await open_window(
        capabilities=types.ClientCapabilities(
            text_document=types.TextDocumentClientCapabilities(inline_completion=inline)
        )
    )
    window.open(URI, BEGIN)
    assert await window.text(URI) == SHOWN
    await kill_daemon(window)
    await window.has_status(message="ready", busy=False)
    assert await window.text(URI) == SHOWN
    assert [registration.id for registration in window.registrations] == ["inline-completion"]


@pytest.mark.asyncio
async def test_options_and_a_snooze_survive_the_daemon(open_window):
    window = await open_window()
    window.open(URI, BEGIN)
    for options in ({"automatic": False}, {"max_lines": 9}):
        said(window, "workspace/didChangeConfiguration", {"settings": {"completer": options}})
    window.client.protocol.notify(SNOOZE, {"minutes": 60})
    await window.has_status(message="off for this file: snoozed for 60 more min")
    await kill_daemon(window)
    await window.has_status(message="off for this file: snoozed for 60 more min")
    assert await window.text(URI) is None
    window.client.protocol.notify(SNOOZE, {"minutes": 0})
    assert await window.text(URI, trigger=AUTOMATIC) is None
    assert await window.text(URI) == SHOWN


def test_a_snooze_without_end_is_told_as_a_long_one():
    replay = replay_of(1000)
    replay.sent({"method": SNOOZE, "params": {"minutes": math.inf}})
    _, told = replay.messages("r")
    assert told["params"]["minutes"] > LONGEST_SNOOZE_MINUTES
    assert json.loads(json.dumps(told, allow_nan=False)) == told


def test_a_snooze_that_is_over_is_not_told():
    replay = replay_of(1000)
    for minutes in (60, 0):
        replay.sent({"method": SNOOZE, "params": {"minutes": minutes}})
    assert len(replay.messages("r")) == 1


@pytest.mark.asyncio
async def test_the_progress_of_a_daemon_that_died_while_it_loaded_is_ended(open_window, script):
    script.write(load="gate")
    window = await open_window()
    await until(lambda: window.client.progress_reports)
    await kill_daemon(window)
    script.open_gate()
    await window.has_status(message="ready")
    await until(lambda: all(reports[-1].kind == "end" for reports in window.client.progress_reports.values()))


@pytest.mark.asyncio
async def test_an_error_pops_up_once_and_after_three_failures_the_user_has_the_say(tmp_path):
    tries = tmp_path / "tries"
    window = await Editor.start(sys.executable, "-c", FAILING, str(tries))
    advice = "ask for a suggestion by hand to try again; see completer logs"
    given_up = f"the daemon did not get ready 3 times in a row; {advice}"
    try:
        await window.has_status(kind="Error", message=given_up)
        assert tries.read_text() == "xxx"
        assert [shown.message for shown in window.client.messages] == [
            "completer: the daemon ended at once",
            f"completer: {given_up}",
        ]
        window.statuses.clear()
        window.open(URI, BEGIN)
        assert await window.text(URI, trigger=AUTOMATIC) is None
        assert await window.text(URI) is None
        await window.has_status(kind="Error", message=given_up)
        assert tries.read_text() == "xxxx"
        assert len(window.client.messages) == 2
    finally:
        window.process.kill()
        await window.client.stop()


@pytest.mark.asyncio
async def test_a_daemon_that_dies_while_it_loads_is_not_started_without_end(open_window, script):
    script.write(load="gate")
    window = await open_window()
    for lives in (1, 2, 3):
        await until(partial(has_loaded, script, lives))
        await window.has_status(message="loading the model")
        await kill_daemon(window)
    await window.has_status(kind="Error")
    script.open_gate()
    assert await daemon_status() is None
    window.open(URI, BEGIN)
    assert await window.text(URI, trigger=AUTOMATIC) is None
    assert await daemon_status() is None
    assert await window.text(URI) is None
    await window.has_status(message="ready")
    assert await window.text(URI) == SHOWN


def test_a_new_daemon_is_told_of_the_folders_of_now():
    first, second, third = ({"uri": f"file:///{name}", "name": name} for name in ("first", "second", "third"))
    replay = replay_of(1000, workspaceFolders=[first, second], rootUri=first["uri"], capabilities={})
    event = {"added": [third], "removed": [first]}
    replay.sent({"method": "workspace/didChangeWorkspaceFolders", "params": {"event": event}})
    (initialize,) = replay.messages("r")
    assert initialize["id"] == "r"
    assert initialize["params"] == {
        "workspaceFolders": [second, third],
        "rootUri": None,
        "rootPath": None,
        "capabilities": {},
    }


@pytest.mark.asyncio
async def test_a_folder_that_was_added_survives_the_daemon(open_window, script, tmp_path):
    window = await open_window(root="file:///first")
    added = types.WorkspaceFoldersChangeEvent([types.WorkspaceFolder(tmp_path.as_uri(), "second")], [])
    window.client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(added))
    uri = (tmp_path / "a.py").as_uri()
    window.open(uri, BEGIN)
    assert await window.text(uri) == SHOWN
    assert script.calls()[-1]["project"] == str(tmp_path)
    await kill_daemon(window)
    await window.has_status(message="ready")
    assert await window.text(uri) == SHOWN
    assert (script.calls()[-1]["project"], script.calls()[-1]["path"]) == (str(tmp_path), "a.py")


@pytest.mark.skipif(os.name == "nt", reason="there the daemon listens on a port")
def test_a_socket_that_cannot_be_there_is_an_error_with_its_path():
    path = Path("/", "x" * 200, "1000-1.sock")
    with pytest.raises(ResourceError, match=f"cannot connect to {path}: .*COMPLETER_RUNTIME_DIR"):
        ask(path, "completer/daemonStatus")


@pytest.mark.skipif(os.name == "nt", reason="there the daemon listens on a port")
def test_a_socket_of_somebody_else_is_an_error():
    with socket.socket(socket.AF_UNIX) as other, tempfile.TemporaryDirectory() as name:
        path = Path(name, "s.sock")
        Path(name).chmod(0o755)
        other.bind(str(path))
        other.listen()
        path.chmod(0)
        with as_somebody_else(), pytest.raises(ResourceError, match="permission denied"):
            ask(path, "completer/daemonStatus")


@pytest.mark.parametrize(
    ("after", "is_unloaded"), [({"model": "unloaded"}, True), ({"model": "ready"}, False), (None, False)]
)
def test_a_model_is_unloaded_when_the_daemon_says_so(monkeypatch, after, is_unloaded):
    answers = iter([{"model": "ready"}, None, after])
    monkeypatch.setattr(remote, "ask", lambda path, method: next(answers))
    assert RunningDaemon().unload() is is_unloaded


def test_the_fingerprint_is_of_this_version(monkeypatch):
    before = fingerprint(Config())
    monkeypatch.setattr(remote, "__version__", __version__ + ".1")
    assert fingerprint(Config()) != before
