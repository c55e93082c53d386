"""The privacy profile that a claim allows, beside the one that its noise has."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.audit.profiles.noise import worst_profile
from dpcore.errors import ParameterError
from dpcore.mechanisms.clipped.clipped import (
    ClippedGaussian,
    ClippedGaussianClassical,
    ClippedL2Laplace,
    ClippedLaplace,
)
from dpcore.mechanisms.clipped.trlaplace import TrLaplaceCorrected
from dpcore.papers.habernal2021.claims import latent_profile
from dpcore.papers.huang2024.claims import published_trlaplace

if TYPE_CHECKING:
    import pandas as pd

    from dpcore.audit.settings import AuditSettings
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.clipped.clipped import ClippedMechanism


COLUMNS = ("epsilon", "allowed", "low", "high", "claimed_epsilon", "claimed_delta")
"""One row an ε: the largest δ that the claim allows, bounds on the δ of the noise, the claim."""

_CLIPPED: dict[str, type[ClippedMechanism]] = {
    "laplace": ClippedLaplace,
    "l2-laplace": ClippedL2Laplace,
    "gaussian": ClippedGaussian,
    "gaussian-classical": ClippedGaussianClassical,
    "trlaplace-corrected": TrLaplaceCorrected,
}
_WITH_DELTA = {"gaussian", "gaussian-classical", "trlaplace-corrected"}
_ADEPT = ("adept-published", "adept-a", "adept-b", "adept-c")
PROFILED = ("huang-theorem-3", *_CLIPPED, *_ADEPT)
"""Claims whose noise has a profile."""
_STEPS = 40


def allowed_delta(epsilon: float, delta: float, epsilons: FloatArray) -> FloatArray:
    """The largest δ(ε′) of any mechanism that is (ε, δ)-private, for each ε′ ≥ 0.

    δ for ε′ ≥ ε. Below, 1 − (1 − δ)(1 + e^ε′)/(1 + e^ε): the largest p − e^ε′·q under the claim for
    a set of outputs, p ≤ e^ε·q + δ, and for its complement, 1 − q ≤ e^ε·(1 − p) + δ.
    """
    x = np.minimum(np.asarray(epsilons, dtype=np.float64), epsilon)
    # In logarithms, since e^ε overflows beyond 709.
    ratio = np.exp(np.logaddexp(0.0, x) - np.logaddexp(0.0, epsilon))
    return np.asarray(np.where(x < epsilon, 1.0 - (1.0 - delta) * ratio, delta))


def claimed_profile(key: str, lexicon: Lexicon, settings: AuditSettings) -> pd.DataFrame:
    """Both profiles on a grid of ε from 0 to beyond the claimed and, for ADePT, the true ε.

    Args:
        key: one of `PROFILED`.
        lexicon: whose dimension and largest norm the noise has.
        settings: as for the verdict.

    Returns:
        A table with the columns `COLUMNS`.

    Raises:
        ParameterError: the claim has no profile, or the mechanism refuses a setting.
    """
    import pandas as pd

    if key not in PROFILED:
        raise ParameterError(
            f"{key[:40]!r} has no privacy profile; known are {', '.join(PROFILED)}"
        )
    epsilon, delta = settings.epsilon, 0.0
    if key in _ADEPT:
        most = 1.25 * max(1.6, math.sqrt(settings.latent) if key == "adept-published" else 0.0)
        grid = _grid(epsilon, most)
        curve = latent_profile(key, settings)(grid)
    else:
        mechanism: ClippedMechanism
        if key == "huang-theorem-3":
            mechanism, epsilon = published_trlaplace(lexicon, settings)
            delta = math.exp(mechanism.log_delta)
        else:
            more = {"clip_norm": settings.clip_norm}
            if key in _WITH_DELTA:
                delta = settings.delta
                more["delta"] = delta
            mechanism = _CLIPPED[key](lexicon=lexicon, **more)  # type: ignore[arg-type]
        grid = _grid(epsilon, 2.0)
        curve = worst_profile(mechanism, epsilon, grid)
    columns = {
        "epsilon": curve.x,
        "allowed": allowed_delta(epsilon, delta, curve.x),
        "low": curve.low,
        "high": curve.high,
        "claimed_epsilon": epsilon,
        "claimed_delta": delta,
    }
    return pd.DataFrame(columns, columns=list(COLUMNS))


def _grid(epsilon: float, most: float) -> FloatArray:
    """ε′ from 0 to `most` times the claimed ε, which is one of them."""
    return epsilon * np.union1d(np.linspace(0.0, most, _STEPS + 1), [1.0])
