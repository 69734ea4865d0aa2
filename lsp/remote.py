"""A running daemon as the commands of the command line see it: an engine that is loaded already."""

import contextlib
import hashlib
import json
import queue
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from completer import __version__
from completer.config import Config
from completer.errors import CompleterError
from completer.request import CompletionChunk, CompletionRequest, CompletionResult, PhaseMs, RoundPlanner, SourceCounts
from lsp.connect import DaemonUnavailable, connect
from lsp.control import ask
from lsp.endpoint import socket_path
from lsp.frames import as_frame, read_frame
from lsp.protocol import COMPLETE, COMPLETE_CHUNK, DAEMON_STATUS, UNLOAD_MODEL

_POLL_S = 0.05


def fingerprint(config: Config) -> str:
    """Equal where the same engine serves both: version, model, prompt, caches and the most it writes."""
    of_the_engine = config.model, config.prompt, config.cache, config.completion.max_tokens, config.speculation.exact
    return hashlib.sha256(repr((__version__, *of_the_engine)).encode()).hexdigest()


class RunningDaemon:
    """The daemon of this user, whether it runs or not."""

    def engine(self, config: Config) -> "RemoteEngine | None":
        status = self._ask(DAEMON_STATUS)
        is_useful = status and status.get("engine") == fingerprint(config) and status["model"] != "failed"
        return RemoteEngine(socket_path()) if is_useful else None

    def unload(self) -> bool:
        """Whether it had a model in memory and has it no more."""
        status = self._ask(DAEMON_STATUS)
        if not status or status["model"] not in ("ready", "loading"):
            return False
        self._ask(UNLOAD_MODEL)
        status = self._ask(DAEMON_STATUS)
        return bool(status) and status["model"] not in ("ready", "loading")

    def _ask(self, method: str) -> Any:
        try:
            return ask(socket_path(), method)
        except CompleterError:  # a folder that others can enter: no daemon can be in it
            return None


class RemoteEngine:
    def __init__(self, path: Path) -> None:
        self._path = path

    def complete(
        self, request: CompletionRequest, planner: RoundPlanner, cancelled: Callable[[], bool]
    ) -> Iterator[CompletionChunk]:
        """As Engine.complete; cancelled, it ends without a result. Raises CompleterError where the daemon fails."""
        from completer.planner import FixedPlanner

        try:
            connection = connect(str(self._path))
        except DaemonUnavailable as error:
            raise CompleterError(str(error)) from error
        if connection is None:
            raise CompleterError("the daemon has just ended; run the command again")
        fixed = json.dumps(asdict(planner)) if isinstance(planner, FixedPlanner) else None
        params = {"request": json.dumps(asdict(request)), "planner": fixed}
        with connection, connection.makefile("rb") as stream:
            connection.sendall(as_frame({"jsonrpc": "2.0", "id": 1, "method": COMPLETE, "params": params}))
            try:
                for message in _messages(stream, cancelled):
                    if message.get("method") == COMPLETE_CHUNK:
                        yield _chunk(message["params"])
                    elif "id" in message:
                        _check(message)
                        return
            finally:  # else closing the stream would wait for the thread that reads it
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            if not cancelled():
                raise CompleterError("the daemon ended while it completed; run the command again")


def _messages(stream: Any, cancelled: Callable[[], bool]) -> Iterator[dict[str, Any]]:
    """Until the stream ends, or at once when cancelled."""
    bodies: queue.Queue[bytes | None] = queue.Queue()

    def read() -> None:
        body: bytes | None = b""
        while body is not None:
            try:
                body = read_frame(stream)
            except (OSError, ValueError):  # closed meanwhile
                body = None
            bodies.put(body)

    threading.Thread(target=read, name="daemon", daemon=True).start()
    while not cancelled():
        try:
            body = bodies.get(timeout=_POLL_S)
        except queue.Empty:
            continue
        if body is None:
            return
        yield json.loads(body)


def _chunk(params: dict[str, Any]) -> CompletionChunk:
    result = params["result"]
    if result is not None:
        sources = {name: SourceCounts(**counts) for name, counts in result["sources"].items()}
        result = CompletionResult(**result | {"ms": PhaseMs(**result["ms"]), "sources": sources})
    return CompletionChunk(params["text"], params["alternative"], result)


def _check(answer: dict[str, Any]) -> None:
    error = answer.get("error") or answer.get("result")
    if error:
        raise CompleterError(f"the daemon could not complete: {error['message']}")
