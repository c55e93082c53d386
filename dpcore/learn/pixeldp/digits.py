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
    from dpcore.arrays import FloatArray, IntArray
    from dpcore.learn.pixeldp.noise_layer import NoiseLayer


WIDTH = 8
"""Numbers in a line of what is looked at: a picture has as many lines, a first layer fewer."""
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
    collection = sklearn("datasets").load_digits()
    pictures, labels = collection.data / 16.0, collection.target.astype(np.int64)  # 0 to 16
    test = np.arange(len(labels)) % _TEST_EVERY == 0
    return Digits(pictures[~test], labels[~test], pictures[test], labels[test])


def first_layer(place: Place, data: Digits, rng: np.random.Generator) -> FloatArray | None:
    """What precedes the noise, W of shape (m, 64); None for the picture itself."""
    if Place(place) is Place.PICTURE:
        return None
    if Place(place) is Place.AUTO_ENCODER:
        # The mean that principal components leave out is a constant shift: it is added back.
        analysis = sklearn("decomposition").PCA(_HIDDEN, svd_solver="full").fit(data.train)
        return np.array(analysis.components_)
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


@dataclass(frozen=True, eq=False)
class Look:
    """The same numbers without and with noise; read-only.

    Attributes:
        clean: shape (lines, `WIDTH`).
        noisy: of the same shape.
    """

    clean: FloatArray
    noisy: FloatArray

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        self.clean.setflags(write=False)
        self.noisy.setflags(write=False)


def look_at(
    layer: NoiseLayer,
    place: Place,
    picture: FloatArray,
    rng: np.random.Generator,
    data: Digits | None = None,
) -> Look:
    """One picture, and one draw of the noise on it.

    The picture itself; what the decoder of the auto-encoder makes of the noisy code; or the units
    of the first layer after the rectifier.

    Args:
        layer: the noise, at `place`.
        place: where it stands.
        picture: shape (64,).
        rng: of the noise.
        data: pictures that the auto-encoder was made from; `digits` if None.
    """
    clean = layer.clean(picture[None])
    outputs = np.concatenate((clean, layer.noisy(clean, rng)))
    if Place(place) is Place.FIRST_LAYER:
        outputs = np.maximum(outputs, 0.0)
    elif layer.matrix is not None:
        mean = (digits() if data is None else data).train.mean(axis=0)
        # The code is W·x, not W·(x − mean): what the components leave out of the mean is constant.
        left_out = mean - (layer.matrix @ mean) @ layer.matrix
        outputs = outputs @ layer.matrix + left_out
    lines = outputs.reshape(2, -1, WIDTH)
    return Look(lines[0].copy(), lines[1].copy())
