"""Verdicts as tables; lexicon words appear in them, so they are shown as plain cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpcore.papers.overview import REPAIRS, cost, headline, shown
from pages.shared.signs import SIGNS

if TYPE_CHECKING:
    import pandas as pd

    from dpcore.audit.verdict import Verdict

OVERVIEW = ("verdict", "claim", "computed", "source", "key")


def signed(verdict: Verdict) -> str:
    """The verdict as a sign and words."""
    return f"{SIGNS[verdict.outcome]} {verdict.label}"


def overview_table(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """One row a claim: verdict, title, source with theorem, one figure, key."""
    import pandas as pd

    rows = []
    for verdict in verdicts:
        name, value = headline(verdict)
        figure = f"{name}: {shown(value)}"
        rows.append((signed(verdict), verdict.title, figure, verdict.source, verdict.key))
    return pd.DataFrame(rows, columns=list(OVERVIEW))


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

    rows = [("✔ met" if c.met else "✘ not met", c.text) for c in verdict.conditions]
    return pd.DataFrame(rows, columns=["state", "condition"])


def repairs_table(key: str, verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """A claim and what holds in its place, each with its verdict, its ε and its cost."""
    import pandas as pd

    known = {verdict.key: verdict for verdict in verdicts}
    rows = []
    for each in (key, *REPAIRS.get(key, ())):
        verdict = known.get(each)
        price = None if verdict is None else cost(verdict)
        if verdict is None or (price is None and each == key):
            continue
        name, value = price or ("no more noise: a condition, not a mechanism", "")
        epsilon = verdict.settings.get("epsilon", "")
        rows.append((verdict.title, signed(verdict), shown(epsilon), name, shown(value)))
    return pd.DataFrame(rows, columns=["mechanism", "verdict", "ε", "cost", "value"])
