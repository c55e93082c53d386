"""Claims about noise in hyperbolic space, in the two forms that its density can be read in.

Of the paper the abstract was read: the density is ∝ e^(−ε·d_H(x, w)), and points are drawn from it
by Metropolis–Hastings. What it is a density *with respect to* decides whether ε·d_H holds.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore.audit.verdict import Outcome
from dpcore.lexicon.catalogue import DEFAULT_NAME, HYPERBOLIC_NAME, available, load
from dpcore.mechanisms.additive.hyperbolic import Hyperbolic
from dpcore.papers.claim import judged
from dpcore.papers.feyisetan2020.claims import sampler_verdict

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray
    from dpcore.audit.settings import AuditSettings
    from dpcore.audit.verdict import Number, Verdict
    from dpcore.lexicon.lexicon import Lexicon

_WORDS, _RAYS = 100, 100  # of which it is computed how often a word stays
_NODES, _PIECES = 16, 48  # of each of the two integrals
_REACH = 60.0  # in nats: what is left out at the ends is below e^−60 of the largest


def hyperbolic(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """With respect to the volume of hyperbolic space, and an exact sampler: on its own words."""
    words = load(HYPERBOLIC_NAME)
    mechanism = Hyperbolic(lexicon=words)
    low = mechanism.admissible.low
    epsilon = settings.epsilon if settings.epsilon > low else low + 1.0
    facts = {entry.name: entry.manifest for entry in available() if entry.bundled}
    kept = facts[HYPERBOLIC_NAME].facts["quality"]
    numbers: dict[str, Number] = {
        "dimensions": words.dimension,
        "epsilon must be above": low,
        "words that stay as epsilon falls to that": mechanism.staying(_WORDS, _RAYS),
        "share of the default words that are kept": len(words) / facts[DEFAULT_NAME].words,
        "mean average precision of the hierarchy": float(kept["average_precision"]),
    }
    verdict = sampler_verdict(
        "hyperbolic",
        mechanism,
        settings,
        numbers,
        epsilon=epsilon,
        met=(True, True),
        further=settings.moved_to(epsilon, "there is such a density only above the dimension − 1"),
    )
    # The words are its own, whichever lexicon is asked about.
    command = settings.command("hyperbolic", lexicon, "epsilon", "draws", "seed")
    return dataclasses.replace(verdict, command=command)


def hyperbolic_flat(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """With respect to the flat volume of Poincaré's ball: its normaliser depends on the word."""
    words = load(HYPERBOLIC_NAME)
    distance = float(words.largest_norm)
    change = log_flat_normaliser(words.dimension, settings.epsilon, 0.0) - log_flat_normaliser(
        words.dimension, settings.epsilon, distance
    )
    true = settings.epsilon + change / distance
    return judged(
        "hyperbolic-flat",
        lexicon,
        settings,
        Outcome.REFUTED if true > settings.epsilon * (1.0 + 1e-6) else Outcome.NOT_REFUTED,
        parameters={"epsilon": settings.epsilon, "dimensions": words.dimension},
        numbers={
            "claimed epsilon": settings.epsilon,
            "true epsilon of the centre and the farthest word": true,
            "their distance": distance,
            "ln of the quotient of their normalisers": change,
        },
        met=(False,),
    )


def log_flat_normaliser(
    dimension: int, epsilon: float, away: float, pieces: int = _PIECES
) -> float:
    """ln ∫ e^(−ε·d_H(x, w)) dx over the unit ball, for a word at this distance from the centre.

    With dx = (1 + cosh s)^(−d) dV, s the distance of x from the centre, and in coordinates around
    w: but for a constant that is the same for all words it is

        ∫ e^(−ε·r)·sinh^(d−1)(r) ∫ sin^(d−2)(φ)·(1 + cosh s)^(−d) dφ dr,
        cosh s = cosh r·cosh ρ + sinh r·sinh ρ·cos φ.

    By Gauss and Legendre in pieces of ln r and of ln tan(φ/2), where the integrand is smooth.

    Args:
        dimension: d ≥ 2.
        epsilon: ε.
        away: ρ.
        pieces: of each interval; twice as many change the result by less than 1e-6.
    """
    # tan(φ/2) = e^v: the integrand falls off at both ends of v, as sin φ = 1/cosh v does.
    reach = _REACH + away
    v, dv = _gauss(-reach, reach, pieces)
    # In ln r: for a large ε all lies near 0. Below the first r there is less than e^−_REACH of it.
    first = math.exp(-_REACH / dimension) / max(epsilon, 1.0)
    x, dx = _gauss(math.log(first), math.log(2.0 * away + _REACH), pieces)
    r, dr = np.exp(x), np.exp(x) * dx
    sine = math.log(2.0) - np.logaddexp(v, -v)  # ln sin φ, and dφ = sin φ dv
    # cosh(r − ρ) + sinh r·sinh ρ·(1 + cos φ), in which nothing cancels; 1 + cos φ = 2/(1 + e^(2v)).
    lift = 2.0 * np.exp(-np.logaddexp(0.0, 2.0 * v))
    cosh = np.cosh(r - away)[:, None] + (np.sinh(r) * math.sinh(away))[:, None] * lift
    logs = (dimension - 1.0) * sine - dimension * np.log1p(cosh) + np.log(dv)
    logs += ((dimension - 1.0) * np.log(np.sinh(r)) - epsilon * r + np.log(dr))[:, None]
    top = logs.max()
    return float(top + math.log(np.exp(logs - top).sum()))


def _gauss(low: float, high: float, pieces: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of Gauss and Legendre in equal pieces of an interval."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    ends = np.linspace(low, high, pieces + 1)
    half = 0.5 * (high - low) / pieces
    middles = 0.5 * (ends[1:] + ends[:-1])
    return (middles[:, None] + half * nodes).ravel(), np.tile(half * weights, pieces)
