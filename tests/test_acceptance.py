"""Acceptance: at-risk counts, decay, shrinkage and censoring, as properties."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive.acceptance import Acceptance
from adaptive.buckets import (
    BUCKETS,
    DRAFT_MODEL,
    MATCH_EDGES,
    SOURCES,
    match_bucket,
)
from adaptive.counts import HALF_LIFE_TRIALS, PRIOR_TRIALS, expected, faded, joined_news, no_counts, with_news
from adaptive.pending import JUDGED, Pending
from adaptive.priors import priors, seed_means
from completer.request import Draft

TRIALS = st.lists(st.tuples(st.sampled_from(SOURCES), st.integers(0, BUCKETS - 1), st.booleans()), max_size=60)


def after(trials: list[tuple[str, int, bool]]) -> Acceptance:
    acceptance = Acceptance()
    for trial in trials:
        acceptance.trial(*trial)
    return acceptance


@settings(deadline=None)
@given(TRIALS)
def test_every_trial_is_counted_once_and_the_older_ones_fade(trials: list[tuple[str, int, bool]]) -> None:
    counts = after(trials).counts
    for source in SOURCES:
        for bucket in range(BUCKETS):
            outcomes = [right for s, b, right in trials if (s, b) == (source, bucket)]
            age = len(outcomes)
            wanted = [0.0, 0.0]
            for i, right in enumerate(outcomes, start=1):
                wanted[0 if right else 1] += 2.0 ** ((i - age) / HALF_LIFE_TRIALS)
            assert counts[source][:, bucket] == pytest.approx(wanted)


@settings(deadline=None)
@given(TRIALS)
def test_chances_are_chances(trials: list[tuple[str, int, bool]]) -> None:
    acceptance = after(trials)
    for source in SOURCES:
        for match_length in (1, 4, 30):
            chances = acceptance.chances(source, match_length, 20)
            hoped = acceptance.chances(source, match_length, 20, optimism=1.0)
            assert len(chances) == 20 and all(0.0 < chance < 1.0 for chance in chances)
            assert all(chance < better <= 1.0 for chance, better in zip(chances, hoped, strict=True))


@settings(deadline=None)
@given(TRIALS, TRIALS, TRIALS)
def test_news_adds_up_however_it_is_cut(
    before: list[tuple[str, int, bool]],
    first: list[tuple[str, int, bool]],
    second: list[tuple[str, int, bool]],
) -> None:
    """What is kept elsewhere from news is what the acceptance itself has: exactly in sum, closely in decay."""
    acceptance = after(before)
    stored = acceptance.counts
    acceptance.take_news()
    for trial in first:
        acceptance.trial(*trial)
    acceptance.discount("ngram", 0.5)
    older = acceptance.take_news()
    for trial in second:
        acceptance.trial(*trial)
    stored = with_news(stored, joined_news(older, acceptance.take_news()))
    for source in SOURCES:
        assert np.allclose(stored[source], acceptance.counts[source], rtol=0.3, atol=0.3)
    assert acceptance.take_news() == {}


@settings(deadline=None)
@given(TRIALS, TRIALS)
def test_rebasing_keeps_what_is_not_stored_yet(
    stored: list[tuple[str, int, bool]], fresh: list[tuple[str, int, bool]]
) -> None:
    acceptance = Acceptance()
    for trial in fresh:
        acceptance.trial(*trial)
    acceptance.rebase(seed_means(), after(stored).counts)
    both = with_news(after(stored).counts, acceptance.take_news())
    for source in SOURCES:
        assert np.allclose(acceptance.counts[source], both[source])


@settings(deadline=None)
@given(st.floats(0.0, 1.0), st.integers(0, 400))
def test_thirty_trials_of_its_own_outweigh_what_was_expected(share: float, others: int) -> None:
    """However much the language has seen, it weighs PRIOR_TRIALS."""
    language = no_counts()
    language["ngram"][0] += others * share
    language["ngram"][1] += others * (1.0 - share)
    prior = expected([], [language], [])
    mean = float(prior["ngram"][3])
    assert abs(mean - share) <= abs(float(seed_means()["ngram"][3]) - share) + 1e-9
    own = no_counts()
    own["ngram"][1, 3] = 30.0
    chance = Acceptance(prior, own).chance("ngram", 3)
    assert chance == pytest.approx(mean * PRIOR_TRIALS / (PRIOR_TRIALS + 30.0))


def test_a_new_project_expects_what_its_parent_then_its_language_then_all_languages_have_shown() -> None:
    def shown(right: float) -> dict[str, np.ndarray]:
        counts = no_counts()
        counts["ngram"][:, 2] = (right * 1000.0, (1.0 - right) * 1000.0)
        return counts

    means = [
        float(prior["ngram"][2])
        for prior in (
            expected([], [], []),
            expected([], [], [shown(0.2)]),
            expected([], [shown(0.9)], [shown(0.2)]),
            expected([shown(0.4)], [shown(0.9)], [shown(0.2)]),
        )
    ]
    assert means[0] == priors()["ngram"]["chance"][2]
    assert means[1:] == pytest.approx([0.2, 0.9, 0.4], abs=0.02)


@given(st.floats(0.0, 365.0), st.floats(0.0, 1000.0))
def test_counts_halve_in_a_fortnight(days: float, trials: float) -> None:
    assert float(faded(np.array(trials), days)) == pytest.approx(trials * 0.5 ** (days / 14.0))
    assert float(faded(np.array(trials), -days)) == trials


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=14),
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=5), max_size=5),
    st.integers(1, 40),
)
def test_an_offer_is_judged_as_far_as_the_text_goes(
    drafted: list[int], rounds: list[list[int]], match_length: int
) -> None:
    """Each token once, in order, up to the first wrong one; what the text never reached is no trial."""
    trials: list[tuple[str, int, bool]] = []
    pending = Pending()
    pending.add({"ngram": Draft(tuple(drafted), match_length)})
    for token_ids in rounds:
        pending.written(token_ids, lambda *trial: trials.append(trial))
    text = [token_id for token_ids in rounds for token_id in token_ids]
    pairs = list(zip(drafted[:JUDGED], text, strict=False))
    right = next((i for i, (a, b) in enumerate(pairs) if a != b), len(pairs))
    wanted = [(position, position < right) for position in range(min(right + 1, len(pairs)))]
    assert trials == [("ngram", match_bucket(match_length, position), accepted) for position, accepted in wanted]
    assert bool(len(pending)) == (right == len(pairs) < min(len(drafted), JUDGED))


def test_buckets_begin_at_their_edges() -> None:
    assert [match_bucket(edge) for edge in MATCH_EDGES] == list(range(BUCKETS))
    assert [match_bucket(edge - 1) for edge in MATCH_EDGES[1:]] == list(range(BUCKETS - 1))


def test_a_token_counts_under_the_match_that_it_extends() -> None:
    assert [match_bucket(1, position) for position in range(5)] == [0, 1, 2, 3, 3]
    acceptance = after([("ngram", match_bucket(5), False)] * 40)
    assert acceptance.chances("ngram", 2, 5)[3] == acceptance.chance("ngram", match_bucket(5)) < 0.3


def test_a_sudden_change_shows_in_some_forty_trials() -> None:
    acceptance = Acceptance()
    for _ in range(300):
        for _ in range(8):
            acceptance.trial("ngram", 4, True)
    assert acceptance.chance("ngram", 4) > 0.9
    for _ in range(40):
        acceptance.trial("ngram", 4, False)
    assert acceptance.chance("ngram", 4) < 0.5
    assert acceptance.chance("ngram", 5) < 0.7  # in buckets that it did not show in, too


@given(st.integers(1, 20), st.integers(0, 12), st.booleans())
def test_a_draft_counts_up_to_its_first_wrong_token(match_length: int, accepted: int, failed: bool) -> None:
    acceptance = Acceptance()
    acceptance.trials(DRAFT_MODEL, match_length, accepted, failed)
    counts = acceptance.counts[DRAFT_MODEL]
    assert counts[0].sum() == pytest.approx(accepted, rel=0.05)  # the older ones have faded a little
    assert counts[1].sum() == float(failed)
    assert bool(counts[1][match_bucket(match_length, accepted)]) == failed
