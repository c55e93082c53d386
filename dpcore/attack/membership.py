"""Membership inference by a shadow model: was this text among those that a model learned from?

The protocol of Carvalho et al. 2021 (Appendix C), after Shokri et al. 2017. The texts fall into
four quarters. The target model is trained on TR1; TR2 is held out. A shadow model of the same kind
is trained on TE2; TE1 is held out. The attack network learns, from the shadow model's outputs, to
tell TE2 (in) from TE1 (out), and is then asked to tell TR1 (in) from TR2 (out) by the target's
outputs. All outputs are for the texts as they were written: the attacker holds a text, and asks
whether it was used.
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

_GAIN = 1e-3  # nats: what a pass must lower the loss by to count as progress


class Knowledge(StrEnum):
    """What the attack network is shown of a text."""

    OUTPUT = "output"
    """The model's probabilities alone, as in Carvalho et al. 2021."""
    LABEL = "output and label"
    """Also the probability that the model gives to the true label: a stronger attacker."""


@dataclass(frozen=True)
class AttackNetwork:
    """The attacker's network: two layers of 64 units (Carvalho et al. 2021, Appendix C).

    Attributes:
        knowledge: what it is shown.
        hidden: units of each of the two layers.
        epochs: passes over the shadow model's outputs, at most: training ends after `patience`
            passes that no longer lower the loss by `_GAIN`.
        batch: examples of one step.
    """

    knowledge: Knowledge = Knowledge.OUTPUT
    hidden: int = 64
    epochs: int = 20
    batch: int = 64
    patience: int = 3


@dataclass(frozen=True, eq=False)
class Scores:
    """The attacker's belief that each text was in; both arrays are read-only.

    Attributes:
        inside: of the texts that were, shape (a,).
        outside: of those that were not, shape (b,).
    """

    inside: FloatArray
    outside: FloatArray

    def __post_init__(self) -> None:
        """Refuse scores that decide nothing, and make them read-only."""
        for scores in (self.inside, self.outside):
            if not (scores.ndim == 1 and scores.size and np.isfinite(scores).all()):
                raise ParameterError("scores are finite numbers, at least one on each side")
            scores.setflags(write=False)


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model answers for some texts.

    Attributes:
        probabilities: of each class, shape (k, m).
        labels: the true class, shape (k,).
    """

    probabilities: FloatArray
    labels: IntArray

    def features(self, knowledge: Knowledge) -> FloatArray:
        """What the attack network is shown, shape (k, m) or (k, m + 1)."""
        if knowledge is Knowledge.OUTPUT:
            return self.probabilities
        true = self.probabilities[np.arange(self.labels.size), self.labels]
        return np.column_stack((self.probabilities, true))


@dataclass(frozen=True, eq=False)
class Attacker:
    """A trained attack network, which may be asked about many targets."""

    knowledge: Knowledge
    _model: Any

    def scores(self, target: tuple[Answers, Answers]) -> Scores:
        """Its belief by the target's answers for TR1 (in) and TR2 (out)."""
        inside, outside = (
            self._model.predict_proba(answers.features(self.knowledge))[:, 1] for answers in target
        )
        return Scores(np.asarray(inside), np.asarray(outside))


def train_attacker(
    network: AttackNetwork, shadow: tuple[Answers, Answers], rng: np.random.Generator
) -> Attacker:
    """Train the attack network on the shadow model's answers.

    Args:
        network: its settings.
        shadow: answers of the shadow model for what it learned from (TE2), and did not (TE1).
        rng: of the network's start and order.

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
    # TE2 was learned from, TE1 was not.
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


# What a guarantee for words says about membership: a bound for whole documents.
#
# A guarantee of a word mechanism compares two *words*. Membership is about a whole document, so the
# losses of its ℓ places add up. What follows is a bound on telling apart two training sets that
# differ in one document, which is replaced by another with the same number of protected places and
# the same released marks and capitals; a model trained on the private text is post-processing.
# Nothing is promised about a document's length, or about leaving it out altogether.


_VACUOUS = 0.999


@dataclass(frozen=True)
class DocumentBound:
    """(ε, δ) for one document, or nothing.

    Attributes:
        tokens: protected places ℓ of the document.
        epsilon: total loss in nats; infinite if nothing is bounded.
        delta: total δ.
        holds: whether the guarantee of a word is known to hold.
        sentence: what is bounded, and by what.
    """

    tokens: int
    epsilon: float
    delta: float
    holds: bool
    sentence: str

    def true_positives(self, false_positives: ArrayLike) -> FloatArray:
        """Largest true-positive rate at each false-positive rate f.

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
        """Whether it allows an attacker who is almost always right."""
        return self.auc > _VACUOUS


def document_bound(guarantee: Guarantee, tokens: int, diameter: float) -> DocumentBound:
    """The bound of a guarantee of words for a document.

    Args:
        guarantee: of the mechanism at its ε; each place has independent noise.
        tokens: ℓ, protected places of the document, unknown words included.
        diameter: Δ, the largest Euclidean distance of two words of the lexicon.

    Raises:
        ParameterError: there are no places, or the diameter is not positive.
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
    # Nobody knows what the other document says: every place may hold the two farthest words.
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


# How well membership was inferred: AUC, the ROC curve, and true positives at few false ones.
#
# A false-positive rate of 1 % or 0.1 % is what an accusation can afford (Carlini et al. 2022,
# "Membership inference attacks from first principles"); the AUC averages over rates that nobody
# would use.


FEW = (0.001, 0.01)
"""False-positive rates at which the true-positive rate is reported."""


def auc(scores: Scores) -> float:
    """Probability that a text that was in gets a higher score than one that was not.

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
        low: of the two-sided Clopper–Pearson interval of `true_positives`.
        high: of it.
        threshold: a score above it is called in.
        inside: texts that were in.
        outside: texts that were not; fewer than 1/f of them cannot show a rate of f.
    """

    false_positives: float
    true_positives: float
    low: float
    high: float
    threshold: float
    inside: int
    outside: int


def rate_at(scores: Scores, false_positives: float, error: float = 0.05) -> Rate:
    """True positives with the threshold at which at most a share f of the outsiders is called in.

    The interval is that of the true-positive count at this threshold. The threshold is chosen on
    the same outsiders, so the false-positive rate is that of the sample.

    Args:
        scores: of the attacker.
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
    """True-positive rate at each false-positive rate, joined by straight lines, shape (r,).

    A straight line between two thresholds is what an attacker reaches who tosses a coin between
    them; ties are such a line.
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
