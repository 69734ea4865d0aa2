"""One process with the model for all editor windows: its socket, who may connect, and when it ends.

Whoever holds the lock beside the socket is the daemon; a socket found there is then a dead one's. Knows connections;
what is said on them is for lsp.server.
"""

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from filelock import FileLock, Timeout
from pygls.protocol import lsp_method

from completer import __version__
from completer.config import Config
from completer.config_source import ConfigSource
from lsp import loopback
from lsp.commission import complete
from lsp.connect import process_file
from lsp.learning import Learner
from lsp.protocol import COMPLETE, DAEMON_STATUS, PROTOCOL_MAJOR, STOP_DAEMON, STOPPING, UNLOAD_MODEL
from lsp.remote import fingerprint
from lsp.server import CompleterServer, Protocol, note_failure, silence_pygls
from lsp.service import Service
from lsp.worker import Engine

log = logging.getLogger(__name__)

DOOR_S = 2.0
"""How often the daemon looks whether its socket is still there: who tidies temporary folders may take it away."""

MOST_UNREAD_BYTES = 64_000_000
"""An editor that leaves more than this unread is disconnected."""


def run_daemon(
    source: ConfigSource,
    load_engine: Callable[[Config], Engine],
    path: Path,
    learner: Learner | None = None,
) -> bool:
    """Serve until told to stop or long unused; False, at once, when there is a daemon already."""
    silence_pygls()
    os.umask(0o077)
    lock = FileLock(path.with_suffix(".lock"))
    try:
        with lock.acquire(blocking=False):
            process_file(path).write_text(str(os.getpid()), "ascii")
            asyncio.run(_Daemon(lambda: Service(source, load_engine, learner), path).run())
    except Timeout:
        return False
    return True


class _Daemon:
    def __init__(self, make_service: Callable[[], Service], path: Path) -> None:
        self._make_service = make_service
        self._path = path
        self._connections: dict[asyncio.Task[None], CompleterServer] = {}
        self._started_s = time.time()
        self._exit_timer: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        self.service = self._make_service()
        self._ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(note_failure)
        with contextlib.suppress(NotImplementedError):  # on Windows
            for name in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(name, self.stop)
        self._path.unlink(missing_ok=True)
        server = await self._listen()
        self._wait_for_editors()
        log.info("daemon %s listens on %s", __version__, self._path)
        while not await self._ends_within(DOOR_S):
            if not self._path.exists():
                log.warning("the socket has been removed: listening again")
                server.close()
                self._path.parent.mkdir(0o700, parents=True, exist_ok=True)
                server = await self._listen()
        self._path.unlink(missing_ok=True)
        server.close()
        for connection, editor in self._connections.items():
            editor.protocol.notify(STOPPING, {})
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        self.service.close()
        log.info("daemon ends")

    async def _ends_within(self, seconds: float) -> bool:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._ended.wait(), seconds)
        return self._ended.is_set()

    async def _listen(self) -> asyncio.Server:
        if self._path.suffix == loopback.SUFFIX:
            return await loopback.listen(self._path, self._connected)
        server = await asyncio.start_unix_server(self._connected, self._path)
        self._path.chmod(0o600)
        return server

    def stop(self) -> None:
        self._ended.set()

    def is_idle(self, but_for: int) -> bool:
        return len(self._connections) <= but_for

    def status(self) -> dict[str, Any]:
        return {
            "pid": os.getpid(),
            "version": __version__,
            "protocol": PROTOCOL_MAJOR,
            "model": self.service.worker.state,
            "engine": fingerprint(self.service.config),
            "connections": len(self._connections) - 1,
            "tasks": len(asyncio.all_tasks()),
            "up_s": round(time.time() - self._started_s),
            "rss_bytes": psutil.Process().memory_info().rss,
        }

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections[task] = server = CompleterServer(self.service, _protocol_of(self))
        if self._exit_timer is not None:
            self._exit_timer.cancel()
        try:
            await server.serve(reader, _Writer(writer))
        except asyncio.CancelledError:
            pass  # the daemon stops
        finally:
            del self._connections[task]
            self._wait_for_editors()

    def _wait_for_editors(self) -> None:
        exit_s = self.service.config.service.idle_exit_minutes * 60
        if exit_s and not self._connections:
            self._exit_timer = asyncio.get_running_loop().call_later(exit_s, self.stop)


class _Writer:
    """A stream that gives up on who never reads."""

    def __init__(self, stream: asyncio.StreamWriter) -> None:
        self._stream = stream

    def write(self, data: bytes) -> None:
        if self._stream.transport.get_write_buffer_size() > MOST_UNREAD_BYTES:
            self._stream.transport.abort()
        else:
            self._stream.write(data)

    def close(self) -> None:
        self._stream.close()


def _protocol_of(daemon: _Daemon) -> type[Protocol]:
    """What can be asked of the daemon itself, besides what every server understands."""

    class DaemonProtocol(Protocol):
        @lsp_method(DAEMON_STATUS)
        def daemon_status(self, params: Any) -> dict[str, Any]:
            return daemon.status()

        @lsp_method(COMPLETE)
        async def complete_once(self, params: Any) -> dict[str, str] | None:
            return await complete(daemon.service, params, self.notify)

        @lsp_method(UNLOAD_MODEL)
        async def unload_model(self, params: Any) -> None:
            await daemon.service.unload()

        @lsp_method(STOP_DAEMON)
        def stop_daemon(self, params: Any) -> dict[str, bool]:
            stops = daemon.is_idle(but_for=1) or not getattr(params, "onlyIfIdle", False)
            if stops:
                asyncio.get_running_loop().call_soon(daemon.stop)
            return {"stopping": stops}

    return DaemonProtocol
