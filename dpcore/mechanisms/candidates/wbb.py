"""Words blending boxes, WBB (De Faveri, Faggioli, Ferro 2024): never a word that is too near.

All words are sorted by their distance from x. The first `safe` of them, x itself among them, are
never the output; the next `box` are the candidates, and with μ and σ the mean and deviation of
their distances,

    P(y | x) ∝ 1/(1 + exp(−(ε/2)·σ·(d(x, y) − μ))),

so that farther candidates are likelier. Implemented after github.com/Kekkodf/pypantera, file
pypantera/src/SamplingPerturbationMechanism/wbb.py at commit 8c4fd52, with its Euclidean distance;
it has no default sizes, those here are ours.

ε between any two words does not hold. The candidates depend on the word: P(x | x) = 0, while x is a
candidate of some other word, and between words with no common candidate δ = 1.

The repair has a floor: with probability λ the output is any word, all alike, else a candidate as
above, with exponents cut off at ±1. Then no candidate is likelier than e/m among m, and for

    λ/(1 − λ) = (n/m)·e/(e^ε − 1)

the largest probability, at most λ/n + (1 − λ)·e/m, is at most e^ε times the smallest, at least λ/n.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.guarantee import EpsilonMeaning, Guarantee, PureLocalPrivacy, Status
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.neighbours import Ranking
from dpcore.limits import NEIGHBOUR_TABLE_WIDTH
from dpcore.mechanisms.distances import nearest_of
from dpcore.mechanisms.exact import ExactMechanism
from dpcore.mechanisms.law import weights_rounding
from dpcore.mechanisms.mechanism import ColumnForm, SparseLaw
from dpcore.mechanisms.settings import parameter
from dpcore.written import Filled

_ERROR = 1e-6  # of a logarithm, from the distances of the stored table


@dataclass(frozen=True, eq=False, kw_only=True)
class WordsBlendingBoxes(ExactMechanism):
    """Word that is neither too near nor too far, as published or with a floor."""

    key = "wbb.v1"
    short = "wbb"
    title = "Words blending boxes (WBB)"
    summary = "Chooses among words that are neither too near nor too far, and never the word itself"
    source = "De Faveri, Faggioli, Ferro 2024; code Kekkodf/pypantera at 8c4fd52"
    cited: ClassVar[tuple[str, ...]] = ("defaveri2024wbb",)
    meaning = EpsilonMeaning.LOCAL

    safe: int = parameter(
        5, help="how many of the nearest words, itself among them, never come out", low=1
    )
    box: int = parameter(50, help="how many words after these may come out", low=1)
    form: str = parameter(
        "published",
        help="published: nothing else comes out; floor: any word may, so that ε holds",
        choices=("published", "floor"),
    )

    @property
    def _safe(self) -> int:
        """Number of nearest words excluded, so that at least one candidate is left."""
        return min(self.safe, len(self.lexicon) - 1)

    @property
    def size(self) -> int:
        """m, the number of candidates of a word."""
        return min(self.box, len(self.lexicon) - self._safe)

    def floor(self, epsilon: float) -> float:
        """Return λ: the probability of a uniform output, in the form with a floor."""
        # λ = 1/(1 + m(e^ε − 1)/(n·e)), without overflow.
        shrunk = math.exp(-epsilon)
        others = self.size / (len(self.lexicon) * math.e) * -math.expm1(-epsilon)
        return shrunk / (shrunk + others)

    def guarantee(self, epsilon: float) -> Guarantee:
        """Return the guarantee: ε between any two words, refuted, or proved with the floor."""
        value = self.check_epsilon(epsilon)
        status = Status.REFUTED
        reason = Filled(
            "A word never comes out in its own place, but it does for some other word: the loss is "
            "∞ at every ε, and words with no common candidate are told apart for certain. The form "
            "“floor” holds."
        )
        if self.form == "floor":
            status = Status.PROVED
            reason = Filled(
                "Any word comes out with probability {least:.3g} or more, and with at most e^ε "
                "times as much.",
                least=self.floor(value) / len(self.lexicon),
            )
        return PureLocalPrivacy(
            epsilon=value,
            status=status,
            reason=reason,
            source=self.source,
            rounding=weights_rounding(2.0**-48),
        )

    def candidates(self, distance: FloatArray) -> IntArray:
        """Return the box of a word, nearest first, from its distances to all."""
        return nearest_of(distance, self._safe + self.size)[self._safe :]

    def log_law(self, word: int, epsilon: float, *, ranking: Ranking | None = None) -> FloatArray:
        """Return ln P(y | word), shape (n,)."""
        index, value = int(self.check_words([word])[0]), self.check_epsilon(epsilon)
        distance = self.distances(index, ranking)
        inside = self.candidates(distance)
        lowest, weights = self._weighed(distance[inside][None], value)
        logs = np.full(distance.size, lowest)
        logs[inside] = weights[0]
        return logs

    def _weighed(self, away: FloatArray, epsilon: float) -> tuple[float, FloatArray]:
        """Return ln P of a word outside the box, and of candidates at these distances, (k, m)."""
        middle, spread = away.mean(axis=1, keepdims=True), away.std(axis=1, keepdims=True)
        exponents = 0.5 * epsilon * spread * (away - middle)
        if self.form == "floor":
            exponents = np.clip(exponents, -1.0, 1.0)
        weights = -np.logaddexp(0.0, -exponents)
        top = weights.max(axis=1, keepdims=True)
        weights -= top + np.log(np.exp(weights - top).sum(axis=1, keepdims=True))
        if self.form == "published":
            return -math.inf, weights
        # ln(λ/n), and 1 − λ without cancellation.
        n = len(self.lexicon)
        share = self.size / (n * math.e) * -math.expm1(-epsilon)
        total = math.exp(-epsilon) + share
        lowest = -epsilon - math.log(total) - math.log(n)
        return lowest, np.logaddexp(lowest, math.log(share / total) + weights)

    def sparse_law(self, epsilon: float) -> SparseLaw | None:
        """Return the boxes, if the table of neighbours is wide enough."""
        value, n = self.check_epsilon(epsilon), len(self.lexicon)
        if self._safe + self.size > NEIGHBOUR_TABLE_WIDTH:
            return None
        boxes, away = _boxes(self.lexicon, self._safe, self.size)
        lowest, weights = self._weighed(away, value)
        base = math.exp(lowest)
        return SparseLaw(
            base=np.full(n, base),
            words=np.repeat(np.arange(n), boxes.shape[1]),
            outputs=boxes.reshape(-1).astype(np.int64),
            excess=np.exp(weights.reshape(-1)) - base,
        )

    @property
    def column_form(self) -> ColumnForm | None:
        """Words that have the output in their box, if the table of neighbours is wide enough."""
        if self._safe + self.size > NEIGHBOUR_TABLE_WIDTH:
            return None
        return ColumnForm(self._column, _ERROR)

    def _column(self, output: int, _: FloatArray | None, epsilon: float) -> FloatArray:
        """Return ln P(output | w) of every word w, shape (n,)."""
        boxes, away = _boxes(self.lexicon, self._safe, self.size)
        holders, places = np.nonzero(boxes == output)
        lowest, weights = self._weighed(away[holders], epsilon)
        logs = np.full(len(self.lexicon), lowest)
        logs[holders] = weights[np.arange(holders.size), places]
        return logs

    @property
    def caution(self) -> str:
        """Warning that the output is never the input word."""
        if self.form == "floor":
            return ""
        return Filled(
            "Each word has {size} possible outputs of {words:,}, and itself is never one of them: "
            "an output rules most words out for certain",
            size=self.size,
            words=len(self.lexicon),
        )


@lru_cache(maxsize=2)
def _boxes(lexicon: Lexicon, safe: int, size: int) -> tuple[IntArray, FloatArray]:
    """Return the candidates of all words and their distances, shape (n, size) each."""
    table = lexicon.with_metric(Metric.EUCLIDEAN).neighbours(safe + size)
    boxes = table.indices[:, safe:].astype(np.int64)
    return boxes, table.distances[:, safe:].astype(np.float64)
