"""Real weights: the same tokens with and without speculation, and text that makes sense."""

import inspect
import random
from collections.abc import Callable, Sequence
from functools import partial

import pytest
import torch
from transformers import AutoModelForCausalLM

from completer.backends.target import Target
from completer.backends.torch_target import TorchTarget
from completer.engine import Engine, EngineLimits
from completer.loading import stop_token_ids
from completer.models.store import find
from completer.models.tokenizer import Tokenizer
from completer.planner import FixedPlanner
from completer.prompt import PromptBudget
from completer.request import Choice, CompletionRequest, RoundOutcome, RoundState
from tests.reference import generated

MODULES = (
    "argparse",
    "ast",
    "difflib",
    "inspect",
    "json.decoder",
    "logging",
    "random",
    "tarfile",
    "threading",
    "zipfile",
)
BUDGET = PromptBudget(96, 32, 0)


class Recording:
    """A fixed planner that keeps what was emitted."""

    def __init__(self, sources: tuple[str, ...], k: int) -> None:
        self._planner = FixedPlanner(sources, k)
        self.emitted: list[int] = []

    def choose(self, state: RoundState) -> Choice:
        return self._planner.choose(state)

    def observe(self, outcome: RoundOutcome) -> None:
        self.emitted += outcome.emitted


def holes(count: int, seed: int = 20261130) -> list[CompletionRequest]:
    """Random cursors in the standard library's own source."""
    rng = random.Random(seed)
    requests = []
    for number in range(count):
        source = inspect.getsource(__import__(rng.choice(MODULES), fromlist=["x"]))
        cursor = rng.randrange(len(source) // 10, len(source))
        requests.append(
            CompletionRequest(
                source[:cursor], source[cursor:], document_id=str(number), language="python", mode="text", max_tokens=16
            )
        )
    return requests


def engine_for(name: str, dtype: torch.dtype, draft: str | None = None) -> Engine:
    model = find(name)
    tokenizer = Tokenizer.load(model.folder)
    load_draft: Callable[[], Target] | None = None
    if draft is not None:
        load_draft = partial(TorchTarget.load, find(draft).folder, dtype=dtype)
    return Engine(
        TorchTarget.load(model.folder, dtype=dtype), tokenizer, model.template, stop_token_ids(model, tokenizer),
        EngineLimits(BUDGET, 64, slots=1), load_draft,
    )  # fmt: skip


def check_equal(engine: Engine, requests: list[CompletionRequest], arms: Sequence[tuple[tuple[str, ...], int]]) -> None:
    for request in requests:
        plain = Recording((), 0)
        list(engine.complete(request, plain))  # reads the prompt up to its last token: all start from the same cache
        for sources, k in arms:
            planner = Recording(sources, k)
            list(engine.complete(request, planner))
            assert planner.emitted == plain.emitted, (request.document_id, sources, k)


LOOKUP_ARMS = [(("ngram",), 1), (("ngram",), 8), (("ngram",), 32)]


@pytest.mark.model("smollm2-135m")
@pytest.mark.parametrize(
    "requests", [pytest.param(10, id="10"), pytest.param(200, marks=pytest.mark.slow, id="200")], indirect=False
)
def test_float32_speculation_writes_the_same_tokens(requests):
    check_equal(engine_for("smollm2-135m", torch.float32), holes(requests), LOOKUP_ARMS)


@pytest.mark.model("qwen2.5-coder-0.5b")
@pytest.mark.parametrize(
    "requests", [pytest.param(5, id="5"), pytest.param(200, marks=pytest.mark.slow, id="200")], indirect=False
)
def test_bfloat16_canonical_speculation_writes_the_same_tokens(requests):
    check_equal(engine_for("qwen2.5-coder-0.5b", torch.bfloat16), holes(requests), LOOKUP_ARMS)


@pytest.mark.slow
@pytest.mark.model("qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b")
def test_bfloat16_canonical_drafted_by_a_model_writes_the_same_tokens():
    engine = engine_for("qwen2.5-coder-1.5b", torch.bfloat16, "qwen2.5-coder-0.5b")
    check_equal(engine, holes(20), [(("draft_model",), 1), (("draft_model",), 4), (("ngram", "draft_model"), 8)])


@pytest.mark.model("smollm2-135m")
def test_float32_plain_decoding_is_transformers_generate():
    model = find("smollm2-135m")
    tokenizer = Tokenizer.load(model.folder)
    target = TorchTarget.load(model.folder, dtype=torch.float32)
    reference = AutoModelForCausalLM.from_pretrained(model.folder, dtype=torch.float32)
    prompt_ids = tokenizer.encode("The capital of France is")
    expected = generated(reference, prompt_ids, 12)
    cache = target.new_cache(64)
    written = [target.forward(cache, prompt_ids, 1).argmax()[0]]
    while len(written) < 12:
        written.append(target.forward(cache, written[-1:], 1).argmax()[0])
    assert written == expected
    assert "Paris" in tokenizer.decode(written)


@pytest.mark.model("qwen2.5-coder-0.5b")
def test_a_real_completion_fits_its_place():
    engine = engine_for("qwen2.5-coder-0.5b", torch.bfloat16)
    before = "import json\n\n\ndef load(path):\n    with open(path) as stream:\n        return json.lo"
    request = CompletionRequest(before, "\n\n\nprint(load('a.json'))\n", language="python", mode="line", max_tokens=16)
    *_, last = engine.complete(request, FixedPlanner(("ngram",), 8))
    assert last.result is not None and last.result.text.startswith("ad(stream)")
