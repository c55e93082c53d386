"""What the training loop is told, and what it tells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dpcore.errors import ParameterError
from dpcore.noise.streams import check_seed

if TYPE_CHECKING:
    from dpcore.arrays import IntArray

    Tensors = dict[str, Any]


@dataclass(frozen=True)
class Training:
    """Settings of Adam and of the loop.

    Attributes:
        epochs: passes over the examples at most.
        batch: examples of a minibatch.
        rate: learning rate.
        decay: weight of ½‖θ‖² in the loss (weight decay as in Adam).
        clip: largest norm of a gradient; None leaves it.
        patience: epochs without a smaller held-out loss after which training stops; None: never.
        first: the first epoch (from 0) whose held-out loss counts, for a loss whose meaning changes
            until then.
        seed: of everything that is drawn.
        threads: of torch; None leaves its number.
    """

    epochs: int = 10
    batch: int = 32
    rate: float = 1e-3
    decay: float = 0.0
    clip: float | None = None
    patience: int | None = None
    first: int = 0
    seed: int = 0
    threads: int | None = None

    def __post_init__(self) -> None:
        """Check the settings."""
        check_seed(self.seed)
        if not 1 <= self.epochs <= 100_000:
            raise ParameterError(f"training has 1 to 100,000 epochs, got {self.epochs}")
        if not 1 <= self.batch <= 1_000_000:
            raise ParameterError(f"a batch has 1 to 1,000,000 examples, got {self.batch}")
        if not 0 < self.rate < math.inf:
            raise ParameterError(f"the learning rate is a finite number > 0, got {self.rate}")
        if not 0 <= self.decay < math.inf:
            raise ParameterError(f"weight decay is a finite number >= 0, got {self.decay}")
        if self.clip is not None and not 0 < self.clip < math.inf:
            raise ParameterError(f"a gradient is clipped at a number > 0, got {self.clip}")
        if self.patience is not None and not self.patience >= 1:
            raise ParameterError(f"patience is at least 1 epoch, got {self.patience}")
        if not 0 <= self.first < self.epochs:
            raise ParameterError(f"the first epoch that counts is one of them, got {self.first}")
        if self.threads is not None and not 1 <= self.threads <= 1024:
            raise ParameterError(f"torch uses 1 to 1,024 threads, got {self.threads}")


@dataclass(frozen=True)
class Step:
    """Where a batch stands.

    Attributes:
        epoch: its number from 0, and how much of it is over: 0 ≤ epoch < epochs.
        rng: for what the loss draws (dropout, noise); the batches are drawn elsewhere.
    """

    epoch: float
    rng: np.random.Generator


class Task(Protocol):
    """What is trained: tensors that need gradients, and losses as functions of them."""

    @property
    def parameters(self) -> Tensors:
        """The trained tensors by name; the loop changes them in place."""

    @property
    def size(self) -> int:
        """Number of training examples."""

    def loss(self, rows: IntArray, step: Step) -> Any:
        """Mean loss of some training examples: a scalar tensor."""

    def held_out(self, step: Step) -> float:
        """Loss on the held-out examples after an epoch; lower is better."""


@dataclass(frozen=True)
class Epoch:
    """One pass over the examples.

    Attributes:
        number: from 0.
        loss: mean training loss while the weights moved.
        held_out: loss afterwards.
        seconds: wall-clock of the pass alone, without the held-out loss and the checkpoint.
    """

    number: int
    loss: float
    held_out: float
    seconds: float


@dataclass(frozen=True)
class Fitted:
    """How training went; the task's tensors are those of the best epoch.

    Attributes:
        epochs: one entry a pass.
        best: number of the epoch whose tensors were kept.
        stopped: whether it ended before all epochs were run.
    """

    epochs: tuple[Epoch, ...]
    best: int
    stopped: bool

    @property
    def seconds(self) -> float:
        """Median seconds of an epoch."""
        return float(np.median([epoch.seconds for epoch in self.epochs]))
