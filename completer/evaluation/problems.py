"""Problems: a cursor in a text, and what stood there before it was taken out. Drawn by seed, never filtered by a model.

HumanEval-Infilling (Bavarian et al. 2022, "Efficient Training of Language Models to Fill in the Middle") is scored by
running the program; holes in anybody's own code are scored by comparing with what was there.
"""

import gzip
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import PurePath

from completer.holes import Hole, draw_holes
from completer.prompt import PromptBudget
from completer.request import CompletionRequest, Mode
from completer.source_files import SourceFile

SUITES = {"single-line": "HumanEval-SingleLineInfilling", "multi-line": "HumanEval-MultiLineInfilling"}
HOLE_CLASSES = {"rest_of_line": 3, "whole_line": 3, "span": 2, "block": 3, "function": 1}
"""Classes of holes, in proportion."""

_TOKENS = {"single-line": 64, "multi-line": 256}
_MODES: Mapping[str, Mode] = {"single-line": "line", "multi-line": "text"}
"""What is missing in multi-line are any lines in a row, often of several blocks."""


@dataclass(frozen=True, slots=True)
class Problem:
    """truth: what was taken out. test: Python that fails unless the program in front of it is right, "" for none."""

    id: str
    kind: str
    request: CompletionRequest
    truth: str
    test: str = ""

    def program(self, completion: str) -> str:
        return f"{self.request.fim_prefix}{completion}{self.request.fim_suffix}\n{self.test}"


def infilling_problems(suite: str, seed: int, limit: int | None = None, mode: Mode = "auto") -> list[Problem]:
    """Of HumanEval-Infilling, in an order drawn by seed. suite: one of SUITES. mode: auto is what suits the suite.

    The line end behind what is missing stays in the text, as it does in an editor: the cursor is on an empty line.
    """
    file = resources.files("completer.evaluation") / "data" / f"{SUITES[suite]}.jsonl.gz"
    with file.open("rb") as stream, gzip.open(stream, "rt", encoding="utf-8") as lines:
        entries = [json.loads(line) for line in lines]
    random.Random(seed).shuffle(entries)
    mode = _MODES[suite] if mode == "auto" else mode
    return [_infilling_problem(suite, entry, mode) for entry in entries[:limit]]


def hole_problems(
    files: Sequence[SourceFile], seed: int, budget: PromptBudget, limit: int, classes: Mapping[str, int] = HOLE_CLASSES
) -> list[Problem]:
    """Holes in files, the classes in proportion and interleaved, at most `limit`."""
    share = -(-limit // sum(classes.values()))
    holes = draw_holes(files, {kind: count * share for kind, count in classes.items()}, seed, budget)
    return [hole_problem(hole) for hole in holes[:limit]]


def _infilling_problem(suite: str, entry: Mapping[str, str], mode: Mode) -> Problem:
    truth = entry["canonical_solution"]
    line_end = truth[len(truth.rstrip("\n")) :]
    request = CompletionRequest(
        fim_prefix=entry["prompt"],
        fim_suffix=line_end + entry["suffix"],
        document_id=entry["task_id"],
        language="python",
        mode=mode,
        max_tokens=_TOKENS[suite],
    )
    test = f"{entry['test']}\ncheck({entry['entry_point']})\n"
    return Problem(entry["task_id"], suite, request, truth.rstrip("\n"), test)


def hole_problem(hole: Hole) -> Problem:
    start, end = hole.span
    folder = PurePath(hole.file.root).name
    return Problem(f"{hole.kind} {folder}/{hole.name}", hole.kind, hole.request(), hole.file.text[start:end])
