"""Handwritten digits as the picture that people know: classifiers with a noise layer.

scikit-learn's digits (UCI, Alpaydin and Kaynak 1998): 1,797 pictures of 8 × 8 pixels, scaled to
[0, 1]. The noise stands at each of the places of Lecuyer et al. 2019, Section III.B; what precedes
it is linear and was trained without noise, what follows it is trained on noisy outputs.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from dpcore.learn.packages import one_thread, quiet, sklearn
from dpcore.learn.pixeldp.noise_layer import Accounting
from dpcore.learn.pixeldp.noisy_classifier import NoisyClassifier, layer_of, train_noisy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]

_TEST_EVERY = 4  # every fourth picture is tested on
_HIDDEN = 32


class Place(StrEnum):
    """Where the noise is added."""

    PICTURE = "picture"
    """To the pixels."""
    FIRST_LAYER = "first-layer"
    """After the first layer of a network, before its rectifier."""
    AUTO_ENCODER = "auto-encoder"
    """After the encoder of a linear auto-encoder (principal components), which is decoded then."""


@dataclass(frozen=True, eq=False)
class Digits:
    """Pictures with labels, divided; read-only.

    Attributes:
        train: shape (k, 64), in [0, 1].
        train_labels: 0 to 9, shape (k,).
        test: shape (t, 64).
        test_labels: shape (t,).
    """

    train: FloatArray
    train_labels: IntArray
    test: FloatArray
    test_labels: IntArray

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for array in (self.train, self.train_labels, self.test, self.test_labels):
            array.setflags(write=False)


@functools.cache
def digits() -> Digits:
    """The pictures; 1,347 to train on, 450 to test on.

    Raises:
        MissingPackageError: scikit-learn is not installed.
    """
    found = sklearn("datasets").load_digits()
    pictures, labels = found.data / 16.0, found.target.astype(np.int64)
    test = np.arange(len(labels)) % _TEST_EVERY == 0
    return Digits(pictures[~test], labels[~test], pictures[test], labels[test])


def first_layer(place: Place, data: Digits, rng: np.random.Generator) -> FloatArray | None:
    """What precedes the noise, W of shape (m, 64); None for the picture itself."""
    if Place(place) is Place.PICTURE:
        return None
    if Place(place) is Place.AUTO_ENCODER:
        # The mean that principal components leave out is a constant shift: it is added back.
        found = sklearn("decomposition").PCA(_HIDDEN, svd_solver="full").fit(data.train)
        return np.array(found.components_)
    network = sklearn("neural_network").MLPClassifier(
        (_HIDDEN,), max_iter=40, random_state=int(rng.integers(2**31))
    )
    with quiet(), one_thread():
        network.fit(data.train, data.train_labels)
    return np.array(network.coefs_[0].T)


def train_digits(
    accounting: Accounting,
    scale: float,
    attack: float,
    rng: np.random.Generator,
    *,
    place: Place = Place.PICTURE,
    data: Digits | None = None,
) -> NoisyClassifier:
    """A classifier of digits for noise of one scale; logistic regression on noisy outputs.

    Args:
        accounting: the noise.
        scale: see `dpcore.learn.pixeldp.noisy_classifier.layer_of`.
        attack: p, the norm of an attack.
        rng: of the network and of the noise that is trained on.
        place: of the noise.
        data: pictures; `digits` if None.

    Raises:
        CorpusError: only one class occurs.
        MissingPackageError: scikit-learn is not installed.
        ParameterError: the scale or the norm is outside its range.
    """
    data = digits() if data is None else data
    matrix = first_layer(place, data, rng)
    layer = layer_of(accounting, scale, attack, data.train.shape[1], matrix)
    rectified = Place(place) is Place.FIRST_LAYER
    return train_noisy(layer, data.train, data.train_labels, rng, rectified=rectified)
