"""What a guarantee for words says about membership: a bound for whole documents.

A guarantee of a word mechanism compares two *words*. Membership is about a whole document, so the
losses of its ℓ places add up. What follows is a bound on telling apart two training sets that
differ in one document, which is replaced by another with the same number of protected places and
the same released marks and capitals; a model trained on the private text is post-processing.
Nothing is promised about a document's length, or about leaving it out altogether.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.guarantee import ApproximateLocalPrivacy, MetricPrivacy, Status

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcore.guarantee import Guarantee

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
