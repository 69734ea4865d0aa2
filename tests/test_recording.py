"""Recording: a trace replays to the very rounds that the engine has with the same planner, and holds numbers only."""

from collections.abc import Iterator
from dataclasses import astuple, replace

import pytest
import torch

from adaptive.costs import CostTable
from adaptive.recording import COMPLETIONS, Recorder
from adaptive.simulation import Simulation
from adaptive.trace import Traced
from completer.backends.torch_target import TorchTarget
from completer.engine import Engine, EngineLimits
from completer.holes import Hole
from completer.models.templates import TEMPLATES
from completer.models.tokenizer import Tokenizer
from completer.planner import FixedPlanner
from completer.prompt import PromptBudget
from completer.request import CompletionChunk, CompletionRequest, RoundOutcome
from completer.source_files import SourceFile
from tests.tiny_model import write_tiny_model

QWEN = next(t for t in TEMPLATES if t.family == "qwen2.5-coder")
TABLE = CostTable.of("table", {1: 10, 32: 20}, 3)
SOURCE = "".join(f"def f_{i}(value):\n    result = value + {i}\n    return result\n\n\n" for i in range(30))
HOLE = Hole("line", SourceFile("a.py", "python", SOURCE), (SOURCE.index("def f_9"), 0), "auto", 48)


class NotingEngine(Engine):
    """What it was asked for, in order."""

    def complete(self, request: CompletionRequest, *rest: object) -> Iterator[CompletionChunk]:
        self.asked = [*getattr(self, "asked", []), request]
        return super().complete(request, *rest)  # type: ignore[arg-type]


class Noting:
    """A fixed planner that notes down its rounds."""

    def __init__(self, source: str, k: int) -> None:
        self.choose = FixedPlanner((source,), k).choose
        self.rounds: list[RoundOutcome] = []

    def observe(self, outcome: RoundOutcome) -> None:
        self.rounds.append(outcome)


@pytest.fixture(scope="module")
def make_engine(tmp_path_factory):
    """The draft model has the target's weights, rounded: it is right often, not always."""
    folder = write_tiny_model(tmp_path_factory.mktemp("model"))

    def make() -> NotingEngine:
        target, draft = (TorchTarget.load(folder, dtype=dtype) for dtype in (torch.float64, torch.bfloat16))
        limits = EngineLimits(PromptBudget(600, 200, 100), max_tokens=24, slots=2)
        return NotingEngine(target, Tokenizer.load(folder), QWEN, [], limits, lambda: draft)

    return make


def live_rounds(engine: Engine, asked: list[CompletionRequest], source: str, k: int) -> list[list[RoundOutcome]]:
    noted = []
    for request in asked:
        planner = Noting(source, k)
        for _ in engine.complete(request, planner):
            pass
        noted.append(planner.rounds)
    return noted


@pytest.mark.parametrize(("source", "k"), [("ngram", 3), ("ngram", 1), ("previous_suggestion", 4), ("draft_model", 2)])
def test_a_replay_has_the_rounds_of_the_engine(make_engine, source: str, k: int) -> None:
    recording = make_engine()
    recorded = list(Recorder(recording, "project", "tune").record(HOLE))
    assert 2 < len(recorded) == len(recording.asked) <= COMPLETIONS
    compared = 0
    for traced, live in zip(recorded, live_rounds(make_engine(), recording.asked, source, k), strict=True):
        if any(outcome.healing for outcome in live):
            continue
        planner = Noting(source, k)
        Simulation(TABLE).walk(traced, planner)
        replayed = [(len(o.draft), o.accepted, len(o.emitted)) for o in planner.rounds]
        assert replayed == [(len(o.draft), o.accepted, len(o.emitted)) for o in live]
        compared += len(replayed)
    assert compared >= 5


def test_a_trace_holds_numbers_and_names_only(make_engine) -> None:
    for traced in Recorder(make_engine(), "project", "held_out").record(HOLE):
        texts = [part for part in astuple(replace(traced, offers={})) if isinstance(part, str)]
        assert texts == ["python", "project", "held_out"]
        columns = [traced.model, *(c for o in traced.offers.values() for c in (o.match, o.length, o.accepted))]
        assert all(len(column) == traced.tokens and all(isinstance(n, int) for n in column) for column in columns)


def test_only_what_is_new_in_a_prompt_counts_as_new(make_engine) -> None:
    first, *others = Recorder(make_engine(), "project", "tune").record(HOLE)
    assert first.new_tokens == first.context_tokens > 100
    assert all(traced.new_tokens < 20 for traced in others)


def test_who_cancels_loses_the_completion_in_progress(make_engine) -> None:
    recorded: list[Traced] = []
    for traced in Recorder(make_engine(), "project", "tune").record(HOLE, lambda: len(recorded) >= 2):
        recorded.append(traced)
    assert len(recorded) == 2
