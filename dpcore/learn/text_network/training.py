"""Normal, augmented and certified training of the text networks.

Certified training (Gowal et al. 2018, Jia et al. 2019) minimises

    (1 − κ)·loss(clean scores) + κ·loss(scores of the worst corner of the bounds),

with the box of the first layer at a share ε of its size. ε and κ grow from 0 to their final values
and keep them for the last epochs: started with the whole box, training ends at a constant.
Augmented training (Xu et al. 2021, Section 6.2) adds perturbed copies to the examples and trains as
usual.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import IntArray
from dpcore.errors import CorpusError, ParameterError
from dpcore.learn.corpus import Bags
from dpcore.learn.substitutions import Substitutions
from dpcore.learn.tensors import device_of, torch_generator
from dpcore.learn.text_network.classifier import NetworkClassifier
from dpcore.learn.text_network.network import Shape, least_margins
from dpcore.learn.training import Step, Training, TrainingRecord, fit
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.bulk import outputs_at
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.streams import generator
from dpcore.optional import torch


@dataclass(frozen=True, eq=False)
class Examples:
    """Labelled documents.

    Attributes:
        bags: the texts whose words may be replaced, k of them.
        labels: class of each, shape (k,).
        premises: the other text of each, for an entailment network.
    """

    bags: Bags
    labels: IntArray
    premises: Bags | None = None

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self.bags)

    def part(self, rows: IntArray) -> Examples:
        """Return some of the documents, in the order of `rows`."""
        premises = None if self.premises is None else self.premises.part(rows)
        return Examples(self.bags.part(rows), self.labels[rows], premises)

    def with_copies(self, copies: Sequence[Bags]) -> Examples:
        """Append perturbed copies of the documents, with the same labels."""
        all_bags = (self.bags, *copies)
        ends = np.cumsum([0, *(bags.words.size for bags in all_bags)])
        starts = [bags.offsets[:-1] + end for bags, end in zip(all_bags, ends[:-1], strict=True)]
        bags = Bags(
            np.concatenate([bags.words for bags in all_bags]),
            np.concatenate([*starts, ends[-1:]]),
            self.bags.vocabulary,
        )
        rows = np.tile(np.arange(len(self)), len(all_bags))  # copy after copy, as the bags are
        premises = None if self.premises is None else self.premises.part(rows)
        return Examples(bags, self.labels[rows], premises)


@dataclass(frozen=True)
class WorstCaseSchedule:
    """Schedule of the worst case in training.

    Attributes:
        weight: κ at the end.
        full: share of the epochs, the last ones, at the whole box and the whole κ; the authors of
            the networks have 20 of 60.
    """

    weight: float = 0.8
    full: float = 1 / 3

    def __post_init__(self) -> None:
        """Check the settings."""
        if not 0 < self.weight <= 1:
            raise ParameterError(f"the weight of the worst case is in (0, 1], got {self.weight}")
        if not 0 < self.full <= 1:
            raise ParameterError(f"the share of full epochs is in (0, 1], got {self.full}")

    def at(self, epoch: float, epochs: int) -> tuple[float, float]:
        """Return ε (share of the box) and κ at a moment of training."""
        ramp = epochs * (1 - self.full)
        share = min(1.0, epoch / ramp) if ramp > 0 else 1.0
        return share, share * self.weight

    def first(self, epochs: int) -> int:
        """Return the first epoch after which the loss keeps its meaning."""
        return min(epochs - 1, int(np.ceil(epochs * (1 - self.full))))


class NetworkTask:
    """Task of the training loop (`dpcore.learn.training.Task`)."""

    def __init__(
        self,
        model: NetworkClassifier,
        examples: Examples,
        held_out: Examples,
        epochs: int,
        certified: WorstCaseSchedule | None = None,
        substitutions: Substitutions | None = None,
    ) -> None:
        """Store the network, its examples and the schedule."""
        self.model, self.examples, self.held = model, examples, held_out
        self.epochs, self.certified, self.substitutions = epochs, certified, substitutions

    @property
    def parameters(self) -> dict[str, Any]:
        """Tensors of the network."""
        return dict(self.model.tensors)

    @property
    def size(self) -> int:
        """Number of training examples."""
        return len(self.examples)

    def loss(self, rows: IntArray, step: Step) -> Any:
        """Return the mean loss of some examples, with dropout."""
        schedule = self.certified.at(step.epoch, self.epochs) if self.certified else (0.0, 0.0)
        draw = torch_generator(step.rng, self.model.tensors["words.weight"].device)
        return self._loss(self.examples.part(rows), schedule, draw)

    def held_out(self, step: Step) -> float:
        """Return the loss of the held-out examples at the end of the schedule."""
        # At the end of the schedule, so that the losses of different epochs are comparable.
        schedule = (1.0, self.certified.weight) if self.certified else (0.0, 0.0)
        total = 0.0
        with torch().no_grad():
            for rows, _ in self.model.parts(self.held.bags):
                total += rows.size * float(self._loss(self.held.part(rows), schedule, None))
        return total / len(self.held)

    def _loss(self, some: Examples, schedule: tuple[float, float], draw: Any) -> Any:
        share, weight = schedule
        model = self.model.given(some.premises)
        # At κ = 0 the boxes would be computed for nothing.
        table = self.substitutions if weight > 0 else None
        last = model.last(some.bags, table, share, draw)
        labels = torch().from_numpy(some.labels).to(last.value.device)
        entropy = torch().nn.functional.cross_entropy
        loss = entropy(model.scored(last.value), labels)
        if table is None:
            return loss
        tensors = model.tensors
        margins = least_margins(last, tensors["scores.weight"], tensors["scores.bias"], labels)
        # −margins are the worst scores up to a constant: the cross-entropy of a corner of the box
        # that may be none of the box's points, so an upper bound of every allowed text's loss.
        return (1 - weight) * loss + weight * entropy(-margins, labels)


def train_network(
    shape: Shape,
    training: Training,
    examples: Examples,
    held_out: Examples,
    vectors: NDArray[np.float32],
    *,
    certified: WorstCaseSchedule | None = None,
    substitutions: Substitutions | None = None,
    device: str = "cpu",
    state: Path | None = None,
    vocabulary: str = "",
    progress: Progress = silent,
) -> tuple[NetworkClassifier, TrainingRecord]:
    """Train a text network.

    Args:
        shape: of the network.
        training: settings of the loop; with `certified` its `first` is set to the end of the ramp.
        examples: to train on.
        held_out: to decide when to stop.
        vectors: public word vectors, shape (n, d), which are not trained.
        certified: for certified training, with `substitutions`.
        substitutions: allowed substitutes of a word.
        device: cpu, cuda or auto.
        state: as in `dpcore.learn.training.fit`.
        vocabulary: as in `dpcore.learn.training.fit`.
        progress: called with ("training", batches done, batches at most).

    Returns:
        The network (without premises), and the record of its training.

    Raises:
        CorpusError: a class does not occur, or there is nothing to hold out.
        ParameterError: a setting is outside its range.
        MissingPackageError: torch is not installed.
    """
    seen = np.unique(examples.labels)
    if not np.array_equal(seen, np.arange(shape.classes)):
        missing = sorted(set(range(shape.classes)) - set(seen.tolist()))
        raise CorpusError(
            f"the network tells {shape.classes} classes apart, and the examples to learn from lack "
            f"{', '.join(map(str, missing)) or 'none of them, but have others'}; give more examples"
        )
    if not len(held_out):
        raise CorpusError("no example is held out to stop by; give more examples")
    if (certified is None) != (substitutions is None):
        raise ParameterError("certified training needs a schedule and substitutions, both")
    if certified is not None:
        # An early stop must not compare losses from before the box is whole.
        training = replace(training, first=certified.first(training.epochs))
    tensors = shape.start(generator(training.seed, "start"), device_of(device))
    model = NetworkClassifier(shape, tensors, vectors)
    task = NetworkTask(model, examples, held_out, training.epochs, certified, substitutions)
    told = fit(task, training, state=state, vocabulary=vocabulary, progress=progress)
    done = {name: x.detach() for name, x in tensors.items()}
    return NetworkClassifier(shape, done, vectors), told


def perturbed(
    mechanism: Mechanism,
    bags: Bags,
    epsilons: Sequence[float],
    copies: int,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> list[list[Bags]]:
    """Rewrite copies of documents, passing every known word through a mechanism.

    One noise draw gives a copy at every ε (`dpcore.mechanisms.bulk`): for training, never for
    release.

    Args:
        mechanism: rewrites each word.
        bags: documents over its lexicon.
        epsilons: ε of the mechanism.
        copies: of each document, 1 to 1,000; the authors of augmented training take 4.
        rng: of the noise.
        progress: called with (stage, done, total).

    Returns:
        For each ε the copies.

    Raises:
        EpsilonError: an ε is not admissible.
        ParameterError: the number of copies is outside its range.
    """
    if not 1 <= copies <= 1_000:
        raise ParameterError(f"an example has 1 to 1,000 perturbed copies, got {copies}")
    known = np.flatnonzero(bags.words >= 0)
    grid = np.array([mechanism.check_epsilon(epsilon) for epsilon in epsilons])
    outputs = outputs_at(mechanism, rng, np.tile(bags.words[known], copies), grid, progress)
    # All copies in one draw: the laws of the distinct words are computed once for all of them.
    parts = np.split(outputs, copies)
    result = []
    for e in range(grid.size):
        rewritten = []
        for part in parts:
            words = np.array(bags.words)
            words[known] = part[:, e]
            rewritten.append(bags.with_words(words))
        result.append(rewritten)
    return result
