import math

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.errors import ParameterError
from dpcore.learn.renyi import FiniteClassifier, example, renyi_divergence
from tests.fixtures import MakeRng

ORDERS = [0.5, 1, 1.5, 2, 8, math.inf]


def plainly(p: NDArray[np.float64], q: NDArray[np.float64], order: float) -> float:
    """Σ over the outputs, as the definition has it."""
    if order == math.inf:
        return max(math.log(a / b) for a, b in zip(p, q, strict=True))
    if order == 1:
        return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))
    total = sum(b * (a / b) ** order for a, b in zip(p, q, strict=True))
    return math.log(total) / (order - 1)


@pytest.mark.parametrize("order", ORDERS)
def test_the_divergence_is_its_definition(rng: MakeRng, order: float) -> None:
    laws = rng().dirichlet(np.ones(4), size=(2, 6))
    result = renyi_divergence(laws[0], laws[1], order)
    assert result == pytest.approx([plainly(p, q, order) for p, q in zip(*laws, strict=True)])
    assert (result > 0).all()


def test_orders_join_and_grow(rng: MakeRng) -> None:
    p, q = rng().dirichlet(np.ones(5), size=2)
    values = [float(renyi_divergence(p, q, order)) for order in ORDERS]
    assert values == sorted(values)
    assert float(renyi_divergence(p, q, 1 + 1e-7)) == pytest.approx(values[1], abs=1e-5)
    assert float(renyi_divergence(p, q, 1e4)) == pytest.approx(values[-1], rel=1e-3)


def test_outputs_that_only_one_law_has() -> None:
    certain, both = np.array([1.0, 0.0]), np.array([0.5, 0.5])
    for order in (1, 2, math.inf):
        assert math.isinf(renyi_divergence(both, certain, order))
        assert float(renyi_divergence(certain, both, order)) == pytest.approx(math.log(2))
    assert float(renyi_divergence(both, certain, 0.5)) == pytest.approx(math.log(2))
    assert math.isinf(renyi_divergence(certain, certain[::-1], 0.5))


@pytest.mark.parametrize("order", ORDERS)
def test_with_every_input_possible_robustness_is_privacy(rng: MakeRng, order: float) -> None:
    """γ = 0 exactly from the ε of privacy on, and not before: the equivalence, on any example."""
    laws = rng().dirichlet(np.ones(3), size=6)
    places = rng(1).standard_normal((6, 2))
    gaps = np.abs(places[:, None] - places).sum(axis=2)
    everywhere = FiniteClassifier(laws, gaps, rng(2).dirichlet(np.ones(6)))
    for reach in (0.5, 1.0, 9.0):
        epsilon = everywhere.private_epsilon(order, reach)
        assert everywhere.robust_epsilon(order, reach) == epsilon
        assert everywhere.failing(order, reach, epsilon) == 0.0
        if epsilon > 0:
            assert everywhere.failing(order, reach, epsilon * (1 - 1e-9)) > 0.0


@pytest.mark.parametrize("order", ORDERS)
def test_almost_surely_is_not_surely(order: float) -> None:
    """The shown example: robust with γ = 0 at an ε far below the one that is private."""
    seen = example()
    robust, private = seen.robust_epsilon(order, 1.0), seen.private_epsilon(order, 1.0)
    assert seen.failing(order, 1.0, robust) == 0.0
    assert private > 4 * robust
    # The order matters: what robustness bounds at the edge of the support is one of the two.
    both = seen.divergences(order)
    if order != 0.5:  # where the divergence is symmetric
        assert both[2, 1] <= robust < both[1, 2]
    everywhere = example((0.25, 0.25, 0.25, 0.25))
    assert everywhere.failing(order, 1.0, robust) > 0
    assert everywhere.robust_epsilon(order, 1.0) == private


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"laws": np.full((2, 2), 0.6)}, "sum to 1"),
        ({"prior": np.array([0.5, 0.6])}, "sum to 1"),
        ({"prior": np.array([1.0])}, "one law"),
        ({"distances": np.array([[0.0, 1.0], [2.0, 0.0]])}, "symmetric"),
        ({"distances": np.array([[0.0, np.nan], [np.nan, 0.0]])}, "symmetric"),
    ],
)
def test_anything_but_a_classifier_is_refused(
    changed: dict[str, NDArray[np.float64]], message: str
) -> None:
    good = {"laws": np.full((2, 2), 0.5), "distances": 1.0 - np.eye(2), "prior": np.full(2, 0.5)}
    with pytest.raises(ParameterError, match=message):
        FiniteClassifier(**(good | changed))
    for order in (0.0, -1.0, math.nan):
        with pytest.raises(ParameterError, match="order"):
            renyi_divergence([1.0], [1.0], order)
