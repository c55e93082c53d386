"""Steps over arrays that every room needs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcore.errors import ComputationError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def largest(values: NDArray[np.float64], what: str) -> tuple[int, float]:
    """The place (of the flattened array) and the value of the largest entry; the first of equals.

    `values[values.argmax()] > best` is false for NaN, so one NaN would hide all that was computed
    with it. Here it is an error.

    Args:
        values: not empty.
        what: the values, as a person calls them ("a privacy loss").

    Raises:
        ComputationError: an entry is NaN.
    """
    place = int(values.argmax())  # numpy: the first NaN, if there is one
    return place, a_number(float(values.flat[place]), what)


def a_number(value: float, what: str) -> float:
    """The value itself.

    Raises:
        ComputationError: it is NaN.
    """
    if math.isnan(value):
        raise ComputationError(
            f"{what} could not be computed: it came out as NaN, so nothing follows from this run; "
            "please report the command and the lexicon"
        )
    return value
