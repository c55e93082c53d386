"""Claims about noise on clipped vectors: TrLaplace (A8), and noise that is not truncated (A6, A7).

Huang et al. 2024, Theorems 3 and 4 and the corrected cut; Laplace, L2-Laplace and Gaussian noise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpcore.audit.profiles.noise import pair_profile, worst_pair, worst_profile
from dpcore.audit.profiles.profile import product, spread_shift
from dpcore.audit.report import AuditSettings
from dpcore.audit.verdict import Number, Outcome, Verdict
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.clipped.clipped import (
    ClippedGaussian,
    ClippedGaussianClassical,
    ClippedL2Laplace,
    ClippedLaplace,
    ClippedMechanism,
    analytic_sigma,
    gaussian_log_delta,
)
from dpcore.mechanisms.clipped.trlaplace import (
    TrLaplace,
    TrLaplaceCorrected,
    worst_delta,
    worst_delta_bound,
)
from dpcore.papers.claim import judged
from dpcore.written import Filled

OUT_OF_RANGE = Filled(
    "the published formula has no noise for so large an ε; this is half its limit"
)
_PAIR_WORDS = 1000  # words among which the least protected pair is searched for


def _verdict(
    key: str,
    mechanism: ClippedMechanism,
    settings: AuditSettings,
    outcome: Outcome,
    numbers: dict[str, Number],
    epsilon: float | None = None,
    **more: Any,
) -> Verdict:
    """Judge noise for clipped vectors, at an ε other than that of the settings if given."""
    value = settings.epsilon if epsilon is None else epsilon
    return judged(
        key,
        mechanism.lexicon,
        settings,
        outcome,
        mechanism=mechanism,
        parameters={"epsilon": value, "C": mechanism.bound, "d": mechanism.lexicon.dimension},
        numbers=numbers,
        epsilon=value,
        d=mechanism.lexicon.dimension,
        moved=settings.moved_to(value, OUT_OF_RANGE),
        **more,
    )


def published_trlaplace(lexicon: Lexicon, settings: AuditSettings) -> tuple[TrLaplace, float]:
    """Return TrLaplace as published, with ε or, where ε is beyond its range, half the largest."""
    mechanism = TrLaplace(
        lexicon=lexicon, clip_norm=settings.clip_norm, delta_root=settings.delta_root
    )
    high = mechanism.admissible.high
    return mechanism, settings.epsilon if settings.epsilon < high else 0.5 * high


def huang_theorem_3(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Check A8: the published truncation is claimed to be (ε, δ)-private."""
    mechanism, epsilon = published_trlaplace(lexicon, settings)
    d, bound = lexicon.dimension, mechanism.bound
    noise = mechanism.truncation(epsilon)
    true = worst_delta(noise, bound, d)
    equal, single = (
        product(noise.alpha, noise.cut, spread_shift(2 * bound, d, share)).delta(epsilon)
        # Two ends of the worst case: a difference spread over all coordinates, and one in a single
        # coordinate.
        for share in (1.0 / d, 1.0)
    )
    # Of real words as well: the worst case is of vectors that no word may have.
    pair = worst_pair(mechanism, epsilon, words=min(_PAIR_WORDS, len(lexicon)), seed=settings.seed)
    words = pair_profile(mechanism, epsilon, pair.word, pair.other).delta(epsilon)
    # The claimed δ is the d-th power of a number below 1: for many coordinates only its logarithm
    # can be told from 0.
    refuted = true > 0 and math.log(true) > mechanism.log_delta
    return _verdict(
        "huang-theorem-3",
        mechanism,
        settings,
        # With one coordinate the proof of the paper holds.
        Outcome.REFUTED if refuted else Outcome.PROVED if d == 1 else Outcome.NOT_REFUTED,
        {
            "claimed delta": mechanism.guarantee(epsilon).to_dict()["delta"],  # type: ignore[dict-item]
            "ln claimed delta": mechanism.log_delta,
            "true delta": true,
            "true delta, equal spread": equal[0],
            "true delta, one coordinate": single[0],
            "true delta of two words' vectors": words[0],
            "first word": lexicon.words[pair.word],
            "second word": lexicon.words[pair.other],
            "A": noise.cut,
            "alpha": noise.alpha,
            "largest epsilon": mechanism.admissible.high,
            "deviation/C": noise.deviation / bound,
        },
        epsilon,
        met=(epsilon < mechanism.admissible.high, d == 1),
        limited=not refuted,
        fails=refuted or d > 1,
        words=pair.words,
    )


def trlaplace_corrected(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Check A8 corrected: the cut follows from the exact δ."""
    mechanism = TrLaplaceCorrected(
        lexicon=lexicon, clip_norm=settings.clip_norm, delta=settings.delta
    )
    noise = mechanism.truncation(settings.epsilon)
    # By the bound, which rounds outwards, and not by the computed δ.
    known = worst_delta_bound(noise, mechanism.bound, lexicon.dimension) <= mechanism.delta
    return _verdict(
        "trlaplace-corrected",
        mechanism,
        settings,
        Outcome.PROVED if known else Outcome.CONDITIONAL,
        {
            "true delta": worst_delta(noise, mechanism.bound, lexicon.dimension),
            "alpha·A": noise.alpha * noise.cut,
            "deviation/C": noise.deviation / mechanism.bound,
            "deviation/C of plain Laplace": math.sqrt(2)
            * _laplace_scale(lexicon, settings)
            / mechanism.bound,
        },
        met=(known,),
    )


def _laplace_scale(lexicon: Lexicon, settings: AuditSettings) -> float:
    """Return the scale of i.i.d. Laplace noise, with which other noise is compared."""
    return ClippedLaplace(lexicon=lexicon, clip_norm=settings.clip_norm).scale(settings.epsilon)


def huang_theorem_4(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Check A8: less variance than Laplace and Gaussian noise at δ ≤ e^−d."""
    mechanism, epsilon = published_trlaplace(lexicon, settings)
    d, bound = lexicon.dimension, mechanism.bound
    published = mechanism.truncation(epsilon).deviation / bound
    laplace_ = 2 * math.sqrt(2.0 * d) / epsilon
    gaussian_ = math.sqrt(8.0 * (math.log(1.25) - mechanism.log_delta)) / epsilon
    # The theorem's own condition, δ ≤ e^−d.
    small = mechanism.log_delta <= -d
    met = (small, d == 1)
    # One ε, δ and d are evaluated: that may refute the inequalities, and proves none of them.
    if small and not (published < laplace_ and published < gaussian_):
        outcome = Outcome.REFUTED
    elif all(met):
        outcome = Outcome.NOT_REFUTED
    else:
        outcome = Outcome.CONDITIONAL
    log_delta = math.log(settings.delta)
    right = TrLaplaceCorrected(lexicon=lexicon, clip_norm=settings.clip_norm, delta=settings.delta)
    private: dict[str, Number] = {
        "corrected": right.truncation(epsilon).deviation / bound,
        "L2-Laplace": 2.0 * math.sqrt(d + 1) / epsilon,
        "analytic Gaussian": analytic_sigma(epsilon, log_delta, 2.0),
    }
    numbers: dict[str, Number] = {
        "deviation/C, as published (not private)": published,
        "Laplace": laplace_,
        "classical Gaussian at the published delta": gaussian_,
        "delta of the next figures": settings.delta,
    }
    return _verdict(
        "huang-theorem-4",
        mechanism,
        settings,
        outcome,
        numbers | private,
        epsilon,
        met=met,
        fails=d > 1,
        smallest=min(private, key=lambda name: private[name]),
    )


def laplace(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Check A6: i.i.d. Laplace noise of scale 2√d·C/ε."""
    mechanism = ClippedLaplace(lexicon=lexicon, clip_norm=settings.clip_norm)
    scale = mechanism.scale(settings.epsilon)
    shift = spread_shift(2 * mechanism.bound, lexicon.dimension, 1 / lexicon.dimension)
    profile = product(1 / scale, math.inf, shift)
    numbers: dict[str, Number] = {
        "delta at epsilon, at most": profile.delta(settings.epsilon)[1],
        "delta at 0 (total variation), at least": profile.delta(0.0)[0],
        "largest loss": float(np.abs(shift).sum()) / scale,
    }
    return _verdict("laplace", mechanism, settings, Outcome.PROVED, numbers)


def l2_laplace(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Check A6b: noise ∝ exp(−ε‖z‖₂/(2C))."""
    mechanism = ClippedL2Laplace(lexicon=lexicon, clip_norm=settings.clip_norm)
    curve = worst_profile(mechanism, settings.epsilon, np.array([0.0, settings.epsilon]))
    # ‖z‖₂ ~ Gamma(d, s), so a coordinate has the variance E‖z‖²/d = (d + 1)·s².
    deviation = math.sqrt(lexicon.dimension + 1) * mechanism.scale(settings.epsilon)
    numbers: dict[str, Number] = {
        "delta at epsilon": float(curve.high[1]),
        "delta at 0 (total variation)": float(curve.value[0]),
        "deviation of i.i.d. Laplace over this": math.sqrt(2.0)
        * _laplace_scale(lexicon, settings)
        / deviation,
    }
    return _verdict("l2-laplace", mechanism, settings, Outcome.PROVED, numbers)


def gaussian(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Check A7: Gaussian noise with the analytic σ."""
    return _gaussian("gaussian", ClippedGaussian, lexicon, settings)


def gaussian_classical(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Check A7: Gaussian noise with the textbook σ, a theorem for ε ≤ 1 only."""
    return _gaussian("gaussian-classical", ClippedGaussianClassical, lexicon, settings)


def _gaussian(
    key: str, kind: type[ClippedGaussian], lexicon: Lexicon, settings: AuditSettings
) -> Verdict:
    mechanism = kind(lexicon=lexicon, clip_norm=settings.clip_norm, delta=settings.delta)
    epsilon, width = settings.epsilon, mechanism.sensitivity
    sigma = mechanism.scale(epsilon)
    true = float(np.exp(gaussian_log_delta(epsilon, sigma, width)))
    holds = true <= mechanism.delta * (1 + 1e-9)
    return _verdict(
        key,
        mechanism,
        settings,
        Outcome.PROVED if holds else Outcome.REFUTED,
        {
            "sigma": sigma,
            "true delta": true,
            "claimed delta": mechanism.delta,
            "smallest sigma that holds": analytic_sigma(epsilon, math.log(mechanism.delta), width),
            "sigma/C": sigma / mechanism.bound,
        },
        # The textbook σ has a proof for ε ≤ 1; above, only the computed δ can say.
        met=(epsilon <= 1.0 or holds,) if key == "gaussian-classical" else None,
    )
