"""Which exponent η of TEM has which true ε on a lexicon: the certificate of calibrated TEM."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.certificate import EPSILONS, Certificate, FloatArray, search
from dpcore.mechanisms.exponential.tem_law import log_odds
from dpcore.mechanisms.exponential.tem_loss import effective_epsilons

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.metric import Metric

_START = 32


def tem_certificate(
    lexicon: Lexicon, metric: Metric, beta: float, progress: Progress = silent
) -> Certificate:
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
        found = effective_epsilons(lexicon, metric, etas, cap / etas, progress)
        return np.nextafter([loss.epsilon + loss.error for loss in found], np.inf)

    return search(evaluate, np.geomspace(first, min(last, EPSILONS[-1]), _START))
