"""What could be known afterwards: the fastest walk there was, and the best policy that sees what a planner sees."""

from collections import defaultdict
from collections.abc import Sequence

from adaptive.buckets import match_bucket
from adaptive.costs import CostTable
from adaptive.simulation import MAX_TOKENS
from adaptive.trace import Traced

MODEL_KS = (1, 2, 3, 4, 6, 8)
_LONGEST = 32
Move = tuple[str, int]
Situation = tuple[str | int, ...]


def oracle_ms(traced: Traced, table: CostTable) -> float:
    """The shortest path through a completion, by dynamic programming from its end; it knows what will be accepted."""
    fastest = [0.0] * (traced.tokens + 1)
    plain_ms = table.round_ms(0)
    for position in range(traced.tokens - 1, -1, -1):
        best = plain_ms + fastest[position + 1]
        right = max((min(o.accepted[position], o.length[position]) for o in traced.offers.values()), default=0)
        for k in range(1, min(right, _LONGEST) + 1):
            best = min(best, table.round_ms(k) + fastest[min(traced.tokens, position + k + 1)])
        for k in range(1, traced.model_accepted(position, MODEL_KS[-1]) + 1 if traced.model else 1):
            best = min(best, table.round_ms(k, k) + fastest[min(traced.tokens, position + k + 1)])
        fastest[position] = best
    return fastest[0]


def best_policy_ms(completions: Sequence[Traced], table: CostTable, sweeps: int = 6) -> list[float]:
    """By completion, under the policy that was best for all of them among those that know, at each round, which
    sources offer something, how long their matches are, and in which project and language; nothing of what will be
    accepted.

    By Dinkelbach's iteration: for a rate, each situation takes the move with the most tokens less rate times
    milliseconds, on average over all positions where it arises; the rate is then what that policy achieves.
    """
    situations: dict[Situation, list[tuple[Traced, int]]] = defaultdict(list)
    for traced in completions:
        for position in range(traced.tokens):
            situations[_situation(traced, position)].append((traced, position))
    gains: dict[Situation, list[tuple[Move, float, float]]] = {}
    for situation, places in situations.items():
        gains[situation] = [
            (move, *_average([_outcome(traced, position, move, table) for traced, position in places]))
            for move in _moves(places[0][0])
        ]
    rate, best = 1.0 / table.round_ms(0), [t.tokens * table.round_ms(0) for t in completions]
    for _ in range(sweeps):
        policy = {s: max(moves, key=lambda move: move[1] - rate * move[2])[0] for s, moves in gains.items()}
        times = [_walk_ms(traced, policy, table) for traced in completions]
        if sum(times) < sum(best):
            best = times
        rate = sum(traced.tokens for traced in completions) / sum(times)
    return best


def _situation(traced: Traced, position: int) -> Situation:
    seen = tuple(
        match_bucket(o.match[position]) if o.length[position] else -1 for _, o in sorted(traced.offers.items())
    )
    return (traced.project, traced.language, int(bool(traced.model)), *seen)


def _moves(traced: Traced) -> list[Move]:
    moves: list[Move] = [("none", 0)]
    moves += [(source, k) for source in traced.offers for k in (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 24)]
    return moves + ([("draft_model", k) for k in MODEL_KS] if traced.model else [])


def _outcome(traced: Traced, position: int, move: Move, table: CostTable) -> tuple[int, float]:
    """(tokens, milliseconds)"""
    source, k = move
    k = min(k, max(MAX_TOKENS, traced.tokens) - position - 1)
    if source == "draft_model":
        right = traced.model_accepted(position, k)
        return min(right + 1, traced.tokens - position), table.round_ms(k, k)
    if source == "none" or k < 1:
        return 1, table.round_ms(0)
    offers = traced.offers[source]
    k = min(k, offers.length[position])
    return min(min(k, offers.accepted[position]) + 1, traced.tokens - position), table.round_ms(k)


def _average(outcomes: Sequence[tuple[int, float]]) -> tuple[float, float]:
    return sum(tokens for tokens, _ in outcomes) / len(outcomes), sum(ms for _, ms in outcomes) / len(outcomes)


def _walk_ms(traced: Traced, policy: dict[Situation, Move], table: CostTable) -> float:
    position, total_ms = 0, 0.0
    while position < traced.tokens:
        tokens, ms = _outcome(traced, position, policy[_situation(traced, position)], table)
        position += tokens
        total_ms += ms
    return total_ms
