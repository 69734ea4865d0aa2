"""Messages on a stream: whole ones, broken ones, huge ones."""

import io

import pytest

from lsp import frames
from lsp.frames import as_frame, frame, read_frame


def test_what_is_written_is_read_again():
    stream = io.BytesIO(as_frame({"é": "😀"}) + frame(b"") + frame(b"{}"))
    assert read_frame(stream) == b'{"\\u00e9": "\\ud83d\\ude00"}'
    assert read_frame(stream) == b"{}"  # an empty one is no message
    assert read_frame(stream) is None


@pytest.mark.parametrize(
    "garbage", [b"nonsense\r\n\r\n", b"\r\n\r\n", b"Content-Length: x\r\n\r\n", b"x" * 10_000 + b"\r\n"]
)
def test_what_stands_between_messages_is_skipped(garbage):
    stream = io.BytesIO(garbage + b"Content-Type: json\r\nCONTENT-LENGTH: 2\r\n\r\n{}")
    assert read_frame(stream) == b"{}"


def test_a_message_that_is_cut_short_is_the_end():
    assert read_frame(io.BytesIO(b"Content-Length: 5\r\n\r\n{}")) is None


def test_a_message_too_large_for_any_memory_is_skipped_not_read(monkeypatch):
    monkeypatch.setattr(frames, "LONGEST_BODY", 10)
    monkeypatch.setattr(frames, "_PIECE", 7)
    stream = io.BytesIO(frame(b"x" * 40) + frame(b"{}"))
    assert read_frame(stream) == b"{}"
    assert read_frame(io.BytesIO(b"Content-Length: 1000000000000\r\n\r\n{}")) is None
