"""A trained text network as a classifier of bags: predictions, certificates, checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.learn.checkpoint import Checkpoint, check_shapes, load, save
from dpcore.learn.corpus import Bags
from dpcore.learn.substitutions import Substitutions
from dpcore.learn.tensors import array
from dpcore.learn.text_network.network import (
    Bounded,
    Kind,
    Shape,
    features,
    least_margins,
    padded,
    places,
)
from dpcore.lexicon.lexicon import Lexicon
from dpcore.optional import torch

_TOGETHER = 64  # documents per batch, to bound the memory
_ROUNDING = 1e-4  # of the largest score: a margin must be beyond this to count as positive


@dataclass(frozen=True, eq=False)
class Certificate:
    """Certificate of a network by interval bounds, over every choice of substitutes.

    Attributes:
        margins: lower bound of the label's score minus the best other one, shape (k,).
        certified: True where no allowed text is classified otherwise, shape (k,).
    """

    margins: FloatArray
    certified: NDArray[np.bool_]

    @property
    def accuracy(self) -> float:
        """Share of documents that are right under every substitution; the truth may be higher."""
        return float(self.certified.mean())


@dataclass(frozen=True, eq=False)
class NetworkClassifier:
    """A network with the vectors of its words; read-only.

    Attributes:
        shape: of the network.
        tensors: trained, by name.
        vectors: public word vectors φ, shape (n, d).
        premises: of an entailment network: one for all documents, or one for each.
    """

    shape: Shape
    tensors: Mapping[str, Any]
    vectors: NDArray[np.float32]
    premises: Bags | None = None

    def __post_init__(self) -> None:
        """Check that the vectors fit the network."""
        if self.vectors.ndim != 2 or self.vectors.shape[1] != self.shape.dimension:
            raise ParameterError(
                f"the network reads vectors of {self.shape.dimension} coordinates, got shape "
                f"{self.vectors.shape}"
            )

    @property
    def classes(self) -> int:
        """Number of classes m."""
        return self.shape.classes

    def given(self, premises: Bags | None) -> NetworkClassifier:
        """Return the same network with these premises: one, or one for each document."""
        return replace(self, premises=premises)

    def last(
        self,
        bags: Bags,
        substitutions: Substitutions | None = None,
        share: float = 1.0,
        draw: Any = None,
    ) -> Bounded:
        """Return the last hidden layer of each document, with a box if there are substitutions.

        Args:
            bags: k documents.
            substitutions: allowed substitutes of a word.
            share: of the first box that is used; see `Bounded.narrowed`.
            draw: of dropout, in training.

        Raises:
            ParameterError: the documents are of another vocabulary, or there is not one premise
                for all or for each document.
        """
        if bags.vocabulary != len(self.vectors):
            raise ParameterError(
                f"the documents are of a vocabulary of {bags.vocabulary:,} words, and the network "
                f"has {len(self.vectors):,} vectors"
            )
        text = places(padded(bags), self.tensors, self.vectors, substitutions)
        text = replace(text, words=text.words.narrowed(share))
        premise = None
        if self.shape.kind is Kind.ENTAILMENT:
            given = self.premises
            if given is None or len(given) not in (1, len(bags)):
                raise _premises(0 if given is None else len(given), len(bags))
            premises = padded(given)  # one for all is read once, and broadcast to every text
            words = np.broadcast_to(premises, (len(bags), premises.shape[1]))
            premise = places(words, self.tensors, self.vectors)
        return features(self.shape, self.tensors, text, premise, draw)

    def scored(self, last: Any) -> Any:
        """Return the scores of each class as a tensor, shape (k, m)."""
        weight, bias = self.tensors["scores.weight"], self.tensors["scores.bias"]
        return torch().nn.functional.linear(last, weight, bias)

    def parts(self, bags: Bags) -> list[tuple[IntArray, NetworkClassifier]]:
        """Return batches of document rows, and the network with the premises of each batch."""
        parts = []
        many = self.premises is not None and len(self.premises) > 1
        if many and self.premises is not None and len(self.premises) != len(bags):
            raise _premises(len(self.premises), len(bags))
        for start in range(0, len(bags), _TOGETHER):
            rows = np.arange(start, min(start + _TOGETHER, len(bags)))
            network = self.given(self.premises.part(rows)) if many and self.premises else self
            parts.append((rows, network))
        return parts

    def probabilities(self, bags: Bags) -> FloatArray:
        """Return the probability of each class for each document, shape (k, m)."""
        probabilities = np.zeros((len(bags), self.classes))
        with torch().no_grad():
            for rows, network in self.parts(bags):
                scores = network.scored(network.last(bags.part(rows)).value)
                probabilities[rows] = array(torch().softmax(scores.double(), dim=1))
        return probabilities

    def predict(self, bags: Bags) -> IntArray:
        """Return the most probable class of each document, shape (k,)."""
        return np.asarray(self.probabilities(bags).argmax(axis=1), dtype=np.int64)

    def accuracy(self, bags: Bags, labels: ArrayLike) -> float:
        """Return the share of the documents whose most probable class is their label."""
        return float((self.predict(bags) == np.asarray(labels)).mean())

    def certify(self, bags: Bags, labels: ArrayLike, substitutions: Substitutions) -> Certificate:
        """Bound the margins from below over every text that the substitutions allow.

        Computed in float64; a margin counts as positive only beyond the effect of rounding to
        float32 on the scores, taken as 1e-4 of the largest one.

        Args:
            bags: k documents.
            labels: the class that must not change, shape (k,): the true one, or the predicted one.
            substitutions: allowed substitutes of a word.

        Raises:
            ParameterError: a label is no class, or there is not one label per document.
        """
        truth = np.asarray(labels, dtype=np.int64)
        if not (truth.shape == (len(bags),) and ((truth >= 0) & (truth < self.classes)).all()):
            raise ParameterError(
                f"each of {len(bags)} documents needs a label in 0..{self.classes - 1}, got "
                f"{truth.size}"
            )
        # In float32 the sums of the bounds would lose more than a small margin.
        exact = replace(self, tensors={name: x.double() for name, x in self.tensors.items()})
        weight, bias = exact.tensors["scores.weight"], exact.tensors["scores.bias"]
        margins, sizes = np.zeros(len(bags)), np.zeros(len(bags))
        with torch().no_grad():
            for rows, network in exact.parts(bags):
                last = network.last(bags.part(rows), substitutions)
                label = torch().from_numpy(truth[rows]).to(weight.device)
                lowest = array(least_margins(last, weight, bias, label))
                lowest[np.arange(rows.size), truth[rows]] = np.inf  # no class rivals itself
                margins[rows] = lowest.min(axis=1)
                # A score is at most Σ|w|·h + |b|: activations are ≥ 0 after the last ReLU.
                size = last.high.abs() @ weight.abs().T + bias.abs()
                sizes[rows] = array(size.amax(dim=1))
        return Certificate(margins, margins > _ROUNDING * sizes)


def _premises(given: int, documents: int) -> ParameterError:
    return ParameterError(
        "an entailment network needs one premise for all documents or one for each, got "
        f"{given} for {documents}"
    )


def keep(
    path: Path,
    model: NetworkClassifier,
    lexicon: Lexicon,
    settings: Mapping[str, Any],
    facts: Mapping[str, Any],
) -> None:
    """Write a checkpoint.

    Args:
        path: of the file.
        model: the network; its word vectors are those of the lexicon and are not written.
        lexicon: of its words.
        settings: JSON values: training settings, and the names of its classes.
        facts: JSON values: measurements such as its accuracy.
    """
    tensors = {name: array(x) for name, x in model.tensors.items()}
    described = {**settings, "shape": model.shape.to_json()}
    save(
        path,
        Checkpoint(str(model.shape.kind), described, tensors, lexicon.fingerprint, dict(facts)),
    )


def recall(path: Path, lexicon: Lexicon) -> tuple[NetworkClassifier, Checkpoint]:
    """Read a checkpoint that `keep` wrote; its network runs on the CPU.

    Raises:
        MissingPackageError: torch or safetensors is not installed.
        ParameterError: the file is missing, damaged, of another vocabulary, or no text network.
    """
    checkpoint = load(path, lexicon=lexicon)
    try:
        shape = Shape(**checkpoint.settings["shape"])
    except (KeyError, TypeError):
        raise ParameterError(
            f"the checkpoint {path.name[:60]!r} holds no text network, but "
            f"{checkpoint.architecture[:40]!r}; train one with: python -m dpcore robust train"
        ) from None
    check_shapes(checkpoint, shape.tensors)
    tensors = {name: torch().from_numpy(x.copy()) for name, x in checkpoint.tensors.items()}
    return NetworkClassifier(shape, tensors, lexicon.vectors), checkpoint
