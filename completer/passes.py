"""What one target pass costs: V(w), the milliseconds of a pass over w new positions. Everything about k follows."""

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from completer.backends.target import Target, read

_READ_AT_ONCE = 64


def timed_passes(
    target: Target, token_ids: Sequence[int], context_tokens: int, widths: Sequence[int]
) -> Iterator[tuple[int, float] | None]:
    """(width, milliseconds) of passes behind the same context, without end; widths take turns.

    None for what is no time: a chunk of the context that was read, a pass of the first turn. A pass answers for all its
    positions, and ends when the most probable tokens are known here. token_ids: at least context_tokens + max(widths)
    of them, of real text.
    """
    cache = target.new_cache(context_tokens + max(widths))
    for start in range(0, context_tokens, _READ_AT_ONCE):
        read(target, cache, token_ids[start : min(start + _READ_AT_ONCE, context_tokens)])
        yield None
    is_first = True
    while True:
        for width in widths:
            started = time.perf_counter()
            target.forward(cache, token_ids[context_tokens : context_tokens + width], rows=width).argmax()
            ms = (time.perf_counter() - started) * 1000.0
            cache.crop(context_tokens)
            yield None if is_first else (width, ms)
        is_first = False


def pass_ms(
    target: Target, token_ids: Sequence[int], context_tokens: int, widths: Sequence[int], repeats: int
) -> Mapping[int, list[float]]:
    """By width, the times of `repeats` passes as of `timed_passes`."""
    times: dict[int, list[float]] = {width: [] for width in widths}
    passes = filter(None, timed_passes(target, token_ids, context_tokens, widths))
    for width, ms in islice(passes, repeats * len(widths)):
        times[width].append(ms)
    return times
