"""What the promise of one mechanism permits a stranger to guess, every word equally likely."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.attack.frontier.meter import meter
from dpcore.errors import DpcoreError
from dpcore.guarantee import ApproximateLocalPrivacy, EpsilonMeaning, MetricPrivacy, Status

if TYPE_CHECKING:
    from dpcore.mechanisms.mechanism import Mechanism


def permitted(mechanism: Mechanism, epsilon: float) -> float | None:
    """The share of the words of its lexicon that the promise permits to be guessed.

    Only what is known already is looked up.

    Returns:
        The share, rounded up; None where it is not known, or where nothing is promised.
    """
    try:
        stated = mechanism.guarantee(epsilon)
    except DpcoreError:
        return None
    if stated.status is Status.REFUTED or isinstance(stated, ApproximateLocalPrivacy):
        return None
    if isinstance(stated, MetricPrivacy) and stated.euclidean_factor > 1.0:
        return None  # ε multiplies another distance, of which nothing is known beforehand
    local = mechanism.meaning is EpsilonMeaning.LOCAL
    (reading,) = meter(mechanism.lexicon, epsilon, local=local, compute=False).rows
    return reading.high
