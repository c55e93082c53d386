"""ADePT (Krishna et al. 2021) on a latent vector of n coordinates, as published and repaired.

Habernal 2021: clipping bounds the Euclidean norm by C, so two latent vectors are up to 2√n·C apart
in the L1 norm, and Laplace noise of scale 2C/ε gives √n·ε, not ε.
"""

from __future__ import annotations

import math

import numpy as np

from dpcore.audit.profiles.profile import Profile, l2_laplace, product, spread_shift, trade_off
from dpcore.audit.report import AuditSettings
from dpcore.audit.verdict import Number, Outcome, Verdict
from dpcore.lexicon.lexicon import Lexicon
from dpcore.papers.claim import judged


def adept_published(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Check clip₂(r, C) + Lap(2C/ε)^n, claimed to be ε-private."""
    n, epsilon = settings.latent, settings.epsilon
    profile = latent_profile("adept-published", settings)
    misses = trade_off(profile, np.array([0.05]))
    return judged(
        "adept-published",
        lexicon,
        settings,
        # With one coordinate the two norms are one.
        Outcome.PROVED if n == 1 else Outcome.REFUTED,
        parameters=_parameters(settings, profile),
        numbers={
            "claimed epsilon": epsilon,
            "true epsilon": math.sqrt(n) * epsilon,
            "true L1 sensitivity/C": 2 * math.sqrt(n),
            "deviation/C": 2 * math.sqrt(2.0) / epsilon,
            "true delta at the claimed epsilon, at least": profile.delta(epsilon)[0],
            "misses of the best test at 5 % false alarms, at most": float(misses.high[0]),
            # The trade-off of a pure ε: the larger of its two lines at 5 %.
            "misses that the claim allows at least": max(
                1 - 0.05 * math.exp(min(epsilon, 700.0)), 0.95 * math.exp(-epsilon)
            ),
        },
        met=(n == 1,),
    )


def adept_l1_clip(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Check repair (a): clip₁(r, C) + Lap(2C/ε)^n."""
    n, epsilon = settings.latent, settings.epsilon
    kept = "L2 norm that a vector with equal coordinates keeps, over C"
    return _repaired(
        "adept-a",
        settings,
        lexicon,
        {"deviation/C": 2 * math.sqrt(2) / epsilon, kept: 1 / math.sqrt(n)},
    )


def adept_scaled(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Check repair (b): clip₂(r, C) + Lap(2√n·C/ε)^n."""
    deviation = 2 * math.sqrt(2 * settings.latent) / settings.epsilon
    return _repaired("adept-b", settings, lexicon, {"deviation/C": deviation})


def adept_round(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Check repair (c): clip₂(r, C) + noise ∝ exp(−ε‖z‖₂/(2C))."""
    n, epsilon = settings.latent, settings.epsilon
    # ‖z‖₂ ~ Gamma(n, 2C/ε), so E‖z‖²/n = (n + 1)·(2C/ε)².
    return _repaired(
        "adept-c",
        settings,
        lexicon,
        {
            "deviation/C": 2 * math.sqrt(n + 1) / epsilon,
            "deviation of (b) over this": math.sqrt(2 * n / (n + 1)),
        },
    )


def latent_profile(key: str, settings: AuditSettings) -> Profile:
    """Return the profile of two clipped latent vectors, a worst pair of one of these claims.

    Args:
        key: `adept-published`, `adept-a`, `adept-b` or `adept-c`.
        settings: ε, n and C.
    """
    n, c, alpha = settings.latent, _norm(settings), settings.epsilon / (2 * _norm(settings))
    if key == "adept-c":
        return l2_laplace(alpha, 2 * c, n)
    if key == "adept-b":
        # Repair (b) widens the noise by √n.
        alpha /= math.sqrt(n)
    # The norm that clips decides how far apart two vectors can be.
    power = 1 if key == "adept-a" else 2
    return product(alpha, math.inf, spread_shift(2 * c, n, 1 / n, power=power))


def _norm(settings: AuditSettings) -> float:
    return 1.0 if settings.clip_norm is None else settings.clip_norm


def _parameters(settings: AuditSettings, profile: Profile) -> dict[str, Number]:
    return {
        "epsilon": settings.epsilon,
        "n": settings.latent,
        "C": _norm(settings),
        "profile": profile.method,
    }


def _repaired(
    key: str, settings: AuditSettings, lexicon: Lexicon, numbers: dict[str, Number]
) -> Verdict:
    profile = latent_profile(key, settings)
    most, least = profile.delta(settings.epsilon)[1], profile.delta(0.0)[0]
    deltas = {"delta at epsilon, at most": most, "delta at 0 (total variation), at least": least}
    return judged(
        key,
        lexicon,
        settings,
        Outcome.PROVED,
        parameters=_parameters(settings, profile),
        numbers=deltas | numbers,
    )
