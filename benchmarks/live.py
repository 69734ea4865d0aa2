"""The controller at work: two projects are edited through real daemons with the real pair, one daemon for each policy.

    python -m benchmarks.live [--minutes M] [PROJECT ...]

PROJECT: of traces/repositories.toml. Code of a project is typed again as in its trace, and every completion is asked of
all daemons in turn: the one that learns, cold, the one with the arm that is best over everything in replays, and plain
decoding. All must write the same text. Prints times over plain decoding's with 95 % intervals, and what was learned.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import psutil

from adaptive.recording import COMPLETIONS, TYPED_CHARS, hole_classes, lines_end
from benchmarks.corpus import fetch
from benchmarks.record import LIST
from benchmarks.window import INVOKED, ROOT, Window
from completer import paths
from completer.config import Config
from completer.holes import Hole, draw_holes
from completer.privacy.rules import Privacy
from completer.prompt import PromptBudget
from completer.source_files import find_source_files

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECTS = ("werkzeug", "psycopg2")
POLICIES = {
    "controller": {},
    "previous_suggestion,ngram k=3": {
        "COMPLETER_SPECULATION_SOURCE": "previous_suggestion,ngram",
        "COMPLETER_SPECULATION_K": "3",
    },
    "plain": {"COMPLETER_SPECULATION_SOURCE": "none"},
}
HOLES = 60
QUIET_S = 0.1
DRAWS = 2000


class Daemon:
    """A daemon of its own with a policy, and the window that has it started."""

    def __init__(self, window: Window, environment: dict[str, str]) -> None:
        self._window, self.environment = window, environment
        self.pid = 0

    @classmethod
    async def start(cls, folder: Path, settings: dict[str, str], projects: Sequence[str]) -> "Daemon":
        folders = {variable: str(folder / variable.lower()) for variable in paths.FOLDER_VARIABLES}
        environment = folders | settings | {"COMPLETER_CACHE_DIR": str(paths.cache_dir()), "PYTHONPATH": str(ROOT)}
        # the same prompt for all, however fast each has found the machine to read
        environment |= {"COMPLETER_SERVICE_IDLE_EXIT_MINUTES": "2", "COMPLETER_SERVICE_FIRST_LINE_DEADLINE_MS": "60000"}
        command = [sys.executable, "-m", "completer", "lsp"]
        roots = [fetch(LIST) / project for project in projects]
        window = await Window.start(*command, environment=environment, folders=roots)
        await window.is_ready()
        daemon = cls(window, environment)
        status = daemon.run("daemon", "status", "--json")
        daemon.pid = json.loads(status)["pid"]
        return daemon

    def run(self, *command: str) -> str:
        arguments = [sys.executable, "-m", "completer", *command]
        variables = {**os.environ, **self.environment}
        return subprocess.run(arguments, env=variables, capture_output=True, text=True, check=True).stdout

    async def complete(self, uri: str, language: str, prefix: str, suffix: str, is_new: bool) -> tuple[float, str]:
        """(milliseconds until all of it is there, the text)"""
        window = self._window
        if is_new:
            window.open(uri, prefix + suffix, language)
        else:
            window.write(uri, prefix + suffix)
        await self._is_quiet()
        line_start = prefix.rfind("\n") + 1
        column = len(prefix[line_start:].encode("utf-16-le")) // 2
        window.grown = ""
        began_s = time.perf_counter()
        answer = await window.complete(uri, prefix.count("\n"), column, INVOKED)
        await window.is_ready()
        ms = (time.perf_counter() - began_s) * 1000
        items = answer["items"] if answer else []
        text = window.grown or (items[0]["insertText"] if items else "")
        await self._is_quiet()
        return ms, text

    def close(self, uri: str) -> None:
        self._window.close(uri)

    async def _is_quiet(self) -> None:
        """Until it works no more at what was not asked for: other daemons are to be measured beside it."""
        process = psutil.Process(self.pid)
        before_s = -1.0
        while (now_s := sum(process.cpu_times()[:2])) - before_s > QUIET_S / 5:
            before_s = now_s
            await asyncio.sleep(QUIET_S)

    async def stop(self) -> None:
        await self._window.stop()
        self.run("daemon", "stop")


def holes_of(project: str) -> Iterator[Hole]:
    document = tomllib.loads(LIST.read_text("utf-8"))
    (package,) = (package for package in document["package"] if package["name"] == project)
    files = find_source_files([fetch(LIST) / project], document["seed"], Privacy(Config().privacy).refusal)
    files = [file for file in files if file.language in package["languages"]]
    prompt = Config().prompt
    budget = PromptBudget(prompt.prefix_tokens, prompt.suffix_tokens, prompt.context_tokens)
    yield from draw_holes(files, hole_classes(HOLES), document["seed"], budget)


async def edit(daemons: dict[str, Daemon], project: str, hole: Hole, end_s: float) -> list[dict[str, float]]:
    """Type the lines of a hole again; of each completion, the milliseconds it took by policy."""
    typist = random.Random(hole.name)
    text, cursor = hole.file.text, hole.span[0]
    end, times = lines_end(text, cursor), []
    uri = (fetch(LIST) / project / hole.file.path).as_uri()
    for count in range(COMPLETIONS):
        if cursor >= end or time.monotonic() >= end_s:
            break
        ms, written = {}, ""
        for policy in typist.sample([*daemons], len(daemons)):
            ms[policy], found = await daemons[policy].complete(
                uri, hole.file.language, text[:cursor], text[end:], is_new=not count
            )
            if len(ms) > 1 and found != written:
                sys.exit(f"{hole.name}: two policies wrote different texts")
            written = found
        times.append(ms)
        agreed = len(os.path.commonprefix([text[cursor:end], written]))
        cursor += agreed + (typist.randint(1, TYPED_CHARS) if agreed < len(written) or not agreed else 0)
    for daemon in daemons.values() if times else ():
        daemon.close(uri)
    return times


def report(project: str, times: list[dict[str, float]]) -> None:
    draw = np.random.default_rng(1)
    print(f"| {project} | {len(times)} |", end="")
    plain = np.array([each["plain"] for each in times])
    picks = draw.integers(0, len(times), (DRAWS, len(times)))
    for policy in POLICIES:
        ms = np.array([each[policy] for each in times])
        low, high = np.quantile(ms[picks].sum(axis=1) / plain[picks].sum(axis=1), [0.025, 0.975])
        print(f" {ms.sum() / plain.sum():.3f} ({low:.3f} to {high:.3f}) |", end="")
    print(flush=True)


async def measure(folder: Path, projects: list[str], minutes: float) -> None:
    daemons = {
        name: await Daemon.start(folder / str(i), found, projects) for i, (name, found) in enumerate(POLICIES.items())
    }
    try:
        await compare(daemons, projects, minutes)
    finally:
        for daemon in daemons.values():
            await daemon.stop()


async def compare(daemons: dict[str, Daemon], projects: list[str], minutes: float) -> None:
    print(f"| project | completions | {' | '.join(POLICIES)} |\n|---|---|{'---|' * len(POLICIES)}")
    everything = []
    for project in projects:
        times: list[dict[str, float]] = []
        end_s = time.monotonic() + minutes * 60 / len(projects)
        for hole in holes_of(project):
            if time.monotonic() >= end_s:
                break
            times += await edit(daemons, project, hole, end_s)
        report(project, times)
        everything += times
    report("all", everything)
    print(daemons["controller"].run("stats"))
    print(daemons["controller"].run("why"))


def main() -> None:
    parser = argparse.ArgumentParser(description="The controller beside the best single arm and plain decoding, live.")
    parser.add_argument("projects", nargs="*", default=PROJECTS, help="of traces/repositories.toml")
    parser.add_argument("--minutes", type=float, default=16, help="begin no more completions after this time")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(measure(Path(name), options.projects, options.minutes))


if __name__ == "__main__":
    main()
