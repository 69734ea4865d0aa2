"""What one target pass costs: V(w), the milliseconds of a pass over w new positions. Everything about k follows."""

import time
from collections.abc import Callable, Mapping, Sequence

from completer.backends.target import Target, read


def pass_ms(
    target: Target,
    token_ids: Sequence[int],
    context_tokens: int,
    widths: Sequence[int],
    repeats: int,
    cancelled: Callable[[], bool] = lambda: False,
) -> Mapping[int, list[float]]:
    """By width, the times of `repeats` passes behind the same context; widths take turns, after one unmeasured turn.

    Who cancels gets those that were taken before.

    A pass answers for all its positions, and ends when the most probable tokens are known here. token_ids: at least
    context_tokens + max(widths) of them, of real text.
    """
    cache = target.new_cache(context_tokens + max(widths))
    read(target, cache, token_ids[:context_tokens])
    times: dict[int, list[float]] = {width: [] for width in widths}
    for turn in range(repeats + 1):
        for width in widths:
            if cancelled():
                return times
            started = time.perf_counter()
            target.forward(cache, token_ids[context_tokens : context_tokens + width], rows=width).argmax()
            if turn:
                times[width].append((time.perf_counter() - started) * 1000.0)
            cache.crop(context_tokens)
    return times
