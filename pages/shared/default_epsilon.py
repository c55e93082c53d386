"""Default ε of every dial and slider of the pages.

A dial starts where someone who knows how common words are guesses a quarter of the content words.
`UNRECORDED` has the default where no measurement is recorded; the other tables have those of single
views. All are by name of the group of mechanisms (`pages.shared.dial.GROUPS`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpcore.attack.trade.ground import GUESSED
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.papers.ours.tradeoff import recorded_curve
from pages.shared.dial import Group

SHARE = 0.25
UNRECORDED = {"metric": 2.5, "log": math.exp(10.0), "local": 60.0}
"""An attacker of the bundled lexicon learns some words but not all."""

ATTACK_ON_TEXTS = {"metric": 6.0}
"""Robustness: the words of a mechanism still relate to the text."""

APPENDIX_C = UNRECORDED | {"metric": 12.0}
"""Deniability: the marker in the figures of Appendix C."""


def default_epsilon(group: Group, members: Sequence[Mechanism] = ()) -> float:
    """Return an informative default ε: a quarter of the content words is guessed there.

    If the first mechanism never leaks that much, half of its largest share is used; without a
    record, or without a mechanism, `UNRECORDED`.
    """
    curve = recorded_curve(members[0]) if members else None
    if curve is None:
        return UNRECORDED[group.name]
    most = float(curve.values(GUESSED).max())
    wanted = curve.epsilon_at(GUESSED, min(SHARE, most / 2))
    if wanted is not None:
        return wanted
    least = float(curve.epsilons[0])
    return next((epsilon for epsilon in group.grid if epsilon >= least), least)
