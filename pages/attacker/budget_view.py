"""The budget of a sentence: what the promise adds up to, word by word and release by release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dpcore.attack.budget import budget
from dpcore.attack.language.context import BIGRAM
from dpcore.errors import DpcoreError
from dpcore.limits import MAX_ATTACK_RELEASES
from dpcore.plots.attack.budget import budget_caption, budget_figure
from pages.attacker.channels import channel_or_progress
from pages.attacker.command import budget_cell
from pages.attacker.sentence import bench_of, is_typed
from pages.attacker.sentence_view import read_sentence, show_counts
from pages.attacker.tables import budget_table
from pages.shared.fields import choose_seed, whole_number
from pages.shared.figure import show_figure
from pages.shared.language import say
from pages.shared.messages import note, refuse
from pages.shared.taking import Takeaway, take_it_with_you
from pages.shared.text_box import text_box

if TYPE_CHECKING:
    from pages.attacker.scene import Scene
    from pages.shared.bench import Bench


def budget_view(scene: Scene) -> None:
    """Draw the sentence box, the number of releases, and the sum of the promises."""
    note(
        say(
            "Every word is protected by noise of its own, so that what is promised about a "
            "sentence is the sum over its words, and over every time that it is released."
        )
    )
    text = text_box()
    with st.container(horizontal=True):
        releases = whole_number(
            say("Releases of the whole sentence"),
            1,
            MAX_ATTACK_RELEASES,
            1,
            "releases",
            say("How often the same sentence is rewritten with fresh noise and given away."),
            width=250,
        )
        seed = choose_seed(
            say("Of all noise on this page: who opens the same link sees the same words."), 150
        )
    try:
        bench = bench_of(scene, text)
        known = [int(word) for word in bench.sentence.words if word >= 0]
        spent = budget(scene.mechanism, known, scene.epsilon, releases=releases)
    except DpcoreError as error:
        refuse(say("There is nothing to add up."), error)
        return
    table = budget_table(scene.words, spent)
    show_figure(budget_figure(table), budget_caption(table, spent.nearest_success), table, "budget")
    st.text(spent.statement)
    unknown = bench.sentence.protected - len(known)
    if unknown:
        note(
            say(
                "{unknown} words outside the vocabulary are left out: they tell nothing.",
                unknown=unknown,
            )
        )
    note(
        say(
            "A word that stands twice is released twice: whoever knows that both places hold "
            "the same word sees two outputs of it. Longer sentences are not hidden at all: "
            "their length shows."
        )
    )
    note(
        say("The losses in the table are what the guarantee says of each word and its nearest one.")
    )
    _comes_back(scene, bench, seed)
    take_it_with_you(
        lambda: Takeaway(
            budget_cell(scene, text, releases),
            scene.mechanism.cited,
            typed=is_typed(),
            tables={"Losses": lambda: table},
        )
    )


def _comes_back(scene: Scene, bench: Bench, seed: int) -> None:
    """Draw what one release gives attackers back, beside the sum of what is promised."""
    if not scene.mechanism.exact_law:
        return
    try:
        channel = channel_or_progress(scene.mechanism)
        read = None if channel is None else read_sentence(scene, channel, bench, seed, BIGRAM)
    except DpcoreError as error:
        refuse(say("This sentence cannot be attacked."), error)
        return
    if read is not None:
        note(
            say(
                "The sum is a promise against everybody. What attackers get back of one release, "
                "of which the last reads on by bigrams of English:"
            )
        )
        show_counts(read.recovered)
