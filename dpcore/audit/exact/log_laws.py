"""ln P(y | w) of the mechanisms of the registry, with what is known where it cannot be computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.audit.exact.gumbel_bounds import log_probability_bounds
from dpcore.errors import ParameterError
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.ranking import rank
from dpcore.mechanisms.gumbel.published import TruncatedGumbel
from dpcore.noise.poisson import poisson_weights

if TYPE_CHECKING:
    from dpcore.audit.exact.exact import FloatArray
    from dpcore.mechanisms.mechanism import Mechanism

_BOUNDED = 8  # entries of a law that are bounded one by one


def log_law(mechanism: Mechanism, word: int, epsilon: float) -> tuple[FloatArray, float | None]:
    """ln P(y | word) of every word y, shape (n,), and a floor.

    Where the floor is a number, an entry of −∞ was not computed and is proved to lie below the
    floor; where it is None, −∞ is ln 0.

    Raises:
        ParameterError: the mechanism has no exact law.
    """
    check_exact(mechanism)
    if isinstance(mechanism, TruncatedGumbel):
        return _gumbel_logs(mechanism, word, epsilon)
    direct = getattr(mechanism, "log_law", None)
    if direct is not None:
        return np.asarray(direct(word, epsilon)), None
    dense = mechanism.law(word, [epsilon]).dense(len(mechanism.lexicon))[0]
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(dense)), None


def _gumbel_logs(
    mechanism: TruncatedGumbel, word: int, epsilon: float
) -> tuple[FloatArray, float | None]:
    """As `log_law`. −∞ means "not computed", so a few are bounded one by one instead.

    With more of them, the nearest is bounded from above: a farther word is never likelier, so all
    of them lie below that.
    """
    vectors = mechanism.lexicon.vectors
    ranking = rank(vectors, vectors[[word]])[0]
    logs = np.array(mechanism.log_law(word, epsilon, ranking=ranking))
    missing = np.flatnonzero(np.isneginf(logs[ranking.order]))
    if not missing.size:
        return logs, None
    weights = poisson_weights(len(mechanism.lexicon))
    b = mechanism.noise_scale(epsilon)
    bound = mechanism.lexicon.with_metric(Metric.EUCLIDEAN).extent.diameter
    found = [
        log_probability_bounds(ranking.distances, int(at), weights, b, bound, gap=0.05)
        for at in missing[: _BOUNDED if missing.size <= _BOUNDED else 1]
    ]
    if missing.size > _BOUNDED:
        return logs, found[0][1]
    for at, (low, high) in zip(missing, found, strict=True):
        logs[ranking.order[at]] = 0.5 * (low + high)
    unknown = np.isneginf(logs).any()
    return logs, max(high for _, high in found) if unknown else None


def check_exact(mechanism: Mechanism) -> None:
    """Refuse a mechanism without an exact law.

    Raises:
        ParameterError: it has none; the message says how it is audited instead.
    """
    if not mechanism.exact_law:
        raise ParameterError(
            f"{mechanism.short} has no exact law, so no exact audit: its noise is audited by its "
            "privacy profile, its outputs by Monte Carlo"
        )
