import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.errors import ParameterError
from dpcore.learn.pixeldp.noise_layer import NORMS, identity_sensitivity, sensitivity
from tests.fixtures import MakeRng

SHAPES = [(3, 5), (6, 2), (1, 4), (4, 1), (4, 4)]


def corners(dimension: int, norm: float) -> NDArray[np.float64]:
    """Extreme points of the unit ball of norm 1 or infinity."""
    if norm == 1:
        return np.eye(dimension)
    return np.array(list(itertools.product((-1.0, 1.0), repeat=dimension)))


def by_corners(matrix: NDArray[np.float64], p: float, q: float) -> float:
    """A convex function is largest at an extreme point; the ball of p = 2 by duality."""
    if p == 2:
        dual = {1.0: math.inf, 2.0: 2.0, math.inf: 1.0}[q]
        if q == 2:
            return math.sqrt(np.linalg.eigvalsh(matrix.T @ matrix).max())
        return by_corners(matrix.T, dual, 2.0)
    return np.linalg.norm(corners(matrix.shape[1], p) @ matrix.T, ord=q, axis=1).max()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("q", NORMS)
def test_it_is_the_maximum_over_the_corners(
    rng: MakeRng, shape: tuple[int, int], p: float, q: float
) -> None:
    matrix = rng().standard_normal(shape)
    result = sensitivity(matrix, p, q)
    assert result == pytest.approx(by_corners(matrix, p, q), rel=1e-12)
    attacks = rng(1).standard_normal((5000, shape[1]))
    attacks /= np.linalg.norm(attacks, ord=p, axis=1, keepdims=True)
    assert np.linalg.norm(attacks @ matrix.T, ord=q, axis=1).max() <= result


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("q", NORMS)
@pytest.mark.parametrize("dimension", [1, 2, 9])
def test_noise_in_the_input_is_the_identity(p: float, q: float, dimension: int) -> None:
    assert identity_sensitivity(dimension, p, q) == pytest.approx(
        sensitivity(np.eye(dimension), p, q), rel=1e-12
    )


def test_what_cannot_be_computed_is_refused(rng: MakeRng) -> None:
    wide = rng().standard_normal((40, 30))
    for p, q in ((2.0, 1.0), (math.inf, 1.0), (math.inf, 2.0)):
        with pytest.raises(ParameterError, match=r"vectors of signs"):
            sensitivity(wide, p, q)
    for p, q in ((1.0, 1.0), (1.0, 2.0), (2.0, 2.0), (2.0, math.inf), (math.inf, math.inf)):
        assert sensitivity(wide, p, q) > 0


@pytest.mark.parametrize("norm", [0, 3, math.nan, -1])
def test_other_norms_are_refused(norm: float) -> None:
    with pytest.raises(ParameterError, match="1, 2 or infinity"):
        sensitivity(np.eye(2), norm, 2)


@pytest.mark.parametrize("matrix", [np.ones(3), np.ones((0, 2)), np.full((2, 2), np.nan)])
def test_anything_but_a_matrix_is_refused(matrix: NDArray[np.float64]) -> None:
    with pytest.raises(ParameterError, match="finite matrix"):
        sensitivity(matrix, 1, 1)
    with pytest.raises(ParameterError, match="at least one"):
        identity_sensitivity(0, 1, 1)
