"""One daemon for all windows: real processes, real sockets, an engine by script."""

import asyncio
import gc
import os
import signal
import socket
import stat
import sys
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from unittest.mock import Mock

import psutil
import pytest
import pytest_asyncio

from completer import paths
from completer.config_source import ConfigSource
from lsp.connect import DaemonUnavailable, connect, reach_daemon
from lsp.control import ask
from lsp.endpoint import socket_path
from lsp.frames import as_frame, frame
from lsp.protocol import DAEMON_STATUS, STOP_DAEMON
from lsp.server import CompleterServer
from lsp.service import Service
from lsp.suggestions import Suggestion
from lsp.text import Text
from tests.conftest import ROOT, as_somebody_else
from tests.editor import AUTOMATIC, Editor, until, within
from tests.scripted_engine import load_scripted

pytestmark = pytest.mark.asyncio
URI = "file:///project/cart.py"
BEGIN = "def total(items):\n    "
WHOLE = "def total(items):\n    result = 0\n    for item in items:\n        result += item.price\n    return result\n"
SHOWN = WHOLE[len(BEGIN) :].rstrip()


@pytest_asyncio.fixture
async def open_window(script, monkeypatch) -> AsyncIterator[Callable[..., Awaitable[Editor]]]:
    """Open an editor window, as a user does; the daemon starts with the first."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("COMPLETER_SERVICE_IDLE_EXIT_MINUTES", "0.5")  # should a test forget it
    windows = []

    async def open_window(**options: Any) -> Editor:
        window = await Editor.start(sys.executable, "-m", "tests.scripted_connect", str(script.folder))
        windows.append(window)
        await window.initialize(**options)
        return window

    script.write(writes=WHOLE)
    yield open_window
    for window in windows:
        await window.stop()
    await stop_daemon()


async def stop_daemon() -> None:
    status = await daemon_status()
    if status is not None:
        await asyncio.to_thread(ask, socket_path(), STOP_DAEMON)
        await until(lambda: not psutil.pid_exists(status["pid"]) or is_zombie(status["pid"]))


async def daemon_status() -> Any:
    return await asyncio.to_thread(ask, socket_path(), DAEMON_STATUS)


def is_zombie(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def suggestion(window: Editor) -> str | None:
    window.open(URI, BEGIN)
    return await window.text(URI)


async def test_the_first_window_starts_the_daemon_and_a_second_one_shares_its_model(open_window, script):
    first, second = await open_window(), await open_window()
    assert await suggestion(first) == SHOWN
    assert await suggestion(second) == SHOWN
    assert script.count("loaded") == 1
    assert (await daemon_status())["connections"] == 2


async def test_two_windows_that_open_at_once_end_with_one_daemon(open_window, script):
    windows = await asyncio.gather(*(open_window() for _ in range(4)))
    assert await asyncio.gather(*map(suggestion, windows)) == [SHOWN] * 4
    assert script.count("loaded") == 1
    assert (await daemon_status())["connections"] == 4


async def test_closing_one_window_of_four_leaves_the_others_alone(open_window):
    windows = [await open_window() for _ in range(4)]
    await windows[1].stop()
    assert windows[1].process.returncode == 0
    for window in (windows[0], windows[2], windows[3]):
        assert await suggestion(window) == SHOWN
    assert (await daemon_status())["connections"] == 3


async def test_nothing_is_kept_of_a_window_that_closed(script):
    script.write(writes=WHOLE)
    service = Service(ConfigSource(paths.config_file(), {}), load_scripted(script.folder))
    server, reader = CompleterServer(service), asyncio.StreamReader()
    session = weakref.ref(server.session)
    document = {"uri": URI, "languageId": "python", "version": 1, "text": BEGIN}
    place = {"textDocument": {"uri": URI}, "position": {"line": 1, "character": 4}, "context": {"triggerKind": 1}}

    def send(method: str, **message: Any) -> None:
        reader.feed_data(as_frame({"jsonrpc": "2.0", "method": method, **message}))

    def texts() -> set[int]:
        return {id(kept) for kept in gc.get_objects() if type(kept) in (Suggestion, Text)}

    gc.collect()
    gc.disable()
    of_others = texts()
    try:
        served = asyncio.create_task(server.serve(reader, Mock()))
        send("initialize", id=1, params={"capabilities": {}})
        send("textDocument/didOpen", params={"textDocument": document})
        send("textDocument/inlineCompletion", id=2, params=place)
        await until(script.calls)
        send("exit")
        await within(served)
        await until(lambda: texts() <= of_others)
        del server, send, served
        await until(lambda: gc.collect() >= 0 and session() is None)
    finally:
        gc.enable()
        service.close()


async def test_a_window_that_is_killed_leaves_the_others_alone(open_window, script):
    killed, other = await open_window(), await open_window()
    script.write(pace="steps")
    killed.open(URI, BEGIN)
    request = killed.ask(URI)
    await until(lambda: script.count("begun") == 1)
    killed.process.kill()
    with pytest.raises(RuntimeError):
        await within(request)
    await until(lambda: [call["stop"] for call in script.calls()] == ["cancelled"])
    script.allow(100)
    assert await suggestion(other) == SHOWN


async def test_only_the_user_can_reach_the_socket(open_window):
    await open_window()
    path = socket_path()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert path.name == f"{os.getuid()}-1.sock"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root can become another user")
async def test_another_user_cannot_connect(open_window):
    window, path = await open_window(), str(socket_path())
    with as_somebody_else(), pytest.raises(DaemonUnavailable, match="permission denied"):
        connect(path)
    assert await suggestion(window) == SHOWN


async def test_a_daemon_whose_socket_is_removed_listens_again(open_window):
    await open_window()
    before = await daemon_status()
    socket_path().unlink()
    assert await suggestion(await open_window()) == SHOWN
    status = await daemon_status()
    assert (status["pid"], status["connections"]) == (before["pid"], 2)
    assert stat.S_IMODE(socket_path().stat().st_mode) == 0o600


async def test_a_stale_socket_is_recognised_and_replaced(open_window):
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(socket_path()))
    dead.close()
    assert socket_path().exists()
    assert await suggestion(await open_window()) == SHOWN


async def test_kill_9_of_the_daemon_costs_no_more_than_a_suggestion(open_window, script):
    window = await open_window(single_line=True)
    window.open(URI, BEGIN)
    other = "file:///project/other.py"
    window.open(other, "😀 = 1\r\nx")
    window.edit(other, (0, 2), (0, 6), "")
    script.write(pace="steps")
    request = window.ask(URI)
    await until(lambda: script.count("begun") == 1)
    killed = (await daemon_status())["pid"]
    os.kill(killed, signal.SIGKILL)
    assert (await within(request)) is None
    await window.has_status(kind="Warning", message="the daemon has ended; starting another one")
    script.write(pace="free", otherwise="ok()")
    window.statuses.clear()
    await window.has_status(message="ready")
    assert await window.text(other) == "ok()"
    assert await window.text(URI) == "result = 0"
    assert (await daemon_status())["pid"] != killed
    call = next(call for call in script.calls() if call["prefix"].endswith("x"))
    assert (call["prefix"], call["mode"]) == ("😀\nx", "line")
    assert script.count("loaded") == 2
    assert not window.client.messages


async def test_a_stopped_daemon_stays_stopped_until_it_is_asked_for(open_window, script):
    window = await open_window()
    assert await suggestion(window) == SHOWN
    await stop_daemon()
    await window.has_status(kind="Inactive", message="the daemon was stopped; the next request starts it")
    assert await daemon_status() is None
    assert await window.text(URI) is None
    await window.has_status(message="ready")
    await until(lambda: script.count("loaded") == 2)
    assert await window.text(URI) == SHOWN


async def test_a_daemon_in_use_is_not_stopped_where_only_an_idle_one_should_be(open_window):
    await open_window()
    assert await asyncio.to_thread(ask, socket_path(), STOP_DAEMON, {"onlyIfIdle": True}) == {"stopping": False}
    assert (await daemon_status())["connections"] == 1


async def test_an_idle_model_leaves_the_memory_and_the_next_request_brings_it_back(open_window, script, monkeypatch):
    monkeypatch.setenv("COMPLETER_SERVICE_IDLE_UNLOAD_MINUTES", "0.005")
    window = await open_window()
    await window.has_status(message="ready")
    window.statuses.clear()
    await window.has_status(message="the model is not in memory; the next request loads it")
    assert await suggestion(window) == SHOWN
    assert script.count("loaded") == 2


async def test_a_daemon_that_nobody_uses_ends_and_the_next_window_starts_another(open_window, monkeypatch):
    monkeypatch.setenv("COMPLETER_SERVICE_IDLE_EXIT_MINUTES", "0.005")
    window = await open_window()
    await asyncio.sleep(0.5)
    assert await suggestion(window) == SHOWN
    await window.stop()
    await until(lambda: not socket_path().exists())
    assert await suggestion(await open_window()) == SHOWN


async def test_fairness_an_older_request_of_another_window_gets_its_turn(open_window, script):
    patient, busy = await open_window(), await open_window()
    script.write(pace="steps", otherwise="ok()", chunk=100)
    busy.open(URI, "x = ")
    running = busy.ask(URI)
    await until(lambda: script.count("begun") == 1)
    patient.open("file:///patient.py", "y = ")
    waiting = patient.ask("file:///patient.py")
    await asyncio.sleep(0.6)  # it has aged: newer requests no longer go before it
    busy.edit(URI, (0, 0), (0, 1), "z")
    newer = busy.ask(URI)
    assert not (await within(running)).items
    script.allow(1)
    assert (await within(waiting)).items
    script.allow(100)
    assert (await within(newer)).items


async def test_an_editor_s_messages_are_not_those_of_another(open_window):
    first, second = await open_window(), await open_window(automatic=False)
    first.open(URI, BEGIN)
    assert await second.text(URI, position=(1, 4)) is None
    second.open(URI, BEGIN)
    assert await second.text(URI, trigger=AUTOMATIC) is None
    assert await first.text(URI, trigger=AUTOMATIC) == SHOWN


async def test_garbage_on_the_socket_harms_nobody(open_window):
    window = await open_window()
    for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"x" * 100_000, as_frame({"jsonrpc": "2.0", "id": 1, "method": "x"})):
        with await asyncio.to_thread(reach_daemon, str(socket_path()), []) as connection:
            connection.sendall(garbage)
    assert await suggestion(window) == SHOWN


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b'{"jsonrpc": "2.0", "id": [1], "method": "textDocument/inlineCompletion", "params": {}}',
        b'{"jsonrpc": "2.0", "id": {"a": 1}, "result": 3}',
        b'{"jsonrpc": "2.0", "id": 7, "method": [5]}',
        b'{"jsonrpc": "2.0", "method": "\xff"}',
    ],
    ids=["nested", "nested objects", "list for an id", "object for an id", "list for a method", "not UTF-8"],
)
async def test_an_editor_that_says_what_is_no_message_is_served_on(open_window, body):
    window = await open_window()
    window.stdin.write(frame(body))
    assert await suggestion(window) == SHOWN
    assert window.process.returncode is None


async def test_a_second_window_costs_little_memory(open_window):
    first = await open_window()
    assert await suggestion(first) == SHOWN
    daemon = psutil.Process((await daemon_status())["pid"])
    before_bytes = daemon.memory_info().rss
    second = await open_window()
    assert await suggestion(second) == SHOWN
    bridge = psutil.Process(second.process.pid)
    added_bytes = daemon.memory_info().rss - before_bytes + bridge.memory_info().rss
    assert added_bytes < 60_000_000
