"""How often the Bayes attacker is right, over all words and all outputs.

    S = Σ_y max_w π(w)·P(y | w) = E_y[max_w π(w | y)]

For a list of words all outputs are summed. For TEM under a uniform prior the best guess is always
the output itself: min(D, γ) is a metric, so |ln Z_w − ln Z_y| ≤ η·min(D(w, y), γ), hence
P(y | w) ≤ P(y | y), and S is the mean of P(w | w). Otherwise outputs are drawn as they would come
out, and the mean of max_w π(w | y), itself exact, is an unbiased estimate of S: better than
counting right guesses, whose mean it is. It lies between 0 and 1, so the empirical Bernstein bound
of Maurer and Pontil 2009 (Theorem 4), taken on both sides, holds at any number of draws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.attack.output.posterior import posterior
from dpcore.errors import ParameterError
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_ATTACK_OUTPUTS
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from dpcore.attack.output.likelihood import Channel
    from dpcore.attack.output.prior import Prior

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Overall:
    """Success of the Bayes attacker.

    Attributes:
        value: S, or its estimate.
        low: lower end of a 95 % interval; if exact, `value` up to the error of the computation.
        high: upper end.
        exact: whether all outputs are in it.
        outputs: how many are, or how many were drawn.
        blind: success of an attacker who sees nothing: the largest prior.
    """

    value: float
    low: float
    high: float
    exact: bool
    outputs: int
    blind: float


def overall_success(
    channel: Channel,
    prior: Prior,
    epsilon: float,
    *,
    outputs: int = 200,
    seed: int = 0,
    progress: Progress = silent,
) -> Overall:
    """S at one ε.

    Args:
        channel: of the mechanism, for all words that the prior holds possible.
        prior: what the attacker believes; words are drawn from it too.
        epsilon: admissible.
        outputs: to draw, where they are not all summed.
        seed: of the drawing. What is measured protects nothing, so a fixed seed is right here.
        progress: called with ("attacks", done, all).

    Raises:
        ParameterError: as `posterior`, or `outputs` is out of range.
    """
    mechanism = channel.mechanism
    value = mechanism.check_epsilon(epsilon)
    blind = float(prior.probability.max())
    known = channel.success(prior, value)
    if known is not None:
        success, margin, count = known
        return Overall(success, success - margin, success + margin, True, count, blind)
    if not 2 <= outputs <= MAX_ATTACK_OUTPUTS:
        raise ParameterError(
            f"outputs to draw must be 2 to {MAX_ATTACK_OUTPUTS:,}, got {outputs:,}"
        )
    rng = generator(seed, "attack", mechanism.key)
    drawn = mechanism.sample(rng, prior.draw(rng, outputs), value)
    # A distinct output has one posterior, however often it came out.
    distinct, counts = np.unique(drawn, return_counts=True)
    each = np.empty(distinct.size)
    for i, output in enumerate(distinct.tolist()):
        each[i] = posterior(channel.seen(output).at(value), prior).success
        progress("attacks", i + 1, distinct.size)
    mean, margin = bernstein(np.repeat(each, counts))
    return Overall(
        mean, max(mean - margin, 0.0), min(mean + margin, 1.0), False, outputs, blind
    )  # fmt: skip


def bernstein(values: FloatArray, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Mean of independent values in [0, 1], and the half-width of its interval.

    Maurer and Pontil 2009, Empirical Bernstein bounds and sample-variance penalization, Theorem 4,
    with half of 1 − confidence on either side.
    """
    n = values.size
    # ln(2/δ) of the theorem with δ = (1 − confidence)/2.
    log_term = math.log(4.0 / (1.0 - confidence))
    spread = math.sqrt(2.0 * float(values.var(ddof=1)) * log_term / n)
    return float(values.mean()), spread + 7.0 * log_term / (3.0 * (n - 1))
