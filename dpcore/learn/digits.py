"""Handwritten digits as the picture that people know: classifiers with a noise layer.

scikit-learn's digits (UCI, Alpaydin and Kaynak 1998): 1,797 pictures of 8 × 8 pixels, scaled to
[0, 1]. The noise stands at each of the places of Lecuyer et al. 2019, Section III.B; what precedes
it is linear and was trained without noise, what follows it is trained on noisy outputs.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import CorpusError, ParameterError
from dpcore.learn.noise_layer import Accounting, NoiseLayer
from dpcore.learn.packages import quiet, sklearn

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]

_TEST_EVERY = 4  # every fourth picture is tested on
_HIDDEN = 32
_COPIES = 4  # noisy copies of a picture that are trained on


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


@dataclass(frozen=True, eq=False)
class NoisyClassifier:
    """A noise layer, and a classifier of what it releases.

    Attributes:
        layer: the noise.
        place: where it stands.
    """

    layer: NoiseLayer
    place: Place
    _model: Any

    def scores(self, outputs: FloatArray) -> FloatArray:
        """Probability of each class for outputs of the layer: shape (k, m) to (k, classes)."""
        return np.asarray(self._model.predict_proba(_after(self.place, outputs)))


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
    return np.array(_fitted(network, data.train, data.train_labels).coefs_[0].T)


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
        scale: in units of the sensitivity Δ_{p,q}: a shift of the picture by `scale` moves the
            noise's input by at most one b or σ, wherever the noise stands.
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
    if not np.unique(data.train_labels).size >= 2:
        raise CorpusError("a classifier needs pictures of at least two classes to be trained on")
    matrix = first_layer(place, data, rng)
    dimension = data.train.shape[1]
    unit = NoiseLayer(accounting, 1.0, attack, dimension, matrix)
    if not 0 < scale < np.inf:
        raise ParameterError(f"the scale of the noise must be a finite number > 0, got {scale}")
    layer = NoiseLayer(accounting, scale * unit.sensitivity, attack, dimension, matrix)
    clean = np.repeat(layer.clean(data.train), _COPIES, axis=0)
    model = sklearn("linear_model").LogisticRegression(max_iter=200)
    noisy = _after(place, layer.noisy(clean, rng))
    _fitted(model, noisy, np.repeat(data.train_labels, _COPIES))
    return NoisyClassifier(layer, Place(place), model)


def labels_known(model: NoisyClassifier, labels: ArrayLike) -> IntArray:
    """Labels as places among the classes that the classifier knows.

    Raises:
        CorpusError: a label is of a class that it was not trained on.
    """
    classes = np.asarray(model._model.classes_)
    truth = np.asarray(labels, dtype=np.int64)
    missing = sorted(set(truth.tolist()) - set(classes.tolist()))
    if missing:
        raise CorpusError(
            f"the classifier was trained without class {missing[0]}, so it cannot be tested on it; "
            "train on all classes, or leave it out of the test"
        )
    return np.asarray(np.searchsorted(classes, truth), dtype=np.int64)


def _after(place: Place, outputs: FloatArray) -> FloatArray:
    """What stands between the noise and the regression; a decoder that is linear is part of it."""
    return np.maximum(outputs, 0.0) if place is Place.FIRST_LAYER else outputs


def _fitted(model: Any, inputs: FloatArray, labels: IntArray) -> Any:
    with quiet():
        return model.fit(inputs, labels)
