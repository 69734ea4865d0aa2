"""What speculation is worth under load: the texts of several users in one target pass, at fixed draft lengths.

A closed loop: each user has a prompt of their own, already read, and asks again as soon as an answer is complete, so
that every pass has a part for each of them. Drafts come from n-gram lookup in the user's own text. Where the backend
cannot batch, users take turns within a round. A run ends when each user has had one answer.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from completer.backends.target import BatchTarget, KVCache, Target, read
from completer.draft.ngram import NgramIndex
from completer.planner import fixed_planner
from completer.request import Draft, RoundState
from completer.verify import greedy_verify

REPEATS = 5


@dataclass(frozen=True, slots=True)
class Run:
    """`users` at once with up to k drafted tokens a round. answers: of each user the first, as tokens.

    answer_ms: what each of these took. tokens in `ms` count what everybody got, also in answers that came later.
    """

    users: int
    k: int
    answers: tuple[tuple[int, ...], ...]
    answer_ms: tuple[float, ...]
    tokens: int
    rounds: int
    ms: float


@dataclass(slots=True)
class User:
    """cache and index hold the prompt but for its last token, and what has been written of the answer."""

    prompt_ids: Sequence[int]
    cache: KVCache
    index: NgramIndex = field(default_factory=NgramIndex)
    written: list[int] = field(default_factory=list)

    def start(self) -> None:
        self.cache.crop(len(self.prompt_ids) - 1)
        self.index.align([*self.prompt_ids])
        self.written = []

    def offer(self, most: int) -> Draft:
        length, position = self.index.find()
        ids = self.index.token_ids[position : position + most] if length else []
        return Draft(tuple(ids), length)

    def take(self, token_ids: Sequence[int]) -> None:
        for token_id in token_ids:
            self.index.append(token_id)
        self.written += token_ids


def users_of(target: Target, prompts: Sequence[Sequence[int]], room: int) -> list[User]:
    """With their prompts read. room: most tokens that a user's pass and answer add."""
    users = []
    for prompt_ids in prompts:
        cache = target.new_cache(len(prompt_ids) + room)
        read(target, cache, prompt_ids[:-1])
        users.append(User(prompt_ids, cache))
    return users


def forward(target: Target, parts: Sequence[tuple[KVCache, Sequence[int]]]) -> list[list[int]]:
    """The target's choice behind every token of each part: in one pass, or else in turns."""
    if isinstance(target, BatchTarget):
        return target.forward_batch(parts)
    return [target.forward(cache, token_ids, len(token_ids)).argmax() for cache, token_ids in parts]


def serve(target: Target, users: Sequence[User], k: int, most_tokens: int, stop_token_ids: Set[int]) -> Run:
    """most_tokens: where an answer ends that no stop token ends before."""
    planner = fixed_planner("ngram", k)
    answers: dict[int, tuple[tuple[int, ...], float]] = {}
    tokens = rounds = 0
    for user in users:
        user.start()
    started_s = time.perf_counter()
    begun_s = [started_s] * len(users)
    while len(answers) < len(users):
        drafts = [_draft(planner.choose, user, k, most_tokens, len(users)) for user in users]
        parts = [(user.cache, [user.index.token_ids[-1], *draft]) for user, draft in zip(users, drafts, strict=True)]
        choices = forward(target, parts)
        now_s = time.perf_counter()
        rounds += 1
        for number, (user, draft, chosen) in enumerate(zip(users, drafts, choices, strict=True)):
            verified = greedy_verify(draft, chosen)
            emitted = [*draft[: verified.accepted], verified.next_token]
            end = next((i for i, token_id in enumerate(emitted) if token_id in stop_token_ids), len(emitted))
            user.take(emitted[:end])
            tokens += end
            if end < len(emitted) or len(user.written) >= most_tokens:
                answers.setdefault(number, (tuple(user.written), (now_s - begun_s[number]) * 1000.0))
                user.start()
                begun_s[number] = now_s
            else:
                user.cache.crop(len(user.prompt_ids) - 1 + len(user.written))
    texts, answer_ms = zip(*(answers[number] for number in range(len(users))), strict=True)
    return Run(len(users), k, texts, answer_ms, tokens, rounds, (time.perf_counter() - started_s) * 1000.0)


def _draft(choose: Callable[[RoundState], Any], user: User, k: int, most_tokens: int, load: int) -> list[int]:
    left = most_tokens - len(user.written)
    offer = user.offer(min(k, left - 1))
    offers = {"ngram": offer} if len(offer) else {}
    choice = choose(RoundState(offers, None, len(user.index.token_ids), left, False, None, load))
    return [*offer.first(choice.k).token_ids] if offers else []


def pass_ms(target: Target, users: Sequence[User], ks: Sequence[int]) -> dict[int, list[float]]:
    """V(B, w) by k, w = k + 1 positions for each of B users, widths in turns; the first turn does not count."""
    for user in users:
        user.start()
    times: dict[int, list[float]] = {k: [] for k in ks}
    for turn in range(REPEATS + 1):
        for k in ks:
            parts = [(user.cache, [*user.prompt_ids[-1:], *user.prompt_ids[:k]]) for user in users]
            started_s = time.perf_counter()
            forward(target, parts)
            ms = (time.perf_counter() - started_s) * 1000.0
            for user in users:
                user.cache.crop(len(user.prompt_ids) - 1)
            if turn:
                times[k].append(ms)
    return times


def rows_of(runs: Sequence[Run], passes: dict[int, dict[int, list[float]]]) -> Iterator[dict[str, Any]]:
    """Of each number of users and each k, figures for a table. speedup: tokens a second over those of k = 0.

    passes: by users, then by k.
    """
    plain = {run.users: run.tokens / run.ms for run in runs if run.k == 0}
    for run in runs:
        per_token = sorted(ms / max(1, len(answer)) for ms, answer in zip(run.answer_ms, run.answers, strict=True))
        yield {
            "users": run.users,
            "k": run.k,
            "pass_ms": _quartiles(passes[run.users][run.k]),
            "tokens_a_pass": round(run.tokens / run.rounds / run.users, 3),
            "tokens_per_s": round(run.tokens / run.ms * 1000, 2),
            "ms_per_token": round(statistics.median(per_token), 2),
            "ms_per_token_p90": round(per_token[int(0.9 * (len(per_token) - 1) + 0.5)], 2),
            "answer_ms": round(statistics.median(run.answer_ms), 1),
            "speedup": round(run.tokens / run.ms / plain[run.users], 3),
        }


def _quartiles(values: Sequence[float]) -> list[float]:
    return [round(value, 2) for value in statistics.quantiles(values, n=4, method="inclusive")]


def unequal(runs: Sequence[Run]) -> list[str]:
    """Runs in which a user got another answer than in the first run that they were in."""
    answers: dict[int, tuple[int, ...]] = {}
    wrong = []
    for run in runs:
        for number, answer in enumerate(run.answers):
            if answers.setdefault(number, answer) != answer:
                wrong.append(f"user {number + 1} of {run.users} at k = {run.k}")
    return wrong
