"""PixelDP as published: training of a network through its noise layer (needs torch).

Lecuyer et al. 2019, Section III. The certificate depends only on the trained first map and on the
noise at prediction: `dpcore.learn.pixeldp.noise_layer` computes the exact sensitivity of the first
and draws the second, as for the classifiers without torch, and everything after them is
post-processing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import CorpusError
from dpcore.learn.pixeldp.digits import CODING, Digits, Network, Place, Weights, digits
from dpcore.learn.pixeldp.noise_layer import Accounting, NoiseLayer, NoisyClassifier, layer_of
from dpcore.learn.tensors import array, torch_generator
from dpcore.learn.training import Step, Training, fit
from dpcore.optional import torch

Loss = Callable[["IntArray", np.random.Generator], Any]
"""Mean loss of some examples, with a generator for the noise."""

_AT_ONCE = 4_096  # noisy inputs that the network reads at a time


class Regime(StrEnum):
    """Part of the network that is trained under the noise."""

    JOINT = "joint"
    """Everything, from the first map on."""
    SEPARATE = "separate"
    """The part after the first convolution or the auto-encoder, which stay fixed."""


@dataclass(frozen=True, eq=False)
class ClassTensors:
    """Probabilities from a network's logits, with the interface of scikit-learn.

    Attributes:
        logits: outputs of the noise layer to scores of the classes, tensor to tensor.
    """

    logits: Callable[[Any], Any]

    def predict_proba(self, outputs: ArrayLike) -> FloatArray:
        """Return probabilities of the classes, shape (k, width) to (k, classes)."""
        # Softmax in float64: votes compare classes whose scores may differ in the last digits.
        x = np.asarray(outputs)
        parts = []
        with torch().no_grad():
            for start in range(0, len(x), _AT_ONCE):
                part = torch().from_numpy(x[start : start + _AT_ONCE].astype(np.float32))
                parts.append(array(torch().softmax(self.logits(part).double(), dim=1)))
        return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class LossTask:
    """A loss for the training loop, with nothing held out: the last epoch is kept.

    Attributes:
        parameters: the trained tensors.
        size: number of examples.
        mean_loss: of some examples.
    """

    parameters: Weights
    size: int
    mean_loss: Loss

    def loss(self, rows: IntArray, step: Step) -> Any:
        """Return the mean loss of some training examples, a scalar tensor."""
        return self.mean_loss(rows, step.rng)

    def held_out(self, step: Step) -> float:
        """Return a value that falls from epoch to epoch."""
        return -step.epoch  # nothing is held out, so every epoch must be better than the last one


def added_noise(layer: NoiseLayer, clean: Any, rng: np.random.Generator) -> Any:
    """Add fresh noise of a layer to a tensor; gradients pass, the noise is a constant."""
    # Drawn by the layer itself, in float64: training and prediction have the same noise.
    drawn = layer.noisy(np.zeros(tuple(clean.shape)), rng)
    return clean + torch().from_numpy(drawn).to(clean.dtype)


def train_pixeldp(
    accounting: Accounting,
    scale: float,
    attack: float,
    rng: np.random.Generator,
    *,
    place: Place = Place.PICTURE,
    regime: Regime = Regime.JOINT,
    data: Digits | None = None,
    channels: int = 8,
    epochs: int = 40,
) -> NoisyClassifier:
    """Train a convolutional network for digits with a noise layer.

    Noise in the picture is trained on from random weights. At the other places the network (or the
    auto-encoder alone) is first trained without noise, in both regimes alike. The sensitivity of
    the map before the noise is held at 1 or below while it is trained under noise
    (`dpcore.learn.pixeldp.noise_layer`). The returned layer has the exact one, and noise of `scale`
    times that: where the bound is not exact, a little less than in training.

    Args:
        accounting: the noise.
        scale: b or σ in units of the sensitivity, as for
            `dpcore.learn.pixeldp.digits.train_digits`.
        attack: p, the norm of an attack.
        rng: of the initial weights, the order of the pictures and the noise in training.
        place: of the noise.
        regime: part that is trained under the noise; no difference for noise in the picture.
        data: pictures; `digits` if None.
        channels: of the first convolution.
        epochs: of each training.

    Raises:
        CorpusError: only one class occurs.
        MissingPackageError: torch or scikit-learn is not installed.
        ParameterError: an argument is outside its range.
    """
    data = digits() if data is None else data
    work = _Work(data, place, attack, accounting, channels, epochs, rng)
    network, weights = work.network, work.weights
    noise = network.training_noise(scale)
    fixed: set[str] = set()
    if network.place is Place.AUTO_ENCODER:
        fixed = {name for name in weights if name.startswith(CODING)}
        work.train(fixed, work.restored)
    elif network.place is Place.FIRST_LAYER:
        work.train(set(weights), work.plain)
        fixed = {network.mapped}
    names = set(weights) - (fixed if Regime(regime) is Regime.SEPARATE else set())
    work.train(names, lambda rows, drawn: work.under_noise(noise, rows, drawn))
    return NoisyClassifier(
        layer_of(accounting, scale, attack, data.train.shape[1], _matrix(network, weights)),
        rectified=False,
        classes=work.classes,
        _model=ClassTensors(lambda outputs: network.logits(weights, outputs)),
    )


def train_layer_free(
    rng: np.random.Generator,
    *,
    data: Digits | None = None,
    channels: int = 8,
    epochs: int = 40,
) -> ClassTensors:
    """Train the same network without noise, as a baseline for the noise layer.

    Arguments and errors are as for `train_pixeldp`. Its inputs are pictures, and its columns the
    classes of the training data, ascending.
    """
    data = digits() if data is None else data
    nothing = (Place.PICTURE, 2.0, Accounting.ANALYTIC)
    work = _Work(data, *nothing, channels, epochs, rng)
    work.train(set(work.weights), work.plain)
    return ClassTensors(lambda pictures: work.network.plain_logits(work.weights, pictures))


class _Work:
    """A network, its weights and its pictures."""

    def __init__(
        self,
        data: Digits,
        place: Place,
        attack: float,
        accounting: Accounting,
        channels: int,
        epochs: int,
        rng: np.random.Generator,
    ) -> None:
        self.classes, targets = np.unique(data.train_labels, return_inverse=True)
        if not self.classes.size >= 2:
            raise CorpusError("a classifier needs at least two classes to be trained on")
        self.network = Network(place, attack, accounting, self.classes.size, channels)
        seed = int(rng.integers(2**53))
        self.settings = Training(epochs=epochs, batch=64, rate=2e-3, seed=seed, threads=1)
        self.weights = self.network.start(torch_generator(rng))
        self.pictures = torch().from_numpy(data.train.astype(np.float32))
        self.truth = torch().from_numpy(targets.reshape(-1).astype(np.int64))

    def train(self, names: set[str], loss: Loss) -> None:
        """Train some of the weights; the others are constants."""
        # Also those of an earlier training: an unused gradient would still be computed.
        for name, tensor in self.weights.items():
            tensor.requires_grad_(name in names)
        part = {name: self.weights[name] for name in names}
        fit(LossTask(part, len(self.pictures), loss), self.settings)

    def plain(self, rows: IntArray, _: np.random.Generator) -> Any:
        logits = self.network.plain_logits(self.weights, self.pictures[rows])
        return torch().nn.functional.cross_entropy(logits, self.truth[rows])

    def restored(self, rows: IntArray, _: np.random.Generator) -> Any:
        codes = self.network.released(self.weights, self.pictures[rows])
        again = self.network.decoded(self.weights, codes)
        return (again - self.pictures[rows]).square().mean()

    def under_noise(self, noise: NoiseLayer, rows: IntArray, drawn: np.random.Generator) -> Any:
        clean = self.network.released(self.weights, self.pictures[rows])
        logits = self.network.logits(self.weights, added_noise(noise, clean, drawn))
        return torch().nn.functional.cross_entropy(logits, self.truth[rows])


def _matrix(network: Network, weights: Weights) -> FloatArray | None:
    """Return the matrix of the trained map before the noise."""
    before = network.before
    if before is None:
        return None
    # W/R, the map as it is used; the noise layer computes its exact sensitivity.
    with torch().no_grad():
        return before.matrix(before.bounded(weights[network.mapped]))
