"""The truncated Poisson law of the number of candidates."""

import math

import numpy as np
import pytest
from scipy import stats

from dpcore.errors import ParameterError
from dpcore.noise.samplers import (
    candidate_weights,
    poisson_quantile,
    poisson_weights,
    truncated_poisson,
    whole_vocabulary_weight,
)
from tests.chance import assert_law
from tests.fixtures import MakeRng


def test_reference_weights_of_five_words() -> None:
    np.testing.assert_allclose(
        poisson_weights(5),
        [0.3218875825, 0.2590290394, 0.1389637188, 0.0559133694, 0.2242062899],
        atol=5e-11,
    )


@pytest.mark.parametrize("n", [2, 3, 7, 100, 48_210])
def test_weights_are_the_poisson_law_with_the_rest_on_n(n: int) -> None:
    weights = poisson_weights(n)
    rate = math.log(n)
    k = np.arange(1, n)
    np.testing.assert_allclose(weights[:-1], stats.poisson.pmf(k, rate), rtol=1e-10, atol=1e-300)
    rest = stats.poisson.pmf(0, rate) + stats.poisson.sf(n - 1, rate)
    assert weights[-1] == pytest.approx(rest, rel=1e-12)
    assert weights[-1] == whole_vocabulary_weight(n)
    assert weights[-1] >= 1.0 / n
    assert weights.sum() == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize("n", [2, 5, 60, 20_000, 1_000_000])
def test_the_head_leaves_out_nothing_that_matters(n: int) -> None:
    head = candidate_weights(n)
    weights = poisson_weights(n)
    assert 1 <= head.size < n
    np.testing.assert_array_equal(head, weights[: head.size])
    assert weights[head.size : n - 1].sum() < 1e-18


@pytest.mark.parametrize("n", [2, 5, 1000])
def test_draws_and_quantiles_have_this_law(rng: MakeRng, n: int) -> None:
    weights = np.append(0.0, poisson_weights(n))
    drawn = truncated_poisson(rng(1), 100_000, n)
    assert drawn.dtype == np.int64
    assert_law(drawn, weights)
    assert_law(poisson_quantile(rng(2).random(100_000), n), weights)


def test_quantiles_at_the_steps() -> None:
    n = 5
    steps = np.cumsum(poisson_weights(n))
    u = np.array([0.0, steps[0] - 1e-12, steps[0] + 1e-12, steps[3] + 1e-12, 1.0 - 2.0**-53])
    assert poisson_quantile(u, n).tolist() == [1, 1, 2, 5, 5]


def test_one_word_is_no_vocabulary() -> None:
    for function in (poisson_weights, candidate_weights, whole_vocabulary_weight):
        with pytest.raises(ParameterError, match="at least 2 words, got 1"):
            function(1)
