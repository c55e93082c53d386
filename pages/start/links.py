"""Redirect of old links to the page Rewrite, and links to the lesson and the other pages."""

from __future__ import annotations

import streamlit as st

from dpcore.mechanisms.registry import MECHANISMS
from pages.lesson.lesson import STEP
from pages.lesson.steps import STEPS
from pages.shared.aids import EXPLAIN, LARGE
from pages.shared.contents import CONTENTS
from pages.shared.dial import GROUPS
from pages.shared.frame import arrived_by_address
from pages.shared.language import say

_OF_REWRITE = frozenset(
    # Rewrite was the first page once: links of that time name its controls and no page.
    {"view", "via", "place", "draw", "seed", "unknown", "stop", "case"}
    | {group.name for group in GROUPS}
    | {f"eps_{group.name}" for group in GROUPS}
)


def follow_old_link() -> None:
    """Redirect to the page Rewrite, with the whole link, if the link names a control of that page.

    Only where the visit begins: the menu carries choices of other pages along in the address, and a
    user who follows it to this page wants this page.
    """
    if not arrived_by_address():
        return
    asked = {name: st.query_params.get_all(name) for name in st.query_params}
    if any(_of_rewrite(name) for name in asked):
        # The reading aids are drawn already: Streamlit carries their settings along by itself.
        free = {name: values for name, values in asked.items() if name not in {EXPLAIN, LARGE}}
        st.switch_page("pages/rewrite/page.py", query_params=free)


def _of_rewrite(name: str) -> bool:
    short = name.partition("_")[0]
    return name in _OF_REWRITE or any(kind.short == short for kind in MECHANISMS.values())


# Ways on from the start page: the steps of the lesson, and the other pages.


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
