"""Guarantee in one line: ε in plain words, and the success rate that it would allow."""

from __future__ import annotations

import math

from dpcore.attack.bounds.meter import meter
from dpcore.attack.output.prior import Prior, content_words
from dpcore.errors import DpcoreError
from dpcore.guarantee import ApproximateLocalPrivacy, EpsilonMeaning, MetricPrivacy, Status
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.outwards import at_least, at_most
from pages.shared.dial import group_of
from pages.shared.language import later, numeral, say
from pages.shared.once import once
from pages.shared.session import identity

_NEARLY = 0.99
_KEPT = 10_000  # a few times the steps of the dials of all mechanisms
PLAIN = {
    EpsilonMeaning.METRIC: later("per distance"),
    EpsilonMeaning.METRIC_LOG: later("per distance"),
    EpsilonMeaning.LOCAL: later("any two words"),
    EpsilonMeaning.LOCAL_APPROXIMATE: later("any two words, up to δ"),
}


def promise(mechanism: Mechanism, epsilon: float) -> str:
    """Return ε, and the success rate that the guarantee alone would allow, if it is known."""
    permitted = permits(mechanism, epsilon)
    text = promised_epsilon(mechanism, epsilon)
    if permitted is None:
        return text
    return say("{text} · would allow {permitted}", text=text, permitted=of_100_at_most(permitted))


def promised_epsilon(mechanism: Mechanism, epsilon: float) -> str:
    """Return ε in plain words, the value that is set: "ε = 2.03 per distance"."""
    group = group_of(mechanism.meaning)
    unit = "ln ε" if group.logarithm else "ε"
    value = math.log(epsilon) if group.logarithm else epsilon
    return f"{unit} = {numeral(f'{value:.3g}')} {say(PLAIN[mechanism.meaning])}"


def of_100(share: float) -> str:
    """Format an estimate of a share of words: "29 of 100"."""
    return say("nearly all") if share > _NEARLY else say("{share:.2g} of 100", share=100 * share)


def of_100_at_most(share: float) -> str:
    """Format an upper bound on a share of words, rounded up: "30 of 100" for 29.04."""
    return of_100(float(at_most(share, 2)))


def of_100_at_least(share: float) -> str:
    """Format a lower bound on a share of words, rounded down: "at least 9.3 of 100" for 9.38."""
    return say("at least {share:.2g} of 100", share=100 * float(at_least(share, 2)))


def permits(mechanism: Mechanism, epsilon: float) -> float | None:
    """Return the share of content words that the guarantee allows to be guessed, or None.

    The guess is of someone who knows how common content words are; None where that is unknown.

    It is looked up once in a process (for uploaded vectors, in a session): a tighter bound that
    another process computes for a lexicon meanwhile is seen after the next start.
    """
    key = (identity(mechanism), epsilon)
    return once("permitted", key, lambda: _permits(mechanism, epsilon), _KEPT)


def _permits(mechanism: Mechanism, epsilon: float) -> float | None:
    if mechanism.never_proved:
        return None  # it may take a second to say more
    try:
        stated = mechanism.guarantee(epsilon)
    except DpcoreError:
        return None
    unsure = stated.status in {Status.REFUTED, Status.CONDITIONAL}
    if unsure or isinstance(stated, ApproximateLocalPrivacy):
        return None
    if isinstance(stated, MetricPrivacy) and stated.euclidean_factor > 1.0:
        return None  # ε multiplies another distance, of which nothing is known beforehand
    local = mechanism.meaning is EpsilonMeaning.LOCAL
    prior = _counts(mechanism.lexicon)
    if prior is None:
        return None
    (reading,) = meter(mechanism.lexicon, epsilon, prior, local=local, compute=False).rows
    return reading.high if local or reading.high < 1.0 else None


def _counts(lexicon: Lexicon) -> Prior | None:
    """Return the prior by counts of content words; None where they were not counted."""

    def make() -> Prior | None:
        try:
            return content_words(lexicon)
        except DpcoreError:
            return None

    return once("content words", lexicon.fingerprint, make)
