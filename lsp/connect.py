"""What an editor starts: its standard input and output to the daemon's socket and back, across the daemon's death.

Starts the daemon where none answers. When it dies: says so, answers what was asked with nothing, starts another one,
and tells it all that it needs to know; the editor never notices more than a missing suggestion.
Standard library alone, so that a second window costs next to nothing.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from lsp import loopback
from lsp.frames import as_frame, frame, read_frame
from lsp.notices import Notices
from lsp.protocol import DAEMON_STATUS, STOPPING
from lsp.replay import Replay

START_S = 30.0
"""A daemon that does not answer within this has failed to start."""

LONGEST_PAUSE_S = 10.0
MOST_FAILURES = 3
"""After so many daemons in a row that end before they are ready, none is started for PATIENCE_S, except by hand."""

PATIENCE_S = 300.0

PING_S = 15.0
MOST_SILENT_PINGS = 4
"""While the editor waits for something, a daemon that has said nothing for so many of them hangs, and is ended.
Counted, not timed: a machine that slept has missed none. A daemon that loads a model or reads a prompt does answer."""

_POLL_S = 0.02


class DaemonUnavailable(Exception):
    pass


def reach_daemon(path: str, command: Sequence[str], start_s: float = START_S) -> socket.socket:
    """Connect to the daemon, started by `command` where none listens. Raises DaemonUnavailable."""
    give_up_s = time.monotonic() + start_s
    process: subprocess.Popen[bytes] | None = None
    while time.monotonic() < give_up_s:
        connection = connect(path)
        if connection is not None:
            return connection
        if process is None or process.poll() == 0:  # 0: it found another one that was about to start, or to end
            process = spawn(command)
        elif process.returncode is not None:
            raise DaemonUnavailable(f"the daemon ended at once with exit code {process.returncode}; see completer logs")
        time.sleep(_POLL_S)
    raise DaemonUnavailable(f"the daemon did not start within {start_s:.0f} s; see completer logs")


def connect(path: str) -> socket.socket | None:
    """None when nobody listens there: no daemon has been started, or one has left its socket behind.

    Raises DaemonUnavailable where nobody can: a socket of somebody else, or a path too long for one.
    """
    if path.endswith(loopback.SUFFIX):
        return loopback.connect(Path(path))
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(path)
    except (FileNotFoundError, ConnectionError):
        connection.close()
        return None
    except OSError as error:
        connection.close()
        raise DaemonUnavailable(f"cannot connect to {path}: {(error.strerror or str(error)).lower()}") from error
    return connection


def spawn(command: Sequence[str]) -> "subprocess.Popen[bytes]":
    """A process of its own that outlives this one and its terminal."""
    nothing = subprocess.DEVNULL
    flags = getattr(subprocess, "DETACHED_PROCESS", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)  # Windows
    return subprocess.Popen(
        command, stdin=nothing, stdout=nothing, stderr=nothing, cwd="/", start_new_session=True, creationflags=flags
    )


def process_file(path: Path) -> Path:
    """Where the daemon that listens at path writes its process id."""
    return path.with_suffix(".pid")


def process_id_of(path: Path) -> int | None:
    """Of the daemon that listens at path, None where it does not say."""
    try:
        return int(process_file(path).read_text("ascii"))
    except (OSError, ValueError):
        return None


def end_hung(process_id: int) -> None:
    """End a daemon that answers no more."""
    with contextlib.suppress(OSError):  # it has just ended
        os.kill(process_id, getattr(signal, "SIGKILL", signal.SIGTERM))


class Bridge:
    """One editor's connection to whichever daemon lives. Three threads: this one reads the editor, one the daemon, and
    one sees to it that the daemon does not hang.
    """

    def __init__(
        self,
        stdin: BinaryIO,
        stdout: BinaryIO,
        path: Path,
        reach: Callable[[], socket.socket],
        max_document_bytes: int,
        ping_s: float = PING_S,
    ) -> None:
        """reach() gives a new connection to the daemon at path, or raises DaemonUnavailable."""
        self._path = path
        self._ping_s = ping_s
        self._stdin = stdin
        self._stdout = stdout
        self._reach = reach
        self._lock = threading.RLock()
        self._writing = threading.Lock()
        self._wanted = threading.Event()
        self._wanted.set()
        self._replay = Replay(max_document_bytes)
        self._notices = Notices(lambda message: self._write(as_frame(message)))
        self._failures = 0
        """Daemons in a row that did not start, or ended before they were ready."""
        self._has_given_up = False
        self._socket: socket.socket | None = None
        self._asked: dict[int | str, str] = {}
        """Requests of the editor that wait for an answer: their methods by id."""
        self._asked_back: set[int | str] = set()
        """Requests of the daemon that wait for one."""
        self._registered: set[str] = set()
        """What a daemon has had the editor register: by the next one, it is registered already."""
        self._replays = 0
        self._process_id: int | None = None
        self._silent_pings = 0
        self._is_shut_down = self._is_over = False

    def run(self) -> int:
        """Until the editor says exit or is gone. The exit code is the protocol's: 0 after a shutdown."""
        threading.Thread(target=self._serve, name="daemon", daemon=True).start()
        threading.Thread(target=self._watch, name="watch", daemon=True).start()
        while not self._is_over and (body := read_frame(self._stdin)) is not None:
            self._from_editor(body)
        with self._lock:
            self._is_over = True
            if self._socket is not None:
                with contextlib.suppress(OSError):  # the daemon has just hung up
                    self._socket.shutdown(socket.SHUT_WR)
        return 0 if self._is_shut_down else 1

    def _from_editor(self, body: bytes) -> None:
        message = _message(body)
        if message is None:
            return
        with self._lock:
            if "method" not in message and message.get("id") not in self._asked_back:
                return  # an answer to a daemon that is no more
            passed = self._note(message)
            if "id" in message and (not self._has_given_up or _is_by_hand(message)):
                self._wanted.set()
            if self._socket is not None:
                self._send(frame(body) if passed is message else as_frame(passed))
            else:
                self._answer_with_nothing()

    def _note(self, message: dict[str, Any]) -> dict[str, Any]:
        """Keep what there is to keep of it; returns what to pass on."""
        method, message_id = message.get("method"), message.get("id")
        passed = message
        try:
            passed = self._replay.sent(message)
        except (LookupError, TypeError, ValueError, AttributeError):
            print(f"completer: {method} makes no sense and is not kept", file=sys.stderr)
        if method is None:
            self._asked_back.discard(message_id)
        elif message_id is not None:
            self._asked[message_id] = method
        self._is_shut_down |= method == "shutdown"
        self._is_over |= method == "exit"
        return passed

    def _serve(self) -> None:
        """Keep a daemon at the other end."""
        short_lives = 0
        while not self._is_over:
            self._wait()
            started_s = time.monotonic()
            try:
                connection = self._reach()
            except (DaemonUnavailable, OSError) as error:
                self._failures += 1
                self._notices.tell("Error", str(error))
            else:
                try:
                    self._attend(connection)
                except Exception as error:  # nobody foresaw it: the next daemon may do better
                    print(f"completer: the connection to the daemon failed: {type(error).__name__}", file=sys.stderr)
                self._lost(is_stable=time.monotonic() - started_s > START_S)
            is_stable = time.monotonic() - started_s > START_S
            short_lives = 0 if is_stable else min(short_lives + 1, 10)
            if short_lives > 1:
                time.sleep(min(LONGEST_PAUSE_S, 0.1 * 2**short_lives))

    def _wait(self) -> None:
        """Until a daemon is wanted. An editor whose `initialize` waits cannot ask for one by hand."""
        with self._lock:
            if self._failures >= MOST_FAILURES and "initialize" not in self._asked.values():
                self._has_given_up = True
                self._wanted.clear()
                how_often = f"the daemon did not get ready {MOST_FAILURES} times in a row"
                self._notices.tell(
                    "Error", f"{how_often}; ask for a suggestion by hand to try again; see completer logs"
                )
        self._wanted.wait(PATIENCE_S if self._has_given_up else None)
        self._has_given_up = False
        self._wanted.set()

    def _watch(self) -> None:
        """End a daemon that hangs; that the connection is lost then is for `_serve`."""
        while not self._is_over:
            time.sleep(self._ping_s)
            if self._silent_pings >= MOST_SILENT_PINGS:
                self._silent_pings = 0
                if self._process_id is not None and self._process_id == process_id_of(self._path):
                    self._notices.tell("Warning", "the daemon does not answer any more; it is ended")
                    end_hung(self._process_id)
            elif not self._lock.acquire(blocking=False):  # perhaps a message to a daemon that reads no more
                self._silent_pings += 1
            else:
                if self._socket is not None and self._asked:
                    self._silent_pings += 1
                    self._send(
                        as_frame({"jsonrpc": "2.0", "id": "completer-ping", "method": DAEMON_STATUS, "params": {}})
                    )
                else:
                    self._silent_pings = 0
                self._lock.release()

    def _attend(self, connection: socket.socket) -> None:
        """Bring a daemon up to date, then pass on what it says until it ends."""
        with connection, connection.makefile("rb") as stream:
            with self._lock:
                self._socket, self._silent_pings = connection, 0
                self._process_id = process_id_of(self._path)
                for data in self._replayed(self._initialize_id()):
                    self._send(data)
            with contextlib.suppress(OSError):  # it was killed with messages of ours unread
                while (body := read_frame(stream)) is not None:
                    self._from_daemon(body)

    def _replayed(self, initialize_id: int | str) -> list[bytes]:
        try:
            return [*map(as_frame, self._replay.messages(initialize_id))]
        except Exception as error:  # better a daemon that knows no document than none
            print(f"completer: the open documents cannot be told again: {type(error).__name__}", file=sys.stderr)
            self._replay.forget_documents()
            return [*map(as_frame, self._replay.messages(initialize_id))]

    def _initialize_id(self) -> int | str:
        """The editor's own while it waits for that answer, else one whose answer is not passed on."""
        waiting = [message_id for message_id, method in self._asked.items() if method == "initialize"]
        self._replays += 1
        return waiting[0] if waiting else f"replay-{self._replays}"

    def _from_daemon(self, body: bytes) -> None:
        message = _message(body)
        if message is None:
            return
        self._silent_pings = 0
        message_id = message.get("id")
        with self._lock:
            if message.get("method") == STOPPING:
                self._wanted.clear()
                return
            if message.get("method") == "client/registerCapability" and self._is_registered(message):
                self._send(as_frame({"jsonrpc": "2.0", "id": message_id, "result": None}))
                return
            if "method" in message:
                self._notices.passed(message)
                if message_id is not None:
                    self._asked_back.add(message_id)
            elif message_id is None or (method := self._asked.pop(message_id, None)) is None:
                return  # too late, or the answer to a replayed initialize
            elif method == "initialize":
                self._replay.answered(message.get("result") or {})
        self._write(frame(body))

    def _is_registered(self, message: dict[str, Any]) -> bool:
        """Whether an earlier daemon has had all of it registered."""
        ids = {registration["id"] for registration in message["params"]["registrations"]}
        is_known = ids <= self._registered
        self._registered |= ids
        return is_known

    def _lost(self, is_stable: bool) -> None:
        with self._lock:
            self._socket = self._process_id = None
            self._asked_back.clear()
            if self._is_over:
                return
            was_stopped = not self._wanted.is_set()
            was_good = self._notices.has_served or (is_stable and not self._notices.is_busy)
            if was_stopped or was_good:
                self._failures = 0
            elif self._notices.has_spoken:  # else it was dying already when it took the connection
                self._failures += 1
            self._notices.lost()
            if was_stopped:
                self._notices.tell("Inactive", "the daemon was stopped; the next request starts it")
            else:
                self._notices.tell("Warning", "the daemon has ended; starting another one")
            self._answer_with_nothing()

    def _answer_with_nothing(self) -> None:
        """All that waits but `initialize`, which the next daemon answers."""
        for message_id in [message_id for message_id, method in self._asked.items() if method != "initialize"]:
            del self._asked[message_id]
            self._write(as_frame({"jsonrpc": "2.0", "id": message_id, "result": None}))

    def _send(self, data: bytes) -> None:
        assert self._socket is not None
        with contextlib.suppress(OSError):  # it has died: who reads from it finds out, and all is sent again
            self._socket.sendall(data)

    def _write(self, data: bytes) -> None:
        with self._writing:
            try:
                self._stdout.write(data)
                self._stdout.flush()
            except (OSError, ValueError):
                self._is_over = True


def _message(body: bytes) -> dict[str, Any] | None:
    """None for what is no message: no JSON, or nested too deep, or not of the protocol's shape."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return None
    is_message = isinstance(message, dict) and isinstance(message.get("id"), (int, str, type(None)))
    return message if is_message and isinstance(message.get("method"), (str, type(None))) else None


def _is_by_hand(message: dict[str, Any]) -> bool:
    """Whether it asks for a suggestion because the user wants one now. Editors without inline completion do not say."""
    params = message.get("params")
    context = params.get("context") if isinstance(params, dict) else None
    is_invoked = isinstance(context, dict) and context.get("triggerKind") == 1
    return is_invoked and message.get("method") == "textDocument/inlineCompletion"
