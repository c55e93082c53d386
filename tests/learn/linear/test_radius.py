"""The exact radius of a linear classifier: attained, and never undercut."""

import math
from typing import Any

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.learn.linear.certificate import linear_radii, ordinary_radii
from dpcore.learn.pixeldp.digits import digits

RNG = np.random.default_rng(5)
WEIGHTS, BIAS = RNG.normal(size=(4, 6)), RNG.normal(size=4)
INPUTS = RNG.normal(size=(40, 6))
LABELS = (INPUTS @ WEIGHTS.T + BIAS).argmax(axis=1)


def best_attack(x: np.ndarray, label: int, rival: int, p: float) -> np.ndarray:
    """The attack of norm p = 1 that helps a rival most."""
    pull = WEIGHTS[rival] - WEIGHTS[label]
    if p == 2:
        return pull / np.linalg.norm(pull)
    if p == math.inf:
        return np.sign(pull)
    return np.sign(pull) * (np.arange(6) == np.abs(pull).argmax())


@pytest.mark.parametrize("p", [1, 2, math.inf])
def test_it_is_attained_and_no_attack_below_it_changes_the_class(p: float) -> None:
    radii = linear_radii(WEIGHTS, BIAS, INPUTS, LABELS, p)
    assert (radii > 0).all()
    flipped = 0
    for x, label, radius in zip(INPUTS, LABELS, radii, strict=True):
        attacks = [best_attack(x, label, rival, p) for rival in range(4) if rival != label]
        for factor in (0.999, 1.001):
            moved = x + factor * radius * np.array(attacks)
            changed = ((moved @ WEIGHTS.T + BIAS).argmax(axis=1) != label).any()
            assert changed == (factor > 1)
        random = RNG.normal(size=(250, 6))
        random *= 0.999 * radius / np.linalg.norm(random, ord=p, axis=1, keepdims=True)
        flipped += int((((x + random) @ WEIGHTS.T + BIAS).argmax(axis=1) != label).sum())
    assert flipped == 0  # of 10,000


def test_what_is_wrong_already_and_what_cannot_be_changed() -> None:
    wrong = (LABELS + 1) % 4
    assert (linear_radii(WEIGHTS, BIAS, INPUTS, wrong, 2) == -1).all()
    still = linear_radii(np.zeros((2, 3)), [1.0, 0.0], np.ones((2, 3)), [0, 1], 2)
    assert still.tolist() == [math.inf, -1.0]


def test_the_ordinary_classifier_of_digits() -> None:
    data = digits()
    radii = ordinary_radii(data, 2)
    assert radii.shape == data.test_labels.shape
    assert (radii >= 0).mean() > 0.95
    assert (ordinary_radii(data, 1) >= radii).all()  # an attack has at least its Euclidean length


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"labels": LABELS[1:]}, "needs a label"),
        ({"labels": LABELS + 4}, r"0\.\.3"),
        ({"bias": BIAS[1:]}, "do not fit"),
        ({"inputs": INPUTS[:, 1:]}, "do not fit"),
        ({"attack": 3}, "norm"),
    ],
)
def test_bad_arguments_are_refused(changed: dict[str, Any], message: str) -> None:
    usual = {
        "weights": WEIGHTS, "bias": BIAS, "inputs": INPUTS, "labels": LABELS, "attack": 2,
    }  # fmt: skip
    with pytest.raises(ParameterError, match=message):
        linear_radii(**usual | changed)
