"""Random edits, requests, cancels, kills, hangs, disconnects and garbage over four windows: nothing breaks, nothing
drifts.
"""

import asyncio
import os
import random
import signal
import sys
from contextlib import suppress
from typing import Any

import psutil
import pytest

from lsp.control import ask
from lsp.documents import readable
from lsp.endpoint import socket_path
from lsp.protocol import DAEMON_STATUS, STOP_DAEMON
from tests.conftest import ROOT
from tests.editor import AUTOMATIC, INVOKED, Editor, until, within

WINDOWS, BURST = 4, 25
PIECES = ["a", "x = 1", "    ", "\n", "\r\n", "\r", "😀", "é", "\f", "(", "))", "def f():\n    return 1\n", "\ud83d"]
NONSENSE = [
    b"{",
    b"[1]",
    b"[" * 10**5,
    b'{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"a": 1}}',
    b" " * 10**6,
]
SETTLED_S = 30.0
IDLE_TASKS = 4
"""The daemon itself, and the connection that asks it."""


class Chaos:
    def __init__(self, script: Any, seed: int) -> None:
        self.script = script
        self.random = random.Random(seed)
        self.windows: list[Editor] = []
        self.pending: list[asyncio.Future[Any]] = []
        self.bursts = 0

    async def start(self) -> None:
        for _ in range(WINDOWS):
            await self.open_window()

    async def open_window(self) -> None:
        window = await Editor.start(sys.executable, "-m", "tests.scripted_connect", str(self.script.folder))
        self.windows.append(window)
        await window.initialize(streaming=self.random.random() < 0.5)
        for _ in range(2):
            self.open_document(window)

    def open_document(self, window: Editor) -> None:
        window.open(f"file:///project/{self.random.randrange(10**9)}.py", self.text(40))

    def text(self, most: int) -> str:
        return "".join(self.random.choices(PIECES, k=self.random.randrange(most)))

    def position(self) -> tuple[int, int]:
        return self.random.randrange(12), self.random.randrange(12)

    async def step(self, may_kill: bool) -> None:
        window = self.random.choice(self.windows)
        uri = self.random.choice([*window.texts])
        kinds = {
            self.edit: 50,
            self.request: 30,
            self.cancel: 8,
            self.replace: 4,
            self.garbage: 3,
            self.reopen: 3,
            self.huge: 1,
        }
        if may_kill:
            kinds |= {self.kill_daemon: 1, self.kill_window: 1, self.hang_daemon: 1}
        (kind,) = self.random.choices([*kinds], weights=[*kinds.values()])
        await kind(window, uri)
        if self.random.random() < 0.3:
            await asyncio.sleep(self.random.random() * 0.01)

    async def edit(self, window: Editor, uri: str) -> None:
        start, end = sorted((self.position(), self.position()))
        window.edit(uri, start, start if self.random.random() < 0.7 else end, self.text(4))

    async def replace(self, window: Editor, uri: str) -> None:
        window.set_text(uri, self.text(40))

    async def request(self, window: Editor, uri: str) -> None:
        trigger = self.random.choice([AUTOMATIC, INVOKED])
        self.pending.append(window.ask(uri, self.position(), trigger, request_id=f"c{self.random.randrange(10**9)}"))

    async def cancel(self, window: Editor, uri: str) -> None:
        asked = [name for name in map(str, window.client.protocol._request_futures) if name.startswith("c")]
        window.cancel(self.random.choice(asked) if asked else "unknown")

    async def garbage(self, window: Editor, uri: str) -> None:
        body = self.random.choice(NONSENSE)
        header = b"Content-Length: %d\r\n\r\n" % len(body)
        window.stdin.write(self.random.choice([header + body, b"nonsense\r\n\r\n"]))

    async def huge(self, window: Editor, uri: str) -> None:
        """A document that is too large to be kept."""
        huge = "file:///project/huge.py"
        window.open(huge, "x = 1\n" * 500_000)
        self.pending.append(window.ask(huge, self.position(), INVOKED))
        window.close(huge)
        del window.texts[huge]

    async def reopen(self, window: Editor, uri: str) -> None:
        window.close(uri)
        del window.texts[uri]
        self.open_document(window)

    async def kill_daemon(self, window: Editor, uri: str, how: signal.Signals = signal.SIGKILL) -> None:
        status = await asyncio.to_thread(ask, socket_path(), DAEMON_STATUS)
        if status is not None:
            os.kill(status["pid"], how)

    async def hang_daemon(self, window: Editor, uri: str) -> None:
        await self.kill_daemon(window, uri, signal.SIGSTOP)

    async def kill_window(self, window: Editor, uri: str) -> None:
        window.process.kill()
        self.windows.remove(window)
        await within(window.client.stop())
        await self.open_window()

    async def settle(self) -> None:
        """All that was asked has been answered, and the server's texts are the editors'."""
        self.bursts += 1
        answers = await asyncio.wait_for(asyncio.gather(*self.pending, return_exceptions=True), SETTLED_S)
        self.pending.clear()
        for answer in answers:
            assert answer is None or hasattr(answer, "items") or is_expected(answer), answer
        for number, window in enumerate(self.windows):
            for uri in window.texts:
                mark = f"# {self.bursts} {number} {uri[-12:]}"
                window.edit(uri, (0, 0), (0, 0), mark)
                expected = readable(str(window.texts[uri]))
                await self.is_known(window, uri, expected)

    async def is_known(self, window: Editor, uri: str, expected: str) -> None:
        """The engine is asked about just this text, sooner or later: a daemon may be starting."""

        async def ask() -> None:
            while expected not in {call["prefix"] + call["suffix"] for call in self.script.calls()[-20:]}:
                with suppress(TimeoutError):
                    await window.text(uri, (self.random.randrange(3), self.random.randrange(9)))
                await asyncio.sleep(0.01)

        await within(ask(), SETTLED_S)


def is_expected(answer: Any) -> bool:
    """Cancelled by the editor, or its window was killed."""
    return "canceled" in str(answer) or "exited" in str(answer)


def usage(pid: int) -> tuple[int, int, int]:
    process = psutil.Process(pid)
    return process.memory_info().rss, process.num_fds(), process.num_threads()


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("steps", "deadly", "settled"), [(300, 150, 225), pytest.param(5_000, 2_400, 2_500, marks=pytest.mark.slow)]
)
async def test_chaos(script, monkeypatch, steps, deadly, settled):
    """deadly: the first steps, in which daemons and windows are killed; settled: from when on memory is to be flat."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("COMPLETER_SERVICE_IDLE_EXIT_MINUTES", "1")
    monkeypatch.setenv("TEST_PING_S", "2")
    script.write(otherwise="value = 1\nother = 2\n", chunk=4)
    chaos = Chaos(script, seed=steps)
    await chaos.start()
    try:
        settled_status: dict[str, Any] = {}
        for number in range(steps):
            await chaos.step(may_kill=number < deadly)
            if number % BURST == BURST - 1:
                await chaos.settle()
                (script.folder / "calls").unlink()
            if number == settled:
                settled_status = await asyncio.to_thread(ask, socket_path(), DAEMON_STATUS)
                before = usage(settled_status["pid"])
        status = await asyncio.to_thread(ask, socket_path(), DAEMON_STATUS)
        assert (status["pid"], status["connections"]) == (settled_status["pid"], WINDOWS)
        rss_bytes, files, threads = usage(status["pid"])
        assert rss_bytes < before[0] * 1.05
        assert abs(files - before[1]) <= 2 and threads <= before[2]
        assert not [window.client.messages for window in chaos.windows if window.client.messages]
        for window in chaos.windows:
            await window.stop()
            assert window.process.returncode == 0
        await until(lambda: ask(socket_path(), DAEMON_STATUS)["connections"] == 0)
        await until(lambda: usage(status["pid"])[1] <= files - WINDOWS)
        await until(lambda: ask(socket_path(), DAEMON_STATUS)["tasks"] <= IDLE_TASKS)
    finally:
        for window in chaos.windows:
            if window.process.returncode is None:
                window.process.kill()
            await within(window.client.stop())
        ask(socket_path(), STOP_DAEMON)
