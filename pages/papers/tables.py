"""Verdicts as tables; lexicon words appear in them, so they are shown as plain cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpcore.papers.overview import brief, cost, measured, shown
from pages.shared.language import later, numeral, say
from pages.shared.signs import SIGNS

if TYPE_CHECKING:
    import pandas as pd

    from dpcore.audit.verdict import Verdict


_COSTS = {
    "deviation/C": later("noise of deviation {amount} C"),
    "deviation/C, as published (not private)": later("noise of deviation {amount} C"),
    "sigma/C": later("noise of deviation {amount} C"),
    "b": later("noise of scale {amount}"),
    "noise scale b": later("noise of scale {amount}"),
    "exponent over that of TEM": later("{amount} times the exponent of TEM"),
    "temperature/range": later("a temperature of {amount} times the range"),
    "epsilon for one half": later("ε = {amount} for half of the tokens"),
}
"""Names of costs, as a sentence has them."""


def signed(verdict: Verdict) -> str:
    """The verdict as a sign and words."""
    return f"{SIGNS[verdict.outcome]} {say(verdict.label)}"


def overview_table(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """One row a claim: key, verdict, title, source, what it says, what was computed."""
    import pandas as pd

    rows = [(v.key, signed(v), v.title, v.source, v.claim, measured(v)) for v in verdicts]
    return pd.DataFrame(rows, columns=["key", "verdict", "claim", "source", "says", "computed"])


def figures_table(verdict: Verdict) -> pd.DataFrame:
    """All figures of a verdict, by name."""
    import pandas as pd

    rows = [(name, shown(value)) for name, value in verdict.numbers.items()]
    return pd.DataFrame(rows, columns=["figure", "value"])


def settings_table(verdict: Verdict) -> pd.DataFrame:
    """At which parameters it was computed."""
    import pandas as pd

    rows = [(name, shown(value)) for name, value in verdict.settings.items()]
    return pd.DataFrame(rows, columns=["setting", "value"])


def conditions_table(verdict: Verdict) -> pd.DataFrame:
    """What the claim needs, and whether these settings have it."""
    import pandas as pd

    rows = [(say("✔ met") if c.met else say("✘ not met"), c.text) for c in verdict.conditions]
    return pd.DataFrame(rows, columns=["state", "condition"])


def price(verdict: Verdict) -> str:
    """What a mechanism costs at its ε, in a few words."""
    paid = cost(verdict)
    if paid is None:
        return say("no more noise: a condition, not a mechanism")
    name, value = paid
    epsilon = verdict.settings.get("epsilon")
    amount = numeral(brief(value))
    figure = say(_COSTS[name], amount=amount) if name in _COSTS else f"{name} {amount}"
    if epsilon is None:
        return figure
    return say("at ε = {epsilon}: {figure}", epsilon=numeral(brief(epsilon)), figure=figure)
