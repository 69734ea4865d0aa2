"""Asking a running daemon something, from the command line: one question, one answer. Standard library alone."""

import contextlib
import json
import re
from pathlib import Path
from typing import Any

from completer.errors import ResourceError
from lsp.connect import DaemonUnavailable, connect
from lsp.frames import as_frame, read_frame
from lsp.protocol import PROTOCOL_MAJOR, STOP_DAEMON

ANSWER_S = 30.0


class DaemonHangs(ResourceError):
    pass


def ask(path: Path, method: str, params: dict[str, Any] | None = None) -> Any:
    """The answer of the daemon that listens there. None when there is none, or it is gone before it answers.

    Raises DaemonHangs for one that does not answer within ANSWER_S, another ResourceError where there can be none: a
    socket of somebody else, or a path too long for one.
    """
    try:
        connection = connect(str(path))
    except DaemonUnavailable as error:
        raise ResourceError(f"{error}; set COMPLETER_RUNTIME_DIR to a short path of your own") from error
    if connection is None:
        return None
    with connection, connection.makefile("rb") as stream:
        connection.settimeout(ANSWER_S)
        try:
            connection.sendall(as_frame({"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}))
            body = read_frame(stream)
        except TimeoutError:
            raise DaemonHangs(
                f"the daemon has not answered for {ANSWER_S:.0f} s; end it with completer daemon restart"
            ) from None
        except OSError:
            return None
    return None if body is None else json.loads(body).get("result")


def retire_older(path: Path) -> None:
    """Stop idle daemons of the same user that speak an older protocol; those in use stay until they are not."""
    for other in path.parent.glob(f"*{path.suffix}"):
        match = re.fullmatch(r"(.+)-(\d+)", other.stem)
        if match and match[1] == path.stem.rpartition("-")[0] and int(match[2]) < PROTOCOL_MAJOR:
            with contextlib.suppress(ResourceError):  # it is nobody that could be stopped
                ask(other, STOP_DAEMON, {"onlyIfIdle": True})
