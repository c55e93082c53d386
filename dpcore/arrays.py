"""Array types, and steps over arrays that every subpackage needs."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpcore.errors import ComputationError
from dpcore.optional import check_engine

check_engine()  # the engine needs its first package here

FloatArray = NDArray[np.float64]
Float32Array = NDArray[np.float32]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def largest(values: FloatArray, what: str) -> tuple[int, float]:
    """Return index (in the flattened array) and value of the largest entry; the first of equals.

    `values[values.argmax()] > best` is false for NaN, so one NaN would hide all other results.
    Here NaN is an error.

    Args:
        values: array, not empty.
        what: name of the values in the message ("a privacy loss").

    Raises:
        ComputationError: an entry is NaN.
    """
    place = int(values.argmax())  # numpy returns the first NaN, if there is one
    return place, a_number(float(values.flat[place]), what)


def a_number(value: float, what: str) -> float:
    """Return the value if it is not NaN.

    Raises:
        ComputationError: the value is NaN.
    """
    if math.isnan(value):
        raise ComputationError(
            f"{what} could not be computed: it came out as NaN, so nothing follows from this run; "
            "please report the command and the lexicon"
        )
    return value
