"""Verification: which drafted tokens the target keeps, and the token it writes next. Pure functions on arrays."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Verified:
    """accepted drafted tokens are kept; next_token is the correction, or the bonus when all were kept."""

    accepted: int
    next_token: int


def greedy_verify(draft_ids: Sequence[int], target_argmax: Sequence[int]) -> Verified:
    """Keep the leading drafts that equal the target's own choice.

    target_argmax has len(draft_ids) + 1 entries; entry i is the target's choice after the prefix and draft_ids[:i],
    so it judges draft_ids[i], and the last one is the bonus.

    Drafts d3 d4 d5 d6 d7 with choices d3 d4 d5 c6 x8 give Verified(accepted=3, next_token=c6): x8 saw d6 and is void.
    """
    accepted = 0
    while accepted < len(draft_ids) and draft_ids[accepted] == target_argmax[accepted]:
        accepted += 1
    return Verified(accepted, int(target_argmax[accepted]))


def rejection_verify(
    draft_ids: Sequence[int],
    draft_probs: np.ndarray | None,
    target_probs: np.ndarray,
    rng: np.random.Generator,
) -> Verified:
    """Keep draft i with probability min(1, target / draft); correct the first rejection from max(target - draft, 0).

    The emitted tokens are distributed exactly as target_probs (Leviathan et al. 2023, arXiv 2211.17192, algorithm 1).
    draft_probs: (k, vocabulary), the rows the drafts were sampled from; None when each draft was proposed outright,
    which is a one-hot row. target_probs: (k + 1, vocabulary), rows summing to one.

    With draft probability 0.6 for A and target probability 0.3, A survives half the time and every rejection turns
    into B. Sampling the rejection from the target again would give A 0.39.
    """
    for i, token in enumerate(draft_ids):
        draft_prob = 1.0 if draft_probs is None else float(draft_probs[i, token])
        if rng.random() * draft_prob < float(target_probs[i, token]):
            continue
        residual = target_probs[i].astype(np.float64)
        if draft_probs is None:
            residual[token] = 0.0
        else:
            residual = np.maximum(residual - draft_probs[i], 0.0)
        if not residual.any():  # the two rows are equal up to rounding, and so is what is left of them
            residual = target_probs[i].astype(np.float64)
        return Verified(i, draw(residual, rng))
    return Verified(len(draft_ids), draw(target_probs[len(draft_ids)], rng))


def draw(weights: np.ndarray, rng: np.random.Generator) -> int:
    """Index drawn in proportion to weights: (vocabulary,), not negative, not all zero."""
    cumulative = np.cumsum(weights, dtype=np.float64)
    return int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
