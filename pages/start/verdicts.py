"""The published claims in small: verdict, claim and one figure, each a way to the page Audit."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import streamlit as st

from dpcore.audit.verdict import Outcome
from dpcore.papers.overview import headline, shown
from pages.audit.board import CLAIM
from pages.audit.tables import signed
from pages.shared.messages import note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore.audit.verdict import Verdict
    from dpcore.papers.verdicts import RecordedVerdicts


def small_verdicts(recorded: RecordedVerdicts) -> None:
    """Draw the refuted claims, and the others folded away."""
    found = recorded.verdicts
    refuted = [one for one in found if one.outcome is Outcome.REFUTED]
    others = [one for one in found if one.outcome is not Outcome.REFUTED]
    counts = Counter(str(one.outcome) for one in found)
    said = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    st.markdown(
        f"Papers promise; proofs have mistakes. {len(found)} claims, published ones and those of "
        f"the repairs made here, were calculated again: {said}. Choose one to see its proof."
    )
    _rows(refuted)
    with st.expander(f"The {len(others)} claims that were not refuted"):
        _rows(others)
    note(
        "Recorded on the bundled words at the usual settings; the page Audit shows the same "
        "figures and computes each again at settings of your own."
    )


def _rows(found: Sequence[Verdict]) -> None:
    for one in found:
        verdict, claim, figure = st.columns((2, 3, 5), vertical_alignment="center", gap="small")
        verdict.text(signed(one))
        claim.page_link("pages/audit/page.py", label=one.title, query_params={CLAIM: one.key})
        name, value = headline(one)
        figure.text(f"Claimed: {one.claim}\nComputed: {name}: {shown(value)}")
