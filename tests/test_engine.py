"""The engine as a whole: what is computed again and what is not, and that it can be interrupted anywhere."""

from collections.abc import Sequence
from itertools import islice

import pytest
import torch

from completer.backends.target import KVCache, TargetRows
from completer.backends.torch_target import TorchTarget
from completer.engine import Engine, EngineLimits
from completer.errors import UsageError
from completer.models.templates import TEMPLATES
from completer.models.tokenizer import Tokenizer
from completer.planner import FixedPlanner
from completer.prompt import PromptBudget
from completer.request import CompletionRequest, CompletionResult, Sampling

QWEN = next(t for t in TEMPLATES if t.family == "qwen2.5-coder")
PLAIN = FixedPlanner((), 0)
NGRAM = FixedPlanner(("ngram",), 8)
BEFORE = "".join(f"value_{i} = compute(self, {i})\n" for i in range(30))


class CountingTarget:
    """A real tiny model that notes the width of every pass, and its clock: each pass takes 100 ms."""

    def __init__(self, target: TorchTarget) -> None:
        self._target = target
        self.vocabulary_size = target.vocabulary_size
        self.prefill_width = target.prefill_width
        self.widths: list[int] = []

    def new_cache(self, capacity: int) -> KVCache:
        return self._target.new_cache(capacity)

    def forward(self, cache: KVCache, token_ids: Sequence[int], rows: int) -> TargetRows:
        self.widths.append(len(token_ids))
        return self._target.forward(cache, token_ids, rows)

    def now_ms(self) -> float:
        return len(self.widths) * 100.0


@pytest.fixture
def target(tiny_model) -> CountingTarget:
    return CountingTarget(TorchTarget.load(tiny_model, dtype=torch.float64))


@pytest.fixture
def engine(tiny_model, target) -> Engine:
    tokenizer = Tokenizer.load(tiny_model)
    limits = EngineLimits(PromptBudget(600, 200, 100), max_tokens=64, slots=2)
    return Engine(target, tokenizer, QWEN, [], limits, clock_ms=target.now_ms)


def request(before: str = BEFORE, **fields: object) -> CompletionRequest:
    defaults: dict[str, object] = {
        "fim_suffix": "\nprint(value)\n",
        "document_id": "a",
        "mode": "text",
        "max_tokens": 12,
    }
    return CompletionRequest(before, **(defaults | fields))  # type: ignore[arg-type]


def finish(engine: Engine, asked: CompletionRequest, planner: FixedPlanner = PLAIN) -> CompletionResult:
    *_, last = engine.complete(asked, planner)
    assert last.result is not None
    return last.result


def test_a_warm_keystroke_is_one_pass(engine, target):
    finish(engine, request(BEFORE + "value = com"))
    target.widths.clear()
    result = finish(engine, request(BEFORE + "value = comp", max_tokens=1))
    assert len(target.widths) == 1
    assert result.prompt_tokens - result.cached_tokens <= 2
    assert result.ms.prefill == 0


def test_typing_what_was_completed_recomputes_nothing_of_it(engine, target):
    first = finish(engine, request())
    target.widths.clear()
    result = finish(engine, request(BEFORE + first.text, max_tokens=1))
    assert len(target.widths) == 1
    assert result.cached_tokens > 400


def test_another_document_does_not_cost_the_first_its_cache(engine):
    finish(engine, request(document_id="a"))
    finish(engine, request(document_id="b", before=BEFORE.replace("compute", "other")))
    again = finish(engine, request(document_id="a"))
    assert again.prompt_tokens - again.cached_tokens == 1


def test_forget_makes_the_next_request_cold(engine):
    finish(engine, request())
    engine.forget()
    assert finish(engine, request()).cached_tokens == 0


def test_a_warmed_prompt_is_not_read_again(engine, target):
    engine.warm(request())
    target.widths.clear()
    result = finish(engine, request(max_tokens=1))
    assert len(target.widths) == 1 and result.ms.prefill == 0


def test_warming_can_be_interrupted_and_goes_on_where_it_was(engine, target):
    engine.warm(request(), lambda: len(target.widths) >= 2)
    assert len(target.widths) == 2
    read = sum(target.widths)
    engine.warm(request())
    assert finish(engine, request(max_tokens=1)).cached_tokens > read


def test_a_cancelled_prefill_keeps_the_passes_it_has_made(engine, target):
    chunks = list(engine.complete(request(), PLAIN, lambda: len(target.widths) >= 2))
    assert chunks[-1].result is not None and chunks[-1].result.stop_reason == "cancelled"
    assert len(target.widths) == 2
    assert finish(engine, request()).cached_tokens == sum(target.widths[:2])


@pytest.mark.parametrize("planner", [PLAIN, NGRAM], ids=["plain", "ngram"])
def test_an_abandoned_stream_leaves_the_caches_valid(engine, planner):
    expected = finish(engine, request(max_tokens=20)).text
    engine.forget()
    for taken in range(3):
        list(islice(engine.complete(request(max_tokens=20), planner), taken))
        assert finish(engine, request(max_tokens=20), planner).text == expected


def test_a_target_that_fails_in_mid_request_leaves_the_caches_valid(engine, target, monkeypatch):
    expected = finish(engine, request()).text
    real = target.forward

    def failing(cache, token_ids, rows):
        if len(target.widths) == 3:
            raise RuntimeError("no memory")
        return real(cache, token_ids, rows)

    target.widths.clear()
    with monkeypatch.context() as patched:
        patched.setattr(target, "forward", failing)
        with pytest.raises(RuntimeError):
            finish(engine, request())
    assert finish(engine, request()).text == expected


def test_the_deadline_ends_a_completion(engine, target):
    finish(engine, request())
    result = finish(engine, request(max_tokens=50, deadline_ms=350.0))
    assert result.stop_reason == "deadline"
    assert result.total_ms == pytest.approx(400.0)


def test_a_planner_is_told_by_when_the_first_line_is_wanted(engine, target):
    class Asked(FixedPlanner):
        def choose(self, state):
            deadlines.append((state.deadline_ms, state.first_line_done))
            return super().choose(state)

    for first_line_ms, deadline_ms, expected in (
        (None, None, None),
        (900.0, None, 900.0),
        (900.0, 600.0, 600.0),
    ):
        deadlines: list[tuple[float | None, bool]] = []
        started_ms = target.now_ms()
        finish(engine, request(first_line_ms=first_line_ms, deadline_ms=deadline_ms), Asked(("ngram",), 4))
        assert {ms and ms - started_ms for ms, _ in deadlines} == {expected}


def test_numbers_add_up(engine, target):
    result = finish(engine, request(max_tokens=12), NGRAM)
    assert result.total_ms == len(target.widths) * 100.0
    assert result.ms.verify == result.rounds * 100.0
    assert result.ms.prefill == result.total_ms - result.ms.verify
    assert result.ttft_ms == result.ms.prefill + 100.0
    assert result.tpot_ms == pytest.approx((result.total_ms - result.ttft_ms) / (result.tokens - 1))
    counts = result.sources.values()
    assert sum(c.rounds for c in counts) == result.rounds
    assert result.mean_acceptance_length == 1 + sum(c.accepted for c in counts) / result.rounds
    assert result.tokens == 12


def test_alternatives_are_sampled_apart_and_again_the_same_by_seed(engine):
    sampling = Sampling(temperature=1.5, seed=7)

    def texts() -> list[str]:
        chunks = engine.complete(request(n=3, sampling=sampling), PLAIN)
        return [chunk.result.text for chunk in chunks if chunk.result is not None]

    first = texts()
    assert len(set(first)) == 3
    assert texts() == first


def test_the_draft_model_is_loaded_when_first_chosen(tiny_model, target):
    loaded = []

    def load() -> TorchTarget:
        loaded.append(1)
        return TorchTarget.load(tiny_model, dtype=torch.float64)

    tokenizer = Tokenizer.load(tiny_model)
    engine = Engine(target, tokenizer, QWEN, [], EngineLimits(PromptBudget(600, 200, 0), 64), load)
    finish(engine, request(), NGRAM)
    assert loaded == []
    drafted = finish(engine, request(max_tokens=20), FixedPlanner(("draft_model",), 4))
    assert loaded == [1]
    assert drafted.sources["draft_model"].accepted == drafted.sources["draft_model"].drafted > 0  # it drafts for itself
    finish(engine, request(), FixedPlanner(("draft_model",), 4))
    assert loaded == [1]


def test_a_draft_model_that_is_not_configured_is_a_usage_error(engine):
    with pytest.raises(UsageError, match="no draft model"):
        finish(engine, request(), FixedPlanner(("draft_model",), 4))


@pytest.mark.parametrize(
    "before", ["", "\n", "\r\n", "x" * 5000, "\U0001f600\u0301", "a\r\nb\r\n", "\x00\x1b", "<|fim_middle|>"]
)
@pytest.mark.parametrize("after", ["", "\r\n}", "<|endoftext|>"])
def test_odd_text_is_completed_without_complaint(engine, before, after):
    result = finish(engine, request(before, fim_suffix=after, mode="auto"), NGRAM)
    assert result.stop_reason


def test_a_prompt_is_always_read_in_the_same_passes(engine, target):
    """In 16-bit formats other passes would leave other keys and values, and near-ties could fall another way."""
    finish(engine, request())
    first = list(target.widths)
    engine.forget()
    target.widths.clear()
    finish(engine, request())
    assert target.widths == first
