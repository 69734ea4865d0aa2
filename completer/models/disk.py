"""Room on the disk: asked for beforehand, and explained when it runs out all the same."""

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.filesize import decimal

from completer.errors import ResourceError

_ADVICE = "free some, or set COMPLETER_CACHE_DIR to a folder on a larger disk, and run it again"


def require_free(folder: Path, needed_bytes: int) -> None:
    """Raises ResourceError when the disk that holds folder has less room than needed_bytes."""
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < needed_bytes:
        raise ResourceError(
            f"not enough disk space in {folder}: {decimal(needed_bytes)} needed, {decimal(free_bytes)} free; {_ADVICE}"
        )


@contextmanager
def full_disk_explained(folder: Path) -> Iterator[None]:
    """Turn the operating system's "no space left" into a ResourceError; let every other error pass."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise full_disk(folder) from error


def full_disk(folder: Path) -> ResourceError:
    return ResourceError(f"the disk that holds {folder} is full; {_ADVICE}")
