import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpcore.errors import ParameterError
from dpcore.learn.pixeldp.noise_layer import Accounting, NoiseLayer
from dpcore.mechanisms.clipped.clipped import classical_sigma, gaussian_log_delta
from tests.chance import assert_distribution
from tests.fixtures import MakeRng


@pytest.mark.parametrize(
    ("accounting", "law"),
    [
        (Accounting.LAPLACE, stats.laplace(scale=0.7)),
        (Accounting.CLASSICAL, stats.norm(scale=0.7)),
        (Accounting.ANALYTIC, stats.norm(scale=0.7)),
    ],
)
def test_the_noise_has_its_law(rng: MakeRng, accounting: Accounting, law: Any) -> None:
    layer = NoiseLayer(accounting, 0.7, 2, 5)
    clean = layer.clean(np.arange(10_000.0).reshape(2_000, 5))
    assert_distribution(layer.noisy(clean, rng()) - clean, law.cdf)


def test_the_matrix_comes_before_the_noise(rng: MakeRng) -> None:
    matrix = rng().standard_normal((3, 5))
    layer = NoiseLayer(Accounting.ANALYTIC, 1.0, 2, 5, matrix)
    inputs = rng(1).standard_normal((4, 5))
    assert np.allclose(layer.clean(inputs), [matrix @ x for x in inputs])
    assert layer.sensitivity == pytest.approx(np.linalg.svd(matrix)[1][0])
    with pytest.raises(ValueError, match="read-only"):
        layer.matrix[0, 0] = 1.0


def test_the_classical_theorem_holds_wherever_it_is_used() -> None:
    """At e ≤ 1, whatever δ is: its σ gives no more than δ by the exact formula."""
    epsilons = np.linspace(0.001, 1.0, 60)
    for delta in (1e-12, 1e-6, 0.01, 0.1, 0.5, 0.9, 0.999):
        sigmas = [classical_sigma(e, delta, 1.0) for e in epsilons]
        assert (gaussian_log_delta(epsilons, np.array(sigmas), 1.0) <= math.log(delta)).all()


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan])
def test_a_layer_needs_noise(scale: float) -> None:
    with pytest.raises(ParameterError, match="scale of the noise"):
        NoiseLayer(Accounting.LAPLACE, scale, 1, 2)


def test_inputs_of_another_shape_are_refused() -> None:
    layer = NoiseLayer(Accounting.LAPLACE, 1.0, 1, 3)
    for bad in (np.zeros(3), np.zeros((2, 4)), np.full((1, 3), np.nan)):
        with pytest.raises(ParameterError, match="inputs must be finite"):
            layer.clean(bad)
    with pytest.raises(ParameterError, match="takes 3 coordinates"):
        NoiseLayer(Accounting.LAPLACE, 1.0, 1, 4, np.eye(3))
