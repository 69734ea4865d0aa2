"""`completer verify`: proof on this machine that speculation does not change the text. Replays holes in real files.

In canonical mode every token must be equal, from the same prompt cache; the first one that is not is shown, with the
target's own doubt at that place. In native mode differences are counted, and how many of them were near-ties.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from completer.config import Config
from completer.flags import takes_config
from completer.notes import note
from completer.privacy.rules import Privacy
from completer.running import make_room

if TYPE_CHECKING:
    from completer.arms import Arm, Run
    from completer.engine import Engine
    from completer.holes import Hole

CLASSES = {"line": 4, "block": 3, "long": 1}
KS = {"ngram": (1, 8, 32), "previous_suggestion,ngram": (8,), "draft_model": (4,)}
NEAR_TIE = 2.0**-6
"""Two logits closer than this share of the larger one: bfloat16 holds eight bits of each."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first token that speculation changed in a hole: its index among those generated, both tokens as text.

    margin: between the target's two best logits there, by a pass of its own, as a share of the larger.
    """

    hole: str
    source: str
    k: int
    position: int
    plain: str
    speculative: str
    margin: float

    @property
    def is_near_tie(self) -> bool:
        return self.margin < NEAR_TIE

    def __str__(self) -> str:
        return (
            f"{self.hole}, {self.source} k={self.k}: token {self.position} is {self.speculative!r} instead of "
            f"{self.plain!r}; the target's best two logits there are {self.margin:.4f} apart (as a share of the larger)"
        )


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@takes_config("model.target", "model.draft", "model.device", "model.dtype", "model.threads")
@click.option(
    "--limit", type=click.IntRange(1, 10_000), default=24, show_default=True, help="How many holes to replay."
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Draws the files and the holes.")
@click.option("--native", is_flag=True, help="Count differences and near-ties in native mode instead.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def verify(config: Config, paths: tuple[Path, ...], limit: int, seed: int, native: bool, as_json: bool) -> None:
    """Prove that speculation does not change the text.

    Fills the same holes with and without speculation, from the same prompt cache, and compares token by token. Exits
    with 1 on any difference; with --native differences are counted instead. PATH: as in `completer bench`.
    """
    from completer.arms import speculative_arms
    from completer.holes import draw_holes
    from completer.loading import load_engine
    from completer.models.chosen import chosen_models
    from completer.source_files import environment_folders, find_source_files

    exact = "native" if native else "canonical"
    config = replace(config, speculation=replace(config.speculation, exact=exact))
    files = find_source_files(paths or environment_folders(), seed, Privacy(config.privacy).refusal)
    _, draft_model = chosen_models(config)
    arms = speculative_arms(KS, has_draft_model=draft_model is not None)
    make_room()
    engine = load_engine(config)
    share = -(-limit // sum(CLASSES.values()))
    counts = {kind: count * share for kind, count in CLASSES.items()}
    holes = draw_holes(files, counts, seed, engine.limits.budget)[:limit]
    differences = []
    compared = tokens = 0
    for plain, of_hole in _replayed(engine, holes, arms, config.speculation.stop_below):
        tokens += len(plain.token_ids)
        compared += len(of_hole)
        found = [difference for run in of_hole if (difference := _difference(engine, plain, run)) is not None]
        differences += found
        note(f"{plain.hole.name}: {len(plain.token_ids)} tokens, {'differs' if found else 'equal'}")
        if found and not native:
            break
    _report(differences, compared, len(holes), tokens, native, as_json)
    if differences and not native:
        click.get_current_context().exit(1)


def _replayed(
    engine: "Engine", holes: Sequence["Hole"], arms: Sequence["Arm"], stop_below: float
) -> Iterator[tuple["Run", list["Run"]]]:
    """For each hole its plain run and those of the arms."""
    from completer.arms import PLAIN_ARM, WARM, Replay

    replay = Replay(engine, stop_below)
    for hole in holes:
        yield replay.run(hole, PLAIN_ARM, WARM), [replay.run(hole, arm, WARM) for arm in arms]


def _difference(engine: "Engine", plain: "Run", run: "Run") -> Difference | None:
    if run.token_ids == plain.token_ids:
        return None
    pairs = zip(plain.token_ids, run.token_ids, strict=False)
    shorter = min(len(plain.token_ids), len(run.token_ids))
    position = next((i for i, (ours, theirs) in enumerate(pairs) if ours != theirs), shorter)
    decode = engine.tokenizer.decode
    return Difference(
        hole=plain.hole.name,
        source=run.arm.source,
        k=run.arm.k,
        position=position,
        plain=decode(plain.token_ids[position : position + 1]),
        speculative=decode(run.token_ids[position : position + 1]),
        margin=_margin(engine, plain, position),
    )


def _margin(engine: "Engine", plain: "Run", position: int) -> float:
    """Teacher-forced over the plain run: how far the target's best two logits are apart where it wrote `position`."""
    from completer.prompt import build_prompt

    prompt = build_prompt(plain.hole.request(), engine.tokenizer, engine.template, engine.limits.budget)
    token_ids = [*prompt.token_ids, *plain.token_ids[:position]]
    rows = engine.target.forward(engine.target.new_cache(len(token_ids) + 1), token_ids, rows=1)
    ((_, best, _, second),) = rows.top2()
    return abs(best - second) / max(abs(best), abs(second), 1e-9)


def _report(
    differences: Sequence[Difference], compared: int, holes: int, tokens: int, native: bool, as_json: bool
) -> None:
    near_ties = sum(difference.is_near_tie for difference in differences)
    if as_json:
        document = {
            "mode": "native" if native else "canonical",
            "holes": holes,
            "replays": compared,
            "tokens": tokens,
            "differences": [asdict(difference) for difference in differences],
            "near_ties": near_ties,
        }
        click.echo(json.dumps(document))
        return
    for difference in differences if native else differences[:1]:
        click.echo(f"different: {difference}")
    if native:
        click.echo(
            f"{len(differences)} of {compared} replays differ from plain decoding, {near_ties} of them at near-ties"
        )
    elif not differences:
        click.echo(
            f"equal: {compared} speculative replays of {holes} holes wrote plain decoding's tokens ({tokens} of them)"
        )
