"""One NaN among numbers is an error, never a number that is passed over."""

import math

import numpy as np
import pytest

from dpcore.arrays import a_number, largest
from dpcore.errors import ComputationError


def test_the_first_of_the_largest_entries() -> None:
    assert largest(np.array([[1.0, 3.0], [3.0, -math.inf]]), "a loss") == (1, 3.0)
    assert largest(np.array([-math.inf]), "a loss") == (0, -math.inf)


@pytest.mark.parametrize("place", [0, 2])
def test_nan_is_an_error(place: int) -> None:
    values = np.array([1.0, math.inf, 0.0])
    values[place] = math.nan
    with pytest.raises(ComputationError, match="a loss could not be computed"):
        largest(values, "a loss")


def test_a_number_is_itself() -> None:
    assert a_number(-math.inf, "a δ") == -math.inf
    with pytest.raises(ComputationError, match="a δ could not be computed"):
        a_number(math.nan, "a δ")
