"""`completer eval`: what completions are worth, so that no change of prompt, stops, filters or weights ships blind."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from completer.config import Config
from completer.errors import InputError
from completer.flags import takes_config
from completer.interrupt import first_interrupt
from completer.notes import progress
from completer.privacy.rules import Privacy
from completer.running import make_room

if TYPE_CHECKING:
    from completer.engine import Engine
    from completer.evaluation.pipelines import Completed
    from completer.evaluation.problems import Problem
    from completer.evaluation.results import Outcome, Results
    from completer.request import Mode

_MODEL = ("model.target", "model.backend", "model.device", "model.dtype", "model.threads", "speculation.exact")
_PROMPT = ("prompt.prefix_tokens", "prompt.suffix_tokens", "prompt.context_tokens")
_pipelines = click.option(
    "--pipeline",
    "pipelines",
    multiple=True,
    type=click.Choice(["whole", "raw", "plain"]),
    default=["whole", "raw", "plain"],
    help="whole: as an editor shows it; raw: before the filters; plain: the model's own word. Repeatable; all.",
)
_seed = click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Draws the problems.")
_out = click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="Keep the scores there; run again, it goes on."
)
_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.group(name="eval")
def evaluate() -> None:
    """Measure the quality of completions. Ctrl-C ends a run with what has been scored so far."""


@evaluate.command()
@click.argument("suite", type=click.Choice(["single-line", "multi-line"]))
@takes_config("completion.mode", *_MODEL, *_PROMPT)
@click.option("--limit", type=click.IntRange(min=1), help="How many problems; all by default.")
@click.option("--no-run", is_flag=True, help="Compare with the known answer only; run nothing.")
@_pipelines
@_seed
@_out
@_json
def infilling(
    config: Config,
    suite: str,
    limit: int | None,
    no_run: bool,
    pipelines: tuple[str, ...],
    seed: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """HumanEval-Infilling: fill one line, or several, and run the program in a sandbox.

    In mode auto one line is filled in mode line, several in mode text, as they are often of several blocks.
    """
    from completer.evaluation.problems import infilling_problems

    settings = {"suite": suite, "seed": seed, "runs": not no_run, "mode": config.completion.mode}
    problems = infilling_problems(suite, seed, limit, cast("Mode", config.completion.mode))
    _evaluate(config, problems, pipelines, settings, not no_run, out, as_json)


@evaluate.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@takes_config(*_MODEL, *_PROMPT)
@click.option("--limit", type=click.IntRange(min=1), default=120, show_default=True, help="How many holes.")
@_pipelines
@_seed
@_out
@_json
def holes(
    config: Config,
    paths: tuple[Path, ...],
    limit: int,
    pipelines: tuple[str, ...],
    seed: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Holes in files of your own, compared with what was there. PATH: as in `completer bench`."""
    from completer.evaluation.problems import hole_problems
    from completer.prompt import PromptBudget
    from completer.source_files import environment_folders, find_source_files

    files = find_source_files(paths or environment_folders(), seed, Privacy(config.privacy).refusal)
    prompt = config.prompt
    budget = PromptBudget(prompt.prefix_tokens, prompt.suffix_tokens, prompt.context_tokens)
    problems = hole_problems(files, seed, budget, limit)
    settings = {"paths": [str(path.resolve()) for path in paths], "seed": seed}
    _evaluate(config, problems, pipelines, settings, False, out, as_json)


@evaluate.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@takes_config(*_MODEL, *_PROMPT)
@click.option("--limit", type=click.IntRange(min=1), default=120, show_default=True, help="How many holes.")
@_seed
@_out
@_json
def elsewhere(config: Config, paths: tuple[Path, ...], limit: int, seed: int, out: Path | None, as_json: bool) -> None:
    """Holes whose answer names what another file defines, with and without the text of imported files.

    PATH: folders of projects, one each.
    """
    from completer.evaluation.elsewhere import elsewhere_problems
    from completer.source_files import environment_folders, find_source_files

    privacy = Privacy(config.privacy)
    files = find_source_files(paths or environment_folders(), seed, privacy.refusal)
    context_tokens = config.prompt.context_tokens
    problems = elsewhere_problems(files, seed, limit, context_tokens, lambda path: privacy.refusal(path, "") is None)
    settings = {"paths": [str(path.resolve()) for path in paths], "seed": seed}
    _evaluate(config, problems, ("whole", "alone"), settings, False, out, as_json)


@evaluate.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@takes_config(*_MODEL)
@click.option("--tokens", type=click.IntRange(min=2), default=8192, show_default=True, help="How many to predict.")
@click.option("--window", type=click.IntRange(2, 4096), default=512, show_default=True, help="Most of one file.")
@_seed
@_json
def perplexity(config: Config, paths: tuple[Path, ...], tokens: int, window: int, seed: int, as_json: bool) -> None:
    """How surprised the model is by code: the price of a weight format or a backend."""
    from completer.evaluation.perplexity import measure
    from completer.source_files import environment_folders, find_source_files

    files = find_source_files(paths or environment_folders(), seed, Privacy(config.privacy).refusal)
    engine = _engine(config)
    with progress("tokens", tokens) as advance:
        found = measure(engine, files, tokens, window, advance)
    if as_json:
        click.echo(json.dumps(asdict(found) | {"perplexity": found.value, "window": window, "seed": seed}))
    else:
        click.echo(f"perplexity {found.value:.4f} over {found.tokens} tokens")


@evaluate.command()
@click.argument("ours", metavar="FILE[:PIPELINE]")
@click.argument("theirs", metavar="FILE[:PIPELINE]")
@_json
def compare(ours: str, theirs: str, as_json: bool) -> None:
    """Two runs written with --out, or two pipelines of one, on the problems that both have."""
    from completer.evaluation.results import METRICS, differences

    found = differences(_outcomes(ours), _outcomes(theirs))
    if not found["problems"]:
        raise InputError(f"{ours} and {theirs} have no problem in common")
    if as_json:
        click.echo(json.dumps(found))
        return
    click.echo(f"{found['problems']} problems; {ours} less {theirs}, 95 % intervals, paired bootstrap")
    for metric in METRICS:
        if metric in found:
            row, (low, high) = found[metric], found[metric]["interval"]
            values = f"{row['ours']:.3f} - {row['theirs']:.3f} = {row['difference']:+.3f}"
            click.echo(f"{metric:<12} {values}  [{low:+.3f}, {high:+.3f}]")


def _outcomes(text: str) -> "list[Outcome]":
    """Of the pipeline named; without a name, of the first in the file."""
    from completer.evaluation.pipelines import PIPELINES
    from completer.evaluation.results import read_results

    name, colon, pipeline = text.rpartition(":")
    if not colon or pipeline not in PIPELINES:
        name, pipeline = text, ""
    _, outcomes = read_results(Path(name))
    pipeline = pipeline or next((outcome["pipeline"] for outcome in outcomes), "")
    return [outcome for outcome in outcomes if outcome["pipeline"] == pipeline]


def _evaluate(
    config: Config,
    problems: "Sequence[Problem]",
    pipelines: tuple[str, ...],
    settings: Mapping[str, Any],
    runs: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    from completer.evaluation.results import Results, document_of
    from completer.models.chosen import chosen_models

    target, _ = chosen_models(config)
    settings = {**settings, "target": target.name, "pipelines": list(pipelines)}
    settings |= {
        name: asdict(config)[section][name]
        for section, name in (setting.split(".") for setting in (*_PROMPT, *_MODEL))
        if name not in ("target", "threads")
    }
    results = Results(settings, out)
    with first_interrupt() as is_interrupted:
        _complete_all(config, problems, pipelines, runs, results, is_interrupted)
    document = document_of(settings, results.outcomes)
    if as_json:
        click.echo(json.dumps(document))
    elif results.outcomes:
        _print(document)


def _complete_all(
    config: Config,
    problems: "Sequence[Problem]",
    pipelines: tuple[str, ...],
    runs: bool,
    results: "Results",
    is_interrupted: Callable[[], bool],
) -> None:
    from completer.evaluation.pipelines import complete

    done = results.done()
    to_do = [problem for problem in problems if problem.id not in done]
    if not to_do:
        return
    engine = _engine(config, max(problem.request.max_tokens for problem in to_do))
    with progress("problems", len(to_do)) as advance:
        for problem in to_do:
            if is_interrupted():
                return
            results.add([_outcome(problem, each, runs) for each in complete(engine, problem, pipelines)])
            advance(1)


def _outcome(problem: "Problem", completed: "Completed", runs: bool) -> "Outcome":
    from completer.evaluation.sandbox import passes
    from completer.evaluation.scores import score

    found = score(problem, completed.text)
    if runs and problem.test:
        found = replace(found, passed=passes(problem.program(completed.text)))
    about = {"id": problem.id, "kind": problem.kind, "language": problem.request.language}
    return about | {name: value for name, value in asdict(completed).items() if name != "text"} | asdict(found)


def _engine(config: Config, max_tokens: int = 0) -> "Engine":
    from completer.loading import load_engine

    make_room()
    completion = replace(config.completion, max_tokens=max(max_tokens, config.completion.max_tokens))
    return load_engine(replace(config, completion=completion))


def _print(document: Mapping[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    from completer.evaluation.results import METRICS

    console = Console(width=None if Console().is_terminal else 140)
    table = Table("class", "language", "pipeline", "n", *METRICS, "prompt", "ms")
    for row in document["rows"]:
        means = ("-" if row["means"][metric] is None else f"{row['means'][metric]:.3f}" for metric in METRICS)
        table.add_row(
            row["kind"],
            row["language"],
            row["pipeline"],
            str(row["n"]),
            *means,
            f"{row['prompt_tokens']:.0f}",
            f"{row['ms']:.0f}",
        )
    console.print(table)
    for name, count in document["filters"].items():
        console.print(
            f"{name}: changed {count['changed']}, made exact {count['mended']}, made inexact {count['spoilt']}"
        )
