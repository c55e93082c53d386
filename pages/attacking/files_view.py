"""The link of the view, and the commands that print its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.attacking.believing import AROUND, LIST, belief_now
from pages.attacking.choosing import output_now
from pages.attacking.command import posterior_command
from pages.attacking.weighing import TOP
from pages.shared import link
from pages.shared.messages import note
from pages.shared.pair import pair_is_typed

if TYPE_CHECKING:
    from pages.attacking.scene import Scene


def files_view(scene: Scene) -> None:
    """Draw the link and the command."""
    words = scene.words
    st.subheader("Link", anchor=False)
    belief = belief_now()
    if belief.kind in (LIST, AROUND) or pair_is_typed():
        note(
            "What you typed is not in the link: whoever opens it sees the list, the words around "
            "and the sentence that a fresh visit begins with."
        )
    st.code(link.permalink(), language=None, wrap_lines=True)
    st.subheader("Command", anchor=False)
    line = posterior_command(scene, output_now(words), belief, TOP)
    st.code(line, language=None, wrap_lines=True)
    note(
        "It prints the likeliest words with their chances before and after, or how often the "
        "nearest-neighbour attacker is right where no probabilities can be computed."
    )
