"""What a bench run measured, as one document and as tables. Measures nothing."""

import importlib.metadata
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from completer import __version__, machine
from completer.arms import PLAIN_ARM, WARM, Arm, Run
from completer.backends.chosen import choose_threads
from completer.backends.target import BatchTarget, Target
from completer.concurrency import Run as LoadRun
from completer.concurrency import rows_of, unequal
from completer.config import Config
from completer.models.store import InstalledModel
from completer.peers import PeerRun

_VERSIONS = ("torch", "transformers", "tokenizers")


@dataclass(frozen=True, slots=True)
class Measured:
    """passes: by context length and width, the times in ms. weight_bytes: of the models in use."""

    config: Config
    target: InstalledModel
    draft: InstalledModel | None
    passes: Mapping[int, Mapping[int, Sequence[float]]]
    runs: Sequence[Run]
    peer_runs: Sequence[PeerRun]
    peak_bytes: int
    weight_bytes: int

    @property
    def unequal(self) -> list[str]:
        """Holes whose text an arm changed, with the arm."""
        plain = {(run.hole, run.state): run.token_ids for run in self.runs if run.arm == PLAIN_ARM}
        return [
            f"{run.hole.name} ({run.state}, {run.arm.source} k={run.arm.k})"
            for run in self.runs
            if plain[run.hole, run.state] != run.token_ids
        ]


def document_of(measured: Measured) -> dict[str, Any]:
    """One JSON document.

    speedup_vs_plain is the median over holes of plain's total_ms / the arm's; speedup_of_sums the quotient of the sums.
    verify_ms are medians behind the shortest context; verify_ms_by_context has all.
    """
    by_context = {
        str(context): {str(width): round(statistics.median(times), 2) for width, times in by_width.items()}
        for context, by_width in measured.passes.items()
    }
    bookkeeping = [run.bookkeeping_ms for run in measured.runs if run.state == WARM and not run.arm.uses_draft_model]
    holes = {run.hole for run in measured.runs}
    return {
        "verify_ms": next(iter(by_context.values())),
        "verify_ms_by_context": by_context,
        "arms": _arms(measured.runs),
        "peers": _peers(measured.peer_runs),
        "unequal": measured.unequal,
        "bookkeeping_ms": _quartiles(bookkeeping),
        "peak_memory_bytes": measured.peak_bytes,
        "weight_bytes": measured.weight_bytes,
        "holes": len(holes),
        "languages": sorted({hole.file.language for hole in holes}),
        "models": [model.name for model in (measured.target, measured.draft) if model is not None],
        "exact": measured.config.speculation.exact,
        "prompt": {"prefix": measured.config.prompt.prefix_tokens, "suffix": measured.config.prompt.suffix_tokens},
        "machine": [machine.processor(), *machine.vector_instructions()],
        "threads": choose_threads(measured.config.model),
        "versions": {"completer": __version__} | {name: importlib.metadata.version(name) for name in _VERSIONS},
    }


def _arms(runs: Sequence[Run]) -> list[dict[str, Any]]:
    groups: dict[tuple[str, str, Arm], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.state, run.hole.kind, run.arm), []).append(run)
    plain_ms = {(run.state, run.hole): run.result.total_ms for run in runs if run.arm == PLAIN_ARM}
    rows = []
    for (state, kind, arm), of_arm in sorted(groups.items(), key=lambda entry: (entry[0][0] != WARM, entry[0][1])):
        results = [run.result for run in of_arm]
        base_ms = [plain_ms[state, run.hole] for run in of_arm]
        rounds = sum(result.rounds for result in results)
        accepted = sum(counts.accepted for result in results for counts in result.sources.values())
        rows.append(
            {
                "class": kind,
                "state": state,
                "source": arm.source,
                "k": arm.k,
                "holes": len(of_arm),
                "tokens": sum(result.tokens for result in results),
                "ttft_ms": _median(result.ttft_ms for result in results),
                "tpot_ms": _median(result.tpot_ms for result in results if result.tokens > 1),
                "first_line_ms": _median(result.first_line_ms for result in results),
                "total_ms": _median(result.total_ms for result in results),
                "total_ms_quartiles": _quartiles([result.total_ms for result in results]),
                "mean_acceptance_length": round(1 + accepted / rounds, 3) if rounds else None,
                "speedup_vs_plain": _median(
                    base / result.total_ms for base, result in zip(base_ms, results, strict=True)
                ),
                "speedup_of_sums": round(sum(base_ms) / sum(result.total_ms for result in results), 3),
            }
        )
    return rows


def _peers(runs: Sequence[PeerRun]) -> list[dict[str, Any]]:
    rows = []
    for name in dict.fromkeys(run.name for run in runs):
        of_peer = [run for run in runs if run.name == name]
        rows.append(
            {
                "name": name,
                "holes": len(of_peer),
                "total_ms": _median(run.total_ms for run in of_peer),
                "times_our_plain": _median(run.total_ms / run.ours_ms for run in of_peer),
                "times_our_plain_of_sums": round(
                    sum(run.total_ms for run in of_peer) / sum(run.ours_ms for run in of_peer), 3
                ),
            }
        )
    return rows


def _median(values: Any) -> float | None:
    found = list(values)
    return round(statistics.median(found), 3) if found else None


def _quartiles(values: Sequence[float]) -> list[float] | None:
    """[first quartile, median, third quartile]"""
    if len(values) < 2:
        return [round(values[0], 3)] * 3 if values else None
    return [round(value, 3) for value in statistics.quantiles(values, n=4, method="inclusive")]


def print_report(document: Mapping[str, Any]) -> None:
    """Tables on stdout."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if Console().is_terminal else 120)
    console.print(
        f"{' + '.join(document['models'])} on {', '.join(document['machine'])}, {document['threads']} threads"
    )
    console.print(f"{document['holes']} holes in {', '.join(document['languages'])}; {document['exact']} mode")

    contexts = document["verify_ms_by_context"]
    table = Table("context", *next(iter(contexts.values())), title="ms of a target pass by positions")
    for context, by_width in contexts.items():
        table.add_row(f"{context} tokens", *(f"{ms:.0f}" for ms in by_width.values()))
    console.print(table)

    table = Table(
        "class", "state", "source", "k", "holes", "ttft ms", "ms/token", "total ms", "tokens/round", "speedup", "median"
    )
    for arm in document["arms"]:
        table.add_row(
            arm["class"], arm["state"], arm["source"], str(arm["k"]), str(arm["holes"]), _figure(arm["ttft_ms"], 0),
            _figure(arm["tpot_ms"], 1), _figure(arm["total_ms"], 0), _figure(arm["mean_acceptance_length"], 2),
            f"{arm['speedup_of_sums']:.2f}", _figure(arm["speedup_vs_plain"], 2),
        )  # fmt: skip
    console.print(table)
    console.print(
        "speedup: time of plain decoding for all holes, divided by the arm's; median: of the same, hole by hole"
    )
    for peer in document["peers"]:
        console.print(
            f"{peer['name']}: {peer['times_our_plain_of_sums']:.2f} times the time of our plain decoding, cold"
        )
    if document["bookkeeping_ms"]:
        console.print(f"prompt, lookup and bookkeeping: {document['bookkeeping_ms'][1]:.2f} ms a round (median, warm)")
    ratio = document["peak_memory_bytes"] / document["weight_bytes"]
    console.print(f"peak memory: {document['peak_memory_bytes'] / 1e9:.2f} GB, {ratio:.2f} times the weights in use")
    for hole in document["unequal"]:
        console.print(f"the text was not the same: {hole}")


def load_document(
    config: Config,
    target: Target,
    runs: Sequence[LoadRun],
    passes: dict[int, dict[int, list[float]]],
    prompt_tokens: Sequence[int],
) -> dict[str, Any]:
    return {
        "batched": isinstance(target, BatchTarget),
        "machine": [machine.processor(), *machine.vector_instructions()],
        "threads": choose_threads(config.model),
        "prompt_tokens": statistics.median(prompt_tokens),
        "loads": [*rows_of(runs, passes)],
        "unequal": unequal(runs),
    }


def print_load(document: Mapping[str, Any]) -> None:
    """A table on stdout, and up to how many users each k pays."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if Console().is_terminal else 120)
    how = "in one pass" if document["batched"] else "one after the other: this backend does not batch"
    prompts = f"prompts of {document['prompt_tokens']:.0f} tokens (median)"
    console.print(f"{document['threads']} threads; users are served {how}; {prompts}")
    table = Table("users", "k", "pass ms", "tokens/pass", "tokens/s", "ms/token", "90 %", "answer ms", "speedup")
    for row in document["loads"]:
        table.add_row(
            str(row["users"]), str(row["k"]), f"{row['pass_ms'][1]:.0f}", f"{row['tokens_a_pass']:.2f}",
            f"{row['tokens_per_s']:.1f}", f"{row['ms_per_token']:.0f}", f"{row['ms_per_token_p90']:.0f}",
            f"{row['answer_ms']:.0f}", f"{row['speedup']:.2f}",
        )  # fmt: skip
    console.print(table)
    console.print("pass ms: of k + 1 positions for each user; tokens/pass, ms/token, answer ms: a user's")
    for k in sorted({row["k"] for row in document["loads"]} - {0}):
        paying = [row["users"] for row in document["loads"] if row["k"] == k and row["speedup"] > 1]
        console.print(f"k = {k} pays " + (f"with {', '.join(map(str, paying))} users" if paying else "at no load here"))
    for run in document["unequal"]:
        console.print(f"the text was not the same: {run}")


def _figure(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
