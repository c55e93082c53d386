"""A linear classifier of averaged word vectors, and its exact certificate under substitutions.

The score of a class is θ_c·(mean of φ(w) over the words) + b_c, so that what the substitution of
one word does to a difference of two scores does not depend on the others. The worst text is found
word by word: for class y against class c each word becomes the one with the smallest
(θ_y − θ_c)·φ. With a budget of B changed words those B with the largest drops are changed. The
result is the true minimum and no bound, and a text that attains it is returned with it. (The boxes
of interval bound propagation, Jia et al. 2019, give a bound: a corner of a box is no word.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import ParameterError
from dpcore.learn.bags import Bags
from dpcore.learn.classifiers import averaged

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from dpcore.learn.substitutions import Substitutions

    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]

_ROUNDING = 1e-9  # of the largest score: a margin must be beyond this to count as positive


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Softmax of a linear function of the mean word vector; read-only.

    Attributes:
        weights: θ, shape (m, d).
        bias: b, shape (m,).
        vectors: public word vectors φ, shape (n, d).
    """

    weights: FloatArray
    bias: FloatArray
    vectors: NDArray[np.float32]

    def __post_init__(self) -> None:
        """Check the shapes, and make the arrays read-only."""
        m = self.bias.size
        if not (m >= 2 and self.weights.shape == (m, self.vectors.shape[1])):
            raise ParameterError(
                f"{m} classes and vectors of {self.vectors.shape[1]} coordinates do not fit "
                f"weights of shape {self.weights.shape}"
            )
        self.weights.setflags(write=False)
        self.bias.setflags(write=False)

    @property
    def classes(self) -> int:
        """Number of classes m."""
        return self.bias.size

    def scores(self, bags: Bags) -> FloatArray:
        """Score of each class, shape (k, m); the biases for a document without known words."""
        return averaged(bags.counts(), self.vectors) @ self.weights.T + self.bias

    def probabilities(self, bags: Bags) -> FloatArray:
        """Softmax of the scores, shape (k, m)."""
        from scipy.special import softmax

        return np.asarray(softmax(self.scores(bags), axis=1))

    def predict(self, bags: Bags) -> IntArray:
        """The most probable class of each document, shape (k,)."""
        return np.asarray(self.scores(bags).argmax(axis=1), dtype=np.int64)

    def accuracy(self, bags: Bags, labels: ArrayLike) -> float:
        """Share of the documents whose most probable class is their label."""
        return float((self.predict(bags) == np.asarray(labels)).mean())


@dataclass(frozen=True, eq=False)
class Worst:
    """The worst that substitutions can do to the class of each document.

    Attributes:
        margins: smallest reachable difference of the label's score and another class's, (k,).
        rivals: the other class, shape (k,).
        texts: documents that reach it.
        certified: whether no allowed text is classified otherwise, shape (k,).
    """

    margins: FloatArray
    rivals: IntArray
    texts: Bags
    certified: NDArray[np.bool_]

    @property
    def accuracy(self) -> float:
        """Share of documents that are right whatever is substituted: no attack gets below it."""
        return float(self.certified.mean())


def changes_allowed(lengths: ArrayLike, share: float) -> IntArray:
    """How many words may change: the share of the known words, rounded down, but at least one.

    Args:
        lengths: known words of each document.
        share: 0 to 1; 0 allows none.

    Raises:
        ParameterError: the share is not in [0, 1].
    """
    if not 0 <= share <= 1:
        raise ParameterError(f"the share of words that may change must be in [0, 1], got {share}")
    known = np.asarray(lengths, dtype=np.int64)
    if share == 0:
        return np.zeros_like(known)
    whole = np.floor(share * known * (1 + 1e-12)).astype(np.int64)
    return np.asarray(np.minimum(np.maximum(whole, 1), known))


class Places:
    """The known places of some documents, ready for many models of the same substitutions.

    Args:
        bags: the documents.
        labels: class of each, shape (k,).
        substitutions: what may become of a word.
        share: of the words that may change.
    """

    def __init__(
        self, bags: Bags, labels: ArrayLike, substitutions: Substitutions, share: float = 1.0
    ) -> None:
        """Look up every distinct word once."""
        self.labels = np.asarray(labels, dtype=np.int64)
        if self.labels.shape != (len(bags),):
            raise ParameterError(
                f"each document needs a label, got {len(bags)} and {self.labels.size}"
            )
        self.at = np.flatnonzero(bags.words >= 0)
        self.document = np.repeat(np.arange(len(bags)), bags.lengths)[self.at]
        self.lengths = np.bincount(self.document, minlength=len(bags))
        self.budget = changes_allowed(self.lengths, share)
        words, self.word = np.unique(bags.words[self.at], return_inverse=True)
        table = substitutions.table(words)
        self.candidates, choices = np.unique(table, return_inverse=True)
        self.choices = choices.reshape(table.shape)

    def worst(self, difference: FloatArray, rows: IntArray, temperature: float = 0.0) -> Lowest:
        """Smallest mean of a score over the allowed texts of some documents.

        Args:
            difference: score of each candidate, shape (candidates,).
            rows: the documents, shape (r,).
            temperature: T ≥ 0; above 0 the minimum over the choices z of a word is smoothed to
                −T·ln Σ exp(−z/T), which is at most T·ln(choices) below it.
        """
        scores = difference[self.choices]
        if temperature > 0:
            from scipy.special import logsumexp

            least = -temperature * logsumexp(-scores / temperature, axis=1)
            shares = np.exp((least[:, None] - scores) / temperature)
        else:
            shares = (scores.argmin(axis=1)[:, None] == np.arange(scores.shape[1])).astype(float)
            least = scores.min(axis=1)
        drop = scores[:, 0] - least
        wanted = np.zeros(self.lengths.size, dtype=bool)
        wanted[rows] = True
        places = np.flatnonzero(wanted[self.document])
        document, kind = self.document[places], self.word[places]
        # The places of a document by falling drop; its first B are changed.
        order = np.lexsort((-drop[kind], document))
        lengths = np.where(wanted, self.lengths, 0)
        rank = np.empty(places.size, dtype=np.int64)
        rank[order] = np.arange(places.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        changed = rank < self.budget[document]
        values = np.where(changed, least[kind], scores[kind, 0])
        total = np.bincount(document, weights=values, minlength=lengths.size)
        return Lowest(total[rows] / np.maximum(self.lengths[rows], 1), places, changed, shares)

    def spread(self, found: Lowest, weights: FloatArray) -> FloatArray:
        """What weights of the documents put on each candidate through a minimum, shape (c,).

        Args:
            found: the minimum of some documents.
            weights: of all documents, shape (k,): the derivative by each mean.
        """
        mine = (weights / np.maximum(self.lengths, 1))[self.document[found.places]]
        kind = self.word[found.places]
        words = len(self.choices)
        moved = np.bincount(kind[found.changed], mine[found.changed], minlength=words)
        stay = np.bincount(kind[~found.changed], mine[~found.changed], minlength=words)
        each = moved[:, None] * found.shares
        each[:, 0] += stay
        size = self.candidates.size
        total = np.bincount(self.choices.ravel(), weights=each.ravel(), minlength=size)
        return total.astype(np.float64)


@dataclass(frozen=True, eq=False)
class Lowest:
    """The smallest mean score of each of r documents.

    Attributes:
        values: the minima, shape (r,).
        places: places of those documents, shape (t,).
        changed: whether the word there is changed, shape (t,).
        shares: of each word's choices in its minimum, shape (u, c); one of them 1 if T is 0.
    """

    values: FloatArray
    places: IntArray
    changed: NDArray[np.bool_]
    shares: FloatArray


def certify_linear(
    model: LinearModel,
    bags: Bags,
    labels: ArrayLike,
    substitutions: Substitutions,
    share: float = 1.0,
) -> Worst:
    """The exact worst case of each document under the allowed substitutions.

    Args:
        model: the classifier.
        bags: k documents.
        labels: the class that must stay, shape (k,): the true one, or the predicted one.
        substitutions: what may become of a word.
        share: of the words that may change; see `changes_allowed`.

    Raises:
        ParameterError: a label is no class of the model, or the share is outside [0, 1].
    """
    places = Places(bags, labels, substitutions, share)
    truth = places.labels
    if truth.size and not (truth.min() >= 0 and truth.max() < model.classes):
        raise ParameterError(f"labels must lie in 0..{model.classes - 1}")
    scores = model.vectors[places.candidates].astype(np.float64) @ model.weights.T
    margins, rivals = np.full(len(bags), np.inf), np.zeros(len(bags), dtype=np.int64)
    words = np.array(bags.words)
    for label in np.unique(truth).tolist():
        rows = np.flatnonzero(truth == label)
        for rival in range(model.classes):
            if rival == label:
                continue
            low = places.worst(scores[:, label] - scores[:, rival], rows)
            found = low.values + (model.bias[label] - model.bias[rival])
            lower = np.zeros(len(bags), dtype=bool)
            lower[rows] = found < margins[rows]
            margins[rows] = np.minimum(margins[rows], found)
            rivals[lower] = rival
            kept = lower[places.document[low.places]]
            kind = places.word[low.places]
            choice = np.where(low.changed, low.shares.argmax(axis=1)[kind], 0)
            chosen = places.candidates[places.choices[kind, choice]]
            words[places.at[low.places[kept]]] = chosen[kept]
    size = np.abs(scores).max(initial=0.0) + np.abs(model.bias).max()
    return Worst(margins, rivals, bags.with_words(words), margins > _ROUNDING * size)
