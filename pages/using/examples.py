"""Texts that a classifier of the private texts gets wrong: the original beside what it saw."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.shared.messages import note

if TYPE_CHECKING:
    from pages.using.running import Held


def examples_view(held: Held) -> None:
    """Draw the choice of a mechanism and its ε, and the examples."""
    examples = held.job.examples
    labels = list(dict.fromkeys(one["label"] for one in examples))
    if not labels:
        note("There are none yet: they come with the first mechanism of the first trial.")
        return
    with st.container(horizontal=True):
        label = st.selectbox(
            "Mechanism of the examples",
            labels,
            key="use_example",
            width=260,
            help="Under which the texts were rewritten.",
        )
        values = sorted({one["epsilon"] for one in examples if one["label"] == label})
        epsilon = values[0]
        if len(values) > 1:
            epsilon = st.select_slider(
                f"ε of {label} in the examples",
                values,
                value=values[len(values) // 2],
                format_func=lambda value: f"{value:.4g}",
                key=f"use_example_{label}_{len(values)}",
                help="To the left stronger privacy. Only values of ε with such a text.",
            )
    note(
        "Test texts that a classifier of clean text reads rightly, and the one that was trained on "
        "private text reads wrongly in its private form. The original is shown here alone, to you: "
        "whoever releases the private text keeps it to themselves."
    )
    for one in examples:
        if (one["label"], one["epsilon"]) == (label, epsilon):
            _example(one)


def _example(one: dict[str, str]) -> None:
    """All in st.text: neither a text nor a label is Markdown."""
    with st.container(border=True, gap="xsmall"):
        left, right = st.columns(2)
        with left:
            st.markdown("**Original**")
            st.text(one["original"])
            st.text(f"Its label: {one['true']}")
        with right:
            st.markdown("**Private**")
            st.text(one["private"])
            st.text(f"Read as: {one['guessed']}")
