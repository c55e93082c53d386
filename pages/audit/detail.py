"""One claim from near: what was claimed, what is true, which step fails, what holds instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dpcore.audit.settings import AuditSettings
from dpcore.audit.verdict import Outcome
from dpcore.errors import DpcoreError
from dpcore.papers.claims import CLAIMS
from dpcore.papers.overview import REPAIRS
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
from pages.shared.messages import note, refuse

if TYPE_CHECKING:
    import pandas as pd

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
    found = compute(key, words, settings) if pressed else known(key, words, settings, recorded)
    if found is None:
        if not pressed:
            st.info(
                "Not computed yet on this lexicon at these settings: press the button above.",
                icon=":material/info:",
            )
        return
    _verdict(found)
    pictures(key, words, settings)
    _repairs(key, words, recorded)
    _reproduce(found)


def _verdict(found: Verdict) -> None:
    st.subheader(f"{found.title}: {signed(found)}", anchor=False)
    # st.text: sources, conditions and figures are no Markdown, and some name words.
    left, right = st.columns(2)
    with left:
        _said("The claim", f"{found.claim} ({found.source})")
        _said("What was computed", found.computed)
        if found.failing_step:
            refuted = found.outcome is Outcome.REFUTED
            _said("The step that fails" if refuted else "What is wrong", found.failing_step)
        _said("What holds, and why", found.repair)
        if found.conditions:
            st.markdown("**Conditions**")
            _plain_table(conditions_table(found), "Conditions of the claim, and which are met")
    with right:
        st.markdown("**The figures**")
        table = figures_table(found)
        _plain_table(table, "The figures of this verdict, by name", whole=True)
        csv_button("Figures as CSV", f"verdict_{found.key}", lambda: table, key="csv_verdict")
        if found.settings:
            st.markdown("**Computed at**")
            _plain_table(settings_table(found), "Settings of this verdict")


def _said(title: str, text: str) -> None:
    st.markdown(f"**{title}**")
    st.text(text)


def _plain_table(table: pd.DataFrame, alt: str, *, whole: bool = False) -> None:
    st.dataframe(
        table,
        hide_index=True,
        placeholder="",
        height="content" if whole else "auto",
        alt=alt,
    )


def _repairs(key: str, words: Lexicon, recorded: RecordedVerdicts | None) -> None:
    if key not in REPAIRS:
        return
    usual = AuditSettings()
    found = [known(one, words, usual, recorded) for one in CLAIMS]
    table = repairs_table(key, [one for one in found if one is not None])
    if len(table):
        st.subheader("What to use instead, and what it costs", anchor=False)
        _plain_table(table, "What holds in place of this claim, its verdict and its cost")
        note(
            "At the usual settings, and at the ε of each row. C is the norm of clipping; a repair "
            f"that has a δ has δ = {usual.delta:g}."
        )


def _reproduce(found: Verdict) -> None:
    st.subheader("Link and command", anchor=False)
    st.code(link.permalink(), language=None, wrap_lines=True)
    st.code(found.command, language=None, wrap_lines=True)
