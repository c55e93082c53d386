"""ADePT (Krishna et al. 2021) on a latent vector of n coordinates, as published and repaired.

Habernal 2021: clipping bounds the Euclidean norm by C, so two latent vectors are up to 2√n·C apart
in the L1 norm, and Laplace noise of scale 2C/ε gives √n·ε, not ε.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore.audit.profiles.profile import Profile, l2_laplace, product, spread_shift, trade_off
from dpcore.audit.verdict import Condition, Outcome, Verdict

if TYPE_CHECKING:
    from dpcore.audit.settings import AuditSettings
    from dpcore.audit.verdict import Number
    from dpcore.lexicon.lexicon import Lexicon

_NAMES = ("epsilon", "latent", "clip_norm")


def adept_published(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """clip₂(r, C) + Lap(2C/ε)^n, claimed ε-private."""
    n, epsilon = settings.latent, settings.epsilon
    profile = latent_profile("adept-published", settings)
    at = profile.delta(epsilon)
    misses = trade_off(profile, np.array([0.05]))
    true = math.sqrt(n) * epsilon
    return _verdict(
        "adept-published",
        settings,
        lexicon,
        profile,
        title="ADePT, as published",
        claim=f"ε = {epsilon:g} between any two texts.",
        source="Krishna, Gupta, Dupuy 2021, Theorem 1; refuted by Habernal 2021, Section 4",
        conditions=(Condition("n = 1, where the L1 and the L2 norm agree", n == 1),),
        computed=(
            f"The exact profile of the latent vectors ±(C/√n, …, C/√n), n = {n}: the largest loss, "
            "the δ that is missing at the claimed ε, and what a test can do."
        ),
        outcome=Outcome.PROVED if n == 1 else Outcome.REFUTED,
        failing_step=(
            ""
            if n == 1
            else "The diameter 2C of the ball is taken for the L1 sensitivity; that is 2√n·C."
        ),
        repair="(a) clip by the L1 norm, (b) scale 2√n·C/ε, or (c) noise ∝ exp(−ε‖z‖₂/(2C)).",
        numbers={
            "claimed epsilon": epsilon,
            "true epsilon": true,
            "true L1 sensitivity/C": 2 * math.sqrt(n),
            "deviation/C": 2 * math.sqrt(2.0) / epsilon,
            "true delta at the claimed epsilon, at least": at[0],
            "misses of the best test at 5 % false alarms, at most": float(misses.high[0]),
            "misses that the claim allows at least": max(
                1 - 0.05 * math.exp(min(epsilon, 700.0)), 0.95 * math.exp(-epsilon)
            ),
        },
    )


def adept_l1_clip(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """(a) clip₁(r, C) + Lap(2C/ε)^n."""
    n, epsilon = settings.latent, settings.epsilon
    return _repaired(
        "adept-a", "ADePT, clipped by the L1 norm", settings, lexicon,
        "Clipped vectors are at most 2C apart in the L1 norm, which the noise sees.",
        {
            "deviation/C": 2 * math.sqrt(2) / epsilon,
            "L2 norm that a vector with equal coordinates keeps, over C": 1 / math.sqrt(n),
        },
    )  # fmt: skip


def adept_scaled(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """(b) clip₂(r, C) + Lap(2√n·C/ε)^n."""
    n, epsilon = settings.latent, settings.epsilon
    return _repaired(
        "adept-b", "ADePT, with the right scale", settings, lexicon,
        "The scale is that of the true L1 sensitivity 2√n·C.",
        {"deviation/C": 2 * math.sqrt(2 * n) / epsilon},
    )  # fmt: skip


def adept_round(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """(c) clip₂(r, C) + noise ∝ exp(−ε‖z‖₂/(2C))."""
    n, epsilon = settings.latent, settings.epsilon
    return _repaired(
        "adept-c", "ADePT, with round noise", settings, lexicon,
        "The noise sees the L2 norm, and clipping bounds that.",
        {
            "deviation/C": 2 * math.sqrt(n + 1) / epsilon,
            "deviation of (b) over this": math.sqrt(2 * n / (n + 1)),
        },
    )  # fmt: skip


def latent_profile(key: str, settings: AuditSettings) -> Profile:
    """The profile of two clipped latent vectors that are a worst pair of one of these claims.

    Args:
        key: `adept-published`, `adept-a`, `adept-b` or `adept-c`.
        settings: ε, n and C.
    """
    n, c, alpha = settings.latent, _norm(settings), settings.epsilon / (2 * _norm(settings))
    if key == "adept-c":
        return l2_laplace(alpha, 2 * c, n)
    if key == "adept-b":
        alpha /= math.sqrt(n)
    power = 1 if key == "adept-a" else 2
    return product(alpha, math.inf, spread_shift(2 * c, n, 1 / n, power=power))


def _norm(settings: AuditSettings) -> float:
    return 1.0 if settings.clip_norm is None else settings.clip_norm


def _repaired(
    key: str,
    title: str,
    settings: AuditSettings,
    lexicon: Lexicon,
    proof: str,
    numbers: dict[str, Number],
) -> Verdict:
    profile = latent_profile(key, settings)
    at, below = profile.delta(settings.epsilon)[1], profile.delta(0.0)[0]
    return _verdict(
        key,
        settings,
        lexicon,
        profile,
        title=title,
        claim=f"ε = {settings.epsilon:g} between any two texts.",
        source="Habernal 2021, Section 7" if key != "adept-c" else "Chaudhuri et al. 2011",
        computed="The exact profile of a worst difference: δ at ε is 0 within the numerical error.",
        outcome=Outcome.PROVED,
        repair=proof,
        numbers={"delta at epsilon, at most": at, "delta at 0 (total variation), at least": below}
        | numbers,
    )


def _verdict(
    key: str, settings: AuditSettings, lexicon: Lexicon, profile: Profile, **parts: object
) -> Verdict:
    return Verdict(
        key=key,
        settings={
            "epsilon": settings.epsilon,
            "n": settings.latent,
            "C": _norm(settings),
            "profile": profile.method,
        },
        command=settings.command(key, lexicon, *_NAMES),
        **parts,  # type: ignore[arg-type]
    )
