"""`completer replay`: traces, cost tables, and the regret table they give."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from completer.config_source import ConfigSource
from completer.errors import InputError

if TYPE_CHECKING:
    from adaptive.costs import CostTable
    from adaptive.trace import Traced

TRACES = Path("benchmarks", "traces")
COSTS = "costs.toml"


@click.command()
@click.argument("trace", required=False, type=click.Path(path_type=Path))
@click.option("--costs", type=click.Path(path_type=Path), help=f"Cost tables. [default: {COSTS} beside the traces]")
@click.option("--table", "tables", multiple=True, help="Only this cost table; repeatable.")
@click.option(
    "--split",
    type=click.Choice(["held_out", "tune", "all"]),
    default="held_out",
    show_default=True,
    help="Which half of the completions.",
)
@click.option("--seeds", type=click.IntRange(1, 200), default=20, show_default=True, help="Runs of the controller.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def replay(
    source: ConfigSource,
    trace: Path | None,
    costs: Path | None,
    tables: tuple[str, ...],
    split: str,
    seeds: int,
    as_json: bool,
) -> None:
    """Replay recorded rounds: the controller against fixed arms, other rules and hindsight.

    TRACE: a trace, or a folder of them; without one, benchmarks/traces where there is such a folder, else your own
    newest completions at this machine's costs. Exact, as the text does not depend on the drafts, and the same every
    time for the same number of seeds.
    """
    from adaptive.costs import read_tables
    from adaptive.replay import replay as replayed

    if trace is None and not TRACES.is_dir():
        chosen, all_tables = _own(source)
        all_tables = read_tables(costs) if costs is not None else all_tables
    else:
        where = trace or TRACES
        chosen = _recorded(where, split)
        all_tables = read_tables(costs or (where if where.is_dir() else where.parent) / COSTS)
    wanted = [table for table in all_tables if not tables or table.name in tables]
    if not wanted:
        raise InputError(f"no such cost table; there are {', '.join(table.name for table in all_tables)}")
    document = replayed(chosen, wanted, seeds)
    if as_json:
        click.echo(json.dumps(document, ensure_ascii=False))
    else:
        _print(document)


def _recorded(where: Path, split: str) -> "list[Traced]":
    from adaptive.trace import joined, read_trace, trace_files

    files = trace_files(where)
    if not files:
        raise InputError(f"no traces in {where}; name one, or record some")
    completions = joined(map(read_trace, files)).completions
    chosen = [traced for traced in completions if split in ("all", traced.split) and traced.tokens]
    if not chosen:
        raise InputError(f"no completion of the split {split!r} in {where}; try --split all")
    return chosen


def _own(source: ConfigSource) -> "tuple[list[Traced], list[CostTable]]":
    """What the user has been completed lately, projects by name, and what it costs here."""
    from adaptive.costs import CostTable
    from adaptive.statistics import Selection
    from adaptive.statistics_cli import environment_in, open_store

    with open_store() as store:
        environment = environment_in(store, source)
        completions = store.completions(environment) if environment is not None else []
        if environment is None or not completions:
            raise InputError("nothing has been completed here yet; name a trace, or write code with completer first")
        cost, selection = store.cost(environment), Selection(store)
    if cost is None:
        raise InputError("what passes cost here has not been measured yet; start the editor service once")
    chosen = [replace(traced, project=selection.name(traced.project)) for traced in completions]
    return chosen, [CostTable.now("this machine", cost)]


def _print(document: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(
        f"{document['completions']} completions, {document['tokens']} tokens, cost tables "
        f"{', '.join(document['tables'])}, {document['seeds']} seeds"
    )
    table = Table("policy", "time / plain", title="all keys together")
    for name, time in sorted(document["time_vs_plain"].items(), key=lambda entry: entry[1]):
        table.add_row(name, f"{time:.3f}", style="bold" if name == "controller" else "")
    console.print(table)
    keys = Table("project", "language", "costs", "best fixed", "regret", "to best policy", "x plain", title="by key")
    for row in document["by_key"]:
        keys.add_row(
            row["project"],
            row["language"],
            row["table"],
            row["best_fixed"],
            f"{row['regret_vs_best_fixed']:+.1%}",
            f"{row['gap_to_best_policy']:+.1%}",
            f"{row['speedup_vs_plain']:.2f}",
        )
    console.print(keys)
    for name in ("regret_vs_best_fixed", "gain_vs_global_fixed", "gap_to_best_policy", "gap_to_oracle"):
        console.print(f"{name.replace('_', ' ')}: {document[name]:+.1%}")
    console.print(f"worst slowdown against plain: {document['worst_slowdown_vs_plain']:+.1%}")
