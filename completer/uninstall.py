"""What this program has put on the disk, and how to take it away. Touches only names that it writes itself."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from completer.errors import CompleterError
from completer.logs import log_files
from completer.paths import cache_dir, config_dir, config_file, data_dir, models_dir, state_dir, statistics_dir


@dataclass(frozen=True, slots=True)
class Belonging:
    """A file, or a folder with all that is in it. size_bytes: what is freed."""

    path: Path
    size_bytes: int


def belongings(keep_statistics: bool) -> list[Belonging]:
    """Those that exist."""
    paths = [config_file(), models_dir(), *log_files()]
    if not keep_statistics:
        paths.append(statistics_dir())
    return [Belonging(path, _size_bytes(path)) for path in paths if os.path.lexists(path)]


def remove(belonging: Belonging) -> None:
    """Raises CompleterError when the operating system does not allow it."""
    path = belonging.path
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except OSError as error:
        raise CompleterError(f"cannot remove {error.filename or path}: {error.strerror}") from error


def remove_empty_folders() -> None:
    for folder in (config_dir(), data_dir(), cache_dir(), state_dir()):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def _size_bytes(path: Path) -> int:
    if path.is_symlink() or path.is_file():
        return path.lstat().st_size
    return sum(entry.lstat().st_size for entry in path.rglob("*") if entry.is_symlink() or entry.is_file())
