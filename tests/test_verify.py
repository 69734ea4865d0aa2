"""Verification, with the worked examples of the literature, and the distribution that rejection sampling must keep."""

import numpy as np
import pytest
from scipy import stats

from completer.request import Sampling
from completer.sampling import distribution
from completer.verify import Verified, draw, greedy_verify, rejection_verify

DRAFTS = (3, 4, 5, 6, 7)


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        ((13, 0, 0, 0, 0, 0), Verified(0, 13)),  # the first is rejected: [c3]
        ((3, 4, 5, 16, 7, 8), Verified(3, 16)),  # the fourth is: [d3 d4 d5 c6]; the row behind it saw d6 and is void
        ((3, 4, 5, 6, 7, 8), Verified(5, 8)),  # none is: six tokens for one pass
    ],
)
def test_greedy_keeps_the_leading_run_and_adds_the_targets_own_token(choices, expected):
    assert greedy_verify(DRAFTS, choices) == expected


def test_greedy_without_a_draft_is_plain_decoding():
    assert greedy_verify((), (42,)) == Verified(0, 42)


def test_rejection_corrects_from_the_residual_and_not_from_the_target():
    draft_probs, target_probs = np.array([[0.6, 0.4]]), np.array([[0.3, 0.7], [0.5, 0.5]])
    rng = np.random.default_rng(1)
    first = []
    for _ in range(40_000):
        token = draw(draft_probs[0], rng)
        verified = rejection_verify((token,), draft_probs, target_probs, rng)
        first.append(token if verified.accepted else verified.next_token)
    share_of_a = 1 - np.mean(first)
    assert abs(share_of_a - 0.3) < 0.01  # sampling the correction from the target again would give 0.39


@pytest.mark.parametrize("k", range(1, 9))
@pytest.mark.parametrize("is_one_hot", [False, True])
def test_rejection_sampling_keeps_the_targets_distribution(k, is_one_hot):
    """Chi-square over whole sequences of the first three tokens, with target and draft rows that depend on the past."""
    vocabulary, length, trials = 4, 3, 12_000
    rng = np.random.default_rng(100 + k)
    tables = np.random.default_rng(k).dirichlet(np.ones(vocabulary), size=(2, vocabulary, vocabulary))

    def row(kind: int, past: list[int]) -> np.ndarray:
        return tables[kind, past[-1], past[-2]]

    counts = np.zeros((vocabulary,) * length)
    for _ in range(trials):
        past = [0, 0]
        while len(past) < length + 2:
            drafted: list[int] = []
            for _ in range(k):
                drafted.append(1 if is_one_hot else draw(row(1, past + drafted), rng))
            q = None if is_one_hot else np.stack([row(1, past + drafted[:i]) for i in range(k)])
            p = np.stack([row(0, past + drafted[:i]) for i in range(k + 1)])
            verified = rejection_verify(drafted, q, p, rng)
            past += [*drafted[: verified.accepted], verified.next_token]
        counts[tuple(past[2 : 2 + length])] += 1

    expected = np.zeros_like(counts)
    for a, b, c in np.ndindex(*counts.shape):
        expected[a, b, c] = row(0, [0, 0])[a] * row(0, [0, a])[b] * row(0, [a, b])[c] * trials
    enough = expected > 5
    observed = np.append(counts[enough], counts[~enough].sum())
    wanted = np.append(expected[enough], expected[~enough].sum())
    observed, wanted = observed[wanted > 0], wanted[wanted > 0]
    assert stats.chisquare(observed, wanted).pvalue > 1e-4


def test_rejection_with_equal_rows_accepts_everything():
    rows = np.array([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]])
    rng = np.random.default_rng(0)
    for _ in range(100):
        assert rejection_verify((1, 0), rows[:2], rows, rng) == Verified(2, 0)


def test_a_draft_the_target_never_writes_is_always_rejected():
    target = np.array([[0.0, 1.0], [0.5, 0.5]])
    rng = np.random.default_rng(0)
    assert all(rejection_verify((0,), None, target, rng) == Verified(0, 1) for _ in range(100))


def test_distribution_applies_temperature_then_top_k_then_top_p():
    logits = np.log(np.array([0.5, 0.25, 0.15, 0.1]))
    assert distribution(logits, Sampling(temperature=1.0)) == pytest.approx([0.5, 0.25, 0.15, 0.1])
    assert distribution(logits, Sampling(temperature=0.5)) == pytest.approx(np.array([25, 6.25, 2.25, 1]) / 34.5)
    assert distribution(logits, Sampling(temperature=1.0, top_k=2)) == pytest.approx([2 / 3, 1 / 3, 0, 0])
    assert distribution(logits, Sampling(temperature=1.0, top_p=0.6)) == pytest.approx([2 / 3, 1 / 3, 0, 0])
    assert distribution(logits, Sampling(temperature=1.0, top_k=3, top_p=0.5)) == pytest.approx([1, 0, 0, 0])


def test_distribution_gives_nothing_to_what_is_not_allowed():
    probs = distribution(np.array([1.0, -np.inf, 2.0]), Sampling(temperature=0.7))
    assert probs[1] == 0.0
    assert probs.sum() == pytest.approx(1.0)
