"""`completer complete`: one completion at a place in a file. Its text goes to stdout, its numbers to stderr."""

import dataclasses
import json
import logging
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO, cast

import click

from completer.config import Config
from completer.errors import InputError, UsageError
from completer.files import write_file
from completer.flags import takes_config
from completer.interrupt import first_interrupt
from completer.languages import language_of
from completer.models.chosen import chosen_models
from completer.notes import note
from completer.position import offset_of, parse_place
from completer.privacy.rules import Privacy
from completer.request import CompletionChunk, CompletionRequest, CompletionResult, Mode, Sampling
from completer.running import running_engine
from completer.source_text import STDIN, read_text

log = logging.getLogger(__name__)


class _PlaceCommand(click.Command):
    """A command that takes `-:LINE` for a place in standard input, not for options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        places = [argument for argument in args if argument.startswith(f"{STDIN}:")]
        others = [argument for argument in args if argument not in places]
        return super().parse_args(ctx, [*others, "--", *places] if places else args)


@click.command(cls=_PlaceCommand)
@click.argument("place", metavar="FILE[:LINE[:COLUMN]]")
@takes_config(
    "completion.mode",
    "completion.max_tokens",
    "speculation.source",
    "speculation.k",
    "speculation.exact",
    "model.target",
    "model.draft",
)
@click.option("--language", metavar="NAME", help="Language of the text; by default the file's name tells.")
@click.option("--n", type=click.IntRange(1, 16), default=1, help="Alternatives to sample.")
@click.option("--temperature", type=float, help="Sample at this temperature instead of taking the likeliest token.")
@click.option("--top-k", type=click.IntRange(min=0), help="Sample among this many tokens; 0 for all.")
@click.option("--top-p", type=float, help="Sample among the likeliest tokens that together have this probability.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the sampling.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document: text, numbers, stop_reason.")
@click.option(
    "--case",
    "case_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the text and what the model wrote there as a test case, in TOML.",
)
def complete(
    config: Config,
    place: str,
    language: str | None,
    n: int,
    temperature: float | None,
    top_k: int | None,
    top_p: float | None,
    seed: int | None,
    as_json: bool,
    case_file: Path | None,
) -> None:
    """Complete code at a cursor.

    Lines and columns start at 1. Without a column the cursor is at the end of the line, without a line at the end of
    the file. FILE - is standard input.

    \b
    completer complete app.py:120:9
    completer complete - --language python < app.py
    completer complete app.py:120 --n 3 --temperature 0.8 --json
    """
    request = _request(config, place, language, n, _sampling(n, temperature, top_k, top_p, seed))
    if case_file is not None:
        _check_case(request)
    planner = _planner(config)
    engine = running_engine(config) or load_engine(config)
    with first_interrupt() as is_interrupted:
        chunks = engine.complete(request, planner, is_interrupted)
        results = _collect(chunks) if as_json else _stream(chunks, n)
        interrupted = is_interrupted()
    for result in results:
        log.info("complete: %s", _numbers(result))
    if interrupted:
        raise KeyboardInterrupt
    if as_json:
        click.echo(json.dumps(_document(results)))
    if case_file is not None:
        _write_cases(case_file, request, results)


def load_engine(config: Config) -> Any:
    chosen_models(config)  # before torch is, which takes seconds
    from completer.loading import load_engine

    return load_engine(config)


def _planner(config: Config) -> Any:
    from completer.planner import fixed_planner

    return fixed_planner(config.speculation.source, config.speculation.k, config.speculation.stop_below)


def _request(
    config: Config, place_text: str, language: str | None, n: int, sampling: Sampling | None
) -> CompletionRequest:
    place = parse_place(place_text)
    language = language or language_of(place.file).id
    if place.file != STDIN and (refusal := Privacy(config.privacy).refusal(os.path.abspath(place.file), language)):
        raise InputError(f"{place.file} is not read: {refusal}")
    text = read_text(place.file)
    offset = offset_of(place, text)
    return CompletionRequest(
        fim_prefix=text[:offset],
        fim_suffix=text[offset:],
        document_id=place.file,
        path="" if place.file == STDIN else place.file,
        language=language,
        mode=cast(Mode, config.completion.mode),
        max_tokens=config.completion.max_tokens,
        max_lines=config.completion.max_lines,
        deadline_ms=config.completion.deadline_ms or None,
        sampling=sampling,
        n=n,
    )


def _sampling(
    n: int, temperature: float | None, top_k: int | None, top_p: float | None, seed: int | None
) -> Sampling | None:
    """None for greedy. Alternatives are sampled even when no temperature is given."""
    if temperature is not None and not 0 < temperature <= 5:
        raise UsageError(f"--temperature {temperature} is not possible; it must be above 0 and at most 5")
    if top_p is not None and not 0 < top_p <= 1:
        raise UsageError(f"--top-p {top_p} is not possible; it must be above 0 and at most 1")
    given = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    chosen = {name: value for name, value in given.items() if value is not None}
    if n == 1 and temperature is None:
        if chosen:
            flag = f"--{next(iter(chosen)).replace('_', '-')}"
            raise UsageError(f"{flag} needs --temperature; without it the completion is greedy and nothing is sampled")
        return None
    return Sampling(**cast(dict[str, Any], chosen))


def _collect(chunks: Iterable[CompletionChunk]) -> list[CompletionResult]:
    return [chunk.result for chunk in chunks if chunk.result is not None]


def _stream(chunks: Iterable[CompletionChunk], n: int) -> list[CompletionResult]:
    """Write bytes, so that no line end is translated, and end each alternative with a line end."""
    stdout = sys.stdout.buffer
    results = []
    last = b""
    try:
        for chunk in chunks:
            data = chunk.text.encode("utf-8")
            stdout.write(data)
            stdout.flush()
            last = data[-1:] or last
            if chunk.result is not None:
                last = _end_line(stdout, last)
                results.append(chunk.result)
                label = f"{chunk.alternative + 1} of {n}: " if n > 1 else ""
                note(click.style(label + _numbers(chunk.result), dim=True))
    finally:
        _end_line(stdout, last)
    return results


def _end_line(stdout: BinaryIO, last: bytes) -> bytes:
    if last and last != b"\n":
        stdout.write(b"\n")
        stdout.flush()
    return b""


def _numbers(result: CompletionResult) -> str:
    drafted = [f"{name} {c.accepted} of {c.drafted}" for name, c in result.sources.items() if c.drafted]
    accepted = f" (drafts accepted: {', '.join(drafted)})" if drafted else ""
    return (
        f"{result.tokens} tokens in {result.total_ms:.0f} ms, the first after {result.ttft_ms:.0f} ms, "
        f"then {result.tpot_ms:.1f} ms a token; {result.rounds} rounds of {result.mean_acceptance_length:.2f} tokens"
        f"{accepted}; stopped by {result.stop_reason}"
    )


def _check_case(request: CompletionRequest) -> None:
    """Before the model writes for a minute: whether the text can be a case at all."""
    from completer.case import check_text

    check_text(request.fim_prefix + request.fim_suffix)


def _write_cases(file: Path, request: CompletionRequest, results: list[CompletionResult]) -> None:
    from completer.case import case_of, write_cases

    write_file(file, write_cases([case_of(request, result.text) for result in results]).encode("utf-8"))


def _document(results: list[CompletionResult]) -> dict[str, Any]:
    documents = [dataclasses.asdict(result) for result in results]
    return documents[0] if len(documents) == 1 else documents[0] | {"alternatives": documents}
