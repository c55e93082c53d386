"""Metrics and distances against plain sums in extended precision."""

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.errors import ParameterError
from dpcore.lexicon.metric import Metric, distances, paired_distances
from tests.fixtures import MakeRng


def plain(x: NDArray[np.float32], y: NDArray[np.float32], metric: Metric) -> np.longdouble:
    """One distance, coordinate by coordinate, in extended precision where the machine has it."""
    x, y = x.astype(np.longdouble), y.astype(np.longdouble)
    if metric is Metric.ANGULAR:
        x, y = x / np.sqrt((x * x).sum()), y / np.sqrt((y * y).sum())
        return 2 * np.arctan2(np.sqrt(((x - y) ** 2).sum()), np.sqrt(((x + y) ** 2).sum()))
    gap = np.abs(x - y)
    if metric is Metric.EUCLIDEAN:
        return np.sqrt((gap * gap).sum())
    return gap.sum() if metric is Metric.MANHATTAN else gap.max()


def crafted(rng: np.random.Generator, n: int = 60, d: int = 7) -> NDArray[np.float32]:
    """Random rows, far from the origin, with near duplicates one float32 step apart."""
    rows = (rng.standard_normal((n, d)) * 3 + 40).astype(np.float32)
    rows[1] = np.nextafter(rows[0], np.float32(100))
    rows[2] = rows[0]
    rows[2, 0] = np.nextafter(rows[0, 0], np.float32(0))
    rows[3] = -rows[4]
    return rows


@pytest.mark.parametrize("metric", list(Metric))
def test_distances_equal_plain_sums_even_for_near_duplicates(metric: Metric, rng: MakeRng) -> None:
    rows = crafted(rng())
    away = distances(rows, rows[:9], metric)
    expected = np.array([[plain(a, b, metric) for b in rows] for a in rows[:9]], dtype=float)
    assert away.dtype == np.float64
    absolute = 4e-16 if metric is Metric.ANGULAR else 0.0
    np.testing.assert_allclose(away, expected, rtol=1e-13, atol=absolute)


@pytest.mark.parametrize("metric", list(Metric))
def test_distances_are_symmetric_zero_on_the_diagonal_and_free_of_the_batch(
    metric: Metric, rng: MakeRng
) -> None:
    rows = crafted(rng(), n=41)
    whole = distances(rows, rows, metric)
    assert (np.diag(whole) == 0).all()
    assert np.array_equal(whole, whole.T)
    one_by_one = np.concatenate([distances(rows, rows[i : i + 1], metric) for i in range(41)])
    assert np.array_equal(whole, one_by_one)
    assert np.array_equal(whole[:, 5:38], distances(rows[5:38], rows, metric))


@pytest.mark.parametrize("metric", list(Metric))
def test_triangle_inequality(metric: Metric, rng: MakeRng) -> None:
    rows = rng().standard_normal((30, 4)).astype(np.float32)
    table = distances(rows, rows, metric)
    detours = table[:, :, None] + table[None, :, :]
    assert (table[:, None, :] <= detours * (1 + 1e-12)).all()


@pytest.mark.parametrize("metric", list(Metric))
def test_paired_distances_agree_with_the_table(metric: Metric, rng: MakeRng) -> None:
    rows = crafted(rng())
    table = distances(rows, rows, metric)
    pairs = rng(1).integers(0, len(rows), (200, 2))
    away = paired_distances(rows[pairs[:, 0]], rows[pairs[:, 1]], metric)
    np.testing.assert_allclose(away, table[pairs[:, 0], pairs[:, 1]], rtol=1e-13, atol=4e-16)


def test_cosine_is_refused_with_the_reason() -> None:
    with pytest.raises(ParameterError, match=r"triangle inequality.*angular"):
        Metric.parse("Cosine")
    with pytest.raises(ParameterError, match="unknown metric 'lorentz'"):
        Metric.parse("lorentz")
    assert Metric.parse(" Euclidean ") is Metric.EUCLIDEAN


def test_bad_arguments_are_refused() -> None:
    rows = np.eye(3, dtype=np.float32)
    with pytest.raises(ParameterError, match="finite"):
        distances(rows, [[np.nan, 0, 0]])
    with pytest.raises(ParameterError, match=r"\(3, 3\)"):
        distances(rows, [[1.0, 2.0]])
    with pytest.raises(ParameterError, match="zero vector"):
        distances(rows, np.zeros((1, 3)), Metric.ANGULAR)
