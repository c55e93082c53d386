"""PixelDP's condition for a certified prediction (Lecuyer et al. 2019), and a misprinted one.

If scores in [0, 1] are (ε, δ)-private, E_k(x) ≤ e^ε·E_k(x′) + δ and E_i(x′) ≤ e^ε·E_i(x) + δ, so
that E_k(x) > e^{2ε}·max E_i(x) + (1 + e^ε)·δ keeps class k ahead at x′. With (1 + ε)·δ in place of
(1 + e^ε)·δ, as lecture slides have it, it does not: a linear program finds the counterexample.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.audit.exact import hockey_stick
from dpcore.audit.report import AuditSettings
from dpcore.audit.verdict import Outcome, Verdict
from dpcore.errors import ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.papers.claim import judged

_EPSILON, _DELTA = 1.0, 0.05


@dataclass(frozen=True, eq=False)
class Counterexample:
    """Two mutually (ε, δ)-private laws of a predicted class; a positive margin is a refutation.

    Attributes:
        first: probabilities of the classes k, i and a third at x, shape (3,).
        second: at x′, shape (3,).
        margin: E_k(x) − e^{2ε}·E_i(x) − factor·δ: the condition holds if it is positive.
        deltas: the exact δ at ε in both orders.
    """

    first: FloatArray
    second: FloatArray
    margin: float
    deltas: tuple[float, float]


def largest_margin(epsilon: float, delta: float, factor: float) -> Counterexample:
    """Find the laws with the largest margin at x among those where class k is not ahead at x′.

    Variables: the laws p, q of class k, class i and all others at x and x′, and the excesses
    s ≥ p − e^ε·q, t ≥ q − e^ε·p, s, t ≥ 0; (ε, δ)-privacy is Σs ≤ δ and Σt ≤ δ. All linear. The
    others may be so many, in equal shares at x and at x′, that none of them is ahead of i.

    Raises:
        ParameterError: ε or δ is outside its range.
    """
    from scipy.optimize import linprog

    if not (0 < epsilon < 300 and 0 < delta < 1):
        raise ParameterError(
            f"the counterexample needs 0 < epsilon < 300 and 0 < delta < 1, got {epsilon}, {delta}"
        )
    e = math.exp(epsilon)
    eye, zero = np.eye(3), np.zeros((3, 3))
    bounds = np.block([[eye, -e * eye, -eye, zero], [-e * eye, eye, zero, -eye]])
    sums = np.zeros((2, 12))
    sums[0, 6:9] = sums[1, 9:] = 1.0
    behind = np.zeros((1, 12))
    behind[0, 3:5] = (1.0, -1.0)  # q_k ≤ q_i
    ones = np.zeros((2, 12))
    ones[0, :3] = ones[1, 3:6] = 1.0
    aim = np.zeros(12)
    aim[:2] = (-1.0, e * e)
    solution = linprog(
        aim,
        A_ub=np.concatenate((bounds, sums, behind)),
        b_ub=np.concatenate((np.zeros(6), [delta, delta], [0.0])),
        A_eq=ones,
        b_eq=np.ones(2),
        bounds=(0, 1),
        method="highs",
    )
    if solution.x is None or not solution.success:
        raise ParameterError(f"the linear program has no solution: {solution.message}")
    p, q = np.clip(solution.x[:3], 0, 1), np.clip(solution.x[3:6], 0, 1)
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(np.stack((p, q))), -1e300)
    deltas = tuple(float(hockey_stick(logs[i], logs[j], epsilon)) for i, j in ((0, 1), (1, 0)))
    margin = round(float(p[0] - e * e * p[1] - factor * delta), 12)  # the solver's accuracy
    return Counterexample(p, q, margin, (deltas[0], deltas[1]))


def pixeldp_slides(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Check the condition with (1 + ε)·δ."""
    return _verdict("pixeldp-slides", lexicon, settings, 1.0 + _EPSILON)


def pixeldp_right(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Check the condition with (1 + e^ε)·δ."""
    return _verdict("pixeldp", lexicon, settings, 1.0 + math.exp(_EPSILON))


def _verdict(key: str, lexicon: Lexicon, settings: AuditSettings, factor: float) -> Verdict:
    example = largest_margin(_EPSILON, _DELTA, factor)
    return judged(
        key,
        lexicon,
        settings,
        Outcome.REFUTED if example.margin > 1e-9 else Outcome.PROVED,
        parameters={"epsilon": _EPSILON, "delta": _DELTA},
        numbers={
            "largest margin": example.margin,
            "E_k(x)": float(example.first[0]),
            "E_i(x)": float(example.first[1]),
            "E_k(x′)": float(example.second[0]),
            "E_i(x′)": float(example.second[1]),
            "delta, x against x′": example.deltas[0],
            "delta, x′ against x": example.deltas[1],
        },
    )
