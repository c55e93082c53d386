"""Hyperbolic space: distances in 50 digits, changes of centre, vectors that are too long."""

import mpmath as mp
import numpy as np
import pytest

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.lexicon.hyperbolic import LONGEST, distances, polar, seen_from


def points() -> FloatArray:
    """Of all lengths, with the centre, near duplicates and two on one ray."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((40, 4)) * rng.uniform(0, 5, (40, 1))
    rows[0] = 0.0
    rows[2] = rows[1] + 1e-7
    rows[4] = 1.5 * rows[3]
    rows[5] = -rows[3]
    rows[6] *= 1e-9
    return rows


def exact(a: FloatArray, b: FloatArray) -> mp.mpf:
    """By the hyperbolic law of cosines."""
    with mp.workdps(50):
        left, right = ([mp.mpf(float(x)) for x in row] for row in (a, b))
        r, s = (mp.sqrt(mp.fsum(x * x for x in row)) for row in (left, right))
        if not (r and s):
            return r + s
        cosine = mp.fsum(x * y for x, y in zip(left, right, strict=True)) / (r * s)
        return mp.acosh(mp.cosh(r) * mp.cosh(s) - mp.sinh(r) * mp.sinh(s) * cosine)


def test_distances_keep_their_digits() -> None:
    rows = points()
    table = distances(rows, rows)
    assert (np.diag(table) == 0).all()
    np.testing.assert_allclose(table, table.T, rtol=1e-9)
    for i in range(7):
        for j in range(40):
            if i != j:
                assert table[i, j] == pytest.approx(float(exact(rows[i], rows[j])), rel=1e-8)


def test_they_are_a_metric() -> None:
    rows = points()
    table = distances(rows, rows)
    detours = table[:, :, None] + table[None, :, :]
    assert (table[:, None, :] <= detours * (1 + 1e-9)).all()
    # From the centre they are lengths, and along one ray differences of lengths.
    np.testing.assert_allclose(table[0], np.linalg.norm(rows, axis=1), rtol=1e-12)
    assert table[3, 4] == pytest.approx(0.5 * table[0, 3])
    assert table[3, 5] == pytest.approx(2 * table[0, 3])


def test_on_a_line_they_are_those_of_the_line() -> None:
    line = np.array([-4.0, 0.0, 1.0, 1.0 + 1e-9, 250.0])[:, None]
    np.testing.assert_allclose(distances(line, line), np.abs(line - line.T), rtol=1e-6)


@pytest.mark.parametrize("origin", [0, 1, 3, 6, 20])
def test_what_a_point_sees_is_an_isometry(origin: int) -> None:
    rows = np.minimum(points(), 2.0)
    table = distances(rows, rows)
    rise, seen = seen_from(*polar(rows), origin)
    np.testing.assert_allclose(rise, 2 * np.sinh(table[origin] / 2) ** 2, rtol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(seen, axis=1), np.sinh(table[origin]), rtol=1e-7)
    assert (seen[origin] == 0).all()
    # The points on the hyperboloid have the products −cosh d of their distances.
    products = np.outer(1 + rise, 1 + rise) - seen @ seen.T
    np.testing.assert_allclose(products, np.cosh(table), rtol=1e-9, atol=1e-9 * products.max())


def test_what_is_too_long_is_refused() -> None:
    rows = np.array([[LONGEST, 0.0], [0.0, -LONGEST]])
    assert distances(rows, rows)[0, 1] == pytest.approx(2 * LONGEST - np.log(2))
    for wrong in (2 * rows, np.array([[np.nan, 0.0]]), np.array([[np.inf, 0.0]])):
        with pytest.raises(ParameterError, match="at most 300 long"):
            polar(wrong)
