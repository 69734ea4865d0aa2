"""Ours beside what a user would pick instead, on the same holes: llama-server with the same model, and transformers.

    python -m benchmarks.peers PATH... [--holes N] [--minutes M] [--transformers] [--out FILE]

Interleaved hole by hole in an order that rotates; a hole counts only when all have run. Every peer gets the ids of our
prompt, the seam's text behind them, and writes exactly as many tokens as our plain run. Warm: what was read before is
the prompt as it was three characters ago; cold, on every fourth hole: nothing. transformers keeps no prompt and is
measured cold. The controller starts from the priors and learns as the run goes. The models' GGUF files must have been
kept: `completer models pull --keep NAME`.
"""

import argparse
import importlib.metadata
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks.llama_server import VERSION, LlamaServer, build
from completer import __version__
from completer.arms import COLD, PLAIN_ARM, TYPED_CHARS, WARM, Arm, Replay, Run
from completer.backends.chosen import choose_threads
from completer.config import Config
from completer.engine import Engine
from completer.holes import Hole, draw_holes
from completer.loading import load_engine
from completer.models.chosen import chosen_models
from completer.models.store import InstalledModel
from completer.peers import Peers
from completer.privacy.rules import Privacy
from completer.prompt import build_prompt
from completer.request import CompletionRequest, RoundPlanner
from completer.source_files import find_source_files
from lsp.learning import Learning

COLD_EVERY = 4
SEED = 1
ADAPTIVE = "completer, adaptive"
FIXED = {"completer, plain": PLAIN_ARM, "completer, ngram k=3": Arm("ngram", 3)}
LLAMA = {
    "llama-server": (),
    "llama-server, ngram-simple 3 4": ("--spec-type", "ngram-simple", "--spec-ngram-simple-size-n", "3",
                                       "--spec-ngram-simple-size-m", "4"),
    "llama-server, ngram-simple 3 8": ("--spec-type", "ngram-simple", "--spec-ngram-simple-size-n", "3",
                                       "--spec-ngram-simple-size-m", "8"),
    "llama-server, draft model 3": ("--spec-type", "draft-simple", "--spec-draft-n-max", "3"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Timed:
    """One hole through one of them. first_line_ms: to the end of the first line, or to the last token without one."""

    name: str
    hole: str
    kind: str
    language: str
    state: str
    tokens: int
    ttft_ms: float
    first_line_ms: float
    total_ms: float


class Ours:
    def __init__(self, engine: Engine, config: Config, learning: Learning) -> None:
        self._engine, self._config, self._learning = engine, config, learning
        self._replay = Replay(engine, config.speculation.stop_below)

    def plain(self, hole: Hole, state: str) -> Run:
        return self._replay.run(hole, PLAIN_ARM, state)

    def run(self, name: str, hole: Hole, state: str) -> Run:
        return self._replay.run(hole, FIXED.get(name, PLAIN_ARM), state, None if name in FIXED else self._learned(hole))

    def prompt_ids(self, hole: Hole, untyped: int = 0) -> list[int]:
        """As a peer is to read it: what healing would write again is text like all other."""
        tokenizer = self._engine.tokenizer
        request = hole.request(untyped=untyped)
        prompt = build_prompt(request, tokenizer, self._engine.template, self._engine.limits.budget)
        return [*prompt.token_ids, *tokenizer.encode(prompt.remainder)]

    def _learned(self, hole: Hole) -> RoundPlanner:
        request: CompletionRequest = replace(
            hole.request(), document_id=Path(hole.file.root, hole.file.path).resolve().as_uri()
        )
        return self._learning.plan(self._config, request, is_automatic=False)


@contextmanager
def llama_servers(program: Path, target: Path, draft: Path | None, threads: int) -> Iterator[dict[str, LlamaServer]]:
    with ExitStack() as stack:
        servers = {}
        for name, settings in LLAMA.items():
            if "draft" in name:
                if draft is None:
                    continue
                settings = (*settings, "-md", str(draft))
            servers[name] = LlamaServer(program, target, threads, settings)
            stack.callback(servers[name].stop)
        yield servers


def compare(
    ours: Ours, servers: Mapping[str, LlamaServer], holes: Sequence[Hole], peers: Peers | None, end_s: float
) -> list[Timed]:
    names = [ADAPTIVE, *FIXED, *servers]
    found: list[Timed] = []
    for number, hole in enumerate(holes):
        tokens = max(1, ours.plain(hole, WARM).result.tokens)
        for state in (WARM, COLD) if number % COLD_EVERY == 0 else (WARM,):
            of_hole = []
            for turn in range(len(names)):
                name = names[(number + turn) % len(names)]
                of_hole.append(_timed(name, ours, servers.get(name), hole, state, tokens))
            if state == COLD and peers is not None:
                for peer in peers.run(ours.plain(hole, COLD)):
                    of_hole.append(_result(peer.name, hole, state, tokens, peer.total_ms, peer.total_ms, peer.total_ms))
            found += of_hole
        print(f"{number + 1} of {len(holes)} holes", file=sys.stderr)
        if time.monotonic() > end_s:
            break
    return found


def _timed(name: str, ours: Ours, server: LlamaServer | None, hole: Hole, state: str, tokens: int) -> Timed:
    if server is None:
        run = ours.run(name, hole, state).result
        return _result(name, hole, state, run.tokens, run.ttft_ms, run.first_line_ms, run.total_ms)
    if state == WARM:
        server.complete(ours.prompt_ids(hole, untyped=TYPED_CHARS), 1, keeps_prompt=True)
    answer = server.complete(ours.prompt_ids(hole), tokens, keeps_prompt=state == WARM)
    return _result(name, hole, state, tokens, answer.ttft_ms, answer.first_line_ms, answer.total_ms)


def _result(
    name: str, hole: Hole, state: str, tokens: int, ttft_ms: float, first_line_ms: float, total_ms: float
) -> Timed:
    return Timed(name, hole.name, hole.kind, hole.file.language, state, tokens, ttft_ms, first_line_ms, total_ms)


def report(found: Sequence[Timed]) -> str:
    """Markdown. The last column: median over holes of the time of a peer over that of our adaptive run."""
    lines = ["| class | state | who | holes | TTFT ms | first line ms | ms/token | total ms | of adaptive's time |"]
    lines.append("|---" * 9 + "|")
    for kind, state in sorted({(each.kind, each.state) for each in found}):
        of_class = [each for each in found if (each.kind, each.state) == (kind, state)]
        adaptive = {each.hole: each.total_ms for each in of_class if each.name == ADAPTIVE}
        for name in dict.fromkeys(each.name for each in of_class):
            rows = [each for each in of_class if each.name == name]
            later = [(each.total_ms - each.ttft_ms) / (each.tokens - 1) for each in rows if each.tokens > 1]
            ratios = [each.total_ms / adaptive[each.hole] for each in rows]
            columns = [_median(each.ttft_ms for each in rows), _median(each.first_line_ms for each in rows)]
            columns += [f"{statistics.median(later):.1f}" if later else "", _median(each.total_ms for each in rows)]
            low, _, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
            ratio = f"{statistics.median(ratios):.2f} ({low:.2f} to {high:.2f})"
            lines.append(f"| {kind} | {state} | {name} | {len(rows)} | {' | '.join(columns)} | {ratio} |")
    return "\n".join(lines)


def _median(values: Iterable[float]) -> str:
    return f"{statistics.median(values):.0f}"


def kept_gguf(model: InstalledModel) -> Path:
    path = model.folder / "model.gguf"
    if not path.exists():
        sys.exit(f"{path} is not there: run `completer models pull --keep {model.name}`")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description="Ours beside llama-server and transformers on the same holes.")
    parser.add_argument("paths", nargs="+", type=Path, help="files and folders to take holes from")
    parser.add_argument("--holes", type=int, default=60)
    parser.add_argument("--minutes", type=float, default=60, help="begin no more holes after this time")
    parser.add_argument("--transformers", action="store_true", help="transformers too, on the cold holes")
    parser.add_argument("--out", type=Path, help="write every time there, as JSON")
    options = parser.parse_args()

    config = Config()
    program, (target, draft) = build(), chosen_models(config)
    ggufs = kept_gguf(target), kept_gguf(draft) if draft is not None else None
    files = find_source_files(options.paths, SEED, Privacy(config.privacy).refusal)
    threads = choose_threads(config.model)
    with tempfile.TemporaryDirectory() as scratch, llama_servers(program, *ggufs, threads) as servers:
        engine = load_engine(config)
        learning = Learning(Path(scratch, "statistics.db"))
        learning.loaded(engine, config)
        counts = {"line": options.holes - options.holes * 2 // 5, "block": options.holes * 2 // 5}
        holes = draw_holes(files, counts, SEED, engine.limits.budget)
        peers = Peers(engine, target, draft, config.model) if options.transformers else None
        found = compare(Ours(engine, config, learning), servers, holes, peers, time.monotonic() + options.minutes * 60)
        learning.close()
    versions = {name: importlib.metadata.version(name) for name in ("torch", "transformers")}
    versions |= {"completer": __version__, "llama-cpp-python": VERSION}
    print(f"{len(holes)} holes drawn, seed {SEED}; {threads} threads; {versions}\n\n{report(found)}")
    if options.out:
        document = {"versions": versions, "threads": threads, "seed": SEED, "runs": [asdict(each) for each in found]}
        options.out.write_text(json.dumps(document))


if __name__ == "__main__":
    main()
