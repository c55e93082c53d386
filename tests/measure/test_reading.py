"""Where a measured curve meets a target."""

from typing import Any

import numpy as np
import pytest

from dpcore.measure.deniability import Deniability, Method
from dpcore.measure.figures import Figures
from dpcore.measure.reading import Stretch, stretches
from dpcore.measure.targets import Target
from dpcore.measure.words import Selection

GRID = [1.0, 2.0, 4.0, 8.0]


def counted(effective: Any, error: Any, runs: int = 200) -> Deniability:
    """A counted measurement of the effective number of some words at the ε of `GRID`."""
    values = np.array(effective, dtype=float)
    nothing = np.zeros(values.shape)
    figures = Figures(
        nw=nothing,
        sw=nothing + 1,
        effective=values,
        nw_error=nothing,
        nw_low=nothing,
        nw_high=nothing,
        sw_error=nothing,
        effective_error=np.array(error, dtype=float),
        nw_mean_error=nothing[0],
        nw_mean_low=nothing[0],
        nw_mean_high=nothing[0],
        sw_mean_error=nothing[0],
        numerical_error=0.0,
        detail="",
    )
    k = values.shape[0]
    words = Selection(np.arange(k), tuple(f"w{i}" for i in range(k)), np.ones(k), "some")
    return Deniability("madlib.v1", Method.RAO_BLACKWELL, words, np.array(GRID), runs, figures)


@pytest.mark.parametrize("over", ["mean", "median", "worst"])
def test_runs_that_never_agree_meet_a_target_that_they_can_tell(over: str) -> None:
    measured = counted([[np.inf, 50.0, 12.0, 2.0]], [[np.inf, 5.0, 2.0, 0.1]])
    assert stretches(measured, Target("effective", 10.0, over)) == (Stretch(1.0, 2.0, None, 4.0),)


def test_runs_that_never_agree_say_nothing_about_a_target_beyond_them() -> None:
    """Two standard errors of 1/z: at R = 200 no agreement is no evidence for z = 10,000."""
    measured = counted([[np.inf, np.inf, 9.0, 2.0]], [[np.inf, np.inf, 1.0, 0.1]])
    assert stretches(measured, Target("effective", 10_000.0)) == ()
    assert stretches(measured, Target("effective", 100.0)) == (Stretch(1.0, 2.0, None, 4.0),)


def test_one_word_that_never_agrees_does_not_lift_the_mean_over_any_target() -> None:
    measured = counted(
        [[np.inf, np.inf, 9.0, 2.0], [2.0, 20.0, 9.0, 2.0]],
        [[np.inf, np.inf, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]],
    )
    assert stretches(measured, Target("effective", 15.0)) == (Stretch(2.0, 2.0, 1.0, 4.0),)


def test_the_bound_for_runs_that_never_agree_holds_for_laws_with_an_effective_number_of_z() -> None:
    """Exact chance of no agreement in R = 200 runs under laws with Σp² = 1/z, z = 100.

    A rule of two standard errors errs with a chance of at most 1/5 by Cantelli's inequality; the
    laws here err far less often.
    """
    runs, z = 200, 100.0
    measured = counted([[np.inf] * 4], [[np.inf] * 4], runs)
    assert stretches(measured, Target("effective", z))
    uniform = np.prod(1.0 - np.arange(runs) / z) if runs <= z else 0.0
    heavy = z**-0.5  # one word has all of Σp², the others have none
    one_atom = (1 - heavy) ** runs + runs * heavy * (1 - heavy) ** (runs - 1)
    assert max(uniform, one_atom) < 1e-6


def test_an_exact_number_is_taken_as_it_is() -> None:
    measured = counted([[40.0, 10.0, 9.9, 2.0]], [[0.0, 0.0, 0.0, 0.0]])
    assert stretches(measured, Target("effective", 10.0)) == (Stretch(1.0, 2.0, None, 4.0),)
