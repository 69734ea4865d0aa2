"""The text to complete, read from a file or from standard input. Knows bytes and limits; knows no cursor."""

import sys
from pathlib import Path

from completer.errors import InputError

STDIN = "-"
MAX_BYTES = 2_000_000


def read_text(file: str) -> str:
    """Line ends stay as they are; a byte order mark is left out.

    Raises InputError for what cannot be read, is larger than MAX_BYTES, or is not UTF-8 text.
    """
    name = "standard input" if file == STDIN else file
    try:
        if file == STDIN:
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(file).open("rb") as stream:
                data = stream.read(MAX_BYTES + 1)
    except IsADirectoryError:
        raise InputError(f"{name} is a folder; name a file in it") from None
    except FileNotFoundError:
        raise InputError(f"no such file: {file}") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise InputError(f"cannot read {name}: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > MAX_BYTES:
        raise InputError(f"{name} is larger than {MAX_BYTES // 1_000_000} MB, the most that can be completed")
    if b"\0" in data:
        raise InputError(f"{name} is not text: it has a NUL byte at offset {data.index(0)}")
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        byte = f"byte 0x{data[error.start]:02x} at offset {error.start}"
        raise InputError(f"{name} is not UTF-8 text: {byte}; convert it first") from None
