"""How much is read at once: what this machine reads in the time given, all of it once it has been read ahead."""

import pytest
import torch

from completer.backends.target import Target
from completer.backends.torch_target import TorchTarget
from completer.engine import DRAFT_UNUSED_MS, Engine, EngineLimits
from completer.models.templates import TEMPLATES
from completer.models.tokenizer import Tokenizer
from completer.planner import FixedPlanner
from completer.prompt import PromptBudget
from completer.reading import Pace
from completer.request import CompletionRequest, CompletionResult
from tests.test_engine import BEFORE, CountingTarget

QWEN = next(t for t in TEMPLATES if t.family == "qwen2.5-coder")
BUDGET = PromptBudget(600, 200, 100)
PLAIN = FixedPlanner((), 0)


@pytest.fixture
def target(tiny_model) -> CountingTarget:
    return CountingTarget(TorchTarget.load(tiny_model, dtype=torch.float64))


@pytest.fixture
def engine(tiny_model, target) -> Engine:
    limits = EngineLimits(BUDGET, max_tokens=64, slots=4)
    return Engine(target, Tokenizer.load(tiny_model), QWEN, [], limits, clock_ms=target.now_ms)


def request(first_line_ms: float | None = 800.0, typed: str = "") -> CompletionRequest:
    suffix = "\nprint(value)\n"
    return CompletionRequest(
        BEFORE + typed, suffix, document_id="a", mode="text", max_tokens=2, first_line_ms=first_line_ms
    )


def test_the_time_in_which_nine_lines_in_ten_are_written_is_kept_free():
    pace = Pace()
    for ms in range(0, 400, 10):
        pace.wrote_line(ms)
    assert pace.reading_ms(1500) == 1200 - 360
    for _ in range(40):
        pace.wrote_line(5000.0)
    assert pace.reading_ms(1500) == 375


def complete(engine: Engine, asked: CompletionRequest) -> CompletionResult:
    (result,) = [chunk.result for chunk in engine.complete(asked, PLAIN) if chunk.result is not None]
    return result


def test_a_text_not_read_before_is_cut_to_what_is_read_in_time(engine, target):
    whole = complete(engine, request(first_line_ms=None))
    assert not whole.is_brief
    engine.forget()
    target.widths.clear()
    brief = complete(engine, request())
    assert brief.is_brief and brief.prompt_tokens < whole.prompt_tokens
    assert sum(target.widths) * 100 / 128 <= 200 + 100  # the passes that read it, and those that write


def test_once_it_is_read_ahead_all_of_it_is_used(engine):
    assert complete(engine, request()).is_brief
    engine.warm(request())
    result = complete(engine, request())
    assert not result.is_brief and result.prompt_tokens - result.cached_tokens <= 1
    assert not complete(engine, request(typed="x = ")).is_brief


def test_typing_on_in_a_brief_prompt_only_appends(engine):
    complete(engine, request())
    result = complete(engine, request(typed="x = "))
    assert result.is_brief and result.prompt_tokens - result.cached_tokens <= 8


def test_reading_ahead_that_was_interrupted_is_not_lost(engine, target):
    complete(engine, request())
    passes = len(target.widths)
    engine.warm(request(), lambda: len(target.widths) > passes)
    first = engine._prefix_cache.missing("a", engine._prompt(request(), BUDGET).token_ids)
    engine.warm(request())
    assert first > 0 and not complete(engine, request()).is_brief


@pytest.mark.parametrize(
    "ms, expected", [(10, (48, 16, 0)), (400, (300, 100, 0)), (800, (600, 200, 0)), (850, (600, 200, 50)), (9e9, None)]
)
def test_the_text_round_the_cursor_goes_before_other_files(ms, expected):
    pace = Pace()
    pace.read(128, 128.0)
    assert pace.within(BUDGET, ms) == (PromptBudget(*expected) if expected else BUDGET)


def test_the_pace_follows_what_is_measured():
    pace = Pace()
    pace.read(128, 128.0)
    assert pace.ms_for(100) == 100
    for _ in range(20):
        pace.read(128, 64.0)
    assert pace.tokens_per_ms == pytest.approx(2.0, rel=0.01)
    assert pace.ms_for(100) == pytest.approx(50, rel=0.01)


class Loads:
    """A draft model's loader that counts, and a clock that the test sets."""

    def __init__(self, model: Target) -> None:
        self.model, self.count, self.now_ms = model, 0, 0.0

    def load(self) -> Target:
        self.count += 1
        return self.model


def test_draft_model_loaded_only_when_chosen_and_unloaded_after_10_unused_minutes(tiny_model):
    model = TorchTarget.load(tiny_model, dtype=torch.float64)
    loads = Loads(model)
    limits = EngineLimits(BUDGET, max_tokens=64)
    engine = Engine(model, Tokenizer.load(tiny_model), QWEN, [], limits, loads.load, clock_ms=lambda: loads.now_ms)
    drafting = FixedPlanner(("draft_model",), 2)
    complete(engine, request(None))
    assert loads.count == 0
    for expected in (1, 1):
        list(engine.complete(request(None), drafting))
        assert loads.count == expected
    loads.now_ms += DRAFT_UNUSED_MS - 1
    engine.rest()
    list(engine.complete(request(None), drafting))
    assert loads.count == 1
    loads.now_ms += DRAFT_UNUSED_MS + 1
    engine.rest()
    list(engine.complete(request(None), drafting))
    assert loads.count == 2
