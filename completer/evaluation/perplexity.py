"""How surprised a model is by real code: what a weight format or a backend costs in quality, token by token."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from completer.engine import Engine
from completer.request import Sampling
from completer.source_files import SourceFile

_ROWS = 32
_AS_IT_IS = Sampling(temperature=1.0)


@dataclass(frozen=True, slots=True)
class Perplexity:
    """nll: natural logarithms, summed over tokens that were predicted from up to window - 1 before them."""

    tokens: int
    nll: float

    @property
    def value(self) -> float:
        return math.exp(self.nll / self.tokens)


def measure(
    engine: Engine, files: Sequence[SourceFile], tokens: int, window: int, done: Callable[[int], None]
) -> Perplexity:
    """Over the beginnings of files, `window` tokens of each, until `tokens` are read; done is told how many more."""
    count, nll = 0, 0.0
    for file in files:
        token_ids = engine.tokenizer.encode(file.text)[:window]
        if len(token_ids) < 2:
            continue
        read = min(len(token_ids) - 1, tokens - count)
        nll += _nll(engine, token_ids[: read + 1])
        count += read
        done(read)
        if count >= tokens:
            break
    return Perplexity(count, nll)


def _nll(engine: Engine, token_ids: Sequence[int]) -> float:
    cache = engine.target.new_cache(len(token_ids))
    total = 0.0
    for start in range(0, len(token_ids) - 1, _ROWS):
        chunk = token_ids[start : min(start + _ROWS, len(token_ids) - 1)]
        probs = engine.target.forward(cache, chunk, rows=len(chunk)).probs(_AS_IT_IS)
        for row, following in enumerate(token_ids[start + 1 : start + 1 + len(chunk)]):
            total -= math.log(max(float(probs[row][following]), 1e-300))
    return total
