"""TEM with the largest exponent that its ε allows on this lexicon.

TEM spends half of ε on the weight of a word and half on its normaliser, because the two could
change in the same direction by as much as the distance. On a real vocabulary they do not: the true
ε is .5 to .75 of the nominal one (`tem_loss`). Here the exponent is η(ε), the largest that was
certified to have a true ε of at most ε; γ is that of Theorem 3 with η in place of ε/2, so at ε this
is TEM at the nominal parameter 2η(ε) ≥ ε, and P(a word beyond γ) ≤ β holds as it does there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.guarantee import MetricPrivacy, Status
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import silent
from dpcore.limits import CERTIFIED_BY_COMMAND_WORDS
from dpcore.mechanisms.calibrated import CalibratedMechanism
from dpcore.mechanisms.certificate import EPSILONS, Certificate, around_the_rise, search
from dpcore.mechanisms.exponential.tem import TruncatedExponential, euclidean_factor
from dpcore.mechanisms.exponential.tem_law import log_odds
from dpcore.mechanisms.exponential.tem_loss import effective_epsilons

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray, IntArray
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.progress import Progress
    from dpcore.lexicon.ranking import Ranking
    from dpcore.mechanisms.path import EpsilonPaths

_START = 32  # exponents that the search begins with


@dataclass(frozen=True, eq=False, kw_only=True)
class TemCalibrated(CalibratedMechanism, TruncatedExponential):
    """TEM at the nominal parameter 2η(ε), η certified on the lexicon."""

    key = "tem-calibrated.v1"
    short = "tem-calibrated"
    title = "Calibrated TEM"
    summary = (
        "TEM with the least randomness that its promise allows on this very vocabulary, "
        "where every pair of words was computed"
    )
    source = "our calibration of Carvalho et al. 2021, Algorithm 2"
    cited: ClassVar[tuple[str, ...]] = ("carvalho2021tem",)
    certified_by_command = CERTIFIED_BY_COMMAND_WORDS

    def proved_strength(self, epsilon: float) -> float:
        """η = ε/2 (Carvalho et al. 2021, Theorem 2)."""
        return 0.5 * epsilon

    def proved_epsilon(self, strengths: FloatArray) -> FloatArray:
        """2η."""
        return 2.0 * strengths

    def compute_certificate(self, progress: Progress = silent) -> Certificate:
        """Exponents η with the loss of all pairs of words, each computed."""
        return _certificate(self.lexicon, Metric.parse(self.metric), self.beta, progress)

    def nominal(self, epsilon: float) -> float:
        """2η(ε): the parameter of plain TEM with this law."""
        return 2.0 * self.strength(epsilon)

    def gamma(self, epsilon: float) -> float:
        """The threshold γ at ε: Theorem 3 with η(ε) in place of ε/2."""
        return super().gamma(self.nominal(epsilon))

    def promise(self, epsilon: float) -> MetricPrivacy:
        """Theorem 2, for the exponent ε/2."""
        return MetricPrivacy(
            epsilon=epsilon,
            status=Status.PROVED,
            reason=(
                "With the exponent ε/2 the truncated distance to any output differs by at most d "
                "between two words, so weight and normaliser each change by at most e^(ε·d/2)."
            ),
            source="Carvalho et al. 2021, Theorem 2",
            metric=self.metric,
            euclidean_factor=euclidean_factor(self.lexicon, Metric.parse(self.metric)),
            rounding=self.rounding(epsilon),
        )

    def true_epsilons(self, epsilons: Sequence[float]) -> list[float] | None:
        """Nothing: η was chosen so that ε is true."""
        return None

    def paths(
        self,
        rng: np.random.Generator,
        words: IntArray,
        *,
        rankings: Sequence[Ranking] | None = None,
        epsilons: FloatArray | None = None,
    ) -> EpsilonPaths:
        """One draw per entry as an exact step function of ε: that of TEM, at 2η(ε)."""
        return self.in_own_epsilon(super().paths(rng, words, rankings=rankings), 2.0)


def _certificate(lexicon: Lexicon, metric: Metric, beta: float, progress: Progress) -> Certificate:
    """Exponents η whose exact ε_eff over all pairs lies just below each ε of the table.

    γ is that of Theorem 3 with η in place of ε/2, so c = η·γ does not depend on η. Once η·Δ₀
    reaches c, every other word is beyond γ and the law no longer changes: the largest η that is
    looked at is c/Δ₀.

    Args:
        lexicon: words and vectors.
        metric: of the guarantee.
        beta: β of γ.
        progress: called with (stage, done, all); several rounds.
    """
    cap = log_odds(len(lexicon), beta)
    # Slightly beyond, so that rounding leaves no pair within γ.
    last = cap / lexicon.with_metric(metric).extent.separation * (1.0 + 1e-9)
    first = min(0.5 * EPSILONS[0], 0.5 * last)

    def evaluate(etas: FloatArray) -> FloatArray:
        losses = effective_epsilons(lexicon, metric, etas, cap / etas, progress)
        # What is certified is a bound: the computed loss and its error, rounded up.
        return np.nextafter([loss.epsilon + loss.error for loss in losses], np.inf)

    start = np.geomspace(first, min(last, EPSILONS[-1]), _START)
    return search(evaluate, start, around_the_rise(lexicon, metric))
