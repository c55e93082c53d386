"""Certified training of a linear classifier: minimisation of the loss of the worst allowed text.

    ½‖V‖² + C·Σ_i [(1 − κ)·loss(clean margins of i) + κ·loss(worst margins of i)],
    loss(margins) = ln(1 + Σ_{c ≠ y} exp(−margin_c)),

the softmax cross-entropy, with V the weights of standardised coordinates. A worst margin is a
minimum of linear functions of the weights, so concave, and the loss is convex and falls in the
margins: a convex program for every κ, whose solution does not depend on a start or a seed. κ = 0 is
logistic regression; κ = 1 is the loss of Jia et al. 2019 with the exact worst case in place of
their bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import CorpusError, ParameterError
from dpcore.learn.classifiers import averaged
from dpcore.learn.corpus import Bags
from dpcore.learn.linear.certificate import Places
from dpcore.learn.substitutions import Substitutions
from dpcore.lexicon.progress import Progress, silent

# A linear classifier of averaged word vectors.


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

    @property
    def constant(self) -> bool:
        """True if no text matters: all classes have the same weights, as in the zero classifier."""
        return not bool(np.ptp(self.weights, axis=0).any())

    def scores(self, bags: Bags) -> FloatArray:
        """Return the score of each class, shape (k, m); without known words, the biases."""
        # The mean of no words counts as 0, so that the biases alone remain.
        return averaged(bags.counts(), self.vectors) @ self.weights.T + self.bias

    def probabilities(self, bags: Bags) -> FloatArray:
        """Return the softmax of the scores, shape (k, m)."""
        from scipy.special import softmax

        return np.asarray(softmax(self.scores(bags), axis=1))

    def predict(self, bags: Bags) -> IntArray:
        """Return the most probable class of each document, shape (k,)."""
        return np.asarray(self.scores(bags).argmax(axis=1), dtype=np.int64)

    def accuracy(self, bags: Bags, labels: ArrayLike) -> float:
        """Return the share of the documents whose most probable class is their label."""
        return float((self.predict(bags) == np.asarray(labels)).mean())


_TEMPERATURES = (0.3, 0.1, 0.03, 0.01)
_TOLERANCE = 1e-6  # relative gain of a step at which a temperature is done


@dataclass(frozen=True)
class LinearTraining:
    """Settings of the convex program.

    Attributes:
        strength: C, the inverse of the regularisation; with two classes half of scikit-learn's C
            for logistic regression gives the same classifier.
        robust: κ, the weight of the worst case, 0 to 1.
        share: of the words that may change; see `dpcore.learn.linear.certificate.changes_allowed`.
        rounds: maximum number of steps of L-BFGS.
    """

    strength: float = 0.5
    robust: float = 1.0
    share: float = 1.0
    rounds: int = 300

    def __post_init__(self) -> None:
        """Check the settings."""
        if not 0 < self.strength < np.inf:
            raise ParameterError(f"strength must be a finite number > 0, got {self.strength}")
        if not 0 <= self.robust <= 1:
            raise ParameterError(f"the weight of the worst case is in [0, 1], got {self.robust}")
        if not 0 <= self.share <= 1:
            raise ParameterError(
                f"the share of words that may change is in [0, 1], got {self.share}"
            )
        if not 1 <= self.rounds <= 100_000:
            raise ParameterError(f"training takes 1 to 100,000 rounds, got {self.rounds}")


@dataclass(frozen=True, eq=False)
class LinearFit:
    """A trained classifier and the end of its optimisation.

    Attributes:
        model: the classifier.
        objective: value of the program.
        rounds: number of steps taken.
        stopped: True if the steps ran out before the objective converged.
    """

    model: LinearModel
    objective: float
    rounds: int
    stopped: bool


class Program:
    """Objective as a function of one flat vector (V row by row, then the biases).

    Args:
        settings: of the program.
        bags: k documents.
        labels: class of each, shape (k,), of 0..m−1; at least two occur.
        vectors: public word vectors, shape (n, d).
        substitutions: allowed substitutes of a word.
    """

    def __init__(
        self,
        settings: LinearTraining,
        bags: Bags,
        labels: ArrayLike,
        vectors: NDArray[np.float32],
        substitutions: Substitutions,
    ) -> None:
        """Prepare the candidates and the coordinates."""
        self.settings = settings
        self.places = Places(bags, labels, substitutions, settings.share)
        truth = self.places.labels
        if not np.unique(truth).size >= 2:
            raise CorpusError("a classifier needs texts of at least two classes to be trained on")
        if not truth.min() >= 0:
            raise ParameterError("labels must be numbered from 0")
        self.classes = int(truth.max()) + 1
        self._groups = [
            (label, self.places.group(np.flatnonzero(truth == label)))
            for label in np.unique(truth).tolist()
        ]
        self.vectors = vectors
        features = averaged(bags.counts(), vectors)
        self.centre = features.mean(axis=0)
        spread = features.std(axis=0)
        self.spread = np.where(spread > 0, spread, 1.0)  # a constant coordinate has no effect
        self.features = (features - self.centre) / self.spread
        # A document without known words has mean vector 0, not the centre.
        self._shift = -self.centre / self.spread
        # Candidates in standardised coordinates: their mean over a text is the text's own point.
        self.points = vectors[self.places.candidates].astype(np.float64) / self.spread + self._shift

    @property
    def size(self) -> int:
        """Number of variables."""
        return int(self.classes * (self.features.shape[1] + 1))

    def model(self, flat: FloatArray) -> LinearModel:
        """Return the classifier at given values of the variables."""
        v, bias = self._parts(flat)
        # V·(x − centre)/spread + b written as a function of x itself.
        weights = v / self.spread
        return LinearModel(weights, bias - weights @ self.centre, self.vectors)

    def _parts(self, flat: FloatArray) -> tuple[FloatArray, FloatArray]:
        split = self.classes * self.features.shape[1]
        return flat[:split].reshape(self.classes, -1), flat[split:].copy()

    def value(self, flat: FloatArray, temperature: float = 0.0) -> tuple[float, FloatArray]:
        """Return the objective and a subgradient.

        Args:
            flat: the variables.
            temperature: T of `dpcore.learn.linear.certificate.Group.worst`; above 0 the objective
                is larger by at most C·κ·k·T·ln(choices), its minimum over a word's choices is
                smooth, and the subgradient is the gradient except where a document's budget ends
                in a tie.
        """
        v, bias = self._parts(flat)
        total, slope, pull = 0.5 * float(np.square(v).sum()), v.copy(), np.zeros_like(bias)
        robust, c = self.settings.robust, self.settings.strength
        for weight, part in (
            (c * (1 - robust), self._clean(v, bias) if robust < 1 else None),
            (c * robust, self._worst(v, bias, temperature) if robust > 0 else None),
        ):
            if part is not None:
                total += weight * part[0]
                slope += weight * part[1]
                pull += weight * part[2]
        return total, np.concatenate((slope.ravel(), pull))

    def _clean(self, v: FloatArray, bias: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        from scipy.special import logsumexp

        # Gradient of a softmax cross-entropy: probabilities minus 1 at the label.
        scores = self.features @ v.T + bias
        logs = scores - logsumexp(scores, axis=1, keepdims=True)
        rows = np.arange(len(scores))
        miss = np.exp(logs)
        miss[rows, self.places.labels] -= 1.0
        loss = -float(logs[rows, self.places.labels].sum())
        return loss, miss.T @ self.features, miss.sum(axis=0)

    def _worst(
        self, v: FloatArray, bias: FloatArray, temperature: float
    ) -> tuple[float, FloatArray, FloatArray]:
        from scipy.special import logsumexp

        scores = self.points @ v.T
        loss, pull = 0.0, np.zeros_like(bias)
        on_points = np.zeros_like(scores)  # derivative with respect to the score of each candidate
        bare = np.zeros_like(bias)  # and to that of a document without known words
        for label, group in self._groups:
            empty = group.lengths == 0
            rivals = [c for c in range(self.classes) if c != label]
            lowest = [group.worst(scores[:, label] - scores[:, c], temperature) for c in rivals]
            margins = [
                low.values + empty * ((v[label] - v[c]) @ self._shift) + bias[label] - bias[c]
                for c, low in zip(rivals, lowest, strict=True)
            ]
            # ln(1 + Σ exp(−margin)): the 1 is the label's own term, exp(0).
            logs = logsumexp(np.stack([np.zeros(empty.size), *(-m for m in margins)]), axis=0)
            loss += float(logs.sum())
            for rival, margin, low in zip(rivals, margins, lowest, strict=True):
                share = np.exp(-margin - logs)
                # ∂loss/∂margin = −share; a margin grows with the label's score and falls with the
                # rival's.
                pushed = group.spread(low, share, len(scores))
                on_points[:, label] -= pushed
                on_points[:, rival] += pushed
                for array, amount in ((pull, share.sum()), (bare, share[empty].sum())):
                    array[label] -= amount
                    array[rival] += amount
        return loss, on_points.T @ self.points + np.outer(bare, self._shift), pull


def train_linear(
    settings: LinearTraining,
    bags: Bags,
    labels: ArrayLike,
    vectors: NDArray[np.float32],
    substitutions: Substitutions,
    progress: Progress = silent,
) -> LinearFit:
    """Solve the program by L-BFGS, with a minimum that is smoothed less and less.

    Args:
        settings: of the program.
        bags: k documents.
        labels: class of each, shape (k,).
        vectors: public word vectors, shape (n, d).
        substitutions: allowed substitutes of a word.
        progress: called with ("training", steps, most steps).

    Raises:
        CorpusError: only one class occurs.
        ParameterError: there is not one label per document.
    """
    from scipy.optimize import minimize

    program = Program(settings, bags, labels, vectors, substitutions)
    steps = 0

    def step(_: FloatArray) -> None:
        nonlocal steps
        steps += 1
        progress("training", steps, settings.rounds)

    variables = np.zeros(program.size)
    best, value = variables, program.value(variables)[0]
    stopped = False
    # L-BFGS needs a continuous gradient: each temperature starts where the last one ended, and the
    # best solution is chosen by the program itself, without smoothing.
    for temperature in _TEMPERATURES if settings.robust > 0 else _TEMPERATURES[-1:]:
        left = settings.rounds - steps
        if not left > 0:
            stopped = True
            break
        solution = minimize(  # type: ignore[call-overload]  # the stub knows no `jac=True` beside `args`
            program.value,
            variables,
            args=(temperature,),
            jac=True,
            method="L-BFGS-B",
            callback=step,
            options={"maxiter": left, "ftol": _TOLERANCE, "gtol": 1e-6},
        )
        variables, stopped = solution.x, solution.nit >= left
        exact = program.value(variables)[0]
        if exact < value:
            best, value = variables, exact
    return LinearFit(program.model(best), value, steps, stopped)
