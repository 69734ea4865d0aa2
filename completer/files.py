"""Whole files or none: what is written here is never seen half-written. Knows nothing of contents."""

import os
import tempfile
from pathlib import Path

from completer.errors import ResourceError


def write_file(path: Path, data: bytes) -> None:
    """Make the folder, write beside path, then take its place. Raises ResourceError when that cannot be done."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(beside, path)
        except BaseException:
            os.unlink(beside)
            raise
    except OSError as error:
        raise ResourceError(f"cannot write {path}: {error.strerror}") from error
