"""Mechanisms at equal mean Nw, read from measured curves."""

import math
from typing import Any

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.deniability import Deniability, Method, measure
from dpcore.measure.equal_nw import Crossing, crossings
from dpcore.measure.figures import Figures
from dpcore.measure.targets import calibrate
from dpcore.measure.words import Selection, named
from dpcore.mechanisms.registry import create


def curve(nw: Any, error: float = 0.0, effective: Any = None) -> Deniability:
    """A measurement of one word at ε = 1, e, e², … with this Nw and Sw = 10·place."""
    values = np.array([nw], dtype=float)
    count = values.shape[1]
    nothing = np.zeros(values.shape)
    figures = Figures(
        nw=values,
        sw=10.0 * np.arange(count, dtype=float)[None],
        effective=np.ones(values.shape) if effective is None else np.array([effective]),
        nw_error=nothing + error,
        nw_low=values - 2 * error,
        nw_high=values + 2 * error,
        sw_error=nothing,
        effective_error=nothing,
        nw_mean_error=np.full(count, error),
        nw_mean_low=values[0] - 2 * error,
        nw_mean_high=values[0] + 2 * error,
        sw_mean_error=np.zeros(count),
        numerical_error=0.0,
        detail="",
    )
    words = Selection(np.array([0]), ("w",), np.ones(1), "one")
    return Deniability("tem.v1", Method.EXACT, words, np.exp(np.arange(count)), 50, figures)


def test_a_value_between_two_measured_epsilons_is_read_on_a_line_in_ln_epsilon() -> None:
    (crossing,) = crossings(curve([0.0, 0.2, 0.6, 1.0]), 0.3)
    assert crossing.epsilon == pytest.approx(math.exp(1.25))
    assert (crossing.low, crossing.high) == pytest.approx((math.e, math.e**2))
    assert crossing.sw == pytest.approx(12.5)


def test_a_measured_value_is_met_where_it_was_measured() -> None:
    (crossing,) = crossings(curve([0.0, 0.2, 0.6, 1.0]), 0.2)
    assert crossing.epsilon == pytest.approx(math.e)
    assert (crossing.low, crossing.high) == pytest.approx((1.0, math.e**2))
    (end,) = crossings(curve([0.0, 0.6, 1.0, 1.0]), 1.0)
    assert end.epsilon == pytest.approx(math.e**2)
    assert end.low == pytest.approx(math.e)
    assert end.high is None


def test_a_value_that_is_never_reached_and_one_that_is_reached_twice() -> None:
    dipping = curve([0.5, 0.3, 0.4, 0.8])
    assert crossings(dipping, 0.2) == ()
    assert crossings(dipping, 0.9) == ()
    twice = crossings(dipping, 0.35)
    assert [c.epsilon for c in twice] == pytest.approx([math.exp(0.75), math.exp(1.5)])
    touched = crossings(dipping, 0.3)
    assert [c.epsilon for c in touched] == pytest.approx([math.e])


def test_what_the_noise_does_not_tell_apart_is_one_place_with_wide_ends() -> None:
    noisy = curve([0.1, 0.49, 0.51, 0.495, 0.52, 0.9], error=0.02)
    (crossing,) = crossings(noisy, 0.5)
    assert crossing.epsilon == pytest.approx(math.exp(1.5))
    assert (crossing.low, crossing.high) == pytest.approx((1.0, math.e**5))
    assert crossings(curve([0.1, 0.49, 0.3], error=0.02), 0.5) == ()  # not reached, only near


def test_an_infinite_effective_number_stays_infinite() -> None:
    measured = curve([0.0, 0.2, 0.6], effective=[np.inf, np.inf, 7.0])
    (open_one,) = crossings(measured, 0.4)
    assert open_one.effective == math.inf
    (met,) = crossings(measured, 0.6)
    about_e: Any = pytest.approx(math.e)
    assert met == Crossing(met.epsilon, about_e, None, 20.0, 7.0)


def test_the_place_agrees_with_measuring_more(small: Lexicon) -> None:
    chosen = named(small, small.words[:8])
    tem, madlib = create("tem", small), create("madlib", small)
    grid = np.geomspace(0.05, 200.0, 60)
    (searched,) = calibrate(tem, 1.5, madlib, chosen).crossings
    bound = float(measure(tem, chosen, [1.5]).figures.nw.mean())
    (read,) = crossings(measure(madlib, chosen, grid), bound)
    assert searched is not None
    assert read.low is not None
    assert read.high is not None
    assert read.low < searched < read.high
    ratio = grid[1] / grid[0]
    assert 1 / ratio < read.epsilon / searched < ratio


@pytest.mark.parametrize("nw", [-0.1, 1.1, float("nan")])
def test_what_is_no_probability_is_refused(nw: float) -> None:
    with pytest.raises(ParameterError, match=r"a mean Nw is in \[0, 1\]"):
        crossings(curve([0.0, 1.0]), nw)
