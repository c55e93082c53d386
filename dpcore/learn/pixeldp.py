"""PixelDP as published: a network that is trained through its noise layer (needs torch).

Lecuyer et al. 2019, Section III. The certificate rests on the trained first map and on the noise at
prediction alone: `dpcore.learn.noise_layer` computes the exact sensitivity of the one and draws the
other, as for the classifiers without torch, and everything that follows is post-processing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import CorpusError
from dpcore.learn.digits import Digits, Place, digits
from dpcore.learn.noisy_classifier import NoisyClassifier, layer_of
from dpcore.learn.packages import torch
from dpcore.learn.pixeldp_network import Network
from dpcore.learn.tensors import array, torch_generator
from dpcore.learn.training import fit
from dpcore.learn.training_settings import Training
from dpcore.lexicon.progress import Progress, silent

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from dpcore.learn.noise_layer import Accounting
    from dpcore.learn.pixeldp_network import Weights
    from dpcore.learn.training_settings import Step

    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]

_AT_ONCE = 4_096  # noisy inputs that the network sees at a time


class Regime(StrEnum):
    """What is trained under the noise."""

    JOINT = "joint"
    """Everything, from the first map on."""
    SEPARATE = "separate"
    """What follows the first convolution, or the auto-encoder, which are kept as they are."""


@dataclass(frozen=True, eq=False)
class ClassTensors:
    """Probabilities from a network's logits, with the interface of scikit-learn.

    Attributes:
        logits: outputs of the noise layer to scores of the classes, tensor to tensor.
    """

    logits: Callable[[Any], Any]

    def predict_proba(self, outputs: ArrayLike) -> FloatArray:
        """Shape (k, width) to (k, classes)."""
        x = np.asarray(outputs)
        found = []
        with torch().no_grad():
            for start in range(0, len(x), _AT_ONCE):
                part = torch().from_numpy(x[start : start + _AT_ONCE].astype(np.float32))
                found.append(array(torch().softmax(self.logits(part).double(), dim=1)))
        return np.concatenate(found)


@dataclass(frozen=True, eq=False)
class LossTask:
    """A loss for the training loop, with nothing held out: the last epoch is kept.

    Attributes:
        parameters: what is trained.
        size: number of examples.
        mean_loss: of some examples, with a generator for the noise.
    """

    parameters: Weights
    size: int
    mean_loss: Callable[[IntArray, np.random.Generator], Any]

    def loss(self, rows: IntArray, step: Step) -> Any:
        """Mean loss of some training examples: a scalar tensor."""
        return self.mean_loss(rows, step.rng)

    def held_out(self, step: Step) -> float:
        """Falls from epoch to epoch."""
        return -step.epoch


def added_noise(layer: Any, clean: Any, rng: np.random.Generator) -> Any:
    """Fresh noise of a layer on a tensor; gradients pass, the noise is a constant."""
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
    progress: Progress = silent,
) -> NoisyClassifier:
    """A convolutional network for digits with a noise layer.

    Noise in the picture is trained on from a random start. At the other places the network (or
    the auto-encoder alone) is first trained without noise, in both regimes alike. The sensitivity
    of what comes before the noise is held at 1 or below while it is trained under noise
    (`dpcore.learn.bounded_maps`). The layer that is returned has the exact one, and noise of
    `scale` times that: where the bound is not exact, a little less than was trained on.

    Args:
        accounting: the noise.
        scale: b or σ in units of the sensitivity, as for `dpcore.learn.digits.train_digits`.
        attack: p, the norm of an attack.
        rng: of the start, the order of the pictures and the noise that is trained on.
        place: of the noise.
        regime: what is trained under the noise; both are the same for noise in the picture.
        data: pictures; `digits` if None.
        channels: of the first convolution.
        epochs: of each training.
        progress: called with ("training", batches done, batches).

    Raises:
        CorpusError: only one class occurs.
        MissingPackageError: torch or scikit-learn is not installed.
        ParameterError: an argument is outside its range.
    """
    data = digits() if data is None else data
    classes, targets = np.unique(data.train_labels, return_inverse=True)
    if not classes.size >= 2:
        raise CorpusError("a classifier needs at least two classes to be trained on")
    network = Network(place, attack, accounting, classes.size, channels)
    noise = network.training_noise(scale)
    seed = int(rng.integers(2**53))
    settings = Training(epochs=epochs, batch=64, rate=2e-3, seed=seed, threads=1)
    weights = network.start(torch_generator(rng))
    pictures = torch().from_numpy(data.train.astype(np.float32))
    truth = torch().from_numpy(targets.reshape(-1).astype(np.int64))
    entropy = torch().nn.functional.cross_entropy

    def plain(rows: IntArray, _: np.random.Generator) -> Any:
        return entropy(network.plain_logits(weights, pictures[rows]), truth[rows])

    def restored(rows: IntArray, _: np.random.Generator) -> Any:
        again = network.decoded(weights, network.released(weights, pictures[rows]))
        return (again - pictures[rows]).square().mean()

    def under_noise(rows: IntArray, drawn: np.random.Generator) -> Any:
        noisy = added_noise(noise, network.released(weights, pictures[rows]), drawn)
        return entropy(network.logits(weights, noisy), truth[rows])

    def trained(names: set[str], loss: Callable[[IntArray, np.random.Generator], Any]) -> None:
        part = {name: weights[name] for name in names}
        fit(LossTask(part, len(pictures), loss), settings, progress=progress)

    coded = {name for name in weights if name.startswith(("code", "decode", "paint"))}
    fixed: set[str] = set()
    if network.place is Place.AUTO_ENCODER:
        trained(coded, restored)
        fixed = coded
    elif network.place is Place.FIRST_LAYER:
        trained(set(weights), plain)
        fixed = {"first"}
    for name in fixed if Regime(regime) is Regime.SEPARATE else ():
        weights[name].requires_grad_(False)
    trained({name for name, tensor in weights.items() if tensor.requires_grad}, under_noise)
    return NoisyClassifier(
        layer_of(accounting, scale, attack, data.train.shape[1], _matrix(network, weights)),
        rectified=False,
        classes=classes,
        _model=ClassTensors(lambda outputs: network.logits(weights, outputs)),
    )


def _matrix(network: Network, weights: Weights) -> FloatArray | None:
    """The trained map before the noise."""
    before = network.before
    if before is None:
        return None
    with torch().no_grad():
        return before.matrix(before.bounded(weights[network.mapped]))
