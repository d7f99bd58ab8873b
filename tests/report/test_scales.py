"""Axes: ticks are round, in order, and hold all values between them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.report.scales import linear_ticks, log_ticks, scale_of, shown

VALUES = st.lists(st.floats(-1e9, 1e9).filter(lambda v: v == 0 or abs(v) > 1e-9), min_size=1, max_size=20)
POSITIVE = st.lists(st.floats(1e-9, 1e12), min_size=1, max_size=20)


@given(VALUES, st.booleans())
def test_every_value_stands_between_the_edges_of_a_linear_axis(values, zero):
    scale = scale_of(values, 300, 20, zero=zero)
    assert all(20 - 1e-6 <= scale(value) <= 300 + 1e-6 for value in values)
    assert 2 <= len(scale.ticks) <= 8
    assert all(one < two for one, two in zip(scale.ticks, scale.ticks[1:], strict=False))


@given(POSITIVE)
def test_every_value_stands_between_the_edges_of_a_logarithmic_axis(values):
    scale = scale_of(values, 0, 100, log=True)
    assert all(-1e-6 <= scale(value) <= 100 + 1e-6 for value in values)
    assert 2 <= len(scale.ticks) <= 12
    assert all(one < two for one, two in zip(scale.ticks, scale.ticks[1:], strict=False))


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_linear_ticks_are_multiples_of_1_2_or_5_times_a_power_of_ten(low, width):
    ticks = linear_ticks(low, low + width)
    step = ticks[1] - ticks[0]
    mantissa = step / 10 ** math.floor(math.log10(step) + 1e-6)
    assert min(abs(mantissa - round_one) for round_one in (1, 2, 5, 10)) < 1e-2
    assert ticks[0] <= low + 1e-6 * width
    assert ticks[-1] >= low + width * (1 - 1e-6)


def test_a_narrow_range_far_from_zero_has_ticks_of_its_own():
    ticks = linear_ticks(1e6, 1e6 + 2**-9)
    assert len(set(ticks)) == len(ticks) == 5
    assert ticks[1] - ticks[0] == pytest.approx(5e-4, rel=1e-3)


def test_ticks_are_what_one_would_choose():
    assert linear_ticks(0, 20) == (0, 5, 10, 15, 20)
    assert linear_ticks(0.47, 0.64) == (0.45, 0.5, 0.55, 0.6, 0.65)
    assert log_ticks(18, 96) == (10, 20, 50, 100)
    assert log_ticks(1, 1e9)[-1] == 1e9


@pytest.mark.parametrize(("value", "text"), [(0, "0"), (0.25, "0.25"), (1500.0, "1,500"), (2e7, "2e7"), (1e-6, "1e-6")])
def test_ticks_are_written_short(value, text):
    assert shown(value) == text


def test_one_value_alone_makes_an_axis():
    for value in (0.0, 7.0, -3.0):
        scale = scale_of([value], 0, 100)
        assert 0 <= scale(value) <= 100
    assert scale_of([], 0, 100)(1.0) >= 0
