"""Handwritten digits, and classifiers of them with a noise layer.

scikit-learn's digits (UCI, Alpaydin and Kaynak 1998): 1,797 pictures of 8 × 8 pixels, scaled to
[0, 1]. The noise is at each of the places of Lecuyer et al. 2019, Section III.B. In `train_digits`
the map before the noise is linear and was trained without noise, and the classifier after it is
trained on noisy outputs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.learn.pixeldp.noise_layer import (
    Accounting,
    BoundedMap,
    NoiseLayer,
    NoisyClassifier,
    layer_of,
    train_noisy,
)
from dpcore.optional import one_thread, quiet, sklearn, torch

Weights = dict[str, Any]


WIDTH = 8
"""Numbers per displayed line: a picture has as many lines, a first layer fewer."""
LEVELS = 16
"""A pixel is a whole number of sixteenths, from 0 (white) to 1 (black)."""
_TEST_EVERY = 4  # every fourth picture is for the test
_HIDDEN = 32


class Place(StrEnum):
    """Place where the noise is added."""

    PICTURE = "picture"
    """To the pixels."""
    FIRST_LAYER = "first-layer"
    """After the first layer of a network, before its rectifier."""
    AUTO_ENCODER = "auto-encoder"
    """After the encoder of a linear auto-encoder (principal components), before its decoder."""


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
    """Return the pictures: 1,347 to train on, 450 to test on.

    Raises:
        MissingPackageError: scikit-learn is not installed.
    """
    collection = sklearn("datasets").load_digits()
    pictures, labels = collection.data / LEVELS, collection.target.astype(np.int64)
    test = np.arange(len(labels)) % _TEST_EVERY == 0
    return Digits(pictures[~test], labels[~test], pictures[test], labels[test])


_SIGNS = "0123456789abcdefg"
"""Sign of each level of a pixel, in the text of a picture."""


def picture_text(picture: FloatArray) -> str:
    """Write a picture of shape (64,) as one sign a pixel, the inverse of `picture_of`."""
    return "".join(_SIGNS[round(level)] for level in (picture * LEVELS).tolist())


def picture_of(text: str) -> FloatArray:
    """Return the picture of a text, shape (64,), read-only.

    Raises:
        ParameterError: it is not one of 64 signs from 0 (white) to 9 and a to g (black).
    """
    levels = [_SIGNS.find(sign) for sign in text]
    if len(levels) != WIDTH * WIDTH or min(levels) < 0:
        raise ParameterError(
            f"a picture is written as {WIDTH * WIDTH} signs from 0 to 9 and a to g, "
            f"got {len(levels)} signs"
        )
    picture = np.array(levels) / LEVELS
    picture.setflags(write=False)
    return picture


def first_layer(place: Place, data: Digits, rng: np.random.Generator) -> FloatArray | None:
    """Return the map before the noise, W of shape (m, 64); None for the picture itself."""
    if Place(place) is Place.PICTURE:
        return None
    if Place(place) is Place.AUTO_ENCODER:
        # Principal components leave out the mean, a constant shift, which is added back.
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
    """Train a classifier of digits for noise of one scale (logistic regression on noisy outputs).

    Args:
        accounting: the noise.
        scale: see `dpcore.learn.pixeldp.noise_layer.layer_of`.
        attack: p, the norm of an attack.
        rng: of the network and of the noise in training.
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
    """Return one picture without noise and with one draw of it.

    The numbers are the picture itself, the decoded picture of the auto-encoder, or the units of the
    first layer after the rectifier.

    Args:
        layer: the noise, at `place`.
        place: of the noise.
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
        # The code is W·x, not W·(x − mean): the mean's part outside the components is constant.
        left_out = mean - (layer.matrix @ mean) @ layer.matrix
        outputs = outputs @ layer.matrix + left_out
    lines = outputs.reshape(2, -1, WIDTH)
    return Look(lines[0].copy(), lines[1].copy())


# Network of PixelDP for digits: weights by name, and the parts before and after the noise.
#
# A convolution of 3 × 3 with C channels, a second one of stride 2 with 2C, and a dense layer, with
# rectifiers between them; an auto-encoder, where there is one, precedes all of it. The weights are
# plain tensors, so that the shared training loop trains them.


SIDE = 8
PIXELS = SIDE * SIDE
_KERNEL = 3
_CODE, _PAINTED = 32, 128
CODING = ("code", "decode", "paint")
"""Prefixes of the names of an auto-encoder's weights."""


def random_weights(shapes: Mapping[str, tuple[int, ...]], generator: Any) -> Weights:
    """Draw initial weights, with a bias of 0 for each of them.

    Args:
        shapes: of the weights by name, outputs first.
        generator: a `torch.Generator`.

    Returns:
        Normal entries of variance 2/inputs, which keep the size of activations across a rectifier
        (He et al. 2015, Section 2.2).
    """
    weights: Weights = {}
    for name, shape in shapes.items():
        size = math.sqrt(2.0 / math.prod(shape[1:]))
        drawn = size * torch().randn(shape, generator=generator)
        weights[name] = drawn.requires_grad_()
        weights[f"{name}-bias"] = torch().zeros(shape[0], requires_grad=True)
    return weights


@dataclass(frozen=True)
class Network:
    """Settings of the network and its noise layer.

    Attributes:
        place: of the noise.
        attack: p, the norm of an attack on the picture.
        accounting: the noise.
        classes: number of classes.
        channels: C of the first convolution, 1 to 512.

    Raises:
        ParameterError: there are too many channels, or the place cannot be certified against this
            norm.
    """

    place: Place
    attack: float
    accounting: Accounting
    classes: int
    channels: int = 8

    def __post_init__(self) -> None:
        """Check the settings."""
        object.__setattr__(self, "place", Place(self.place))
        object.__setattr__(self, "accounting", Accounting(self.accounting))
        if not 1 <= self.channels <= 512:
            raise ParameterError(f"a convolution has 1 to 512 channels, got {self.channels}")
        self.before  # noqa: B018 - refuses norms that it cannot bound, before hours of training

    @property
    def before(self) -> BoundedMap | None:
        """Linear map before the noise; None for noise in the picture."""
        if self.place is Place.PICTURE:
            return None
        side = SIDE if self.place is Place.FIRST_LAYER else 0
        return BoundedMap(self.attack, self.accounting.norm, side)

    @property
    def mapped(self) -> str:
        """Name of the weights of the map before the noise."""
        return "first" if self.place is Place.FIRST_LAYER else "code"

    @property
    def width(self) -> int:
        """Number of noisy coordinates per picture."""
        widths = {
            Place.PICTURE: PIXELS,
            Place.FIRST_LAYER: PIXELS * self.channels,
            Place.AUTO_ENCODER: _CODE,
        }
        return widths[self.place]

    def training_noise(self, scale: float) -> NoiseLayer:
        """Return the noise for training, with a scale in units of the bound that is held at 1."""
        # Noise in the picture has no map before it that training could enlarge: its exact
        # sensitivity counts. Elsewhere W/R has at most 1, and the noise is scaled to that.
        if self.place is Place.PICTURE:
            return layer_of(self.accounting, scale, self.attack, PIXELS)
        return NoiseLayer(self.accounting, scale, self.accounting.norm, self.width)

    def start(self, generator: Any) -> Weights:
        """Draw initial weights; those of an auto-encoder only where there is one."""
        c = self.channels
        shapes: dict[str, tuple[int, ...]] = {
            "first": (c, 1, _KERNEL, _KERNEL),
            "second": (2 * c, c, _KERNEL, _KERNEL),
            "last": (self.classes, 2 * c * PIXELS // 4),
        }
        if self.place is Place.AUTO_ENCODER:
            shapes |= {"code": (_CODE, PIXELS), "decode": (_PAINTED, _CODE)}
            shapes |= {"paint": (PIXELS, _PAINTED)}
        weights = random_weights(shapes, generator)
        # A bias of the code would be a constant under the noise: the decoder's bias does its work.
        weights.pop("code-bias", None)
        return weights

    def released(self, weights: Weights, pictures: Any) -> Any:
        """Map pictures (k, 64) to the noise's input (k, width); its sensitivity is ≤ 1."""
        before = self.before
        if before is None:
            return pictures
        return before.apply(before.bounded(weights[self.mapped]), pictures)

    def logits(self, weights: Weights, outputs: Any) -> Any:
        """Map outputs of the noise layer (k, width) to logits (k, classes)."""
        if self.place is Place.FIRST_LAYER:
            # The bias comes after the noise: it is post-processing, not part of the bounded map.
            maps = outputs.reshape(-1, self.channels, SIDE, SIDE)
            return self._rest(weights, maps + weights["first-bias"][:, None, None])
        if self.place is Place.AUTO_ENCODER:
            outputs = self.decoded(weights, outputs)
        return self._rest(weights, self._first(weights, outputs))

    def plain_logits(self, weights: Weights, pictures: Any) -> Any:
        """Return the logits without noise, bound and auto-encoder (layer-free baseline)."""
        return self._rest(weights, self._first(weights, pictures))

    def decoded(self, weights: Weights, codes: Any) -> Any:
        """Decode codes of shape (k, 32) to pictures (k, 64)."""
        linear, relu = torch().nn.functional.linear, torch().relu
        hidden = relu(linear(codes, weights["decode"], weights["decode-bias"]))
        return linear(hidden, weights["paint"], weights["paint-bias"])

    def _first(self, weights: Weights, pictures: Any) -> Any:
        maps = pictures.reshape(-1, 1, SIDE, SIDE)
        conv2d = torch().nn.functional.conv2d
        return conv2d(maps, weights["first"], weights["first-bias"], padding="same")

    def _rest(self, weights: Weights, maps: Any) -> Any:
        functional, relu = torch().nn.functional, torch().relu
        second = functional.conv2d(
            relu(maps), weights["second"], weights["second-bias"], stride=2, padding=_KERNEL // 2
        )
        return functional.linear(relu(second).flatten(1), weights["last"], weights["last-bias"])
