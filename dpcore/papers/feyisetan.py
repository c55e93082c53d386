"""Claims about noise that is added to word vectors, in Euclidean and in hyperbolic space."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.audit.montecarlo import DEFAULT_ERROR, epsilon_lower_bound
from dpcore.audit.profiles.noise import pair_profile
from dpcore.audit.report import AuditSettings
from dpcore.audit.samplers import Check, noise_report
from dpcore.audit.verdict import Number, Outcome, Verdict
from dpcore.lexicon.catalogue import DEFAULT_NAME, HYPERBOLIC_NAME, available, load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import paired_distances
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_AUDIT_WORDS
from dpcore.mechanisms.additive.euclidean import (
    Mahalanobis,
    MultivariateLaplace,
    RandomProjection,
    Vickrey,
    stretch_quantile,
)
from dpcore.mechanisms.additive.hyperbolic import Hyperbolic
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.streams import generator
from dpcore.papers.claim import judged
from dpcore.written import Filled

# Euclidean noise before the nearest word is taken: claims A1, A2, A3, A9.
#
# These claims are proved. The check tests whether the sampler has the law of the proof; draws of
# words cannot refute such a claim, because ε·d lies beyond their resolution.


_BLOCK = 500  # draws of a word between two reports of progress


def sampler_verdict(
    key: str,
    mechanism: Mechanism,
    settings: AuditSettings,
    numbers: dict[str, Number],
    *,
    epsilon: float | None = None,
    met: tuple[bool, ...] | None = None,
    outputs: Check | None = None,
    **gaps: Any,
) -> Verdict:
    """Combine the proof about the law with tests of the sampler, and of outputs if given."""
    value = settings.epsilon if epsilon is None else epsilon
    report = noise_report(mechanism, value, settings.draws, settings.seed)
    if outputs is not None:
        report = report.extended(outputs, DEFAULT_ERROR)
    test = report.test
    tested: dict[str, Number] = {
        "noise draws": test.draws,
        "checks": test.tests,
        "smallest p-value": test.p_value,
        "threshold": test.threshold,
    }
    # Two findings: the proof concerns the law under its conditions; the draws test the sampler.
    law = Outcome.PROVED if met is None or all(met) else Outcome.CONDITIONAL
    return judged(
        key,
        mechanism.lexicon,
        settings,
        test.judged(law),
        mechanism=mechanism,
        parameters={"epsilon": value, **mechanism.settings()},
        numbers=tested | numbers,
        met=met,
        fails=not report.passed,
        computed=report.sentence + gaps.pop("further", ""),
        failing_step=Filled(
            "The sampler does not draw from the density of the proof; the proof is untouched."
        ),
        law=law,
        sampler=test,
        epsilon=value,
        **gaps,
    )


def madlib(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Audit A1: multivariate Laplace noise is ε·d₂-private."""
    mechanism = MultivariateLaplace(lexicon=lexicon)
    length = float(paired_distances(lexicon.vectors[:1], lexicon.vectors[1:2])[0])
    profile = pair_profile(mechanism, settings.epsilon, 0, 1)
    numbers: dict[str, Number] = {
        "distance of the first two words": length,
        "delta at epsilon·d, at most": profile.delta(settings.epsilon * length)[1],
        # Positive, which shows that ε·d cannot be improved by a tenth.
        "delta at 0.9·epsilon·d, at least": profile.delta(0.9 * settings.epsilon * length)[0],
    }
    return sampler_verdict("madlib", mechanism, settings, numbers)


def mahalanobis(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Audit A2: regularised Mahalanobis noise is ε·d_RM-private."""
    mechanism = Mahalanobis(lexicon=lexicon)
    smallest = mechanism.smallest_eigenvalue
    numbers: dict[str, Number] = {
        "smallest eigenvalue of S": smallest,
        # d_RM ≤ d₂/√(smallest eigenvalue): the guarantee in the Euclidean distance.
        "epsilon per unit of Euclidean distance": settings.epsilon / math.sqrt(smallest),
    }
    return sampler_verdict("mahalanobis", mechanism, settings, numbers)


def vickrey(lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent) -> Verdict:
    """Audit A3: Vickrey keeps the guarantee of its noise."""
    mechanism = Vickrey(lexicon=lexicon)
    word = 0
    # Of the frequent words the nearest one: the smaller ε·d is, the more of it draws can show.
    near = lexicon.vectors[:2000]
    others = paired_distances(np.repeat(near[:1], len(near) - 1, axis=0), near[1:])
    other = int(others.argmin()) + 1
    allowed = settings.epsilon * float(others.min())
    # An even count: half of the draws choose the event, the other half count it.
    count = settings.draws // 2 * 2
    drawn = np.empty((2, count), dtype=np.int64)
    for i, w in enumerate((word, other)):
        # A stream for each word: draws of the two must be independent.
        rng = generator(settings.seed, "audit", "vickrey", w)
        for start in range(0, count, _BLOCK):
            part = drawn[i, start : start + _BLOCK]
            part[:] = mechanism.sample(rng, np.full(part.size, w), settings.epsilon)
            progress("draws", i * count + start + part.size, 2 * count)
    bound = epsilon_lower_bound(*drawn)
    # The bound holds at its own error, so the test has no p-value between the two.
    p_value = 0.0 if bound.refutes(allowed) else 1.0
    numbers: dict[str, Number] = {
        "loss allowed between two near words": allowed,
        "loss shown by draws, at least": max(bound.epsilon, 0.0),
        "largest loss that as many draws can show": bound.resolution,
        "draws of a word": count,
    }
    outputs = Check(Filled("outputs of two near words"), bound.epsilon, p_value, bound.error)
    return sampler_verdict("vickrey", mechanism, settings, numbers, outputs=outputs)


def random_projection(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Audit A9: noise after a public random projection."""
    exact = len(lexicon) <= MAX_AUDIT_WORDS
    m = min(50, lexicon.dimension)
    # The largest stretch takes all pairs of words, which only a small vocabulary has time for.
    form = "exact" if exact else "paper"
    mechanism = RandomProjection(lexicon=lexicon, dimensions=m, form=form)
    numbers: dict[str, Number] = {
        "dimensions": m,
        "1 + beta": stretch_quantile(len(lexicon), m, mechanism.delta),
        "share of matrices that fail, at most": mechanism.delta,
    }
    if exact:
        numbers["largest stretch of this matrix"] = mechanism.stretch
    return sampler_verdict(
        "random-projection",
        mechanism,
        settings,
        numbers,
        met=(True, exact),
        m=m,
        repair=(
            Filled(
                "No pair of words is stretched by more than the computed bound, and the proof for "
                "Madlib applies."
            )
            if exact
            else Filled(
                "If no pair of words is stretched by more than 1 + β, which is so but for a share "
                "of at most δ of all matrices, the proof for Madlib applies; of this matrix it was "
                "not computed."
            )
        ),
    )


# Hyperbolic noise, under both readings of its density.
#
# Only the abstract of the paper was read: the density is ∝ e^(−ε·d_H(x, w)), and points are drawn
# by Metropolis–Hastings. The measure of this density decides whether ε·d_H holds.

_WORDS, _RAYS = 100, 100  # sample for the share of words that stay
_NODES, _PIECES = 16, 48  # of each of the two integrals
_REACH = 60.0  # in nats: the part cut off at the ends is below e^−60 of the largest value


def hyperbolic(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Audit the density with respect to hyperbolic volume, sampled exactly, on its own words."""
    words = load(HYPERBOLIC_NAME)
    mechanism = Hyperbolic(lexicon=words)
    low = mechanism.admissible.low
    # Below it the density cannot be normalised; the verdict says that ε was moved.
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
        further=settings.moved_to(
            epsilon, Filled("there is such a density only above the dimension − 1")
        ),
    )
    # The hyperbolic lexicon is used, whatever lexicon is given.
    command = settings.command("hyperbolic", lexicon, "epsilon", "draws", "seed")
    return dataclasses.replace(verdict, command=command)


def hyperbolic_flat(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Audit the density with respect to flat volume of the ball: its normaliser varies by word."""
    words = load(HYPERBOLIC_NAME)
    # The normaliser depends on the distance from the centre alone, so these two words differ most.
    distance = float(words.largest_norm)
    change = log_flat_normaliser(words.dimension, settings.epsilon, 0.0) - log_flat_normaliser(
        words.dimension, settings.epsilon, distance
    )
    true = settings.epsilon + change / distance
    return judged(
        "hyperbolic-flat",
        lexicon,
        settings,
        # The quadrature is right to 1e-6 (see `log_flat_normaliser`).
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
    """Compute ln ∫ e^(−ε·d_H(x, w)) dx over the unit ball for a word at distance ρ from the centre.

    With dx = (1 + cosh s)^(−d) dV, where s is the distance of x from the centre, and in coordinates
    around w, this is, up to a constant that is the same for all words,

        ∫ e^(−ε·r)·sinh^(d−1)(r) ∫ sin^(d−2)(φ)·(1 + cosh s)^(−d) dφ dr,
        cosh s = cosh r·cosh ρ + sinh r·sinh ρ·cos φ.

    Integrated by Gauss–Legendre quadrature on pieces of ln r and of ln tan(φ/2), in which the
    integrand is smooth.

    Args:
        dimension: d ≥ 2.
        epsilon: ε.
        away: ρ.
        pieces: number of pieces of each interval; doubling it changes the result by less than 1e-6.
    """
    # tan(φ/2) = e^v: the integrand falls off at both ends of v, as sin φ = 1/cosh v does.
    reach = _REACH + away
    v, dv = _gauss(-reach, reach, pieces)
    # In ln r: for large ε the mass lies near 0. The part below the first r is less than e^−_REACH.
    first = math.exp(-_REACH / dimension) / max(epsilon, 1.0)
    x, dx = _gauss(math.log(first), math.log(2.0 * away + _REACH), pieces)
    r, dr = np.exp(x), np.exp(x) * dx
    sine = math.log(2.0) - np.logaddexp(v, -v)  # ln sin φ, and dφ = sin φ dv
    # cosh(r − ρ) + sinh r·sinh ρ·(1 + cos φ), without cancellation; 1 + cos φ = 2/(1 + e^(2v)).
    lift = 2.0 * np.exp(-np.logaddexp(0.0, 2.0 * v))
    cosh = np.cosh(r - away)[:, None] + (np.sinh(r) * math.sinh(away))[:, None] * lift
    logs = (dimension - 1.0) * sine - dimension * np.log1p(cosh) + np.log(dv)
    logs += ((dimension - 1.0) * np.log(np.sinh(r)) - epsilon * r + np.log(dr))[:, None]
    # The largest is taken out, so that the sum does not underflow.
    top = logs.max()
    return float(top + math.log(np.exp(logs - top).sum()))


def _gauss(low: float, high: float, pieces: int) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights of Gauss–Legendre quadrature on equal pieces of an interval."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    ends = np.linspace(low, high, pieces + 1)
    half = 0.5 * (high - low) / pieces
    middles = 0.5 * (ends[1:] + ends[:-1])
    return (middles[:, None] + half * nodes).ravel(), np.tile(half * weights, pieces)
