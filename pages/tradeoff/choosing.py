"""What is compared: the two axes, the mechanisms, the sentence. All of it stands in the link."""

from __future__ import annotations

import streamlit as st

from dpcore.papers.ours.tradeoff import recorded_curves
from pages.shared.drawing import choose_draw, draw_again
from pages.shared.language import say
from pages.shared.linking import choose_one, choose_some
from pages.shared.text_box import text_box
from pages.tradeoff.quantities import LEAKAGES, UTILITIES, Leakage, Utility

FIRST = {
    "neighbour-response-10": "neighbour-response, k = 10",
    "neighbour-response-3": "neighbour-response, k = 3",
    "madlib": "madlib",
    "tem": "tem",
    "optimal": "optimal",
}
"""The curves of a fresh visit, by name in the link."""


def choose_two() -> tuple[Leakage, Utility]:
    """Draw the choice of both axes."""
    leakages = {one.key: one for one in LEAKAGES}
    chosen = leakages[
        choose_one(
            st.selectbox,
            say("What a stranger learns"),
            {key: say("Learned: {title}", title=say(one.title)) for key, one in leakages.items()},
            "learned",
            help=say("What counts as given away; the dial counts it.")
            + " "
            + " ".join(f"**{say(one.title)}**: {say(one.meaning)}" for one in LEAKAGES),
            label_visibility="collapsed",
            width=290,
        )
    ]
    # Texts were learned from at a few levels of guessed words, so only beside those.
    utilities = {one.name: one for one in UTILITIES if _goes_with(one, chosen)}
    kept = choose_one(
        st.selectbox,
        say("What is left"),
        {name: say("Left: {title}", title=say(one.title)) for name, one in utilities.items()},
        "left",
        help=say(
            "**Meaning**: how near the output stays, 100 % for the word itself, 0 % for a word "
            "that has nothing to do with it. **Words as they were**: the share that stays. "
            "**Learned**: accuracy of a classifier on private texts."
        ),
        label_visibility="collapsed",
        width=350,
    )
    return chosen, utilities[kept]


def _goes_with(utility: Utility, leakage: Leakage) -> bool:
    if utility.data is None:
        return leakage.key != "auc"
    return leakage.key in {"word", "auc"}


def choose_curves() -> list[str]:
    """Draw the choice of the mechanisms, each with its settings; labels of the recorded curves."""
    titles = {label.replace(", k = ", "-"): label for label in recorded_curves()}
    with st.popover(say("Mechanisms"), icon=":material/tune:"):
        chosen = choose_some(
            say("Mechanisms"),
            titles,
            "curves",
            list(FIRST),
            help=say(
                "k of neighbour-response: how many words share the chance, the word among them. "
                "optimal keeps the most words for its promise, if all are equally likely and ε is "
                "at or above the critical one of the vocabulary."
            ),
        )
    return [titles[name] for name in chosen]


def choose_sentence() -> tuple[str, int, int]:
    """Draw the sentence and its draw; the text, seed and number of the draw."""
    with st.popover(say("Your sentence"), icon=":material/edit:"):
        text = text_box()
        seed, number = choose_draw()
    draw_again()
    return text, seed, number
