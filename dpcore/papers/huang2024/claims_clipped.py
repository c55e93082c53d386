"""Claims about noise on clipped vectors that is not cut off: A6, A6b and A7."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore.audit.profiles.noise import worst_profile
from dpcore.audit.profiles.profile import product, spread_shift
from dpcore.audit.verdict import Condition, Outcome, Verdict
from dpcore.mechanisms.clipped.clipped import (
    ClippedGaussian,
    ClippedGaussianClassical,
    ClippedL2Laplace,
    ClippedLaplace,
)
from dpcore.mechanisms.clipped.gaussian import analytic_sigma, gaussian_log_delta

if TYPE_CHECKING:
    from dpcore.audit.settings import AuditSettings
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.clipped.clipped import ClippedMechanism

SETTING_NAMES = ("epsilon", "clip_norm")
"""The settings that all of these claims use."""


def clipped_verdict(
    key: str,
    mechanism: ClippedMechanism,
    settings: AuditSettings,
    names: tuple[str, ...] = SETTING_NAMES,
    epsilon: float | None = None,
    **parts: object,
) -> Verdict:
    """A verdict on noise for clipped vectors: what stands in each of them, and `parts`.

    Args:
        key: of the claim.
        mechanism: the noise.
        settings: of the audit.
        names: the settings that the claim uses.
        epsilon: at which it is audited, if not that of the settings.
        parts: the other fields of the verdict.
    """
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
    return clipped_verdict(
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
    return clipped_verdict(
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
    mechanism = ClippedGaussian(lexicon=lexicon, clip_norm=settings.clip_norm, delta=settings.delta)
    return _gaussian(mechanism, settings, "gaussian", "Clipped Gaussian, analytic σ")


def gaussian_classical(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """A7: Gaussian noise with the textbook σ, a theorem for ε ≤ 1 only."""
    mechanism = ClippedGaussianClassical(
        lexicon=lexicon, clip_norm=settings.clip_norm, delta=settings.delta
    )
    title, bound = "Clipped Gaussian, classical σ", 1.0
    return _gaussian(mechanism, settings, "gaussian-classical", title, bound)


def _gaussian(
    mechanism: ClippedGaussian,
    settings: AuditSettings,
    key: str,
    title: str,
    most: float | None = None,
) -> Verdict:
    """The verdict; `most` is the largest ε of a theorem that holds up to it only."""
    epsilon, width = settings.epsilon, mechanism.sensitivity
    sigma = mechanism.scale(epsilon)
    true = float(np.exp(gaussian_log_delta(epsilon, sigma, width)))
    best = analytic_sigma(epsilon, math.log(mechanism.delta), width)
    holds = true <= mechanism.delta * (1 + 1e-9)
    conditions: tuple[Condition, ...] = ()
    if most is not None:
        asked = f"ε ≤ {most:g}, as the theorem asks, or the exact δ of this σ is no more than the"
        conditions = (Condition(f"{asked} claimed", epsilon <= most or holds),)
    return clipped_verdict(
        key,
        mechanism,
        settings,
        (*SETTING_NAMES, "delta"),
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
