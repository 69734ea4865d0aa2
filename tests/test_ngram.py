"""Lookup drafts: the longest, most recent match, and an index that can take back what it has seen."""

from hypothesis import given
from hypothesis import strategies as st

from completer.draft.ngram import LONGEST_NGRAM, NgramIndex


def index_of(token_ids: list[int]) -> NgramIndex:
    index = NgramIndex()
    index.align(token_ids)
    return index


def slow_find(tokens: list[int]) -> tuple[int, int]:
    """The same by scanning: longest match up to LONGEST_NGRAM, then the most recent, then extended backwards."""
    for n in range(min(LONGEST_NGRAM, len(tokens)), 0, -1):
        for start in range(len(tokens) - n - 1, -1, -1):
            if tokens[start : start + n] == tokens[-n:]:
                position = start + n
                while n < min(position, 32) and tokens[position - n - 1] == tokens[-n - 1]:
                    n += 1
                return n, position
    return 0, 0


def test_the_example_of_the_docstring():
    assert index_of([5, 6, 7, 5, 6]).find() == (2, 2)


def test_the_longest_match_wins_over_a_more_recent_shorter_one():
    assert index_of([1, 2, 3, 9, 2, 3, 8, 1, 2, 3]).find() == (3, 3)


def test_among_equals_the_most_recent_wins():
    assert index_of([1, 2, 7, 1, 2, 8, 1, 2]).find() == (2, 5)


def test_nothing_known_is_no_match():
    assert index_of([1, 2, 3]).find() == (0, 0)
    assert NgramIndex().find() == (0, 0)


@given(st.lists(st.lists(st.integers(0, 3), max_size=40), min_size=1, max_size=6))
def test_aligned_again_and_again_it_answers_like_a_scan(sequences):
    index = NgramIndex()
    for tokens in sequences:
        index.align(tokens)
        assert index.token_ids == tokens
        assert index.find() == slow_find(tokens)
    index.crop(0)
    assert not index._last and not index._undo
