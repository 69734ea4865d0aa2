"""From logits to the distribution tokens are drawn from. Pure."""

import numpy as np

from completer.backends.target import Allowed
from completer.request import Sampling


def distributions(logits: np.ndarray, sampling: Sampling, allowed: Allowed | None = None) -> np.ndarray:
    """(rows, vocabulary) float64 of logits (rows, vocabulary) float64, which are changed where not all is allowed."""
    for i, ids in enumerate(allowed or ()):
        if ids is not None:
            masked = np.full_like(logits[i], -np.inf)
            masked[ids] = logits[i, ids]
            logits[i] = masked
    return np.stack([distribution(row, sampling) for row in logits])


def distribution(logits: np.ndarray, sampling: Sampling) -> np.ndarray:
    """Probabilities after temperature, then top-k, then top-p.

    logits: (vocabulary,) float, -inf for what is not allowed. Returns (vocabulary,) float64 summing to one.
    top-p keeps the smallest set of most probable tokens whose mass reaches top_p (Holtzman et al. 2020).
    """
    scaled = logits.astype(np.float64) / sampling.temperature
    if 0 < sampling.top_k < len(scaled):
        threshold = np.partition(scaled, -sampling.top_k)[-sampling.top_k]
        scaled = np.where(scaled < threshold, -np.inf, scaled)
    probs = np.exp(scaled - scaled.max())
    probs /= probs.sum()
    if sampling.top_p < 1.0:
        order = np.argsort(-probs, kind="stable")
        mass_before = np.cumsum(probs[order]) - probs[order]
        probs[order[mass_before >= sampling.top_p]] = 0.0
        probs /= probs.sum()
    return probs
