"""How long work on models tells the user where it stands. Knows no terminal; the command line brings its own."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

Advance = Callable[[int], None]
"""Told the bytes done since the last call."""


class Reporter(Protocol):
    def say(self, text: str) -> None:
        """One line for the user."""

    def stage(self, label: str, total_bytes: int) -> AbstractContextManager[Advance]:
        """A piece of work with a known size."""


class Silent:
    """A Reporter that reports nothing."""

    def say(self, text: str) -> None:
        pass

    def stage(self, label: str, total_bytes: int) -> AbstractContextManager[Advance]:
        return nullcontext(lambda count_bytes: None)
