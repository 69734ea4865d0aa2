"""SHA-256 of files, read in pieces."""

import hashlib
from collections.abc import Callable
from pathlib import Path

_PIECE_BYTES = 4 << 20


def sha256_of(path: Path, advance: Callable[[int], None] = lambda count_bytes: None) -> str:
    """Hexadecimal SHA-256 of a file. advance is told the bytes as they are read."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            digest.update(piece)
            advance(len(piece))
    return digest.hexdigest()
