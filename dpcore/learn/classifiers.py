"""Classifiers of bags of words (averaged vectors, TF-IDF, a small network) from scikit-learn.

Each is fixed by a frozen `Learner`, so that comparisons differ in the text alone. None of them uses
the order of words, which word-by-word rewriting keeps.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dpcore.errors import CorpusError, ParameterError
from dpcore.learn.checkpoint import Checkpoint
from dpcore.learn.corpus import Bags
from dpcore.learn.text_network.classifier import NetworkClassifier, recall
from dpcore.lexicon.cache import bundled_data
from dpcore.lexicon.lexicon import Lexicon
from dpcore.noise.streams import generator
from dpcore.optional import quiet, sklearn, torch


class Kind(StrEnum):
    """Kind of classifier."""

    AVERAGED = "averaged"
    """Mean of the public word vectors of a text, then logistic regression: the shape of fastText
    (Joulin et al. 2017) with vectors that are not trained."""
    TF_IDF = "tf-idf"
    """TF-IDF weights of the words, then logistic regression. With two classes a fastText model
    with trained vectors is a linear function of the word frequencies, too."""
    NETWORK = "network"
    """Mean of the public word vectors, then a network of one hidden layer."""


TITLES = {
    Kind.AVERAGED: "averaged word vectors, logistic regression",
    Kind.TF_IDF: "TF-IDF, logistic regression",
    Kind.NETWORK: "averaged word vectors, network of one hidden layer",
}


@dataclass(frozen=True)
class Learner:
    """A classifier with all its settings.

    Attributes:
        kind: features and model.
        strength: C of logistic regression, the inverse of its regularisation.
        hidden: units of the hidden layer of the network.
        epochs: passes over the training texts of the network.
    """

    kind: Kind = Kind.AVERAGED
    strength: float = 1.0
    hidden: int = 64
    epochs: int = 20

    def __post_init__(self) -> None:
        """Check the settings."""
        object.__setattr__(self, "kind", Kind(self.kind))
        if not 0 < self.strength < np.inf:
            raise ParameterError(f"strength must be a finite number > 0, got {self.strength}")
        if not (1 <= self.hidden <= 4096 and 1 <= self.epochs <= 1000):
            raise ParameterError(
                "a network has 1 to 4,096 hidden units and 1 to 1,000 epochs, got "
                f"{self.hidden} and {self.epochs}"
            )


LEARNERS = {
    str(kind): Learner(kind, strength)
    for kind, strength in ((Kind.AVERAGED, 1.0), (Kind.TF_IDF, 10.0), (Kind.NETWORK, 1.0))
}
"""Settings of the studies, by name."""


def learner_of(name: str) -> Learner:
    """Return the learner of a name.

    Raises:
        ParameterError: there is none; the message lists the names.
    """
    if name not in LEARNERS:
        raise ParameterError(f"no classifier {name[:40]!r}; there are: {', '.join(LEARNERS)}")
    return LEARNERS[name]


@dataclass(frozen=True, eq=False)
class Classifier:
    """A trained classifier.

    Attributes:
        learner: its settings.
        classes: number of classes m.
    """

    learner: Learner
    classes: int
    _vectors: NDArray[np.float32]
    _weighting: _Weighting | None
    _model: Any

    def probabilities(self, bags: Bags) -> NDArray[np.float64]:
        """Return the probability of each class for each document, shape (k, m)."""
        features = _features(bags, self._vectors, self._weighting)
        # A class that is missing from the training texts keeps its column, with probability 0.
        probabilities = np.zeros((len(bags), self.classes))
        probabilities[:, self._model.classes_] = self._model.predict_proba(features)
        return probabilities

    def predict(self, bags: Bags) -> NDArray[np.int64]:
        """Return the most probable class of each document, shape (k,)."""
        return np.asarray(self.probabilities(bags).argmax(axis=1), dtype=np.int64)

    def accuracy(self, bags: Bags, labels: NDArray[np.int64]) -> float:
        """Return the share of the documents whose most probable class is their label."""
        return float((self.predict(bags) == labels).mean())


def train(
    learner: Learner,
    bags: Bags,
    labels: NDArray[np.int64],
    vectors: NDArray[np.float32],
    rng: np.random.Generator,
) -> Classifier:
    """Train a classifier.

    Args:
        learner: its settings.
        bags: k documents.
        labels: of 0..m−1, shape (k,); at least two of them occur.
        vectors: public word vectors, shape (n, d).
        rng: of the network's start and order; the others do not use it.

    Raises:
        CorpusError: only one class occurs.
        MissingPackageError: scikit-learn is not installed.
    """
    if np.unique(labels).size < 2:
        raise CorpusError("a classifier needs texts of at least two classes to be trained on")
    with quiet():
        weighting = _weighting(bags) if learner.kind is Kind.TF_IDF else None
        features = _features(bags, vectors, weighting)
        model = _model(learner, rng).fit(features, labels)
    return Classifier(learner, int(labels.max()) + 1, vectors, weighting, model)


FOLDS = 10
"""Parts of the documents in a cross-validation."""


def folds_of(labels: NDArray[np.int64], seed: int, folds: int = FOLDS) -> NDArray[np.int64]:
    """Deal documents to folds at random, those of each class evenly.

    Args:
        labels: class of each document, shape (k,).
        seed: seed of the order.
        folds: number of folds, 2 to k.

    Returns:
        The fold of each document, shape (k,).

    Raises:
        ParameterError: the number of folds is out of range.
    """
    if not 2 <= folds <= labels.size:
        raise ParameterError(f"folds are 2 to the {labels.size} documents, got {folds}")
    order = generator(seed, "folds").permutation(labels.size)
    fold = np.empty(labels.size, dtype=np.int64)
    # Class after class along the order, so that every fold gets its part of each.
    fold[order[np.argsort(labels[order], kind="stable")]] = np.arange(labels.size) % folds
    return fold


def cross_predict(
    learner: Learner,
    training: Bags,
    tested: Bags,
    labels: NDArray[np.int64],
    fold: NDArray[np.int64],
    vectors: NDArray[np.float32],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Predict the class of each document by a classifier that was trained on the other folds.

    Args:
        learner: its settings.
        training: documents to learn from, such as original texts.
        tested: documents to predict, such as private forms of the same texts in the same order.
        labels: class of each, 0 to m − 1, shape (k,).
        fold: fold of each, from `folds_of`, shape (k,).
        vectors: public word vectors, shape (n, d).
        rng: as for `train`.

    Returns:
        Shape (k,).

    Raises:
        CorpusError: the numbers of documents differ, or one class only is left to learn from.
        MissingPackageError: scikit-learn is not installed.
    """
    if not len(training) == len(tested) == labels.size == fold.size:
        raise CorpusError(
            "each document to learn from needs one to predict, a label and a fold, got "
            f"{len(training):,}, {len(tested):,}, {labels.size:,} and {fold.size:,}"
        )
    predicted = np.empty(labels.size, dtype=np.int64)
    for number in np.unique(fold).tolist():
        others, held = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        model = train(learner, training.part(others), labels[others], vectors, rng)
        predicted[held] = model.predict(tested.part(held))
    return predicted


@dataclass(frozen=True, eq=False)
class _Weighting:
    """Weights of the words, and which of them occurred: shape (u,), columns of the vocabulary.

    A word that never occurred has the coefficient 0, since nothing pulls it away from there. Most
    of 25,000 words occur in no small corpus, and the fit would spend its time on their zeros.
    """

    weights: Any
    words: NDArray[np.intp]

    def features(self, bags: Bags) -> Any:
        # Chosen last: a word that never occurred still counts for the length of a document.
        return self.weights.transform(bags.counts())[:, self.words]


def _weighting(bags: Bags) -> _Weighting:
    weights = sklearn("feature_extraction.text").TfidfTransformer(sublinear_tf=True)
    counts = bags.counts()
    return _Weighting(weights.fit(counts), np.unique(counts.indices))


def _features(bags: Bags, vectors: NDArray[np.float32], weighting: _Weighting | None) -> Any:
    if weighting is not None:
        return weighting.features(bags)
    kept = _AVERAGES.get(bags)
    # `is`: an elementwise comparison of two lexicons would cost more than the means.
    if kept is None or kept[0] is not vectors:
        kept = _AVERAGES[bags] = (vectors, averaged(bags.counts(), vectors))
    return kept[1]


_AVERAGES: WeakKeyDictionary[Bags, tuple[NDArray[np.float32], NDArray[np.float64]]] = (
    WeakKeyDictionary()
)
"""Mean vectors of the documents in use, because several classifiers read them."""


def averaged(counts: Any, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the mean vector of each document, shape (k, d); zero without known words.

    Raises:
        ParameterError: the counts are of another vocabulary than the vectors.
    """
    if counts.shape[1] != len(vectors):
        raise ParameterError(
            f"the documents are of a vocabulary of {counts.shape[1]:,} words, and there are "
            f"{len(vectors):,} vectors"
        )
    totals = np.asarray(counts.sum(axis=1)).reshape(-1, 1)
    # A product with all vectors would copy the whole lexicon as float64.
    used, columns = np.unique(counts.indices, return_inverse=True)
    shape = (counts.shape[0], used.size)
    narrow = type(counts)((counts.data, columns, counts.indptr), shape=shape)
    return np.asarray((narrow @ vectors[used]) / np.maximum(totals, 1.0), dtype=np.float64)


def _model(learner: Learner, rng: np.random.Generator) -> Any:
    linear, pipeline = sklearn("linear_model"), sklearn("pipeline")
    if learner.kind is Kind.TF_IDF:
        return linear.LogisticRegression(C=learner.strength, max_iter=300)
    # Coordinates of mean vectors are small and of different size; the penalty treats all alike.
    scale = sklearn("preprocessing").StandardScaler()
    if learner.kind is Kind.AVERAGED:
        return pipeline.make_pipeline(
            scale, linear.LogisticRegression(C=learner.strength, max_iter=300)
        )
    network = sklearn("neural_network").MLPClassifier(
        (learner.hidden,),
        batch_size="auto",
        max_iter=learner.epochs,
        random_state=int(rng.integers(2**31)),
    )
    return pipeline.make_pipeline(scale, network)


# The bundled networks, trained on the teaching corpus.


NETWORKS = ("normal", "ibp")
"""Names of the bundled networks, after their training. Both classify sentiment."""
NEIGHBOURS = 2
"""Number of nearest words that a word may become, in training and in the certificates."""


def network_path(name: str) -> Path:
    """Return the path of the checkpoint of a bundled network.

    Raises:
        ParameterError: there is none of this name.
    """
    if name not in NETWORKS:
        raise ParameterError(
            f"a bundled network is one of {', '.join(NETWORKS)}, got {name[:40]!r}"
        )
    return bundled_data("networks", f"{NETWORKS[0]}.safetensors") / f"{name}.safetensors"


def bundled_network(name: str, lexicon: Lexicon) -> tuple[NetworkClassifier, Checkpoint]:
    """Return a bundled network and its checkpoint.

    Args:
        name: of `NETWORKS`.
        lexicon: the bundled one.

    Raises:
        MissingPackageError: torch or safetensors is not installed.
        ParameterError: another name, or another lexicon.
    """
    torch()  # report a missing package first
    return recall(network_path(name), lexicon)


def network_of(path: Path, lexicon: Lexicon) -> tuple[NetworkClassifier, Checkpoint]:
    """Return the network of a checkpoint file, or a bundled network by its name.

    Args:
        path: a file of `robust train`, or a name of `NETWORKS`; a file of that name takes
            precedence.
        lexicon: the vocabulary of the network.

    Raises:
        MissingPackageError: torch or safetensors is not installed.
        ParameterError: the file holds no network, or one of another lexicon.
    """
    if str(path) in NETWORKS and not path.exists():
        return bundled_network(str(path), lexicon)
    return recall(path, lexicon)
