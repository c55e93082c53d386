"""The table of all claims, and which one is chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dpcore.audit.settings import AuditSettings
from dpcore.papers.claims import CLAIMS
from pages.audit.store import compute_all, known
from pages.audit.tables import overview_table
from pages.shared import link
from pages.shared.downloads import csv_button
from pages.shared.messages import note
from pages.shared.table import show_table

if TYPE_CHECKING:
    import pandas as pd

    from dpcore.audit.verdict import Verdict
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.papers.verdicts import RecordedVerdicts

CLAIM = "claim"
_ROWS = 10
_COLUMNS = {
    "verdict": (
        "verdict",
        110,
        "✘ refuted, ✔ proved, ◉ checked exactly on this vocabulary alone, ? a condition is not met "
        "or was not computed, ○ not refuted, ⚠ the sampler disagrees with its law.",
    ),
    "claim": ("claim", 230, None),
    "computed": ("computed", 270, "One of the figures that were computed; all are shown below."),
    "source": ("source", 400, "Where the claim or its proof stands."),
}


def overview(words: Lexicon, recorded: RecordedVerdicts | None) -> None:
    """Draw the table; a click on a row chooses its claim."""
    shown = verdicts(words, recorded)
    if len(shown) < len(CLAIMS):
        note(
            f"{len(shown)} of {len(CLAIMS)} claims are computed on this lexicon. Verdicts are "
            "recorded for the bundled one; for another it takes seconds to minutes."
        )
        if st.button(
            "Audit all claims on this lexicon",
            key="audit_all",
            icon=":material/fact_check:",
            help="Computes every claim at the usual settings, one after the other; what is done "
            "stays if you click elsewhere.",
        ):
            compute_all(words)
            shown = verdicts(words, recorded)
    if shown:
        _table(overview_table(shown), words.fingerprint)
    elif recorded is not None:
        note("Until then the table shows the verdicts on the bundled lexicon.")
        _table(overview_table(recorded.verdicts), recorded.fingerprint)


def verdicts(words: Lexicon, recorded: RecordedVerdicts | None) -> list[Verdict]:
    """The verdicts on this lexicon that are known at the usual settings, in the usual order."""
    usual = AuditSettings()
    every = (known(key, words, usual, recorded) for key in CLAIMS)
    return [verdict for verdict in every if verdict is not None]


def chosen_claim(recorded: RecordedVerdicts | None) -> str:
    """Draw the choice of a claim, by its title where one is recorded; return its key."""
    titles = (
        {} if recorded is None else {verdict.key: verdict.title for verdict in recorded.verdicts}
    )
    # Bound to the address it would stand there by its title; the link has the key.
    usual = next(iter(CLAIMS))
    if CLAIM not in st.session_state:
        linked = st.query_params.get(CLAIM, usual)
        st.session_state[CLAIM] = linked if linked in CLAIMS else usual
    chosen: str = st.selectbox(
        "Claim",
        list(CLAIMS),
        format_func=lambda key: titles.get(key, key),
        key=CLAIM,
        help="The claim that is shown below; a click on a row of the table chooses it too. It "
        "stands in the link.",
    )
    link.write(CLAIM, chosen, usual)
    return chosen


def _table(table: pd.DataFrame, fingerprint: str) -> None:
    key = f"claims_{fingerprint[:12]}_{len(table)}"

    def take() -> None:
        rows = st.session_state[key].selection.rows
        if rows:
            st.session_state[CLAIM] = str(table["key"].iloc[rows[0]])

    # Above the table, whose tools on a phone stand over the end of what comes before it.
    counts = table["verdict"].value_counts(sort=False)
    st.text("; ".join(f"{name}: {count}" for name, count in counts.items()))
    show_table(
        table,
        "Every claim with its verdict, its source and one computed figure",
        key=key,
        height=38 + 35 * min(len(table), _ROWS),
        column_order=list(_COLUMNS),
        column_config={
            name: st.column_config.TextColumn(label, width=width, help=explained)
            for name, (label, width, explained) in _COLUMNS.items()
        },
        on_select=take,
        selection_mode="single-row",
    )
    csv_button("Verdicts as CSV", "verdicts", lambda: table, key="csv_verdicts")
