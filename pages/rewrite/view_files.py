"""Taking the view along: its link, its numbers, and the command that prints the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.rewrite.tables import grid_table
from pages.shared import link
from pages.shared.downloads import csv_button
from pages.shared.messages import note
from pages.shared.reproducing import command_line, mechanism_words, show_line

if TYPE_CHECKING:
    import pandas as pd

    from pages.rewrite.scene import Scene


def files_view(scene: Scene) -> None:
    """Link, CSV, command."""
    st.subheader("Link", anchor=False)
    with_text = st.toggle(
        "Put my text into the link",
        key="link_text",
        help="Off: the link opens with the example that is chosen above. On: whoever gets the "
        "link, and every server and history that it passes, can read your text.",
    )
    if with_text:
        st.warning("This link contains your text.", icon=":material/visibility:")
    show_line(link.permalink(scene.text if with_text else None))
    note("It reproduces the mechanisms, every ε, the seed, the draw and the chosen word.")
    st.subheader("Command", anchor=False)
    show_line(command(scene))
    note("It prints the row of the chosen mechanism; choose a word of another row for it.")
    st.subheader("Numbers", anchor=False)

    def table() -> pd.DataFrame:
        return grid_table(
            scene.bench, list(scene.mechanisms), scene.epsilons, scene.seed, scene.number
        )

    csv_button("All rows as CSV", "rewritten", table, key="csv_grid")


def command(scene: Scene) -> str:
    """The command line that prints the same rewritten sentence as the row of the chosen word."""
    choices = scene.choices
    words = mechanism_words(scene.chosen, scene.epsilon)
    words += ["--seed", str(scene.seed), "--draw", str(scene.number), "--lexicon", choices.lexicon]
    treatment = choices.treatment
    words += ["--unknown", str(treatment.unknown_words), "--case", str(treatment.case)]
    if treatment.keep_stop_words:
        words.append("--keep-stop-words")
    return command_line("rewrite", *words, "--text", scene.text)
