"""What may be read at all. Asked before anything of a document is completed, used as context, indexed or counted.

Two lists decide by path. The first holds the names of secret files, then the user's own patterns, which can take a
file out of it again. The second are the `.completerignore` files of the folders above; since they may come with other
people's code, they can only close more. Names are judged as given and with symbolic links followed.
Knows names and settings; reads no document, knows no protocol and no engine.
"""

import math
import os
import time
from collections.abc import Callable
from functools import lru_cache

from completer.config import PrivacyConfig
from completer.errors import ConfigError
from completer.languages import language as language_by_id
from completer.privacy.ignore_files import IgnoreFiles, Level, Patterns, ignored_by, parts_of, plain
from completer.privacy.secret_files import SECRET_FILES
from completer.privacy.uris import file_name

LONGEST_SNOOZE_MINUTES = 60.0 * 24 * 365
_REMEMBERED_PATHS = 4096


class Privacy:
    """The rules in force for one editor. Answers in about 0.1 ms."""

    def __init__(self, config: PrivacyConfig | None = None, clock_s: Callable[[], float] = time.monotonic) -> None:
        """Raises ConfigError for a setting that is no pattern."""
        self._clock_s = clock_s
        self._snoozed_until_s = -math.inf
        self._ignore_files = IgnoreFiles()
        self.configure(config or PrivacyConfig())

    def configure(self, config: PrivacyConfig) -> None:
        """Take other settings; a snooze goes on. Raises ConfigError for one that is no pattern, and keeps the old."""
        try:
            patterns = Patterns(map(_from_the_root, (*SECRET_FILES, *config.ignore)))
        except ValueError as error:
            raise ConfigError(f"privacy.ignore: {error}") from None
        self._by_name = lru_cache(_REMEMBERED_PATHS)(lambda path: _refused_by_name(path, patterns))
        self._disabled_languages = {language_by_id(name).id for name in config.disabled_languages}
        folders = map(os.path.realpath, map(os.path.expanduser, config.disabled_projects))
        self._disabled_projects = [_fold(parts_of(folder)) for folder in folders]

    def snooze(self, minutes: float) -> None:
        """Refuse everything for so long, from now, for LONGEST_SNOOZE_MINUTES at most; 0 wakes up."""
        self._snoozed_until_s = self._clock_s() + min(LONGEST_SNOOZE_MINUTES, max(0.0, minutes)) * 60

    def refusal(self, path: str, language: str) -> str | None:
        """Why a document is off limits, for the user to read; None when it is not.

        path: a path or a URI. language: its id; "" leaves the switches by language aside, as for a file of context.
        """
        left_s = self._snoozed_until_s - self._clock_s()
        if left_s > 0:
            return f"snoozed for {math.ceil(left_s / 60)} more min"
        if language and language_by_id(language).id in self._disabled_languages:
            return f"{language} is switched off in privacy.disabled_languages"
        name = file_name(path)
        try:
            names = [os.path.normpath(name)]
            if os.path.isabs(name) and (real := os.path.realpath(name)) != names[0]:
                names.append(real)
        except ValueError:  # a NUL, or half a character
            return "its name is not one that a file can have"
        reasons = (self._refused(each) for each in names)
        return next((reason for reason in reasons if reason is not None), None)

    def _refused(self, path: str) -> str | None:
        parts = _fold(parts_of(path))
        if any(parts[: len(folder)] == folder for folder in self._disabled_projects):
            return "this project is switched off in privacy.disabled_projects"
        reason = self._by_name(path)
        if reason is not None or not os.path.isabs(path):
            return reason
        try:
            found = ignored_by(parts_of(path), self._ignore_files.levels(path))
        except ConfigError as error:
            return f"{error}; nothing beside it or below is read before that is put right"
        return None if found is None else f"ignored by {found[0].source}: {_line(found)}"


def _refused_by_name(path: str, patterns: Patterns) -> str | None:
    found = ignored_by(parts_of(path), [Level(0, patterns)])
    if found is None:
        return None
    if found[1] >= len(SECRET_FILES):
        return f"ignored by privacy.ignore: {_line(found)}"
    return f"its name says that it may hold secrets ({_line(found)}); a !pattern in privacy.ignore allows it"


def _line(found: tuple[Level, int]) -> str:
    level, index = found
    return level.patterns.lines[index]


def _from_the_root(pattern: str) -> str:
    """A pattern that belongs to no folder as one relative to the root of the file system.

    One with a slash within, such as `docs/private/*`, is looked for at any depth; `/...` and `~/...` say where.
    """
    mark, body = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
    if body.startswith("~/"):
        body = "/" + "/".join((*parts_of(os.path.expanduser("~")), body[2:]))
    body = os.path.splitdrive(body)[1]
    if "/" in body.rstrip("/") and not body.startswith(("/", "**/", "#")):
        body = f"**/{body}"
    return mark + body


def _fold(parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(plain(part) for part in parts)
