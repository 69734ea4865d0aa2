"""Patterns as in a .gitignore file, and the `.completerignore` files that hold them. Knows paths; knows no settings.

As in git, the last pattern that fits decides, a deeper file is stronger than one above it, and nothing inside an
ignored folder comes back. Unlike git, case makes no difference, nor does the way an accent is encoded.
"""

import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from completer.errors import ConfigError

IGNORE_FILE = ".completerignore"
_MOST_BYTES = 1_000_000


def plain(text: str) -> str:
    """text as it is compared with other names."""
    return unicodedata.normalize("NFC", text).casefold()


def _compiled(line: str) -> GitIgnoreSpecPattern:
    try:
        return GitIgnoreSpecPattern(plain(line))
    except (ValueError, re.error):
        raise ValueError(f"{line!r} is not a pattern") from None


class Patterns:
    """gitignore patterns, relative to one folder."""

    def __init__(self, lines: Iterable[str]) -> None:
        """Raises ValueError, naming the line that is no pattern."""
        self.lines = tuple(line for line in lines if line.strip())
        self._spec = GitIgnoreSpec([_compiled(line) for line in self.lines])

    def last_match(self, path: str) -> tuple[bool, int] | None:
        """(is it ignored, index into lines) by the last pattern that fits path, None where none does.

        path: relative to the folder, with forward slashes; that of a folder ends with one.
        """
        match = self._spec.check_file(plain(path))
        return None if match.include is None or match.index is None else (match.include, match.index)


@dataclass(frozen=True, slots=True)
class Level:
    """Patterns that hold under a folder, which is the first `depth` parts of a path."""

    depth: int
    patterns: Patterns
    source: str = ""


def ignored_by(parts: Sequence[str], levels: Sequence[Level]) -> tuple[Level, int] | None:
    """What ignores a path, given in parts from the root of the file system on: a level and an index into its lines.

    levels: from the weakest, highest up, to the strongest.
    """
    for end in range(1, len(parts) + 1):
        ending = "/" if end < len(parts) else ""
        for level in (level for level in reversed(levels) if level.depth < end):
            match = level.patterns.last_match("/".join(parts[level.depth : end]) + ending)
            if match is None:
                continue
            is_ignored, index = match
            if is_ignored:
                return level, index
            break
    return None


def parts_of(path: str) -> tuple[str, ...]:
    """The parts of a path without its root or drive."""
    pure = PurePath(path)
    return pure.parts[1:] if pure.anchor else pure.parts


class IgnoreFiles:
    """The ignore files above a path, from the root of the file system down. Each is read again when it changes."""

    def __init__(self) -> None:
        self._read: dict[str, tuple[tuple[int, int, int], Patterns]] = {}

    def levels(self, path: str) -> list[Level]:
        """path: absolute. Raises ConfigError for an ignore file that cannot be read or understood."""
        levels = []
        pure = PurePath(path)
        for depth, folder in enumerate(reversed(pure.parents)):
            file = os.path.join(folder, IGNORE_FILE)
            patterns = self._patterns(file)
            if patterns is not None:
                levels.append(Level(depth, patterns, file))
        return levels

    def _patterns(self, file: str) -> Patterns | None:
        try:
            return self._current(file)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise ConfigError(f"cannot read {file}: {error.strerror}") from error
        except ValueError as error:
            raise ConfigError(f"{file}: {error}") from error

    def _current(self, file: str) -> Patterns:
        info = os.stat(file)
        version = info.st_mtime_ns, info.st_size, info.st_ino
        known = self._read.get(file)
        if known is not None and known[0] == version:
            return known[1]
        if not stat.S_ISREG(info.st_mode) or info.st_size > _MOST_BYTES:
            raise ValueError("it is not a text file of at most 1 MB")
        patterns = Patterns(Path(file).read_text("utf-8-sig").splitlines())
        self._read[file] = version, patterns
        return patterns
