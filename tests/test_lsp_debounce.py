"""The debounce: adaptive from typing rhythm and measured ttft, 15 to 300 ms."""

import pytest

from lsp.debounce import LONGEST_S, SHORTEST_S, Debounce


def typed(gap_s: float, ttft_s: float = 10.0, keys: int = 20) -> Debounce:
    debounce = Debounce()
    for key in range(keys):
        debounce.typed(key * gap_s)
    for _ in range(20):
        debounce.began(ttft_s)
    return debounce


def test_before_anything_is_known_it_waits_longest():
    assert Debounce().delay_s() == LONGEST_S == 0.3


def test_it_waits_a_little_longer_than_the_next_key_usually_takes():
    assert typed(gap_s=0.1).delay_s() == pytest.approx(0.12)


def test_it_waits_no_longer_than_a_completion_takes_to_begin():
    assert typed(gap_s=0.2, ttft_s=0.05).delay_s() == pytest.approx(0.05, abs=0.001)


@pytest.mark.parametrize("gap_s, ttft_s, expected_s", [(0.001, 1.0, SHORTEST_S), (0.9, 5.0, LONGEST_S)])
def test_it_stays_between_15_and_300_ms(gap_s, ttft_s, expected_s):
    assert typed(gap_s, ttft_s).delay_s() == expected_s


def test_pauses_say_nothing_about_the_rhythm():
    debounce = typed(gap_s=0.1)
    before_s = debounce.delay_s()
    for pause in range(20):
        debounce.typed(100.0 + pause * 30)
    assert debounce.delay_s() == before_s
