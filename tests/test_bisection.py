"""Bisection: the safe end comes out, exactly, in either direction and for whole arrays."""

import math

import numpy as np
from numpy.typing import NDArray

from dpcore.outwards import safe_end


def test_the_last_float_that_holds_comes_out() -> None:
    above = float(safe_end(lambda x: x * x >= 2.0, 2.0, 1.0))
    below = float(safe_end(lambda x: x * x <= 2.0, 1.0, 2.0))
    assert above * above >= 2.0 >= below * below
    assert math.nextafter(below, 2.0) == above


def test_an_early_end_is_on_the_safe_side() -> None:
    for options in ({"rounds": 5}, {"within": 1e-3}, {"rounds": 0}):
        end = float(safe_end(lambda x: x >= 0.3, 1.0, 0.0, **options))
        assert 0.3 <= end <= 1.0
    asked = []

    def holds(x: NDArray[np.float64]) -> NDArray[np.bool]:
        asked.append(float(x))
        return x >= 0.3

    safe_end(holds, 1.0, 0.0, within=0.1)
    assert len(asked) == 5  # the width is 1/32, at most a tenth of the safe end, after five


def test_elements_are_searched_each_for_itself() -> None:
    targets = np.array([-3.0, 0.0, 0.25, 7.0])
    ends = safe_end(lambda x: x >= targets, np.full(4, 8.0), -4.0)
    np.testing.assert_array_equal(ends, targets)
    assert ends.shape == (4,)


def test_a_condition_that_is_never_met_moves_nothing() -> None:
    assert float(safe_end(lambda _: False, 5.0, 1.0)) == 5.0
    assert float(safe_end(lambda _: True, 5.0, 5.0)) == 5.0
