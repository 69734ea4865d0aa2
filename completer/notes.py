"""What is said besides the result: on stderr, unless --quiet."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click


def is_quiet() -> bool:
    return bool(click.get_current_context().find_root().params.get("quiet", False))


def note(text: str) -> None:
    if not is_quiet():
        click.echo(text, err=True)


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar where stderr is a terminal; what it yields is told how many more are done."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=is_quiet() or not console.is_terminal, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda count: bar.advance(task, count)
