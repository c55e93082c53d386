"""The views below the curves: solving for ε, the words one by one, link and command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from dpcore.measure.words import Stratum
from pages.deniability.choosing import LIST, SAMPLE, TEXT, WORDS
from pages.deniability.moving import OPEN_VIEW, epsilon_at
from pages.deniability.solving import solve_view
from pages.deniability.tables import word_table
from pages.shared import link
from pages.shared.downloads import csv_button
from pages.shared.groups import group_of
from pages.shared.messages import note
from pages.shared.reproducing import command_line, mechanism_words, show_line
from pages.shared.table import show_table
from pages.shared.tabs import tabs

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.measure.words import Selection
    from dpcore.mechanisms.mechanism import Mechanism
    from pages.deniability.choosing import Words
    from pages.deniability.curves import Curve


@dataclass(frozen=True)
class How:
    """How the words are measured: name of the lexicon, R, seed."""

    lexicon: str
    runs: int
    seed: int


@dataclass(frozen=True)
class Scene:
    """What is shown.

    Attributes:
        curves: one a mechanism.
        pinned: up to two words that are looked at one by one.
        selection: the words that were to be measured.
        words: how they were chosen.
        lexicon: where they are from.
        how: how they were measured.
    """

    curves: tuple[Curve, ...]
    pinned: tuple[str, ...]
    selection: Selection
    words: Words
    lexicon: Lexicon
    how: How

    def epsilons(self) -> dict[str, float]:
        """ε of the sliders by registry key; a group without a slider on the page has its start."""
        return {c.mechanism.key: epsilon_at(group_of(c.mechanism.meaning)) for c in self.curves}


def views(scene: Scene) -> None:
    """Draw the tabs; only the open one is computed."""
    kinds = {
        "Solve for ε": _solve_view,
        "Word by word": _words_view,
        "Link and command": _files_view,
        "The papers' figures": _papers_view,
        "Appendix C": _appendix_view,
    }
    tabs(kinds, OPEN_VIEW, scene)


def _solve_view(scene: Scene) -> None:
    solve_view(scene.curves, scene.how.runs)


def _words_view(scene: Scene) -> None:
    table = word_table(list(scene.curves), scene.epsilons(), scene.pinned)
    show_table(table, "Nw and Sw of every word at the chosen ε")
    note(
        "At the ε of the sliders. The effective number 1/Σp² is the count of equally likely "
        "outputs that would agree as often as two runs do."
    )
    csv_button("Words as CSV", "deniability_words", lambda: table, key="csv_words")


def _files_view(scene: Scene) -> None:
    st.subheader("Link", anchor=False)
    text = None
    if scene.words.source == LIST and st.toggle(
        "Put my words into the link",
        key="link_words",
        help="Whoever gets the link, and every server and history that it passes, can read them.",
    ):
        text = scene.words.text
        st.warning("This link contains your words.", icon=":material/visibility:")
    show_line(link.permalink(text, WORDS))
    if scene.words.source == TEXT:
        note("A text is never put into the link: whoever opens it gives a text of their own.")
    st.subheader("Command", anchor=False)
    epsilons = scene.epsilons()
    lines = [
        _command(scene, curve.mechanism, epsilon)
        for curve in scene.curves
        if (epsilon := epsilons[curve.mechanism.key]) in curve.mechanism.admissible
    ]
    show_line("\n".join(lines))
    more = " Save the text as FILE.txt first." if scene.words.source == TEXT else ""
    note(f"One line a mechanism: it prints the numbers of the table at the chosen ε.{more}")


def _command(scene: Scene, mechanism: Mechanism, epsilon: float) -> str:
    """The command line that measures the same words under one mechanism."""
    words, how = scene.words, scene.how
    if words.source == SAMPLE:
        chosen = ["--sample", str(words.count)]
        if words.by != Stratum.FREQUENCY:
            chosen += ["--stratify", words.by]
    elif words.source == TEXT:
        chosen = ["--corpus", "FILE.txt", "--at-most", str(words.count)]
    else:
        chosen = ["--words", ",".join(scene.selection.names)]
    measured = ["--runs", str(how.runs), "--seed", str(how.seed), "--lexicon", how.lexicon]
    return command_line("deniability", *chosen, *mechanism_words(mechanism, epsilon), *measured)


def _papers_view(scene: Scene) -> None:  # noqa: ARG001 - as all views
    from pages.deniability.papers import papers_view

    papers_view()


def _appendix_view(scene: Scene) -> None:
    from pages.deniability.appendix import appendix_view

    appendix_view(scene.lexicon)
