"""Exact certificates of linear classifiers, for texts and for inputs without noise.

Texts under word substitutions: the score of a class (`dpcore.learn.linear.training`) is
θ_c·(mean of φ(w) over the words) + b_c, so the effect of one substitution on a difference of two
scores does not depend on the others. The worst text is found word by word: for class y against
class c each word becomes the one with the smallest (θ_y − θ_c)·φ. With a budget of B changed words
those B with the largest drops are changed. The result is the true minimum and no bound, and a text
that attains it is returned with it. (The boxes of interval bound propagation, Jia et al. 2019, give
a bound: a corner of a box is no word.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.learn.corpus import Bags
from dpcore.learn.pixeldp.digits import Digits
from dpcore.learn.pixeldp.noise_layer import norm_of
from dpcore.learn.substitutions import Substitutions
from dpcore.optional import one_thread, quiet, sklearn

if TYPE_CHECKING:
    from dpcore.learn.linear.training import LinearModel


_ROUNDING = 1e-9  # of the largest score: a margin must be beyond this to count as positive


@dataclass(frozen=True, eq=False)
class Worst:
    """Worst case of each document under the allowed substitutions.

    Attributes:
        margins: smallest reachable difference of the label's score and another class's, (k,).
        rivals: the other class, shape (k,).
        texts: documents that reach it.
        certified: True where no allowed text is classified otherwise, shape (k,).
    """

    margins: FloatArray
    rivals: IntArray
    texts: Bags
    certified: NDArray[np.bool_]

    @property
    def accuracy(self) -> float:
        """Share of documents that are right under every substitution: no attack gets below it."""
        return float(self.certified.mean())


def changes_allowed(lengths: ArrayLike, share: float) -> IntArray:
    """Return the number of words that may change: the share, rounded down, but at least one.

    Args:
        lengths: known words of each document.
        share: of the known words, 0 to 1; 0 allows none.

    Raises:
        ParameterError: the share is not in [0, 1].
    """
    if not 0 <= share <= 1:
        raise ParameterError(f"the share of words that may change must be in [0, 1], got {share}")
    known = np.asarray(lengths, dtype=np.int64)
    if share == 0:
        return np.zeros_like(known)
    # In float64, 0.29 · 100 is a little below 29, and must count as 29.
    whole = np.floor(share * known * (1 + 1e-12)).astype(np.int64)
    return np.asarray(np.minimum(np.maximum(whole, 1), known))


class Places:
    """Known positions of some documents, prepared for many models of the same substitutions.

    Args:
        bags: the documents.
        labels: class of each, shape (k,).
        substitutions: allowed substitutes of a word.
        share: of the words that may change.
    """

    def __init__(
        self, bags: Bags, labels: ArrayLike, substitutions: Substitutions, share: float = 1.0
    ) -> None:
        """Look up every distinct word once."""
        self.labels = np.asarray(labels, dtype=np.int64)
        if not (self.labels.shape == (len(bags),) and len(bags)):
            raise ParameterError(
                "each of at least one document needs a label, got "
                f"{len(bags)} and {self.labels.size}"
            )
        self.at = np.flatnonzero(bags.words >= 0)
        self.document = np.repeat(np.arange(len(bags)), bags.lengths)[self.at]
        self.lengths = np.bincount(self.document, minlength=len(bags))
        self.budget = changes_allowed(self.lengths, share)
        words, self.word = np.unique(bags.words[self.at], return_inverse=True)
        table = substitutions.table(words)
        self.candidates, choices = np.unique(table, return_inverse=True)
        self.choices = choices.reshape(table.shape)

    def group(self, rows: IntArray) -> Group:
        """Return some of the documents, with only the words that occur in them."""
        # The number of each document within the group, −1 for the others.
        local = np.full(self.lengths.size, -1, dtype=np.int64)
        local[rows] = np.arange(rows.size)
        places = np.flatnonzero(local[self.document] >= 0)
        kinds, kind = np.unique(self.word[places], return_inverse=True)
        return Group(
            rows=rows,
            places=places,
            document=local[self.document[places]],
            kind=kind,
            choices=self.choices[kinds],
            lengths=self.lengths[rows],
            budget=self.budget[rows],
        )


@dataclass(frozen=True, eq=False)
class Lowest:
    """Smallest mean score of each of r documents.

    Attributes:
        values: the minima, shape (r,).
        changed: True where the word at a position is changed, shape (t,).
        shares: of each word's choices in its minimum, shape (u, c); one of them 1 if T is 0.
    """

    values: FloatArray
    changed: NDArray[np.bool_]
    shares: FloatArray


@dataclass(frozen=True, eq=False)
class Group:
    """Documents whose worst texts are searched together.

    Attributes:
        rows: the documents, ascending, shape (r,).
        places: their known positions, as entries of the arrays of `Places`, shape (t,).
        document: entry of `rows` that each belongs to, shape (t,).
        kind: row of `choices` of the word at each position, shape (t,).
        choices: candidates of each distinct word, itself first, shape (u, c).
        lengths: known words, shape (r,).
        budget: words that may change, shape (r,).
    """

    rows: IntArray
    places: IntArray
    document: IntArray
    kind: IntArray
    choices: IntArray
    lengths: IntArray
    budget: IntArray

    def worst(self, difference: FloatArray, temperature: float = 0.0) -> Lowest:
        """Minimise the mean of a score over the allowed texts of each document.

        Args:
            difference: score of each candidate, shape (candidates,).
            temperature: T ≥ 0; above 0 the minimum over the choices z of a word is smoothed to
                −T·ln Σ exp(−z/T), which is at most T·ln(choices) below it.
        """
        scores = difference[self.choices]
        least = scores.min(axis=1)
        if temperature > 0:
            # The largest exponent is 0: no overflow, however small the temperature.
            weights = np.exp((least[:, None] - scores) / temperature)
            total = weights.sum(axis=1)
            shares = weights / total[:, None]
            least = least - temperature * np.log(total)
        else:
            best = scores.argmin(axis=1)
            shares = (best[:, None] == np.arange(scores.shape[1])).astype(np.float64)
        # A changed position takes its word's minimum, any other the word itself: choice 0.
        changed = self._changed(scores[:, 0] - least)
        values = np.where(changed, least[self.kind], scores[self.kind, 0])
        sums = np.bincount(self.document, weights=values, minlength=self.rows.size)
        return Lowest(sums / np.maximum(self.lengths, 1), changed, shares)

    def _changed(self, drop: FloatArray) -> NDArray[np.bool_]:
        """Mark the positions with the largest drops of each document, within its budget."""
        if (self.budget >= self.lengths).all():
            return np.ones(self.kind.size, dtype=bool)
        # Sorted by document and, within each, by drop: the rank is the offset from its start.
        order = np.lexsort((-drop[self.kind], self.document))
        starts = np.cumsum(self.lengths) - self.lengths
        rank = np.empty(order.size, dtype=np.int64)
        rank[order] = np.arange(order.size) - starts[self.document[order]]
        return np.asarray(rank < self.budget[self.document])

    def spread(self, lowest: Lowest, weights: FloatArray, size: int) -> FloatArray:
        """Spread weights of the documents over the candidates through the gradient of a minimum.

        Args:
            lowest: the minimum of each document.
            weights: the derivative with respect to each minimum, shape (r,).
            size: number of candidates.

        Returns:
            Shape (size,).
        """
        mine = (weights / np.maximum(self.lengths, 1))[self.document]
        words = len(self.choices)
        moved = np.bincount(self.kind, np.where(lowest.changed, mine, 0.0), minlength=words)
        stay = np.bincount(self.kind, np.where(lowest.changed, 0.0, mine), minlength=words)
        # The gradient of a (smoothed) minimum over its choices is their shares; an unchanged
        # position depends on its own word alone, which is choice 0.
        each = moved[:, None] * lowest.shares
        each[:, 0] += stay
        total = np.bincount(self.choices.ravel(), weights=each.ravel(), minlength=size)
        return total.astype(np.float64)


def certify_linear(
    model: LinearModel,
    bags: Bags,
    labels: ArrayLike,
    substitutions: Substitutions,
    share: float = 1.0,
) -> Worst:
    """Return the exact worst case of each document under the allowed substitutions.

    Args:
        model: the classifier.
        bags: k documents.
        labels: the class that must not change, shape (k,): the true one, or the predicted one.
        substitutions: allowed substitutes of a word.
        share: of the words that may change; see `changes_allowed`.

    Raises:
        ParameterError: there is no document, a label is no class of the model, or the share is
            outside [0, 1].
    """
    places = Places(bags, labels, substitutions, share)
    truth = places.labels
    if not (truth.min() >= 0 and truth.max() < model.classes):
        raise ParameterError(f"labels must lie in 0..{model.classes - 1}")
    if not bags.vocabulary == len(model.vectors):
        raise ParameterError(
            f"the documents are of a vocabulary of {bags.vocabulary:,} words, and the classifier "
            f"has {len(model.vectors):,} vectors"
        )
    scores = model.vectors[places.candidates].astype(np.float64) @ model.weights.T
    margins, rivals = np.full(len(bags), np.inf), np.zeros(len(bags), dtype=np.int64)
    words = np.array(bags.words)
    # Documents of one label share the difference of two scores, so they are processed together.
    for label in np.unique(truth).tolist():
        group = places.group(np.flatnonzero(truth == label))
        for rival in range(model.classes):
            if rival == label:
                continue
            low = group.worst(scores[:, label] - scores[:, rival])
            reached = low.values + (model.bias[label] - model.bias[rival])
            lower = reached < margins[group.rows]
            margins[group.rows[lower]] = reached[lower]
            rivals[group.rows[lower]] = rival
            kept = lower[group.document]
            choice = np.where(low.changed, low.shares.argmax(axis=1)[group.kind], 0)
            chosen = places.candidates[group.choices[group.kind, choice]]
            words[places.at[group.places[kept]]] = chosen[kept]
    size = np.abs(scores).max(initial=0.0) + np.abs(model.bias).max()
    certified = margins > _ROUNDING * size
    if model.constant:  # no text matters: even a tie stays as `LinearModel.predict` breaks it
        certified = truth == int(model.bias.argmax())
    return Worst(margins, rivals, bags.with_words(words), certified)


# Exact radius of a linear classifier without noise: no smaller attack changes the class.
#
# Class y stays ahead of c at x + α as long as (w_y − w_c)·α > −margin_c(x). By Hölder's inequality
# an α of ‖α‖_p ≤ L reaches at most L·‖w_y − w_c‖_q with 1/p + 1/q = 1, and some α attains it. So
# the smallest attack is min_c margin_c(x)/‖w_y − w_c‖_q: no bound and no estimate.


_DUAL = {1.0: math.inf, 2.0: 2.0, math.inf: 1.0}


def linear_radii(
    weights: ArrayLike, bias: ArrayLike, inputs: ArrayLike, labels: ArrayLike, attack: float
) -> FloatArray:
    """Return the size of the smallest attack that takes each input out of its class, shape (k,).

    Attacks may leave the range of the inputs, as they may in a noise layer's certificate.

    Args:
        weights: one row per class, shape (m, d), m ≥ 2.
        bias: shape (m,).
        inputs: shape (k, d).
        labels: true class of each, 0..m−1, shape (k,).
        attack: p, the norm of an attack: 1, 2 or infinity.

    Returns:
        −1 where the class is wrong without any attack; ∞ where no attack helps.

    Raises:
        ParameterError: shapes do not fit, or the norm is another one.
    """
    w, b, x = (np.asarray(values, dtype=np.float64) for values in (weights, bias, inputs))
    truth = np.asarray(labels, dtype=np.int64)
    if not (w.ndim == x.ndim == 2 and b.shape == w.shape[:1] and x.shape[1:] == w.shape[1:]):
        raise ParameterError(
            f"weights of shape {w.shape}, biases of shape {b.shape} and inputs of shape {x.shape} "
            "do not fit"
        )
    if not (truth.shape == x.shape[:1] and ((truth >= 0) & (truth < len(w))).all()):
        raise ParameterError(f"each of {len(x)} inputs needs a label in 0..{len(w) - 1}")
    dual = _DUAL[norm_of(attack)]
    # ‖w_y − w_c‖_q of every pair of classes, then the row of each input's own class.
    reach = np.linalg.norm(w[:, None] - w[None], ord=dual, axis=2)[truth]
    scores = x @ w.T + b
    margins = np.take_along_axis(scores, truth[:, None], axis=1) - scores
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = np.where(reach > 0, margins / reach, np.where(margins < 0, -np.inf, np.inf))
    # 0/0 above: a class is no rival of itself, and between equal weights the biases decide.
    sizes[np.arange(len(x)), truth] = np.inf
    nearest = sizes.min(axis=1)
    return np.asarray(np.where(nearest >= 0, nearest, -1.0))


def ordinary_radii(data: Digits, attack: float) -> FloatArray:
    """Return `linear_radii` of the test pictures for logistic regression without noise.

    Args:
        data: pictures, divided.
        attack: p.

    Raises:
        MissingPackageError: scikit-learn is not installed.
        ParameterError: the norm is none of those above.
    """
    model = sklearn("linear_model").LogisticRegression(max_iter=200)
    with quiet(), one_thread():
        model.fit(data.train, data.train_labels)
    labels = np.searchsorted(model.classes_, data.test_labels)
    return linear_radii(model.coef_, model.intercept_, data.test, labels, attack)
