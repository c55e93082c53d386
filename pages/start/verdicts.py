"""Published claims in brief: verdict, claim and one figure, each a link to the page Papers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from dpcore.audit.verdict import Outcome, Verdict
from dpcore.papers.claims import RecordedVerdicts
from dpcore.papers.overview import SAYS, measured
from pages.papers.claims import signed
from pages.papers.store import CLAIM
from pages.shared.language import say
from pages.shared.messages import note

_AT_ONCE = 3  # refuted claims in sight: the first screen is for the sentence


def small_verdicts(recorded: RecordedVerdicts) -> None:
    """Draw the refuted claims, and the others folded away."""
    verdicts = recorded.verdicts
    refuted = [verdict for verdict in verdicts if verdict.outcome is Outcome.REFUTED]
    others = [verdict for verdict in verdicts if verdict.outcome is not Outcome.REFUTED]
    counts = Counter(str(verdict.outcome) for verdict in verdicts)
    outcomes = ", ".join(f"{count} {say(outcome)}" for outcome, count in counts.items())
    st.markdown(
        say(
            "Papers promise; proofs have mistakes. {count} claims, published ones and those of the "
            "repairs made here, were calculated again: {outcomes}. Choose one to see its proof.",
            count=len(verdicts),
            outcomes=outcomes,
        )
    )
    _rows(refuted[:_AT_ONCE])
    note(
        say(
            "Recorded on the bundled words at the usual settings; the page Papers shows the same "
            "figures and computes each again at settings of your own."
        )
    )
    if refuted[_AT_ONCE:]:
        others_refuted = say(
            "The other {count} claims that were refuted", count=len(refuted) - _AT_ONCE
        )
        _folded(others_refuted, refuted[_AT_ONCE:], "refuted")
    _folded(say("The {count} claims that were not refuted", count=len(others)), others, "others")


def _folded(title: str, verdicts: Sequence[Verdict], key: str) -> None:
    """Draw rows on request only, since they make up most of the page."""
    drawer = st.expander(title, key=f"verdicts_{key}", on_change="rerun")
    if drawer.open:
        with drawer:
            _rows(verdicts)


def _rows(verdicts: Sequence[Verdict]) -> None:
    for verdict in verdicts:
        left, middle, right = st.columns((2, 3, 5), vertical_alignment="center", gap="small")
        left.text(signed(verdict))
        middle.page_link(
            "pages/papers/page.py", label=say(verdict.title), query_params={CLAIM: verdict.key}
        )
        says = say("It says: {claim}", claim=say(SAYS[verdict.key]))
        computed = say("Computed here: {figure}", figure=measured(verdict))
        # Plain text keeps the line break, so that both sentences are one element.
        right.text(f"{says}\n{computed}")
