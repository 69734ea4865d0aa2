"""`completer bench`: the same holes in real files filled plain and speculatively, and what one target pass costs.

All in one process, after a warm-up: warm first, everywhere, then cold, on every fourth hole, with the k of each source
that did best warm.
"""

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING

import click
import psutil

from completer.config import Config, PromptConfig
from completer.errors import CompleterError
from completer.flags import takes_config
from completer.interrupt import first_interrupt
from completer.notes import progress
from completer.privacy.rules import Privacy
from completer.running import make_room

if TYPE_CHECKING:
    from completer.arms import Run
    from completer.bench_report import Measured
    from completer.engine import Engine
    from completer.peers import PeerRun
    from completer.source_files import SourceFile


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure. classes: holes of each, in proportion. ks: tokens drafted a round, by source.

    widths and contexts: of the timed passes, each repeated. prompt: what replaces the configured budget.
    """

    holes: int
    classes: Mapping[str, int]
    ks: Mapping[str, Sequence[int]]
    widths: tuple[int, ...]
    contexts: tuple[int, ...]
    repeats: int
    prompt: PromptConfig | None = None

    def asked(self, sources: Sequence[str], ks: Sequence[int], holes: int | None) -> "Plan":
        """This plan with what the user wants instead."""
        own_ks = {source: ks or self.ks.get(source, self.ks["ngram"]) for source in sources or self.ks}
        return replace(self, holes=holes or self.holes, ks=own_ks)

    def counts(self) -> dict[str, int]:
        """Enough holes of each class; the first `holes` of all are in proportion."""
        parts = sum(self.classes.values())
        return {kind: math.ceil(self.holes * part / parts) for kind, part in self.classes.items()}


FULL = Plan(
    holes=62,
    classes={"line": 30, "block": 20, "long": 4, "long_prompt": 8},
    ks={
        "ngram": (3, 8, 15),
        "draft_model": (1, 3),
        "previous_suggestion,ngram": (3,),
        "ngram,draft_model": (3,),
    },
    widths=(1, 2, 3, 4, 6, 8, 12, 16, 24, 32),
    contexts=(300, 2000),
    repeats=5,
)
QUICK = Plan(
    holes=6,
    classes={"line": 4, "block": 2},
    ks={"ngram": (3,), "draft_model": (2,), "previous_suggestion,ngram": (3,)},
    widths=(1, 2, 4, 8, 16),
    contexts=(300,),
    repeats=3,
    prompt=PromptConfig(prefix_tokens=256, suffix_tokens=64, context_tokens=0),
)
QUICK_SECONDS = 48
WARM_SHARE = 0.7
"""Of the time there is for filling holes."""


LOAD_KS = (1, 3, 5)
LOAD_PROMPT = PromptConfig(prefix_tokens=384, suffix_tokens=128, context_tokens=0)
MOST_USERS = 64


def _numbers(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, ...]:
    """1,4,16 as numbers of users, each once, in order."""
    try:
        found = sorted({int(part) for part in (value or "").split(",") if value})
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of numbers such as 1,4,16") from None
    if any(not 1 <= users <= MOST_USERS for users in found):
        raise click.BadParameter(f"{value} has a number of users that is not between 1 and {MOST_USERS}")
    return tuple(found)


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@takes_config("model.target", "model.draft", "model.device", "model.dtype", "model.threads", "speculation.exact")
@click.option("--quick", is_flag=True, help="Less of everything, with short prompts, within a minute.")
@click.option(
    "--source", "sources", multiple=True, metavar="NAMES", help="Draft source, or several with commas; repeatable."
)
@click.option("--k", "ks", multiple=True, type=click.IntRange(1, 32), help="Most tokens drafted a round; repeatable.")
@click.option("--holes", "wanted", type=click.IntRange(1, 10_000), help="How many holes to fill.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Draws the files and the holes.")
@click.option("--minutes", type=click.FloatRange(min=0.1), help="Fill no more holes after this time.")
@click.option("--peers", is_flag=True, help="Measure transformers' own decoding too, plain and speculative.")
@click.option(
    "--concurrency", "users", callback=_numbers, metavar="N,N,...", help="Serve so many users at once instead."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def bench(
    config: Config,
    paths: tuple[Path, ...],
    quick: bool,
    sources: tuple[str, ...],
    ks: tuple[int, ...],
    wanted: int | None,
    seed: int,
    minutes: float | None,
    peers: bool,
    users: tuple[int, ...],
    as_json: bool,
) -> None:
    """Measure plain and speculative decoding on this machine. Ctrl-C ends it with what has been measured so far.

    PATH: files and folders to take holes from; without any, the packages of the running Python. Which places are
    drawn depends on the files and the seed alone. With --concurrency: so many users at once, with drafts from
    n-gram lookup of each k (0, plain decoding, and 1, 3 and 5 unless told otherwise).

    \b
    completer bench --quick
    completer bench ~/my/project --source ngram --k 4 --k 8 --json
    completer bench --concurrency 1,4,16,32 --k 3
    """
    if users:
        if quick or sources or wanted or minutes or peers:
            raise click.UsageError("--concurrency goes with --k, --seed, the model's options and --json alone")
        _bench_load(config, paths, users, ks or LOAD_KS, seed, as_json)
        return
    from completer.bench_report import document_of, print_report
    from completer.source_files import environment_folders, find_source_files

    started = time.perf_counter() - (time.time() - psutil.Process().create_time())
    seconds = minutes * 60 if minutes is not None else QUICK_SECONDS if quick else math.inf
    plan = (QUICK if quick else FULL).asked(sources, ks, wanted)
    files = find_source_files(paths or environment_folders(), seed, Privacy(config.privacy).refusal)
    make_room()
    where = [str(path) for path in paths] or ["the packages of the running Python"]
    with first_interrupt() as is_interrupted:
        measured = _measure(config, plan, files, seed, started + seconds, peers, is_interrupted)
    document = document_of(measured) | {"files_from": where, "seed": seed}
    if as_json:
        click.echo(json.dumps(document))
    else:
        print_report(document)
    if config.speculation.exact == "canonical" and measured.unequal:
        click.get_current_context().exit(1)


def _measure(
    config: Config,
    plan: Plan,
    files: "Sequence[SourceFile]",
    seed: int,
    end: float,
    with_peers: bool,
    is_interrupted: Callable[[], bool],
) -> "Measured":
    """end: when to stop filling holes, on the clock of time.perf_counter.

    Raises KeyboardInterrupt before the first, CompleterError when the time was too short for one.
    """
    from completer.arms import COLD, PLAIN_ARM, WARM, Replay, speculative_arms
    from completer.backends.chosen import weight_bytes
    from completer.bench_report import Measured
    from completer.comparison import best_arms, cold_sample, compare, warm_up
    from completer.holes import LONG_TOKENS, draw_holes
    from completer.loading import load_engine
    from completer.machine import peak_memory_bytes
    from completer.models.chosen import chosen_models
    from completer.peers import Peers

    completion = replace(config.completion, max_tokens=LONG_TOKENS)
    config = replace(config, prompt=plan.prompt or config.prompt, completion=completion)
    target_model, draft_model = chosen_models(config)
    arms = [PLAIN_ARM, *speculative_arms(plan.ks, has_draft_model=draft_model is not None)]
    engine = load_engine(config)
    holes = draw_holes(files, plan.counts(), seed, engine.limits.budget)[: plan.holes]
    passes = _passes(engine, plan, files)
    warm_up(engine, holes[0], arms)

    stop_below = config.speculation.stop_below
    warm_end = time.perf_counter() + (end - time.perf_counter()) * WARM_SHARE
    with progress("warm holes", len(holes)) as advance:
        warm_replay = Replay(engine, stop_below, lambda: is_interrupted() or time.perf_counter() > warm_end)
        warm = compare(warm_replay, holes, lambda hole: arms, WARM, lambda runs: advance(1))
    if not warm:
        if is_interrupted():
            raise KeyboardInterrupt
        raise CompleterError(
            "not one hole could be filled in every way in the time there is; give it more with --minutes, "
            "or fewer ways with --source and --k"
        )
    peak_bytes = peak_memory_bytes()
    sample = cold_sample(warm)
    peers = Peers(engine, target_model, draft_model, config.model) if with_peers else None
    peer_runs: list[PeerRun] = []
    with progress("cold holes", len(sample)) as advance:

        def done(runs: "Sequence[Run]") -> None:
            if peers is not None:
                peer_runs.extend(peers.run(next(run for run in runs if run.arm == PLAIN_ARM)))
            advance(1)

        cold_replay = Replay(engine, stop_below, lambda: is_interrupted() or time.perf_counter() > end)
        cold = compare(cold_replay, sample, lambda hole: best_arms(hole.kind, warm), COLD, done)
    has_drafted = any(arm.uses_draft_model for arm in arms)
    in_use = [target_model, *([draft_model] if draft_model is not None and has_drafted else [])]
    in_use_bytes = sum(weight_bytes(model, config.model) for model in in_use)
    return Measured(config, target_model, draft_model, passes, [*warm, *cold], peer_runs, peak_bytes, in_use_bytes)


def _bench_load(
    config: Config, paths: tuple[Path, ...], users: tuple[int, ...], ks: Sequence[int], seed: int, as_json: bool
) -> None:
    from completer.bench_report import load_document, print_load
    from completer.concurrency import Run, User, pass_ms, serve, users_of
    from completer.evaluation.pipelines import plain_prompt
    from completer.holes import BLOCK_TOKENS, draw_holes
    from completer.loading import load_engine
    from completer.source_files import environment_folders, find_source_files

    files = find_source_files(paths or environment_folders(), seed, Privacy(config.privacy).refusal)
    make_room()
    config = replace(config, prompt=LOAD_PROMPT)
    engine = load_engine(config)
    most = max(users)
    holes = draw_holes(files, {"line": most - most // 2, "block": most // 2}, seed, engine.limits.budget)
    if len(holes) < most:
        raise CompleterError(f"the files have {len(holes)} places for {most} users; name more files or folders")
    all_ks = (0, *ks)
    with progress("prompts", most) as advance:
        everybody: list[User] = []
        for hole in holes:
            everybody += users_of(engine.target, [plain_prompt(engine, hole.request())], BLOCK_TOKENS + max(all_ks) + 1)
            advance(1)
    runs: list[Run] = []
    passes = {}
    with progress("loads", len(users) * len(all_ks)) as advance:
        for turn, count in enumerate(users):
            passes[count] = pass_ms(engine.target, everybody[:count], all_ks)
            shift = turn % len(all_ks)
            of_count = []
            for k in all_ks[shift:] + all_ks[:shift]:
                of_count.append(serve(engine.target, everybody[:count], k, BLOCK_TOKENS, engine.stop_token_ids))
                advance(1)
            runs += sorted(of_count, key=lambda run: run.k)
    document = load_document(config, engine.target, runs, passes, [len(user.prompt_ids) for user in everybody])
    click.echo(json.dumps(document)) if as_json else print_load(document)
    if config.speculation.exact == "canonical" and document["unequal"]:
        click.get_current_context().exit(1)


def _passes(engine: "Engine", plan: Plan, files: "Sequence[SourceFile]") -> dict[int, Mapping[int, list[float]]]:
    """By context length, the times of passes by width, over the text of the files."""
    from completer.passes import pass_ms

    text = (token for file in cycle(files) for token in engine.tokenizer.encode(file.text))
    token_ids = list(islice(text, max(plan.contexts) + max(plan.widths)))
    return {context: pass_ms(engine.target, token_ids, context, plan.widths, plan.repeats) for context in plan.contexts}
