"""What `completer tune` makes of its recording: statistics for the store, and the gain to expect."""

import json
import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from adaptive.calibration import Measured
from adaptive.context_key import Project, project_of
from adaptive.controller import Controller
from adaptive.environment import environment_of
from adaptive.news import Key, KeyNews
from adaptive.replay import fixed_planners
from adaptive.simulation import Simulation
from adaptive.statistics_cli import open_store
from adaptive.trace import Traced
from completer.config import Config


def learn(config: Config, repo: Path, recorded: Sequence[Traced], costs: Measured) -> None:
    """Write what a controller learns from the recording: counts and costs, nothing that passes for a user's rounds.

    What a former recording left is replaced. Once the user's own rounds have come to it the two cannot be told apart:
    the new counts are added, and that is said.
    """
    import time

    environment = environment_of(config)
    with open_store() as store:
        now_s = time.time()
        controller = Controller()
        controller.calibrate(costs.verify_ms, costs.draft_ms)
        projects = store.projects()
        project = project_of(None, repo.absolute(), projects.values())
        lived_in = {Key(project_id, language) for _, project_id, language, _ in store.tallies()}
        known = store.known(environment, now_s)
        kept = {key: entry for key, entry in known.items() if key.project_id != project.id or key in lived_in}
        controller.rebase(kept, projects, None)
        _walk(controller, recorded, costs, project)
        news = controller.take_news()
        for key, key_news in news.keys.items():
            if key not in lived_in:
                key_news.counts = {source: (0.0, fresh) for source, (_, fresh) in key_news.counts.items()}
            elif key in known:
                click.echo(f"{key.language}: added to what is known here, a former tune's trials included", err=True)
            news.keys[key] = KeyNews(key_news.counts)
        store.write(environment, news, now_s)


def predicted(recorded: Sequence[Traced], costs: Measured) -> list[dict[str, Any]]:
    """By language and for all: plain decoding's time over that of the controller, having learned, and of each source
    at its best k."""
    table = costs.table()
    simulation = Simulation(table)
    controller = Controller(rng=random.Random(0))
    controller.calibrate(costs.verify_ms, costs.draft_ms)
    _walk(controller, recorded, costs, Project("", "", ""))
    by_language: dict[str, list[Traced]] = defaultdict(list)
    for traced in recorded:
        by_language[traced.language].append(traced)
    rows = []
    for language, completions in [*sorted(by_language.items()), ("all", list(recorded))]:
        plain_ms = sum(traced.tokens for traced in completions) * table.round_ms(0)
        learned_ms = sum(simulation.walk(t, controller.planner(t.language)).ms for t in completions)
        best: dict[str, float] = {}
        for name, make in fixed_planners().items():
            source = name.partition(" ")[0]
            if "draft_model" not in source or all(traced.model for traced in completions):
                ms = sum(simulation.walk(traced, make()).ms for traced in completions)
                best[source] = max(best.get(source, 0.0), plain_ms / ms)
        tokens = sum(traced.tokens for traced in completions)
        rows.append({"language": language, "completions": len(completions), "tokens": tokens,
                     "learned": plain_ms / learned_ms, "by_source": best})  # fmt: skip
    return rows


def print_gains(rows: Sequence[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"predicted": rows}, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    sources = list(rows[-1]["by_source"])
    table = Table("language", "completions", "tokens", "learned", *sources, title="times as fast as plain decoding")
    for row in rows:
        by_source = [f"{row['by_source'][source]:.2f}" if source in row["by_source"] else "" for source in sources]
        table.add_row(row["language"], str(row["completions"]), str(row["tokens"]), f"{row['learned']:.2f}", *by_source)
    Console().print(table)


def _walk(controller: Controller, recorded: Sequence[Traced], costs: Measured, project: Project) -> None:
    simulation = Simulation(costs.table())
    for traced in recorded:
        simulation.walk(traced, controller.planner(traced.language, project))
