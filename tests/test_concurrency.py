"""`completer bench --concurrency`: several users in one target pass, each with the text that they would get alone."""

import json
from collections.abc import Sequence
from typing import Any
from unittest.mock import Mock

import pytest

from completer.backends.cpu import library
from completer.backends.cpu.cpu_target import CpuTarget
from completer.backends.target import BatchTarget
from completer.concurrency import Run, rows_of, serve, unequal, users_of
from tests.test_bench import sources
from tests.test_cpu_target import PROMPT, write_model

__all__ = ["sources"]
PROMPTS = [PROMPT[:30] * 2, PROMPT[10:30], PROMPT[3:90] + PROMPT[60:80]]
TOKENS = 24


class Circling:
    """Writes 5 tokens round and round, whatever the text: what lookup finds is right from the second round on."""

    vocabulary_size, prefill_width = 10, 64

    def __init__(self) -> None:
        self.passes: list[list[int]] = []

    def new_cache(self, capacity: int) -> Any:
        return Mock(length=0, crop=Mock())

    def forward(self, cache: Any, token_ids: Sequence[int], rows: int) -> Any: ...

    def forward_batch(self, parts: Sequence[tuple[Any, Sequence[int]]]) -> list[list[int]]:
        self.passes.append([len(token_ids) for _, token_ids in parts])
        return [[(token_id + 1) % 5 for token_id in token_ids] for _, token_ids in parts]


@pytest.fixture(scope="module")
def target(tmp_path_factory) -> CpuTarget:
    if reason := library.why_not():
        pytest.skip(reason)
    return CpuTarget.load(write_model(tmp_path_factory.mktemp("load") / "model"), threads=2)


def alone(target: CpuTarget, prompt: list[int], stop_token_ids: set[int]) -> tuple[int, ...]:
    written: list[int] = []
    cache = target.new_cache(200)
    last = target.forward(cache, prompt, 1).argmax()
    while len(written) < TOKENS and last[0] not in stop_token_ids:
        written += last
        last = target.forward(cache, written[-1:], 1).argmax()
    return tuple(written)


@pytest.mark.parametrize("k", [0, 1, 3, 5])
def test_each_user_gets_what_the_target_writes_for_them_alone(target, k):
    first = alone(target, PROMPTS[0], set())
    stops = {first[-1]}
    run = serve(target, users_of(target, PROMPTS, TOKENS + 6), k, TOKENS, stops)
    assert run.answers == tuple(alone(target, prompt, stops) for prompt in PROMPTS)
    assert len(set(map(len, run.answers))) > 1, "some wait for others, and ask again meanwhile"
    assert run.tokens >= sum(map(len, run.answers)) and run.rounds <= TOKENS


def test_drafts_that_are_right_save_passes_and_all_users_share_each():
    target = Circling()
    plain = serve(target, users_of(target, [[0, 1], [3, 4, 0]], TOKENS + 6), 0, TOKENS, set())
    assert isinstance(target, BatchTarget) and target.passes == [[1, 1]] * TOKENS
    drafted = serve(target, users_of(target, [[0, 1], [3, 4, 0]], TOKENS + 6), 3, TOKENS, set())
    assert (
        drafted.answers
        == plain.answers
        == (tuple((2 + i) % 5 for i in range(24)), tuple((1 + i) % 5 for i in range(24)))
    )
    assert drafted.rounds == 4 + 5 and [4, 4] in target.passes  # once round, then 4 tokens a pass


def test_figures_are_of_users_and_ratios_of_all_tokens():
    plain = Run(2, 0, ((1,) * 10, (2,) * 5), (1000.0, 250.0), tokens=20, rounds=10, ms=1000.0)
    drafted = Run(2, 3, plain.answers, (500.0, 250.0), tokens=22, rounds=5, ms=500.0)
    first, second = rows_of([plain, drafted], {2: {0: [90.0, 100.0, 110.0], 3: [150.0, 150.0, 150.0]}})
    assert (first["speedup"], second["speedup"]) == (1.0, 2.2)
    assert (first["tokens_a_pass"], second["tokens_a_pass"]) == (1.0, 2.2)
    assert (first["ms_per_token"], first["ms_per_token_p90"], first["answer_ms"]) == (75.0, 100.0, 625.0)
    assert (first["pass_ms"], second["tokens_per_s"]) == ([95.0, 100.0, 105.0], 44.0)


def test_a_user_who_got_another_text_is_named():
    runs = [Run(1, 0, ((1, 2),), (1.0,), 2, 2, 1.0), Run(2, 3, ((1, 3), (4,)), (1.0, 1.0), 3, 2, 1.0)]
    assert unequal(runs) == ["user 1 of 2 at k = 3"]


def test_a_backend_that_does_not_batch_takes_turns_and_says_so(completer, tiny_model, sources):
    command = ("bench", "--concurrency", "3,1,3", "--k", "2", "--target", tiny_model, "--draft", "none", sources)
    done = completer(*command, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [(row["users"], row["k"]) for row in document["loads"]] == [(1, 0), (1, 2), (3, 0), (3, 2)]
    assert document["unequal"] == [] and not document["batched"]
    assert "one after the other" in completer(*command).stdout


@pytest.mark.parametrize(
    "options, said",
    [
        (["--concurrency", "1,x"], "'1,x' is not a list of numbers"),
        (["--concurrency", "0"], "not between 1 and 64"),
        (["--concurrency", "2", "--peers"], "--concurrency goes with"),
        (["--concurrency", "2", "--source", "ngram"], "--concurrency goes with"),
    ],
)
def test_what_cannot_be_meant_is_refused(completer, options, said):
    done = completer("bench", *options)
    assert done.returncode == 2 and said in done.stderr
