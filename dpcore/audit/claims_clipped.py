"""Claims about noise on clipped vectors: A6, A6b, A7 and TrLaplace (A8)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore.audit.noise import pair_profile, worst_pair, worst_profile
from dpcore.audit.profile import product, spread_shift
from dpcore.audit.verdict import Condition, Outcome, Verdict
from dpcore.mechanisms.clipped import (
    ClippedGaussian,
    ClippedGaussianClassical,
    ClippedL2Laplace,
    ClippedLaplace,
)
from dpcore.mechanisms.gaussian import analytic_sigma, gaussian_log_delta
from dpcore.mechanisms.trlaplace import TrLaplace, TrLaplaceCorrected
from dpcore.mechanisms.truncation import worst_delta

if TYPE_CHECKING:
    from dpcore.audit.settings import AuditSettings
    from dpcore.audit.verdict import Number
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.clipped import ClippedMechanism

_PAIR_WORDS = 1000  # words among which the least protected pair is searched
_NAMES = ("epsilon", "clip_norm")


def _verdict(
    key: str,
    mechanism: ClippedMechanism,
    settings: AuditSettings,
    names: tuple[str, ...] = _NAMES,
    epsilon: float | None = None,
    **parts: object,
) -> Verdict:
    return Verdict(
        key=key,
        mechanism=mechanism.short,
        lexicon=mechanism.lexicon.name,
        fingerprint=mechanism.lexicon.fingerprint,
        settings={
            "epsilon": settings.epsilon if epsilon is None else epsilon,
            "C": mechanism.bound,
            "d": mechanism.lexicon.dimension,
        },
        command=settings.command(key, mechanism.lexicon, *names),
        **parts,  # type: ignore[arg-type]
    )


def laplace(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """A6: i.i.d. Laplace noise of scale 2√d·C/ε."""
    mechanism = ClippedLaplace(lexicon=lexicon, clip_norm=settings.clip_norm)
    shift = spread_shift(2 * mechanism.bound, lexicon.dimension, 1 / lexicon.dimension)
    profile = product(1 / mechanism.scale(settings.epsilon), math.inf, shift)
    at, below = (profile.delta(x * settings.epsilon) for x in (1.0, 0.0))
    return _verdict(
        "laplace",
        mechanism,
        settings,
        title="Clipped Laplace",
        claim=f"ε = {settings.epsilon:g} between any two words.",
        source="Dwork et al. 2006, Proposition 1; Huang et al. 2024, Theorem 1",
        conditions=(Condition("L1 sensitivity 2√d·C", True),),
        computed=(
            "The profile of the equally spread difference of length 2C: δ at ε is 0 within the "
            "numerical error, and the largest loss is ε itself, so ε is tight."
        ),
        outcome=Outcome.PROVED,
        repair="The loss of a coordinate is at most |v_i|/b, and ‖v‖₁/b ≤ 2√d·C/b = ε.",
        numbers={
            "delta at epsilon, at most": at[1],
            "delta at 0 (total variation), at least": below[0],
            "largest loss": float(np.abs(shift).sum()) / mechanism.scale(settings.epsilon),
        },
    )


def l2_laplace(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """A6b: noise ∝ exp(−ε‖z‖₂/(2C))."""
    mechanism = ClippedL2Laplace(lexicon=lexicon, clip_norm=settings.clip_norm)
    curve = worst_profile(mechanism, settings.epsilon, np.array([0.0, settings.epsilon]))
    plain = ClippedLaplace(lexicon=lexicon, clip_norm=settings.clip_norm).scale(settings.epsilon)
    d = lexicon.dimension
    ratio = math.sqrt(2.0) * plain / (math.sqrt(d + 1) * mechanism.scale(settings.epsilon))
    return _verdict(
        "l2-laplace",
        mechanism,
        settings,
        title="Clipped L2-Laplace",
        claim=f"ε = {settings.epsilon:g} between any two words.",
        source="Chaudhuri, Monteleoni, Sarwate 2011",
        conditions=(Condition("L2 sensitivity 2C", True),),
        computed="The exact profile at distance 2C; the noise against that of i.i.d. Laplace.",
        outcome=Outcome.PROVED,
        repair="‖z − v‖₂ and ‖z‖₂ differ by at most ‖v‖₂ ≤ 2C.",
        numbers={
            "delta at epsilon": float(curve.high[1]),
            "delta at 0 (total variation)": float(curve.value[0]),
            "deviation of i.i.d. Laplace over this": ratio,
        },
    )


def gaussian(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """A7: Gaussian noise with the analytic σ."""
    mechanism = ClippedGaussian(
        lexicon=lexicon, clip_norm=settings.clip_norm, delta=min(settings.delta, 0.5)
    )
    return _gaussian(mechanism, settings, "gaussian", "Clipped Gaussian, analytic σ")


def gaussian_classical(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """A7: Gaussian noise with the textbook σ, a theorem for ε ≤ 1 only."""
    mechanism = ClippedGaussianClassical(
        lexicon=lexicon, clip_norm=settings.clip_norm, delta=min(settings.delta, 0.5)
    )
    return _gaussian(mechanism, settings, "gaussian-classical", "Clipped Gaussian, classical σ")


def _gaussian(mechanism: ClippedGaussian, settings: AuditSettings, key: str, title: str) -> Verdict:
    epsilon, width = settings.epsilon, mechanism.sensitivity
    sigma = mechanism.scale(epsilon)
    true = float(np.exp(gaussian_log_delta(epsilon, sigma, width)))
    best = analytic_sigma(epsilon, math.log(mechanism.delta), width)
    holds = true <= mechanism.delta * (1 + 1e-9)
    classical = isinstance(mechanism, ClippedGaussianClassical)
    conditions = (Condition("ε ≤ 1, as the theorem asks", epsilon <= 1),) if classical else ()
    return _verdict(
        key,
        mechanism,
        settings,
        (*_NAMES, "delta"),
        title=title,
        claim=f"(ε, δ) = ({epsilon:g}, {mechanism.delta:g}) between any two words.",
        source=mechanism.source,
        conditions=conditions,
        computed="The exact δ of this σ at this ε, for two vectors 2C apart.",
        outcome=Outcome.PROVED if holds else Outcome.REFUTED,
        failing_step="" if holds else "The tail bound behind the formula needs ε ≤ 1.",
        repair="The exact δ of Gaussian noise is known for every ε (Balle and Wang 2018).",
        numbers={
            "sigma": sigma,
            "true delta": true,
            "claimed delta": mechanism.delta,
            "smallest sigma that holds": best,
            "sigma/C": sigma / mechanism.bound,
        },
    )


def published_trlaplace(lexicon: Lexicon, settings: AuditSettings) -> tuple[TrLaplace, float]:
    """TrLaplace as published, and ε or, where ε is beyond its range, half the largest."""
    mechanism = TrLaplace(
        lexicon=lexicon, clip_norm=settings.clip_norm, delta_root=settings.delta_root
    )
    high = mechanism.admissible.high
    return mechanism, settings.epsilon if settings.epsilon < high else 0.5 * high


def huang_theorem_3(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """A8: the published truncation is claimed to be (ε, δ)-private."""
    mechanism, epsilon = published_trlaplace(lexicon, settings)
    d, bound = lexicon.dimension, mechanism.bound
    noise = mechanism.truncation(epsilon)
    true = worst_delta(noise, bound, d)
    equal, single = (
        product(noise.alpha, noise.cut, spread_shift(2 * bound, d, share)).delta(epsilon)
        for share in (1.0 / d, 1.0)
    )
    pair = worst_pair(mechanism, epsilon, words=min(_PAIR_WORDS, len(lexicon)), seed=settings.seed)
    words = pair_profile(mechanism, epsilon, pair.word, pair.other).delta(epsilon)
    refuted = true > 0 and math.log(true) > mechanism.log_delta
    numbers: dict[str, Number] = {
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
    }
    step = (
        "The proof bounds the volume of the difference of two supports by a cube of side Δ∞; it is "
        "(2A)^d − Π(2A − |v_i|)₊, because every coordinate moves the support at once."
    )
    return _verdict(
        "huang-theorem-3",
        mechanism,
        settings,
        (*_NAMES, "delta_root", "seed"),
        epsilon,
        title="TrLaplace, Theorem 3",
        claim=f"Truncated Laplace noise is (ε, δ)-private at ε = {epsilon:g}, δ = "
        f"{settings.delta_root:g}^{d}.",
        source="Huang, Yang, Habernal, Hu, Wang 2024, Theorem 3",
        conditions=(
            Condition(f"ε < 2·δ^(1/d)·√d = {mechanism.admissible.high:.4g}", True),
            Condition("d = 1, where the volume in the proof is right", d == 1),
        ),
        computed=(
            "The exact probability of a noisy vector that the other word could not have given, "
            "1 − Π(1 − m(v_i)): for the worst difference of length 2C, and for the least protected "
            f"pair among {pair.words:,} words."
        ),
        outcome=Outcome.REFUTED if refuted else Outcome.PROVED,
        failing_step=step if refuted or d > 1 else "",
        repair="trlaplace-corrected takes the cut that the exact δ asks for.",
        numbers=numbers,
    )


def trlaplace_corrected(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """A8 corrected: the cut follows from the exact δ."""
    mechanism = TrLaplaceCorrected(
        lexicon=lexicon, clip_norm=settings.clip_norm, delta=min(settings.delta, 0.5)
    )
    noise = mechanism.truncation(settings.epsilon)
    true = worst_delta(noise, mechanism.bound, lexicon.dimension)
    plain = ClippedLaplace(lexicon=lexicon, clip_norm=settings.clip_norm).scale(settings.epsilon)
    return _verdict(
        "trlaplace-corrected",
        mechanism,
        settings,
        (*_NAMES, "delta"),
        title="TrLaplace, corrected",
        claim=f"(ε, δ) = ({settings.epsilon:g}, {mechanism.delta:g}) between any two words.",
        source=mechanism.source,
        conditions=(
            Condition(
                "A ≥ 2C, where the worst difference is known", noise.cut >= 2 * mechanism.bound
            ),
        ),
        computed="The exact δ of the worst difference of length 2C.",
        outcome=Outcome.PROVED,
        repair=(
            "Within the common support the loss is at most α‖v‖₁ ≤ ε; outside it lies "
            "1 − Π(1 − m(v_i)), at most δ for this cut."
        ),
        numbers={
            "true delta": true,
            "alpha·A": noise.alpha * noise.cut,
            "deviation/C": noise.deviation / mechanism.bound,
            "deviation/C of plain Laplace": math.sqrt(2) * plain / mechanism.bound,
        },
    )


def huang_theorem_4(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """A8: less variance than Laplace and Gaussian noise at δ ≤ e^−d."""
    mechanism, epsilon = published_trlaplace(lexicon, settings)
    d, bound = lexicon.dimension, mechanism.bound
    own = mechanism.truncation(epsilon).deviation / bound
    laplace_ = 2 * math.sqrt(2.0 * d) / epsilon
    gaussian_ = math.sqrt(8.0 * (math.log(1.25) - mechanism.log_delta)) / epsilon
    small = mechanism.log_delta <= -d
    holds = own < laplace_ and (own < gaussian_ or not small)
    log_delta = math.log(settings.delta)
    right = TrLaplaceCorrected(
        lexicon=lexicon, clip_norm=settings.clip_norm, delta=min(settings.delta, 0.5)
    )
    return _verdict(
        "huang-theorem-4",
        mechanism,
        settings,
        (*_NAMES, "delta_root", "delta"),
        epsilon,
        title="TrLaplace, Theorem 4",
        claim="Less variance than Laplace and Gaussian noise, if δ ≤ e^−d.",
        source="Huang, Yang, Habernal, Hu, Wang 2024, Theorem 4",
        conditions=(
            Condition("δ ≤ e^−d", small),
            Condition("the mechanism of Theorem 3 is (ε, δ)-private", d == 1),
        ),
        computed="Standard deviation of a coordinate over C, for each mechanism.",
        outcome=Outcome.PROVED if holds else Outcome.REFUTED,
        failing_step=(
            "The inequalities hold, but they compare noise that is not (ε, δ)-private with noise "
            "that is; with the cut that privacy needs the advantage over Laplace all but vanishes."
        ),
        repair="At the δ below, analytic Gaussian noise is the smallest.",
        numbers={
            "as published (not private)": own,
            "Laplace": laplace_,
            "classical Gaussian at the published delta": gaussian_,
            "delta of the next figures": settings.delta,
            "corrected": right.truncation(epsilon).deviation / bound,
            "L2-Laplace": 2.0 * math.sqrt(d + 1) / epsilon,
            "analytic Gaussian": analytic_sigma(epsilon, log_delta, 2.0),
        },
    )
