"""Messages on a stream, each behind a header with its length. Standard library alone; knows no contents."""

import json
from typing import Any, BinaryIO

LONGEST_BODY = 256_000_000
"""A longer one is skipped: no editor sends such a message, and nobody has the memory for any."""

_LONGEST_HEADER = 4096
_PIECE = 1_000_000


def read_frame(stream: BinaryIO) -> bytes | None:
    """The body of the next message, None at the end of the stream. What stands between messages is skipped."""
    length = 0
    while line := stream.readline(_LONGEST_HEADER):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            length = int(value)
        elif length and not line.strip():
            if length <= LONGEST_BODY:
                body = stream.read(length)
                return body if len(body) == length else None
            while length > 0 and (skipped := len(stream.read(min(length, _PIECE)))):
                length -= skipped
    return None


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def as_frame(message: Any) -> bytes:
    return frame(json.dumps(message).encode())
