"""The daemon's door where there are no Unix sockets, as on Windows: a TCP port of this machine alone, and two secrets.

A file that only the user can read names the port and the secrets. Who connects shows the first and is shown the second:
nobody else gets in, and no other program that has taken over a dead daemon's port is taken for one.
Standard library alone.
"""

import asyncio
import hmac
import json
import secrets
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

SUFFIX = ".port"
_HOST = "127.0.0.1"
_SECRET_CHARS = 64
_GREETING_S = 5.0

Connected = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def listen(path: Path, connected: Connected) -> asyncio.Server:
    """Serve those who know the secret. The caller removes the file at path when it ends."""
    hello, welcome = (secrets.token_hex(_SECRET_CHARS // 2) for _ in range(2))

    async def admit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            shown = await asyncio.wait_for(reader.readexactly(_SECRET_CHARS), _GREETING_S)
        except (asyncio.IncompleteReadError, asyncio.TimeoutError, ConnectionError):
            shown = b""
        if hmac.compare_digest(shown, hello.encode()):
            writer.write(welcome.encode())
            await connected(reader, writer)
        else:
            writer.close()

    server = await asyncio.start_server(admit, _HOST, 0)
    port = server.sockets[0].getsockname()[1]
    beside = path.with_suffix(".new")
    beside.touch(0o600)
    beside.write_text(json.dumps({"port": port, "hello": hello, "welcome": welcome}), "utf-8")
    beside.replace(path)
    return server


def connect(path: Path) -> socket.socket | None:
    """None when no daemon listens there."""
    try:
        door = json.loads(path.read_text("utf-8"))
        connection = socket.create_connection((_HOST, door["port"]), _GREETING_S)
    except (OSError, ValueError):
        return None
    try:
        connection.sendall(door["hello"].encode())
        shown = b""
        while len(shown) < _SECRET_CHARS and (piece := connection.recv(_SECRET_CHARS - len(shown))):
            shown += piece
    except OSError:
        shown = b""
    if not hmac.compare_digest(shown, door["welcome"].encode()):
        connection.close()
        return None
    connection.settimeout(None)
    return connection
