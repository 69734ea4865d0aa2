"""The text is the target's own: every source, every k, every stop, every cache, against transformers itself.

In float64 on tiny random models a difference is a fault of logic; there are no near-ties to blame.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import PreTrainedModel

from completer.backends.torch_target import TorchTarget
from completer.draft.offers import DraftSources
from completer.draft.source import DraftContext
from completer.engine import Engine, EngineLimits
from completer.healing import Vocabulary
from completer.languages import language
from completer.models.templates import TEMPLATES
from completer.models.tokenizer import Tokenizer
from completer.planner import FixedPlanner
from completer.prompt import Anchor, PromptBudget, build_prompt
from completer.request import Choice, CompletionRequest, Draft, RoundOutcome, RoundState
from completer.speculative import Decoding, speculate
from completer.stops import Stops
from tests.reference import generated, healed, load_reference
from tests.tiny_model import write_tiny_model

QWEN = next(t for t in TEMPLATES if t.family == "qwen2.5-coder")
BUDGET = PromptBudget(60, 24, 16)
MODELS = 4
TOKENS = 20
WORDS = (
    "return",
    " self",
    "value",
    "    ",
    "\n",
    "x",
    "=",
    "():",
    "\n\n",
    " import",
    "é",
    "class",
    "\t",
    "\U0001f600",
    "0",
)


@dataclass(frozen=True)
class Tiny:
    folder: Path
    target: TorchTarget
    reference: PreTrainedModel
    tokenizer: Tokenizer
    vocabulary: Vocabulary


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory) -> list[Tiny]:
    folders = [write_tiny_model(tmp_path_factory.mktemp(f"tiny-{seed}"), seed) for seed in range(MODELS)]
    return [_tiny(folder) for folder in folders]


def _tiny(folder: Path) -> Tiny:
    tokenizer = Tokenizer.load(folder)
    target = TorchTarget.load(folder, dtype=torch.float64)
    return Tiny(folder, target, load_reference(folder), tokenizer, Vocabulary(tokenizer.token_bytes))


def random_text(rng: random.Random, most: int) -> str:
    return "".join(rng.choice(WORDS) for _ in range(rng.randrange(most)))


class Scripted:
    """A source that knows the reference's continuation and makes of it what its kind says."""

    name = "scripted"

    def __init__(self, kind: str, prompt_length: int, answer: Sequence[int], rng: random.Random) -> None:
        self.kind, self.prompt_length, self.answer, self.rng = kind, prompt_length, answer, rng

    def start(self, context: DraftContext) -> None:
        pass

    def offer(self, token_ids: Sequence[int], max_k: int, stop_below: float = 0.0) -> Draft:
        right = list(self.answer[len(token_ids) - self.prompt_length :])
        if self.kind == "right":
            return Draft(tuple(right[:max_k]))
        if self.kind == "wrong":
            return Draft(tuple((t + 1) % 200 for t in right[:max_k]))
        if self.kind == "right for a while":
            at = self.rng.randrange(max_k)
            return Draft(tuple(t if i != at else (t + 7) % 200 for i, t in enumerate(right[:max_k])))
        if self.kind == "too long":
            return Draft(tuple(right + [self.rng.randrange(200) for _ in range(200)]))
        if self.kind == "out of vocabulary":
            return Draft((*right[: self.rng.randrange(4)], self.rng.choice((-1, 10**6, 10**12)), 5))
        return Draft.EMPTY


KINDS = ("right", "wrong", "right for a while", "too long", "out of vocabulary", "empty")


class Recorder:
    """A planner that chooses k at random and keeps what was emitted."""

    def __init__(self, sources: tuple[str, ...], rng: random.Random) -> None:
        self.sources, self.rng = sources, rng
        self.emitted: list[int] = []

    def choose(self, state: RoundState) -> Choice:
        return FixedPlanner(self.sources, self.rng.randrange(33), 0.0).choose(state)

    def observe(self, outcome: RoundOutcome) -> None:
        self.emitted += outcome.emitted


def stopped(stops: Stops, answer: Sequence[int], remainder: bytes, token_bytes: Sequence[bytes]) -> list[int]:
    """The tokens of answer that are written before a stop, pushed one by one as plain decoding does."""
    for count, token_id in enumerate(answer, start=1):
        text = token_bytes[token_id]
        fresh, remainder = text[len(remainder) :], remainder[len(text) :]
        is_retyping = bool(text) and not fresh
        if not is_retyping and stops.push(token_id, fresh) is not None:
            return list(answer[:count])
    raise AssertionError("the reference is too short")


def stop_ids(tiny: Tiny) -> list[int]:
    return [tiny.tokenizer.special_id(name) for name in QWEN.stops if tiny.tokenizer.has_special(name)]


def stops_for(tiny: Tiny, request: CompletionRequest) -> Stops:
    return Stops(
        language=language(request.language),
        fim_prefix=request.fim_prefix,
        fim_suffix=request.fim_suffix,
        mode=request.mode,
        stop_token_ids=stop_ids(tiny),
        max_tokens=request.max_tokens,
        max_lines=request.max_lines,
        deadline_ms=None,
        now_ms=lambda: 0.0,
    )


def random_request(rng: random.Random, document_id: str = "") -> CompletionRequest:
    return CompletionRequest(
        fim_prefix=random_text(rng, 40),
        fim_suffix=random_text(rng, 20),
        document_id=document_id,
        previous_suggestion=random_text(rng, 8) if rng.random() < 0.5 else "",
        language=rng.choice(("python", "javascript", "plaintext")),
        mode=rng.choice(("auto", "line", "block", "text")),
        max_tokens=rng.randrange(1, TOKENS - 4),
        max_lines=rng.choice((0, 0, 1, 3)),
    )


def check_loop(tiny: Tiny, rng: random.Random) -> int:
    """One random completion by the bare loop with a scripted source; returns the rounds it took."""
    request = random_request(rng)
    prompt = build_prompt(request, tiny.tokenizer, QWEN, BUDGET)
    remainder = prompt.remainder.encode()
    token_bytes = tiny.tokenizer.token_bytes
    answer = list(islice(healed(tiny.reference, prompt.token_ids, remainder, token_bytes), TOKENS + len(remainder)))
    expected_stops = stops_for(tiny, request)
    expected = stopped(expected_stops, answer, remainder, token_bytes)
    recorder = Recorder(("scripted",), rng)
    sources = DraftSources([Scripted(rng.choice(KINDS), len(prompt.token_ids), answer, rng)], None)
    rng_numpy = np.random.default_rng(0)
    sources.start(
        DraftContext(prompt.token_ids, remainder, "", "", (), tiny.tokenizer, tiny.vocabulary, None, rng_numpy)
    )
    stops = stops_for(tiny, request)
    decoding = Decoding(
        tiny.target, tiny.target.new_cache(256), list(prompt.token_ids), remainder, tiny.vocabulary, sources, recorder,
        stops, None, rng_numpy, request.max_tokens, None, lambda: 0.0,
    )  # fmt: skip
    cancel_after = rng.choice((10**9, 10**9, 1, 2, 3))
    rounds = sum(1 for _ in speculate(decoding, lambda: len(recorder.emitted) >= cancel_after))
    assert recorder.emitted == expected[: len(recorder.emitted)]
    assert decoding.token_ids == [*prompt.token_ids, *recorder.emitted]
    assert decoding.cache.length <= len(decoding.token_ids)
    if decoding.stop_reason is not None:
        assert recorder.emitted == expected
        assert stops.text == expected_stops.text
    else:
        assert len(recorder.emitted) >= cancel_after
    return rounds


def check_engine(tinies: list[Tiny], rng: random.Random, requests: int = 4) -> None:
    """Several requests to one engine: typing on in a document, others in between, caches and anchors kept."""
    tiny, draft = rng.choice(tinies), rng.choice(tinies)
    engine = Engine(
        tiny.target, tiny.tokenizer, QWEN, stop_ids(tiny),
        EngineLimits(BUDGET, TOKENS, slots=2), lambda: draft.target,
    )  # fmt: skip
    anchors: dict[str, Anchor] = {}
    request = random_request(rng, "a")
    for _ in range(requests):
        prompt = build_prompt(request, tiny.tokenizer, QWEN, BUDGET, anchors.get(request.document_id))
        anchors[request.document_id] = prompt.anchor
        remainder, token_bytes = prompt.remainder.encode(), tiny.tokenizer.token_bytes
        answer = list(islice(healed(tiny.reference, prompt.token_ids, remainder, token_bytes), TOKENS + len(remainder)))
        expected_stops = stops_for(tiny, request)
        expected = stopped(expected_stops, answer, remainder, token_bytes)
        recorder = Recorder(rng.choice((("ngram",), ("previous_suggestion", "ngram"), ("draft_model",), ())), rng)
        is_cancelled = partial(_has_emitted, recorder, rng.choice((10**9, 10**9, 2)))
        chunks = list(engine.complete(request, recorder, is_cancelled))
        result = chunks[-1].result
        assert result is not None and "".join(chunk.text for chunk in chunks) == result.text
        assert recorder.emitted == expected[: len(recorder.emitted)]
        if result.stop_reason != "cancelled":
            assert recorder.emitted == expected
            assert result.text == expected_stops.text
        request = _next_request(rng, request, result.text)


def _has_emitted(recorder: Recorder, tokens: int) -> bool:
    return len(recorder.emitted) >= tokens


def _next_request(rng: random.Random, request: CompletionRequest, text: str) -> CompletionRequest:
    if rng.random() < 0.3:
        return random_request(rng, rng.choice("ab"))
    typed = rng.choice((text, text[: rng.randrange(len(text) + 1)], random_text(rng, 4)))
    fields = {name: getattr(request, name) for name in ("fim_suffix", "document_id", "language", "mode", "max_tokens")}
    return CompletionRequest(request.fim_prefix + typed, previous_suggestion=text[len(typed) :], **fields)


def seeds(ordinary: int, full: int) -> list[object]:
    """Seeds in batches of 50: the ordinary ones always, the rest of the full count among the slow tests."""
    return [
        pytest.param(range(start, start + 50), marks=() if start < ordinary else pytest.mark.slow, id=str(start))
        for start in range(0, full, 50)
    ]


@pytest.mark.parametrize("batch", seeds(400, 8000))
def test_the_loop_writes_what_the_target_alone_would(tiny_models, batch):
    for seed in batch:
        rng = random.Random(seed)
        check_loop(rng.choice(tiny_models), rng)


@pytest.mark.parametrize("batch", seeds(100, 2000))
def test_the_engine_writes_what_the_target_alone_would(tiny_models, batch):
    for seed in batch[::4]:  # four requests each
        check_engine(tiny_models, random.Random(seed))


def test_a_source_that_is_always_right_saves_rounds(tiny_models):
    """The cases above would pass with verification that rejects everything; this one would not."""
    tiny = tiny_models[0]
    prompt_ids = tiny.tokenizer.encode("value = self\n")
    answer = generated(tiny.reference, prompt_ids, 30)
    sources = DraftSources([Scripted("right", len(prompt_ids), answer, random.Random(0))], None)
    rng = np.random.default_rng(0)
    sources.start(DraftContext(prompt_ids, b"", "", "", (), tiny.tokenizer, tiny.vocabulary, None, rng))
    request = CompletionRequest("", "", mode="text", max_tokens=21)
    stops = stops_for(tiny, request)
    decoding = Decoding(
        tiny.target, tiny.target.new_cache(256), list(prompt_ids), b"", tiny.vocabulary, sources,
        FixedPlanner(("scripted",), 6), stops, None, rng, 21, None, lambda: 0.0,
    )  # fmt: skip
    outcomes = list(speculate(decoding, lambda: False))
    assert [t for o in outcomes for t in o.emitted] == answer[:21]
    assert [len(o.emitted) for o in outcomes] == [7, 7, 7]
    assert [o.accepted for o in outcomes] == [6, 6, 6]


@pytest.mark.parametrize("seed", range(20))
def test_the_healed_reference_without_a_seam_is_transformers_generate(tiny_models, seed):
    rng = random.Random(seed)
    tiny = rng.choice(tiny_models)
    prompt_ids = tiny.tokenizer.encode(random_text(rng, 30) + "x")
    expected = generated(tiny.reference, prompt_ids, 12)
    assert list(islice(healed(tiny.reference, prompt_ids, b"", tiny.tokenizer.token_bytes), 12)) == expected


@pytest.mark.parametrize("uncached", [1, 32])
@pytest.mark.parametrize("line", ["", "  value", "x" + "(" * 63, "\U0001f600" * 64])
def test_no_verification_is_wider_than_backends_promise_to_be_canonical(tiny_models, uncached, line):
    """A longer pass could round differently from plain decoding's; only retyping, which both do, may exceed it."""
    tiny = tiny_models[0]
    prompt = build_prompt(CompletionRequest("value\n" * 40 + line, ""), tiny.tokenizer, QWEN, BUDGET)
    remainder = prompt.remainder.encode()
    widths = {}
    for k in (0, 32):
        target = TorchTarget.load(tiny.folder, dtype=torch.float64)
        cache = target.new_cache(512)
        target.forward(cache, prompt.token_ids[:-uncached], 0)
        rng = np.random.default_rng(0)
        answer = list(islice(healed(tiny.reference, prompt.token_ids, remainder, tiny.tokenizer.token_bytes), 100))
        sources = DraftSources([Scripted("right", len(prompt.token_ids), answer, random.Random(0))], None)
        sources.start(DraftContext(prompt.token_ids, remainder, "", "", (), tiny.tokenizer, tiny.vocabulary, None, rng))
        decoding = Decoding(
            target, cache, list(prompt.token_ids), remainder, tiny.vocabulary, sources, FixedPlanner(("scripted",), k),
            stops_for(tiny, CompletionRequest("", "", mode="text", max_tokens=40)), None, rng, 40, None, lambda: 0.0,
        )  # fmt: skip
        widths[k] = [outcome.width for outcome in speculate(decoding, lambda: False)]
    assert max(widths[32]) <= max(64, widths[0][0])
