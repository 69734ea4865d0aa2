"""The editor service that may be running beside a command: its loaded model, or the memory that it takes.

`completer.cli` puts it into the context of the command. Knows no sockets; where nothing runs, a command goes on alone.
"""

from typing import TYPE_CHECKING, Protocol

import click

from completer.config import Config
from completer.notes import note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from completer.request import CompletionChunk, CompletionRequest, RoundPlanner

_KEY = "completer.running"


class RunningEngine(Protocol):
    def complete(
        self, request: "CompletionRequest", planner: "RoundPlanner", cancelled: "Callable[[], bool]"
    ) -> "Iterator[CompletionChunk]": ...


class RunningService(Protocol):
    def engine(self, config: Config) -> RunningEngine | None:
        """Its engine; None where none runs, or one with other settings."""

    def unload(self) -> bool:
        """Have it free its models' memory; False where it runs not, or has none in memory."""


def offer(context: click.Context, service: "Callable[[], RunningService]") -> None:
    """For all commands under this context. service is called by those that have use for it."""
    context.meta[_KEY] = service


def running_engine(config: Config) -> RunningEngine | None:
    """The service's engine where it has one with the same settings. That it is used is said on stderr."""
    service = _service()
    engine = service.engine(config) if service is not None else None
    if engine is not None:
        note("completer: the running daemon completes")
    return engine


def make_room() -> None:
    """Measure alone: a service that runs unloads its models, and loads them again for its next request."""
    service = _service()
    if service is not None and service.unload():
        note("completer: the running daemon has unloaded its model, so that this has the machine's memory to itself")


def _service() -> RunningService | None:
    service: Callable[[], RunningService] | None = click.get_current_context().meta.get(_KEY)
    return service() if service is not None else None
