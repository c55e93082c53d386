"""The ways on from the start page: the steps of the lesson, and the other pages."""

from __future__ import annotations

import streamlit as st

from pages.lesson.lesson import STEP
from pages.lesson.steps import STEPS
from pages.shared.contents import CONTENTS
from pages.shared.language import say


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
    for page in CONTENTS[1:]:
        st.page_link(page.file, label=f"**{say(page.title)}**: {say(page.question)}")
