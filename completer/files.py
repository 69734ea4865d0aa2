"""Whole files or none: what is written here is never seen half-written. Knows nothing of contents."""

import os
import tempfile
from pathlib import Path

from completer.errors import ResourceError


def write_file(path: Path, data: bytes) -> None:
    """Make the folder, write beside path, then take its place; where path is a link, that of what it leads to.

    Raises ResourceError when that cannot be done, and for a device or pipe, whose place is not to be taken.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        raise ResourceError(f"cannot write {path}: it is not an ordinary file")
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
