"""Which KV cache a request gets, and how much of it is kept."""

from hypothesis import given
from hypothesis import strategies as st

from completer.prefix_cache import PrefixCache, common_prefix_length


class CountingCache:
    capacity = 100

    def __init__(self) -> None:
        self.length = 0

    def crop(self, length: int) -> None:
        assert 0 <= length <= self.length
        self.length = length


class CountingTarget:
    vocabulary_size = 10
    prefill_width = 128

    def __init__(self) -> None:
        self.made = 0

    def new_cache(self, capacity: int) -> CountingCache:
        self.made += 1
        return CountingCache()

    def forward(self, cache, token_ids, rows):
        raise AssertionError("the prefix cache never runs the model")


def fill(slot) -> None:
    slot.cache.length = len(slot.token_ids)


@given(st.lists(st.integers(0, 2), max_size=50), st.lists(st.integers(0, 2), max_size=50))
def test_common_prefix_length_counts_equal_leading_tokens(a, b):
    expected = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    assert common_prefix_length(a, b) == expected


def test_a_document_finds_its_own_slot_and_keeps_the_common_prefix():
    cache = PrefixCache(CountingTarget(), slots=2, capacity=100)
    fill(cache.acquire("a", [1, 2, 3, 4]))
    fill(cache.acquire("b", [1, 2, 9]))
    slot = cache.acquire("a", [1, 2, 3, 5, 6])
    assert slot.cache.length == 3
    assert slot.token_ids == [1, 2, 3, 5, 6]


def test_a_full_hit_leaves_one_token_to_recompute():
    cache = PrefixCache(CountingTarget(), slots=1, capacity=100)
    fill(cache.acquire("a", [1, 2, 3]))
    assert cache.acquire("a", [1, 2, 3]).cache.length == 2


def test_the_least_recently_used_slot_goes_to_a_new_document():
    target = CountingTarget()
    cache = PrefixCache(target, slots=2, capacity=100)
    for document in ("a", "b", "a", "c"):
        fill(cache.acquire(document, [1, 2, 3]))
    assert target.made == 2
    assert cache.acquire("a", [1, 2, 3, 4]).cache.length == 3


def test_tokens_known_but_never_computed_are_not_taken_for_cached():
    cache = PrefixCache(CountingTarget(), slots=1, capacity=100)
    slot = cache.acquire("a", [1, 2, 3, 4])
    slot.cache.length = 2
    assert cache.acquire("a", [1, 2, 3, 4]).cache.length == 2
