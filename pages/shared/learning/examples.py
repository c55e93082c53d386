"""Texts that a classifier of the private texts gets wrong: the original beside what it saw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.shared.fields import pick
from pages.shared.language import numeral, say
from pages.shared.messages import note

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pages.release.running import Run


def own_examples(run: Run) -> None:
    """Draw the examples of a run of one's own."""
    if not run.job.examples:
        note(
            say(
                "There are none: in what was measured no text was read rightly as it was "
                "written and wrongly in its private form."
            )
            if run.job.done
            else say("There are none yet: they come with the first mechanism of the first trial.")
        )
        return
    show_examples(run.job.examples)
    note(
        say(
            "The original is shown only here, to you: whoever releases the private text keeps "
            "it to themselves."
        )
    )


def show_examples(examples: Sequence[Mapping[str, Any]]) -> None:
    """Draw the choice of a mechanism and its ε, and the examples."""
    labels = list(dict.fromkeys(example["label"] for example in examples))
    with st.container(horizontal=True):
        label = pick(
            say("Mechanism of the examples"),
            labels,
            "use_example",
            say("Under which the texts were rewritten."),
            width=260,
        )
        values = sorted({each["epsilon"] for each in examples if each["label"] == label})
        epsilon = values[0]
        if len(values) > 1:
            epsilon = st.select_slider(
                say("ε of {label} in the examples", label=label),
                values,
                value=values[len(values) // 2],
                format_func=lambda value: numeral(f"{value:.4g}"),
                key=f"use_example_{label}_{len(values)}",
                help=say("To the left stronger privacy. Only values of ε with such a text."),
            )
    note(
        say(
            "What privacy costs, in single texts of the first trial: a classifier that learned "
            "from clean text reads the original rightly; one that learned from private text "
            "reads the private form wrongly. No others are shown, not those either that only "
            "the second reads rightly; and of each mechanism and ε only the first few."
        )
    )
    for example in examples:
        if (example["label"], example["epsilon"]) == (label, epsilon):
            _example(example)


def _example(example: Mapping[str, Any]) -> None:
    """All in st.text: neither a text nor a label is Markdown."""
    with st.container(border=True, gap="xsmall"):
        left, right = st.columns(2)
        with left:
            st.markdown(say("**Original**"))
            st.text(example["original"])
            st.text(say("Its label: {label}", label=example["true"]))
        with right:
            st.markdown(say("**Private**"))
            st.text(example["private"])
            st.text(say("Read as: {label}", label=example["guessed"]))
