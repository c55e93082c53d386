"""Exact audits over all pairs of a large vocabulary, for laws whose worst output is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.audit.exact.exact import ExactAudit, Triple, hockey_stick
from dpcore.audit.exact.log_laws import log_law
from dpcore.errors import ParameterError
from dpcore.lexicon.metric import Metric, paired_distances
from dpcore.limits import MAX_AUDIT_ENTRIES, MAX_AUDIT_TEM_WORDS
from dpcore.mechanisms.exponential.tem import TruncatedExponential
from dpcore.mechanisms.exponential.tem_loss import effective_epsilon
from dpcore.mechanisms.gumbel.repaired import TruncatedGumbelRepaired
from dpcore.mechanisms.gumbel.repaired_certificate import repaired_losses

if TYPE_CHECKING:
    from dpcore.lexicon.progress import Progress

_CERTIFIED = 1e-5  # by how much of itself a certified ε may lie above the true one


def audit_whole(
    mechanism: TruncatedExponential | TruncatedGumbelRepaired, epsilon: float, progress: Progress
) -> tuple[ExactAudit, str, float]:
    """All pairs of the vocabulary in n² steps; where ε holds for every pair, δ is 0.

    Args:
        mechanism: TEM, calibrated or not, or the repaired truncated Gumbel mechanism.
        epsilon: the claimed ε.
        progress: called with (stage, done, total).

    Returns:
        The losses, the method in words, and a bound on the error of ε_eff.

    Raises:
        ParameterError: too many words; the message says what to do.
    """
    n = len(mechanism.lexicon)
    if n > MAX_AUDIT_TEM_WORDS:
        raise ParameterError(
            f"all pairs of {mechanism.short} are compared up to {MAX_AUDIT_TEM_WORDS:,} words, "
            f"this lexicon has {n:,}: audit a sample of 2 to {MAX_AUDIT_ENTRIES // n:,} words"
        )
    if isinstance(mechanism, TruncatedExponential):
        worst, effective, error = _tem(mechanism, epsilon, progress)
        law = "closed form"
    else:
        worst, effective, error = _repaired(mechanism, epsilon, progress)
        law = "certificate at this noise: bounds on far pairs, closed form on the rest"
    holds = effective <= epsilon
    delta = 0.0
    if not holds:
        first, second = (log_law(mechanism, w, epsilon)[0] for w in (worst.word, worst.other))
        delta = float(hockey_stick(first, second, epsilon * worst.distance))
    found = ExactAudit(
        epsilon=epsilon,
        epsilon_effective=effective,
        worst=worst,
        delta=delta,
        delta_pair=None if holds else (worst.word, worst.other),
        delta_complete=holds,
        pairs=n * (n - 1) // 2,
        outputs=n,
        unknown=0,
    )
    return found, f"{law}, all pairs of the {n:,} words, every word as output", error


def _tem(
    mechanism: TruncatedExponential, epsilon: float, progress: Progress
) -> tuple[Triple, float, float]:
    gamma = mechanism.gamma(epsilon)  # γ = c/η, whatever the exponent η is
    loss = effective_epsilon(
        mechanism.lexicon, mechanism.metric, mechanism.cap / gamma, gamma, progress
    )
    worst = Triple(loss.word, loss.other, loss.output, loss.distance, loss.log_word, loss.log_other)
    return worst, loss.epsilon, loss.error


def _repaired(
    mechanism: TruncatedGumbelRepaired, epsilon: float, progress: Progress
) -> tuple[Triple, float, float]:
    lexicon = mechanism.lexicon
    loss = repaired_losses(lexicon, np.array([mechanism.strength(epsilon)]), progress)[0]
    pair = lexicon.vectors[[loss.word]], lexicon.vectors[[loss.other]]
    first, second = (log_law(mechanism, w, epsilon)[0] for w in (loss.word, loss.other))
    worst = Triple(
        loss.word,
        loss.other,
        loss.output,
        float(paired_distances(*pair, Metric.EUCLIDEAN)[0]),
        float(first[loss.output]),
        float(second[loss.output]),
    )
    return worst, loss.epsilon, _CERTIFIED * loss.epsilon
