"""The door for systems without Unix sockets, forced here: a port and two secrets."""

import asyncio
import json
import socket
import stat
import sys

import pytest

from lsp.connect import connect
from lsp.control import ask
from lsp.endpoint import socket_path
from lsp.loopback import SUFFIX
from lsp.protocol import DAEMON_STATUS, STOP_DAEMON
from tests.conftest import ROOT
from tests.editor import Editor, until, within

pytestmark = pytest.mark.asyncio
URI = "file:///project/a.py"


async def test_windows_share_a_daemon_behind_a_port(script, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("COMPLETER_SERVICE_IDLE_EXIT_MINUTES", "1")
    script.write(otherwise="ok()")
    door = socket_path().with_suffix(SUFFIX)
    windows = []
    for _ in range(2):
        window = await Editor.start(sys.executable, "-m", "tests.scripted_connect", str(script.folder), str(door))
        windows.append(window)
        await window.initialize()
        window.open(URI, "x = ")
        assert await window.text(URI) == "ok()"
    assert script.count("loaded") == 1
    assert stat.S_IMODE(door.stat().st_mode) == 0o600
    assert (await asyncio.to_thread(ask, door, DAEMON_STATUS))["connections"] == 2
    known = json.loads(door.read_text())
    for shown in (b"", b"x" * 64, known["welcome"].encode()):
        with socket.create_connection(("127.0.0.1", known["port"]), 10) as stranger:
            stranger.sendall(shown)
            stranger.shutdown(socket.SHUT_WR)
            assert await asyncio.to_thread(stranger.recv, 1) == b""
    for window in windows:
        await window.stop()
    await asyncio.to_thread(ask, door, STOP_DAEMON)
    await until(lambda: not door.exists())


async def test_another_program_at_a_dead_daemon_s_port_is_not_taken_for_one(own_folders):
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readexactly(64))
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    door = socket_path().with_suffix(SUFFIX)
    door.write_text(json.dumps({"port": port, "hello": "h" * 64, "welcome": "w" * 64}))
    assert await within(asyncio.to_thread(connect, str(door))) is None
    server.close()
    assert await within(asyncio.to_thread(connect, str(door))) is None
    door.unlink()
    assert connect(str(door)) is None
