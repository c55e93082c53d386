"""One claim from near: what was claimed, what is true, which step fails, what holds instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dpcore.audit.settings import AuditSettings
from dpcore.audit.verdict import Outcome
from dpcore.errors import DpcoreError
from dpcore.papers.overview import REPAIRS
from pages.audit.board import verdicts
from pages.audit.controls import choose_settings
from pages.audit.pictures import pictures
from pages.audit.store import compute, known
from pages.audit.tables import (
    conditions_table,
    figures_table,
    repairs_table,
    settings_table,
    signed,
)
from pages.shared import link
from pages.shared.downloads import csv_button
from pages.shared.messages import inform, note, refuse
from pages.shared.reproducing import show_line
from pages.shared.table import show_table

if TYPE_CHECKING:
    from dpcore.audit.verdict import Verdict
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.papers.verdicts import RecordedVerdicts


def detail(key: str, words: Lexicon, recorded: RecordedVerdicts | None) -> None:
    """Draw the controls and the verdict on one claim."""
    try:
        settings, pressed = choose_settings(key)
    except DpcoreError as error:
        refuse("These settings cannot be audited.", error)
        return
    verdict = compute(key, words, settings) if pressed else known(key, words, settings, recorded)
    if verdict is None:
        if not pressed:
            inform("Not computed yet on this lexicon at these settings: press the button above.")
        return
    _verdict(verdict)
    pictures(key, words, settings)
    _repairs(key, words, recorded)
    _reproduce(verdict)


def _verdict(verdict: Verdict) -> None:
    st.subheader(f"{verdict.title}: {signed(verdict)}", anchor=False)
    # st.text: sources, conditions and figures are no Markdown, and some name words.
    left, right = st.columns(2)
    with left:
        _paragraph("The claim", f"{verdict.claim} ({verdict.source})")
        _paragraph("What was computed", verdict.computed)
        if verdict.failing_step:
            refuted = verdict.outcome is Outcome.REFUTED
            _paragraph("The step that fails" if refuted else "What is wrong", verdict.failing_step)
        _paragraph("What holds, and why", verdict.repair)
        if verdict.conditions:
            st.markdown("**Conditions**")
            show_table(conditions_table(verdict), "Conditions of the claim, and which are met")
    with right:
        st.markdown("**The figures**")
        table = figures_table(verdict)
        show_table(table, "The figures of this verdict, by name", height="content")
        csv_button("Figures as CSV", f"verdict_{verdict.key}", lambda: table, key="csv_verdict")
        if verdict.settings:
            st.markdown("**Computed at**")
            show_table(settings_table(verdict), "Settings of this verdict")


def _paragraph(title: str, text: str) -> None:
    st.markdown(f"**{title}**")
    st.text(text)


def _repairs(key: str, words: Lexicon, recorded: RecordedVerdicts | None) -> None:
    if key not in REPAIRS:
        return
    table = repairs_table(key, verdicts(words, recorded))
    if len(table):
        st.subheader("What to use instead, and what it costs", anchor=False)
        show_table(table, "What holds in place of this claim, its verdict and its cost")
        note(
            "At the usual settings, and at the ε of each row. C is the norm of clipping; a repair "
            f"that has a δ has δ = {AuditSettings().delta:g}."
        )


def _reproduce(verdict: Verdict) -> None:
    st.subheader("Link and command", anchor=False)
    show_line(link.permalink())
    show_line(verdict.command)
