import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.learn.bags import Bags
from dpcore.learn.linear.linear import LinearModel
from tests.fixtures import MakeRng
from tests.learn.linear.test_certificate import documents, model, texts_of


def test_scores_are_those_of_the_mean_vector(rng: MakeRng) -> None:
    generator = rng()
    linear, bags = model(generator), documents(generator)
    for text, row in zip(texts_of(bags), linear.scores(bags), strict=True):
        known = [w for w in text if w >= 0]
        mean = linear.vectors[known].astype(float).mean(axis=0) if known else np.zeros(4)
        assert row == pytest.approx(linear.weights @ mean + linear.bias)
    probabilities = linear.probabilities(bags)
    assert np.allclose(probabilities.sum(axis=1), 1.0)
    assert np.array_equal(probabilities.argmax(axis=1), linear.predict(bags))
    assert linear.accuracy(bags, linear.predict(bags)) == 1.0


def test_shapes_that_do_not_fit_are_refused(rng: MakeRng) -> None:
    linear = model(rng())
    with pytest.raises(ParameterError, match="do not fit"):
        LinearModel(np.zeros((2, 3)), np.zeros(2), linear.vectors)
    with pytest.raises(ParameterError, match="do not fit"):
        LinearModel(np.zeros((1, 4)), np.zeros(1), linear.vectors)
    with pytest.raises(ParameterError, match="vocabulary of 13 words"):
        linear.predict(Bags(np.array([1]), np.array([0, 1]), 13))


def test_a_classifier_without_weights_reads_no_text(rng: MakeRng) -> None:
    linear = model(rng())
    assert not linear.constant
    assert LinearModel(np.ones((3, 4)), np.arange(3.0), linear.vectors).constant
