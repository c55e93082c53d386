"""What ε promises, in a line: ε in plain words, and what the promise alone would permit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcore.attack.frontier.permitted import permitted
from dpcore.guarantee import EpsilonMeaning
from pages.shared.groups import group_of

if TYPE_CHECKING:
    from dpcore.mechanisms.mechanism import Mechanism

_NEARLY = 0.99
PLAIN = {
    EpsilonMeaning.METRIC: "per distance",
    EpsilonMeaning.METRIC_LOG: "per distance",
    EpsilonMeaning.LOCAL: "any two words",
    EpsilonMeaning.LOCAL_APPROXIMATE: "any two words, up to δ",
}


def promise(mechanism: Mechanism, epsilon: float) -> str:
    """ε, and what the promise alone would permit, where that is known."""
    most = permitted(mechanism, epsilon)
    text = promised_epsilon(mechanism, epsilon)
    return text if most is None else f"{text} · would permit {of_100(most)}"


def promised_epsilon(mechanism: Mechanism, epsilon: float) -> str:
    """ε in plain words: "ε = 2.03 per distance"."""
    group = group_of(mechanism.meaning)
    unit = "ln ε" if group.logarithm else "ε"
    value = math.log(epsilon) if group.logarithm else epsilon
    return f"{unit} = {value:.3g} {PLAIN[mechanism.meaning]}"


def of_100(share: float) -> str:
    """A share of words: "29 of 100"."""
    return "nearly all" if share > _NEARLY else f"{100 * share:.2g} of 100"
