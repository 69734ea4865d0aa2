"""Made-up traces: sources of known worth, and the worst that can happen to a controller. Pure; by seed."""

import random
from collections.abc import Callable, Sequence

from adaptive.trace import Offers, Traced

_TOKENS = 24


def completions(
    count: int,
    chance: Callable[[int], float],
    rng: random.Random,
    match: int = 8,
    model_chance: Callable[[int], float] | None = None,
    has_offer: float = 1.0,
    project: str = "project",
    language: str = "python",
) -> list[Traced]:
    """count completions of 24 tokens, in each of which an n-gram lookup offers 16 tokens at every position.

    chance(token): of a drafted token being accepted, by its number from the start of the first completion.
    model_chance: likewise for the draft model; without one there is none. has_offer: how often there is an offer.
    """
    traces = []
    for index in range(count):
        start = index * _TOKENS
        offered = [rng.random() < has_offer for _ in range(_TOKENS)]
        accepted = [_run(chance(start + position), rng) for position in range(_TOKENS)]
        offers = Offers(
            match=[match * is_there for is_there in offered],
            length=[16 * is_there for is_there in offered],
            accepted=[
                min(right, 16, _TOKENS - position) * is_there
                for position, (right, is_there) in enumerate(zip(accepted, offered, strict=True))
            ],
        )
        model = _judged(start, model_chance, rng) if model_chance is not None else ()
        traces.append(Traced(language, project, _TOKENS, {"ngram": offers}, model, first_line=12, new_tokens=12))
    return traces


def _run(chance: float, rng: random.Random) -> int:
    """How many tokens in a row are accepted."""
    count = 0
    while count < 32 and rng.random() < chance:
        count += 1
    return count


def _judged(start: int, chance: Callable[[int], float], rng: random.Random) -> Sequence[int]:
    return [rng.randint(60, 99) * (1 if rng.random() < chance(start + i) else -1) for i in range(_TOKENS)]
