"""The real command, the real daemon, a real model."""

import shutil
import sys

import psutil
import pytest

from lsp.control import ask
from lsp.endpoint import socket_path
from lsp.protocol import DAEMON_STATUS, STOP_DAEMON
from tests.editor import AUTOMATIC, Editor, until

pytestmark = [pytest.mark.asyncio, pytest.mark.model("qwen2.5-coder-0.5b")]
URI = "file:///project/numbers.py"
TEXT = "def fibonacci(n):\n    if n < 2:\n        return n\n    return fibonacci(n - 1) + "


@pytest.fixture(autouse=True)
def models(monkeypatch):
    monkeypatch.setenv("COMPLETER_MODEL_TARGET", "qwen2.5-coder-0.5b")
    monkeypatch.setenv("COMPLETER_MODEL_DRAFT", "none")
    monkeypatch.setenv("COMPLETER_SERVICE_IDLE_EXIT_MINUTES", "2")


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap, to take the network away")
async def test_it_needs_no_network():
    without = ["bwrap", "--dev-bind", "/", "/", "--unshare-net"]
    editor = await Editor.start(*without, sys.executable, "-m", "completer", "lsp", "--in-process")
    try:
        await editor.initialize()
        await until(lambda: any(status.message == "ready" for status in editor.statuses), 120)
        editor.open(URI, TEXT)
        assert await editor.text(URI, trigger=AUTOMATIC) == "fibonacci(n - 2)"
    finally:
        await editor.stop()


async def test_first_ghost_text_typing_along_and_what_follows():
    editor = await Editor.start(sys.executable, "-m", "completer", "lsp")
    try:
        await editor.initialize(streaming=True)
        await until(lambda: any(status.message == "ready" for status in editor.statuses), 120)
        editor.open(URI, TEXT)
        shown = await editor.text(URI, trigger=AUTOMATIC)
        assert shown == "fibonacci(n - 2)"
        editor.type(URI, shown[:9])
        assert await editor.text(URI, trigger=AUTOMATIC) == shown[9:]
        pid = ask(socket_path(), DAEMON_STATUS)["pid"]
        assert psutil.Process(pid).memory_info().rss > 500_000_000
    finally:
        await editor.stop()
        ask(socket_path(), STOP_DAEMON)
