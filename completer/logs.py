"""What the program says about itself: warnings to stderr, a rotating file for the rest.

No text of the user's enters the file: its messages are counts, names and milliseconds, and of an exception only the
type and the places in code are kept.
"""

import contextlib
import logging
import os
import sys
import time
import traceback
from collections.abc import Iterator
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, TextIO

from completer.paths import log_file

_ROOMS = ("completer", "adaptive", "lsp")
_MAX_BYTES = 1_000_000
_OLDER_FILES = 3
_POLL_SECONDS = 0.2


def configure(stderr_level: int) -> None:
    """Send records of our own packages to stderr from stderr_level on, and to the log file from INFO on."""
    stderr = logging.StreamHandler(sys.stderr)
    stderr.setLevel(stderr_level)
    stderr.setFormatter(_TextFree("completer: %(levelname)s: %(message)s"))  # an editor keeps what it reads there
    file = _LogFile(log_file(), maxBytes=_MAX_BYTES, backupCount=_OLDER_FILES, encoding="utf-8", delay=True)
    file.setLevel(logging.INFO)
    file.setFormatter(_TextFree("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
    for room in _ROOMS:
        logger = logging.getLogger(room)
        for old in [*logger.handlers]:
            logger.removeHandler(old)
            old.close()
        logger.setLevel(logging.DEBUG)
        logger.addHandler(stderr)
        logger.addHandler(file)


def log_files() -> list[Path]:
    """The log and its older parts, those that exist, oldest first."""
    newest = log_file()
    older = [newest.with_name(f"{newest.name}.{age}") for age in range(_OLDER_FILES, 0, -1)]
    return [path for path in (*older, newest) if path.exists()]


def follow(path: Path) -> Iterator[str]:
    """Lines as they are written to path, forever; goes on with the new file when the log rotates."""
    while True:
        with path.open(encoding="utf-8", errors="replace") as stream:
            while (line := stream.readline()) or not _is_replaced(stream, path):
                if line:
                    yield line
                else:
                    time.sleep(_POLL_SECONDS)


def _is_replaced(stream: TextIO, path: Path) -> bool:
    return path.exists() and not os.path.samestat(os.fstat(stream.fileno()), path.stat())


class _LogFile(RotatingFileHandler):
    """Shared by processes, any of which may rotate it. Makes its folder when the first record comes; says once on
    stderr when it cannot write, and tries again with every record: a disk does not stay full.
    """

    _has_said_so = False

    def _open(self) -> Any:
        Path(self.baseFilename).parent.mkdir(parents=True, exist_ok=True)
        return super()._open()

    def shouldRollover(self, record: logging.LogRecord) -> bool:
        self._leave_rotated()
        return bool(super().shouldRollover(record))

    def doRollover(self) -> None:
        from filelock import FileLock

        with FileLock(f"{self.baseFilename}.lock"):
            self._leave_rotated()
            if self.stream is not None:  # else another process was faster
                super().doRollover()

    def _leave_rotated(self) -> None:
        """The next record goes to the file of now, should another process have put it in this one's place."""
        if self.stream is not None and _is_replaced(self.stream, Path(self.baseFilename)):
            self.stream.close()
            self.stream = None  # the base class opens it again

    def handleError(self, record: logging.LogRecord) -> None:
        error = sys.exc_info()[1]
        if self.stream is not None:
            with contextlib.suppress(OSError):  # what could not be written is tried once more, and dropped
                self.stream.close()
            self.stream = None
        if not self._has_said_so:
            self._has_said_so = True
            print(f"completer: cannot write the log {self.baseFilename}: {error}; going on without it", file=sys.stderr)


class _TextFree(logging.Formatter):
    def formatException(self, exc_info: Any) -> str:
        kind, _, where = exc_info
        frames = (f"  {Path(f.filename).name}:{f.lineno} in {f.name}" for f in traceback.extract_tb(where))
        return "\n".join([*frames, kind.__name__])
