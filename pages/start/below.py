"""Below the dial of the start page: published claims in brief, links, and where old links lead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from dpcore.audit.verdict import Outcome, Verdict
from dpcore.errors import DpcoreError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.registry import MECHANISMS
from dpcore.papers.claims import RecordedVerdicts
from dpcore.papers.overview import SAYS, measured
from pages.crowd.scene import first_told
from pages.lesson.lesson import STEP
from pages.lesson.steps import STEPS
from pages.papers.claims import signed
from pages.papers.store import CLAIM
from pages.shared import link
from pages.shared.contents import CONTENTS
from pages.shared.dial import GROUPS
from pages.shared.frame import arrived_by_address
from pages.shared.language import say
from pages.shared.messages import note, refuse
from pages.start.changing import LEVEL

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
            "Papers claim guarantees, and proofs can be wrong. We re-checked {count} claims, "
            "published ones and those of our repairs: {outcomes}. Choose one to see its proof.",
            count=len(verdicts),
            outcomes=outcomes,
        )
    )
    _rows(refuted[:_AT_ONCE])
    note(
        say(
            "Recorded on the bundled words at the usual settings; the page Papers shows the same "
            "figures and computes each again with your own settings."
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
        says = say("Claim: {claim}", claim=say(SAYS[verdict.key]))
        computed = say("Computed here: {figure}", figure=measured(verdict))
        # Plain text keeps the line break, so that both sentences are one element.
        right.text(f"{says}\n{computed}")


# Old links: they lead to the page Rewrite.


_OF_REWRITE = frozenset(
    # Rewrite was the first page once: links of that time name its controls and no page.
    {"view", "via", "place", "draw", "seed", "unknown", "stop", "case"}
    | {group.name for group in GROUPS}
    | {f"eps_{group.name}" for group in GROUPS}
)


def follow_old_link() -> None:
    """Redirect to the page Rewrite, with the whole link, if the link names a control of that page.

    A link of this page names the position of its dial, and no old link does.

    Only where the visit begins: the menu carries choices of other pages along in the address, and a
    user who follows it to this page wants this page.
    """
    if not arrived_by_address():
        return
    if LEVEL not in st.query_params and any(_of_rewrite(name) for name in st.query_params):
        link.turn_to("pages/rewrite/page.py")


def _of_rewrite(name: str) -> bool:
    short = name.partition("_")[0]
    return name in _OF_REWRITE or any(kind.short == short for kind in MECHANISMS.values())


# Ways on: the crowd, the steps of the lesson, and the other pages.


def crowd_in_short(words: Lexicon) -> None:
    """Say what many private texts still tell, with the way to the page that shows it.

    Args:
        words: the bundled lexicon.
    """
    with st.container(key="start_crowd"):
        try:
            st.markdown(first_told(words))
        except DpcoreError as error:
            refuse(say("The word counts could not be read."), error)
        st.page_link(
            "pages/crowd/page.py",
            label=say("How many texts does it take?"),
            icon=":material/arrow_forward:",
        )


def lesson_steps() -> None:
    """Draw a link to each step of the lesson."""
    for place, step in enumerate(STEPS, start=1):
        st.page_link(
            "pages/lesson/page.py",
            label=f"{place}. {say(step.title)}",
            query_params={STEP: step.key},
        )


def other_pages() -> None:
    """Draw a link to every other page with the question that it answers."""
    # The first entry is this page.
    for page in CONTENTS[1:]:
        # Title and question in one link: every element is a message to each visitor.
        st.page_link(page.file, label=f"**{say(page.title)}**: {say(page.question)}")
