"""Types of arrays and steps over them that every room needs."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpcore.errors import ComputationError
from dpcore.optional import check_engine

check_engine()  # here the engine first needs a package

FloatArray = NDArray[np.float64]
Float32Array = NDArray[np.float32]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def largest(values: FloatArray, what: str) -> tuple[int, float]:
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
