"""Cost: what is kept of a measured curve, and how it follows the machine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptive.cost import WIDEST, Cost

STEPS = {1: 66.0, 2: 103.0, 4: 107.0, 8: 141.0, 16: 153.0, 32: 212.0}


def test_steps_are_kept_as_measured() -> None:
    cost = Cost.measured({width: [ms, ms * 1.01, ms * 3.0] for width, ms in STEPS.items()}, [20.0, 21.0, 90.0])
    for width, ms in STEPS.items():
        assert cost.verify_ms[width] == pytest.approx(ms * 1.01)
    assert cost.verify_ms[3] == pytest.approx((103.0 + 107.0) / 2 * 1.01)
    assert cost.draft_step_ms == 21.0
    assert cost.verify_ms[WIDEST] > cost.verify_ms[32]


def test_a_shape_measured_at_leisure_keeps_the_level_of_real_rounds() -> None:
    cost = Cost.measured({width: [ms] for width, ms in STEPS.items()}, [20.0])
    for _ in range(50):
        cost.observe_verify(1, 132.0)
    cost.reshape({1: [50.0, 50.0, 90.0], 8: [60.0], 32: [100.0]})
    assert cost.verify_ms[1] == pytest.approx(132.0, rel=0.02)
    assert cost.verify_ms[8] / cost.verify_ms[1] == pytest.approx(1.2)
    assert cost.verify_ms[32] / cost.verify_ms[1] == pytest.approx(2.0)
    assert cost.draft_step_ms == 20.0


@given(st.dictionaries(st.integers(1, WIDEST), st.floats(0.5, 500.0), min_size=1), st.floats(0.0, 50.0))
def test_a_document_holds_all_of_it(curve: dict[int, float], overhead_ms: float) -> None:
    cost = Cost(curve, 20.0, 0.5, overhead_ms)
    again = Cost.from_document(cost.as_document())
    assert again.verify_ms == pytest.approx(cost.verify_ms)
    assert (again.draft_step_ms, again.catch_up_ms, again.overhead_ms) == (20.0, 0.5, overhead_ms)


def test_nothing_known_is_no_document_and_the_first_round_sets_the_level() -> None:
    cost = Cost.unknown()
    assert cost.as_document() == {}
    cost.observe_verify(5, 200.0)
    assert cost.verify_ms[5] == pytest.approx(200.0)
    assert 150.0 < cost.plain_ms < 200.0


@pytest.mark.parametrize("factor", [0.6, 1.5, 2.0])
def test_a_machine_that_slows_down_as_a_whole_is_followed_within_twenty_rounds(factor: float) -> None:
    cost = Cost(STEPS, 20.0, 0.5, 0.0)
    for _ in range(20):
        cost.observe_verify(1, STEPS[1] * factor)
        cost.observe_verify(8, STEPS[8] * factor)
    assert cost.verify_ms[16] == pytest.approx(STEPS[16] * factor, rel=0.25)


def test_one_width_that_has_become_dearer_is_told_from_the_others() -> None:
    cost = Cost(STEPS, 20.0, 0.5, 0.0)
    for _ in range(150):
        cost.observe_verify(8, 2 * STEPS[8])
        cost.observe_verify(1, STEPS[1])
    assert cost.verify_ms[8] == pytest.approx(2 * STEPS[8], rel=0.1)
    assert cost.verify_ms[1] == pytest.approx(STEPS[1], rel=0.1)


def test_a_process_that_slept_does_not_spoil_the_curve() -> None:
    cost = Cost(STEPS, 20.0, 0.5, 0.0)
    cost.observe_verify(8, 60_000.0)
    assert cost.verify_ms[8] < 1.7 * STEPS[8]


def test_draft_steps_and_catching_up_are_told_apart() -> None:
    cost = Cost(STEPS, 10.0, 2.0, 0.0)
    for _ in range(60):
        cost.observe_draft(steps=4, catch_up_tokens=1, ms=4 * 25.0)
        cost.observe_draft(steps=2, catch_up_tokens=101, ms=2 * 25.0 + 100 * 0.8)
    assert cost.draft_step_ms == pytest.approx(25.0, rel=0.05)
    assert cost.catch_up_ms == pytest.approx(0.8, rel=0.1)
