"""The status is about the document that the user is in, where the editor says which that is."""

import os
import signal
import sys

import pytest

from lsp.control import ask
from lsp.endpoint import socket_path
from lsp.protocol import DAEMON_STATUS, STOP_DAEMON
from tests.conftest import ROOT
from tests.editor import Editor, until

SECRET, CODE = "file:///project/.env", "file:///project/a.py"


def refuses(status: object) -> bool:
    return "may hold secrets" in status.message  # type: ignore[attr-defined]


@pytest.mark.asyncio
async def test_a_document_opened_beside_it_has_no_say(editor):
    editor.open(CODE, "x = ")
    editor.focus(CODE)
    editor.open(SECRET, "A=")
    await editor.text(CODE)
    assert not any(map(refuses, editor.statuses))
    editor.focus(SECRET)
    await until(lambda: refuses(editor.statuses[-1]))
    editor.focus(CODE)
    await until(lambda: not refuses(editor.statuses[-1]))


@pytest.mark.asyncio
async def test_a_new_daemon_is_told_which_it_is(script, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    editor = await Editor.start(sys.executable, "-m", "tests.scripted_connect", str(script.folder))
    try:
        await editor.initialize()
        await editor.has_status(message="ready", busy=False)
        editor.open(CODE, "x = ")
        editor.focus(CODE)
        editor.open(SECRET, "A=")
        await editor.text(CODE)
        os.kill(ask(socket_path(), DAEMON_STATUS)["pid"], signal.SIGKILL)
        await editor.has_status(message="the daemon has ended; starting another one")
        told = len(editor.statuses)
        await until(lambda: any(status.message == "ready" for status in editor.statuses[told:]))
        await editor.text(CODE)
        assert not any(map(refuses, editor.statuses))
    finally:
        await editor.stop()
        ask(socket_path(), STOP_DAEMON)
