"""`completer tune`: holes in the user's own code, typed again; what the draft sources would have got right is learned.

The same recording makes the traces of `benchmarks/traces` (`--trace`). Nothing of the code is kept.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from completer.config import Config
from completer.errors import InputError
from completer.flags import takes_config
from completer.notes import progress
from completer.running import make_room

if TYPE_CHECKING:
    from adaptive.calibration import Measured
    from adaptive.trace import Traced


@click.command()
@click.argument("repo", default=".", type=click.Path(path_type=Path))
@takes_config("model.target", "model.draft", "model.device", "model.dtype", "model.threads")
@click.option("--holes", type=click.IntRange(1, 100_000), default=30, show_default=True, help="How many to fill.")
@click.option("--minutes", type=click.FloatRange(min=0.1), help="Fill no more after this time.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Draws the files and the holes.")
@click.option(
    "--trace",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a trace here (.jsonl or .jsonl.gz) and leave the statistics alone.",
)
@click.option("--split", type=click.Choice(["tune", "held_out"]), default="tune", help="What the trace is for.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def tune(
    config: Config,
    repo: Path,
    holes: int,
    minutes: float | None,
    seed: int,
    trace: Path | None,
    split: str,
    as_json: bool,
) -> None:
    """Learn from a folder of code before the first keystroke.

    Punches holes of a few lines in the files of REPO (the current folder by default), types them again as you would,
    learns which drafts would have been right, and prints the gain to expect by language.
    """
    from adaptive.trace import Trace, write_trace
    from adaptive.tune_report import learn, predicted, print_gains

    make_room()
    end = time.monotonic() + minutes * 60 if minutes is not None else float("inf")
    recorded, costs = _recorded(config, repo, holes, seed, split, lambda: time.monotonic() > end)
    if not recorded:
        raise InputError(f"nothing was completed in {repo}; name a folder with more code, or give it more --minutes")
    if trace is not None:
        about = {"target": config.model.target, "draft": config.model.draft, "seed": seed, "source": repo.name}
        write_trace(trace, Trace(recorded, about))
        click.echo(f"{trace}: {len(recorded)} completions, {sum(t.tokens for t in recorded)} tokens", err=True)
    else:
        learn(config, repo, recorded, costs)
    print_gains(predicted(recorded, costs), as_json)


def _recorded(
    config: Config, repo: Path, count: int, seed: int, split: str, is_over: Callable[[], bool]
) -> "tuple[list[Traced], Measured]":
    from adaptive.calibration import measure
    from adaptive.recording import Recorder, hole_classes
    from completer.holes import draw_holes
    from completer.loading import load_engine
    from completer.privacy.rules import Privacy
    from completer.source_files import find_source_files

    files = find_source_files([repo], seed, Privacy(config.privacy).refusal)
    engine = load_engine(config)
    holes = draw_holes(files, hole_classes(count), seed, engine.limits.budget)[:count]
    costs = measure(engine, files[0].text)
    recorder = Recorder(engine, repo.absolute().name, split)
    recorded: list[Traced] = []
    with progress("holes", len(holes)) as advance:
        for hole in holes:
            recorded += recorder.record(hole, is_over)
            advance(1)
    return recorded, costs
