"""Checks of arguments, with one sentence for each refusal.

A refusal names the type of the argument, and its value only if that is a number or one word, as on
a command line: a text that was given in the wrong place may be private.
"""

from __future__ import annotations

import math
import numbers
from decimal import Decimal
from typing import Any, TypeVar

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import DpcoreError, EpsilonError, ParameterError

T = TypeVar("T")

_SHOWN = 40  # characters of a number in a refusal
_NUMBERS = "iuf"  # kinds of numpy types that hold real numbers


def describe(value: object) -> str:
    """Return a number, one word, a boolean or None as text, and only the type of anything else.

    A number or word is cut after 40 characters.
    """
    if isinstance(value, str) and len(value.split()) == 1:
        return value[:_SHOWN]
    if isinstance(value, (bool, np.bool_)) or value is None:
        return str(value)
    try:
        return str(_scalar(value))[:_SHOWN]
    except (TypeError, ValueError):
        return f"a value of type {type(value).__name__}"


def _scalar(value: Any) -> Any:
    """Return a real number, also from an array without dimensions.

    Raises:
        TypeError: The value is not a real number, as are True, a text and an array of numbers.
    """
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value[()]
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (numbers.Real, Decimal)):
        raise TypeError
    return value


def a_real(value: object, what: str, error: type[DpcoreError] = ParameterError) -> float:
    """Return a number, or a text that holds one as on a command line, as a float.

    NaN and infinity are for the caller to refuse.

    Raises:
        ParameterError: The value is not a number, or too large for a float.
    """
    try:
        return float(value if isinstance(value, str) else _scalar(value))
    except (TypeError, ValueError, OverflowError):
        kind = "a finite number > 0" if error is EpsilonError else "a number"
        raise error(f"{what} must be {kind}, got {describe(value)}") from None


def a_whole(
    value: object,
    what: str,
    least: int = 0,
    most: int | None = None,
    error: type[DpcoreError] = ParameterError,
) -> int:
    """Return a whole number in least..most.

    Raises:
        ParameterError: The value is not a whole number (2.0 and True are not) or out of range.
    """
    number = value[()] if isinstance(value, np.ndarray) and not value.ndim else value
    if isinstance(number, (int, np.integer)) and not isinstance(number, bool):
        whole = int(number)
        if least <= whole and (most is None or whole <= most):
            return whole
    above = f"of at least {least:,}" if most is None else f"from {least:,} to {most:,}"
    raise error(f"{what} must be a whole number {above}, got {describe(value)}")


def reals(
    values: object, what: str, error: type[DpcoreError] = ParameterError, *, least: int = 1
) -> FloatArray:
    """Return one number or several as an array, shape (k,) with k ≥ `least`.

    Raises:
        ParameterError: There are too few, or one of them is not a number.
    """
    if not isinstance(values, np.ndarray) or values.dtype.kind not in _NUMBERS:
        try:
            given = [values if isinstance(values, str) else _scalar(values)]
        except TypeError:
            given = _listed(values, what, error)
        values = np.array([a_real(value, what, error) for value in given])
    array = np.atleast_1d(values.astype(np.float64))
    if array.ndim != 1 or array.size < least:
        some = "at least one number" if least else "numbers"
        raise error(f"{what} must be a number or a list of {some}, got shape {array.shape}")
    return array


def _listed(values: Any, what: str, error: type[DpcoreError]) -> list[Any]:
    try:
        if not isinstance(values, (bytes, dict)):
            return list(values)
    except TypeError:
        pass
    raise error(f"{what} must be a number or a list of numbers, got {describe(values)}")


def epsilons(values: object) -> FloatArray:
    """Return one ε or several as an array, shape (E,).

    Raises:
        EpsilonError: One is not a finite number above 0, or there is none.
    """
    array = reals(values, "epsilon", EpsilonError)
    for value in array.tolist():
        if not 0 < value < math.inf:
            raise EpsilonError(f"epsilon must be a finite number > 0, got {value}")
    return array


def a_kind(
    value: object, kind: type[T], needed: str, error: type[DpcoreError] = ParameterError
) -> T:
    """Return the value if it is of this class.

    Args:
        value: The argument.
        kind: Its class.
        needed: Beginning of the refusal, which says what is needed.
        error: The class of the refusal.

    Raises:
        ParameterError: The value is of another class.
    """
    if isinstance(value, kind):
        return value
    raise error(f"{needed}, got {describe(value)}")


def a_name(value: object, what: str) -> str:
    """Return a name if it is a string.

    Raises:
        ParameterError: The name is not a string.
    """
    return a_kind(value, str, f"{what} is chosen by its name, a string")
