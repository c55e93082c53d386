"""The training loop of every network: minibatches, early stop, checkpoints, resume.

A network is a dictionary of named tensors and a loss. The examples of a batch, and everything else
that is drawn, come from a numpy generator keyed by the seed and the epoch: a run that was stopped
and resumed gives the bits of an uninterrupted one (on one machine, with as many threads).
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import IntArray
from dpcore.errors import ParameterError
from dpcore.learn.checkpoint import Checkpoint, check_shapes, load, save
from dpcore.learn.tensors import array, put, threads
from dpcore.lexicon.progress import Progress, silent
from dpcore.noise.streams import check_seed, generator
from dpcore.optional import torch

Tensors = dict[str, Any]


# Settings of the training loop, the tasks that it takes, and its results.


@dataclass(frozen=True)
class Training:
    """Settings of Adam and of the loop.

    Attributes:
        epochs: maximum number of passes over the examples.
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
    """Moment of training at a batch.

    Attributes:
        epoch: its number from 0, plus the share of it that is over: 0 ≤ epoch < epochs.
        rng: for the draws of the loss (dropout, noise); the batches are drawn elsewhere.
    """

    epoch: float
    rng: np.random.Generator


class Task(Protocol):
    """A training task: tensors that need gradients, and losses as functions of them."""

    @property
    def parameters(self) -> Tensors:
        """Trained tensors by name; the loop changes them in place."""

    @property
    def size(self) -> int:
        """Number of training examples."""

    def loss(self, rows: IntArray, step: Step) -> Any:
        """Return the mean loss of some training examples, a scalar tensor."""

    def held_out(self, step: Step) -> float:
        """Return the loss on the held-out examples after an epoch; lower is better."""


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
class TrainingRecord:
    """Record of a training; the task's tensors are those of the best epoch.

    Attributes:
        epochs: one entry per pass.
        best: number of the epoch whose tensors were kept.
        stopped: True if it ended before all epochs were run.
    """

    epochs: tuple[Epoch, ...]
    best: int
    stopped: bool

    @property
    def seconds(self) -> float:
        """Median seconds of an epoch."""
        return float(np.median([epoch.seconds for epoch in self.epochs]))


_STATE = "training-state"
_MOMENTS = ("exp_avg", "exp_avg_sq")


@dataclass
class _State:
    history: list[Epoch] = field(default_factory=list)
    best: int = -1
    least: float = math.inf


def fit(
    task: Task,
    settings: Training,
    *,
    state: Path | None = None,
    vocabulary: str = "",
    progress: Progress = silent,
) -> TrainingRecord:
    """Train until the epochs are over or the held-out loss stops falling.

    Args:
        task: its tensors are changed in place, and end as those of the best epoch.
        settings: of the loop.
        state: a `.safetensors` file that is written after every epoch; if it exists, training
            continues from it. None writes nothing.
        vocabulary: fingerprint of the lexicon, written into the file and compared with it.
        progress: called with ("training", batches done, batches at most).

    Raises:
        MissingPackageError: torch or safetensors is not installed.
        ParameterError: there is no example, the loss is not a number, or the file is of another
            run.
    """
    if not task.size >= 1:
        raise ParameterError("there is no example to train on")
    with threads(settings.threads):
        return _Loop(task, settings, state, vocabulary, progress).run()


class _Loop:
    def __init__(
        self,
        task: Task,
        settings: Training,
        path: Path | None,
        vocabulary: str,
        progress: Progress,
    ) -> None:
        self.task, self.settings, self.path = task, settings, path
        self.vocabulary, self.progress = vocabulary, progress
        self.batches = -(-task.size // settings.batch)
        self.names = sorted(task.parameters)
        # torch would choose `foreach` by the device; so every device steps tensor by tensor.
        self.optimizer = torch().optim.Adam(
            [task.parameters[name] for name in self.names],
            lr=settings.rate,
            weight_decay=settings.decay,
            foreach=False,
        )
        self.state = _State()
        self.kept = self.copies()

    def run(self) -> TrainingRecord:
        if self.path is not None and self.path.is_file():
            self.resume(self.path)
        settings, state = self.settings, self.state
        while len(state.history) < settings.epochs and not self.over():
            number = len(state.history)
            loss, seconds = self.pass_over(number)
            step = Step(number + 1.0, generator(settings.seed, "held-out", number))
            held_out = float(self.task.held_out(step))
            if not math.isfinite(loss + held_out):
                raise ParameterError(
                    f"the loss of epoch {number + 1} is no number; take a smaller learning rate "
                    f"than {settings.rate:g} or clip the gradients"
                )
            state.history.append(Epoch(number, loss, held_out, seconds))
            # Before `first` losses are not comparable: the newest tensors are kept, and no number.
            if number < settings.first or held_out < state.least:
                state.best = number
                state.least = held_out if number >= settings.first else math.inf
                self.kept = self.copies()
            # Last of all: an existing file always holds whole epochs, with their judgement.
            if self.path is not None:
                self.write(self.path)
        put(self.task.parameters, self.kept)
        early = len(state.history) < settings.epochs
        return TrainingRecord(tuple(state.history), state.best, early)

    def over(self) -> bool:
        patience = self.settings.patience
        return patience is not None and len(self.state.history) - 1 - self.state.best >= patience

    def pass_over(self, number: int) -> tuple[float, float]:
        settings, task = self.settings, self.task
        # Keyed by the epoch, so that a resumed run needs no state of a generator from the file.
        rng = generator(settings.seed, "epoch", number)
        order = generator(settings.seed, "order", number).permutation(task.size)
        start, total = time.perf_counter(), 0.0
        for i in range(self.batches):
            rows = order[i * settings.batch : (i + 1) * settings.batch]
            self.optimizer.zero_grad(set_to_none=True)
            loss = task.loss(rows, Step(number + i / self.batches, rng))
            loss.backward()
            if settings.clip is not None:
                torch().nn.utils.clip_grad_norm_(list(task.parameters.values()), settings.clip)
            self.optimizer.step()
            total += float(loss.detach()) * rows.size  # the last batch may be smaller
            self.progress("training", number * self.batches + i + 1, settings.epochs * self.batches)
        return total / task.size, time.perf_counter() - start

    def copies(self) -> dict[str, NDArray[Any]]:
        return {name: array(self.task.parameters[name]).copy() for name in self.names}

    def described(self) -> dict[str, Any]:
        # A resumed run may differ in the number of epochs and threads; all else must be the same.
        kept = {
            name: value
            for name, value in asdict(self.settings).items()
            if name not in ("epochs", "threads")
        }
        return {**kept, "size": self.task.size}

    def write(self, path: Path) -> None:
        tensors = {f"now.{name}": value for name, value in self.copies().items()}
        tensors |= {f"best.{name}": value for name, value in self.kept.items()}
        moments = self.optimizer.state_dict()["state"]
        for i, name in enumerate(self.names):
            tensors |= {f"{moment}.{name}": array(moments[i][moment]) for moment in _MOMENTS}
        facts = {
            "history": [asdict(epoch) for epoch in self.state.history],
            "best": self.state.best,
            "least": self.state.least if math.isfinite(self.state.least) else None,  # JSON has no ∞
            "steps": len(self.state.history) * self.batches,
        }
        save(path, Checkpoint(_STATE, self.described(), tensors, self.vocabulary, facts))

    def resume(self, path: Path) -> None:
        saved = load(path, architecture=_STATE)
        if dict(saved.settings) != self.described() or saved.vocabulary != self.vocabulary:
            raise ParameterError(
                f"{path.name[:60]!r} was begun with other settings, examples or another "
                "vocabulary; give those again, or remove the file to start again"
            )
        now = {name: tuple(value.shape) for name, value in self.task.parameters.items()}
        parts = ("now", "best", *_MOMENTS)
        check_shapes(saved, {f"{part}.{name}": now[name] for part in parts for name in self.names})
        group = {
            part: {name: saved.tensors[f"{part}.{name}"] for name in self.names} for part in parts
        }
        put(self.task.parameters, group["now"])
        self.kept = group["best"]
        tensor = torch().tensor
        # Adam divides its moments by 1 − βᵗ: without the number of steps t it would start over.
        optimizer_state = self.optimizer.state_dict()
        optimizer_state["state"] = {
            i: {
                "step": tensor(float(saved.facts["steps"])),
                **{moment: tensor(group[moment][name].copy()) for moment in _MOMENTS},
            }
            for i, name in enumerate(self.names)
        }
        self.optimizer.load_state_dict(optimizer_state)
        least = saved.facts["least"]
        history = [Epoch(**fields) for fields in saved.facts["history"]]
        best = int(saved.facts["best"])
        self.state = _State(history, best, math.inf if least is None else least)
