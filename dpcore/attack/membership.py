"""Membership inference by a shadow model, its measures, and the bound of a guarantee.

Was this text in the training set of a model? The protocol of Carvalho et al. 2021 (Appendix C),
after Shokri et al. 2017. The texts are split into four quarters. The target model is trained on
TR1; TR2 is held out. A shadow model of the same kind is trained on TE2; TE1 is held out. The attack
network learns, from the shadow model's outputs, to tell TE2 (in) from TE1 (out), and then has to
tell TR1 (in) from TR2 (out) by the target's outputs. All outputs are for the original texts: the
attacker holds a text, and asks whether it was used.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpcore.arrays import FloatArray, IntArray
from dpcore.audit.montecarlo import clopper_pearson
from dpcore.errors import ParameterError
from dpcore.guarantee import ApproximateLocalPrivacy, Guarantee, MetricPrivacy, Status
from dpcore.optional import missing

_GAIN = 1e-3  # nats by which a pass must lower the loss to count as progress


class Knowledge(StrEnum):
    """Input of the attack network for a text."""

    OUTPUT = "output"
    """Only the model's probabilities, as in Carvalho et al. 2021."""
    LABEL = "output and label"
    """Also the probability that the model gives to the true label: a stronger attacker."""


@dataclass(frozen=True)
class AttackNetwork:
    """The attacker's network: two layers of 64 units (Carvalho et al. 2021, Appendix C).

    Attributes:
        knowledge: input of the network.
        hidden: units of each of the two layers.
        epochs: largest number of passes over the shadow model's outputs.
        batch: examples of one step.
        patience: training ends after this many passes that no longer lower the loss by `_GAIN`.
    """

    knowledge: Knowledge = Knowledge.OUTPUT
    hidden: int = 64
    epochs: int = 20
    batch: int = 64
    patience: int = 3


@dataclass(frozen=True, eq=False)
class Scores:
    """Attacker's belief that each text was in the training set; both arrays are read-only.

    Attributes:
        inside: for the texts that were in it, shape (a,).
        outside: for those that were not, shape (b,).
    """

    inside: FloatArray
    outside: FloatArray

    def __post_init__(self) -> None:
        """Refuse scores that decide nothing, and make the arrays read-only."""
        for scores in (self.inside, self.outside):
            if not (scores.ndim == 1 and scores.size and np.isfinite(scores).all()):
                raise ParameterError("scores are finite numbers, at least one on each side")
            scores.setflags(write=False)


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers of a model for some texts.

    Attributes:
        probabilities: of each class, shape (k, m).
        labels: the true class, shape (k,).
    """

    probabilities: FloatArray
    labels: IntArray

    def features(self, knowledge: Knowledge) -> FloatArray:
        """Return the input of the attack network, shape (k, m) or (k, m + 1)."""
        if knowledge is Knowledge.OUTPUT:
            return self.probabilities
        true = self.probabilities[np.arange(self.labels.size), self.labels]
        return np.column_stack((self.probabilities, true))


@dataclass(frozen=True, eq=False)
class Attacker:
    """Trained attack network, which can be applied to many targets."""

    knowledge: Knowledge
    _model: Any

    def scores(self, target: tuple[Answers, Answers]) -> Scores:
        """Return its belief by the target's answers for TR1 (in) and TR2 (out)."""
        inside, outside = (
            self._model.predict_proba(answers.features(self.knowledge))[:, 1] for answers in target
        )
        return Scores(np.asarray(inside), np.asarray(outside))


def train_attacker(
    network: AttackNetwork, shadow: tuple[Answers, Answers], rng: np.random.Generator
) -> Attacker:
    """Train the attack network on the shadow model's answers.

    Args:
        network: settings of the network.
        shadow: answers of the shadow model for its training texts (TE2), and for the others (TE1).
        rng: generator for the network's start and the order of examples.

    Raises:
        MissingPackageError: scikit-learn is not installed.
    """
    try:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.neural_network import MLPClassifier
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
    except ImportError as error:
        raise missing("the attack network needs the package scikit-learn", "app") from error

    known = [answers.features(network.knowledge) for answers in shadow]
    # TE2 is the shadow model's training set, TE1 is held out.
    was_in = np.repeat([1, 0], [len(part) for part in known])
    model = make_pipeline(
        StandardScaler(),
        MLPClassifier(
            (network.hidden, network.hidden),
            batch_size=min(network.batch, was_in.size),
            max_iter=network.epochs,
            tol=_GAIN,
            n_iter_no_change=network.patience,
            random_state=int(rng.integers(2**31)),
        ),
    )
    with warnings.catch_warnings():
        # The number of passes is bounded, as in the paper.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(np.concatenate(known), was_in)
    return Attacker(network.knowledge, model)


# Membership bound for whole documents, from a guarantee for words.
#
# A guarantee of a word mechanism compares two *words*. Membership is about a whole document, so the
# losses of its ℓ positions add up. The result is a bound on telling apart two training sets that
# differ in one document, which is replaced by another with the same number of protected positions
# and the same released marks and capitals; a model trained on the private text is post-processing.
# Nothing is guaranteed about a document's length, or about leaving it out altogether.


_VACUOUS = 0.999


@dataclass(frozen=True)
class DocumentBound:
    """Bound (ε, δ) for one document, or no bound.

    Attributes:
        tokens: protected positions ℓ of the document.
        epsilon: total loss in nats; infinite if nothing is bounded.
        delta: total δ.
        holds: True if the guarantee of a word is known to hold.
        sentence: the bound in words.
    """

    tokens: int
    epsilon: float
    delta: float
    holds: bool
    sentence: str

    def true_positives(self, false_positives: ArrayLike) -> FloatArray:
        """Return the largest true-positive rate at each false-positive rate f.

        min(1, e^ε f + δ, 1 − e^−ε (1 − δ − f)) (Kairouz, Oh, Viswanath 2015, Theorem 2.1).
        """
        f = np.asarray(false_positives, dtype=np.float64)
        shrink = math.exp(-self.epsilon)
        few = np.full_like(f, np.inf)
        if self.epsilon < 700:  # e^709 is the largest that float64 holds
            few = math.exp(self.epsilon) * f + self.delta
        many = 1.0 - shrink * np.maximum(1.0 - self.delta - f, 0.0)
        return np.asarray(np.minimum(1.0, np.minimum(few, many)))

    @property
    def auc(self) -> float:
        """Largest area under the ROC curve: 1 − (1 − δ)²/(1 + e^ε)."""
        if self.epsilon > 700:
            return 1.0
        return 1.0 - (1.0 - self.delta) ** 2 / (1.0 + math.exp(self.epsilon))

    @property
    def vacuous(self) -> bool:
        """True if the bound allows an attacker who is almost always right."""
        return self.auc > _VACUOUS


def document_bound(guarantee: Guarantee, tokens: int, diameter: float) -> DocumentBound:
    """Return the bound for a document that follows from a guarantee of words.

    Args:
        guarantee: of the mechanism at its ε; each position has independent noise.
        tokens: ℓ, protected positions of the document, unknown words included.
        diameter: Δ, the largest Euclidean distance of two words of the lexicon.

    Raises:
        ParameterError: there are no positions, or the diameter is not positive.
    """
    if not (tokens >= 1 and 0 < diameter < math.inf):
        raise ParameterError(
            f"a document has at least one place and a lexicon a diameter, got {tokens} and "
            f"{diameter}"
        )
    if guarantee.status is Status.REFUTED:
        return DocumentBound(
            tokens,
            math.inf,
            1.0,
            False,
            "The claimed guarantee of a word is refuted, so membership is bounded by nothing.",
        )
    # The other document is unknown: every position may hold the two farthest words.
    word = guarantee.euclidean_loss(diameter)
    delta = 0.0
    if isinstance(guarantee, ApproximateLocalPrivacy):
        delta = min(1.0, tokens * math.exp(guarantee.log_delta))
    total = tokens * word
    each = (
        f"ε·Δ = {word:.4g} a word (ε = {guarantee.epsilon:.4g}, largest distance {diameter:.4g})"
        if isinstance(guarantee, MetricPrivacy)
        else f"ε = {word:.4g} a word"
    )
    unexplained = DocumentBound(
        tokens, total, delta, guarantee.status is not Status.CONDITIONAL, ""
    )
    says = (
        "that allows an attacker who is always right: it bounds nothing here"
        if unexplained.vacuous
        else f"so no attacker reaches an AUC above {unexplained.auc:.3f}"
    )
    sentence = (
        f"{each}, {tokens:,} words: a document is exchanged for another of as many words within "
        f"e^{total:.4g}; {says}."
    )
    return DocumentBound(tokens, total, delta, unexplained.holds, sentence)


# Measures of membership inference: AUC, the ROC curve, and true positives at few false ones.
#
# A false-positive rate of 1 % or 0.1 % is low enough for an accusation (Carlini et al. 2022,
# "Membership inference attacks from first principles"); the AUC averages over rates that no one
# would use.


FEW = (0.001, 0.01)
"""False-positive rates at which the true-positive rate is reported."""


def auc(scores: Scores) -> float:
    """Return the probability that a text that was in gets a higher score than one that was not.

    A tie counts one half (Mann–Whitney).
    """
    from scipy.stats import rankdata

    a, b = scores.inside.size, scores.outside.size
    ranks = rankdata(np.concatenate((scores.inside, scores.outside)))
    return float((ranks[:a].sum() - a * (a + 1) / 2) / (a * b))


@dataclass(frozen=True)
class Rate:
    """True positives at a bound on false positives.

    Attributes:
        false_positives: the bound f.
        true_positives: share of the texts that were in and are called in.
        low: lower end of the two-sided Clopper–Pearson interval of `true_positives`.
        high: upper end.
        threshold: texts with a higher score are called in.
        inside: number of texts that were in.
        outside: number of texts that were not; fewer than 1/f cannot show a rate of f.
    """

    false_positives: float
    true_positives: float
    low: float
    high: float
    threshold: float
    inside: int
    outside: int


def rate_at(scores: Scores, false_positives: float, error: float = 0.05) -> Rate:
    """Return the true positives where at most a share f of the outsiders is called in.

    The interval is that of the true-positive count at this threshold. The threshold is chosen on
    the same outsiders, so the false-positive rate is that of the sample.

    Args:
        scores: scores of the attacker.
        false_positives: f, above 0 and below 1.
        error: the interval misses the truth with at most this probability, both sides together.
    """
    if not 0 < false_positives < 1:
        raise ParameterError(
            f"a false-positive rate must be above 0 and below 1, got {false_positives}"
        )
    outside = np.sort(scores.outside)[::-1]
    allowed = int(np.floor(false_positives * outside.size * (1 + 1e-12)))
    threshold = float(outside[allowed])  # those strictly above it are at most `allowed`
    hits = int((scores.inside > threshold).sum())
    total = scores.inside.size
    low, high = clopper_pearson(hits, total, 0.5 * error)
    return Rate(
        false_positives=false_positives,
        true_positives=hits / total,
        low=low,
        high=high,
        threshold=threshold,
        inside=total,
        outside=outside.size,
    )


def roc(scores: Scores, rates: ArrayLike) -> FloatArray:
    """Return the true-positive rate at each false-positive rate, shape (r,).

    Points are joined by straight lines: an attacker reaches the line between two thresholds by
    tossing a coin between them; ties are such a line.
    """
    values = np.concatenate((scores.inside, scores.outside))
    was_in = np.repeat([True, False], [scores.inside.size, scores.outside.size])
    order = np.argsort(-values, kind="stable")
    # No threshold falls between equal scores: only the last of them is a point of the curve.
    last = np.append(np.flatnonzero(np.diff(values[order])), values.size - 1)
    true = np.cumsum(was_in[order])[last] / scores.inside.size
    false = np.cumsum(~was_in[order])[last] / scores.outside.size
    return np.interp(
        np.asarray(rates, dtype=np.float64),
        np.concatenate(([0.0], false)),
        np.concatenate(([0.0], true)),
    )
