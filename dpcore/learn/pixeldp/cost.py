"""Cost of a noise layer in a training step, against the same network without it (needs torch).

A step is forward, backward and Adam on one minibatch of digits. Steps with and without the layer
alternate in one run and are timed in processor time, so that other load affects both alike; the
cost is the median of the ratios of neighbouring steps. With the layer, a step draws the noise and
holds the sensitivity of the first map at 1 (`dpcore.learn.pixeldp.noise_layer`); an auto-encoder is
part of the training.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.errors import ParameterError
from dpcore.learn.intervals import Median, median_interval
from dpcore.learn.pixeldp.digits import CODING, Network, Place, digits
from dpcore.learn.pixeldp.noise_layer import Accounting
from dpcore.learn.pixeldp.training import added_noise
from dpcore.learn.tensors import threads, torch_generator
from dpcore.optional import torch

_BATCH = 64
_BEFORE = 5  # warm-up pairs of steps, not counted


@dataclass(frozen=True)
class StepCost:
    """Processor seconds of a training step; on an idle machine equal to wall-clock seconds.

    Attributes:
        without: of the network without noise layer.
        with_layer: of the network with it.
        ratio: of the second to the first, for neighbouring steps.
    """

    without: Median
    with_layer: Median
    ratio: Median


def step_cost(
    place: Place,
    accounting: Accounting,
    channels: int,
    steps: int,
    rng: np.random.Generator,
) -> StepCost:
    """Time training steps with and without a noise layer, on one thread.

    Args:
        place: of the noise.
        accounting: the noise; an attack is measured in its norm.
        channels: of the first convolution; the second one has twice as many.
        steps: of each kind, 1 to 100,000.
        rng: of weights, minibatches and noise.

    Raises:
        MissingPackageError: torch or scikit-learn is not installed.
        ParameterError: an argument is outside its range.
    """
    if not 1 <= steps <= 100_000:
        raise ParameterError(f"steps that are timed: 1 to 100,000, got {steps}")
    data = digits()
    pictures = torch().from_numpy(data.train.astype(np.float32))
    truth = torch().from_numpy(np.array(data.train_labels))
    network = Network(place, accounting.norm, accounting, 10, channels)
    noise = network.training_noise(0.5)
    weights = [network.start(torch_generator(rng)) for _ in range(2)]
    # Adam steps every weight that it is given: those of the auto-encoder must not count for the
    # plain network.
    plain_weights = {n: w for n, w in weights[0].items() if not n.startswith(CODING)}

    def plain(rows: Any) -> Any:
        return network.plain_logits(plain_weights, pictures[rows])

    def layered(rows: Any) -> Any:
        clean = network.released(weights[1], pictures[rows])
        return network.logits(weights[1], added_noise(noise, clean, rng))

    kinds = [_timed_step(plain, plain_weights, truth), _timed_step(layered, weights[1], truth)]
    seconds = np.empty((steps, 2))
    with threads(1):
        for i in range(-_BEFORE, steps):
            rows = rng.integers(len(pictures), size=_BATCH)
            # Each kind goes first in every other pair, because the first one warms the caches.
            for kind in (0, 1) if i % 2 else (1, 0):
                seconds[max(i, 0), kind] = kinds[kind](rows)
    return StepCost(
        median_interval(seconds[:, 0]),
        median_interval(seconds[:, 1]),
        median_interval(seconds[:, 1] / seconds[:, 0]),
    )


def _timed_step(
    logits: Callable[[Any], Any], weights: dict[str, Any], truth: Any
) -> Callable[[Any], float]:
    """Return a function that trains one step on some rows and returns its CPU seconds."""
    optimizer = torch().optim.Adam(list(weights.values()), lr=2e-3, foreach=False)

    def step(rows: Any) -> float:
        start = time.process_time()
        optimizer.zero_grad(set_to_none=True)
        torch().nn.functional.cross_entropy(logits(rows), truth[rows]).backward()
        optimizer.step()
        return time.process_time() - start

    return step
