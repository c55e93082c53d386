"""View of one word: its ε-strip, its most likely outputs, and the odds given an output."""

from __future__ import annotations

import math

import streamlit as st

from dpcore.plots.attack.odds import odds_caption, odds_figure
from dpcore.plots.law import law_caption, law_figure
from dpcore.plots.strip import strip_caption, strip_figure
from pages.rewrite.scene import RewriteScene, choose_place, run_dependents
from pages.rewrite.tables import law_table, odds_table, strip_table
from pages.shared.dial import group_of
from pages.shared.figure import show_figure
from pages.shared.fragments import heard
from pages.shared.language import say
from pages.shared.messages import inform, note
from pages.shared.progress import timed
from pages.shared.session import Bench

_ALTERNATIVES = 12
_CERTAIN = 0.999  # a probability above it may be displayed as 1 in three digits


def word_view(scene: RewriteScene) -> None:
    """Draw the three figures of the chosen word."""
    if not scene.bench.sentence.protected:
        inform(say("This text has no protected word."))
        return
    _choose(scene)
    st.subheader(say("The ε-strip"), anchor=False)
    note(
        say(
            "One draw of noise decides the output for every ε at once: each bar shows what the "
            "word becomes from strong privacy (left) to close meaning (right). White: it stays."
        )
    )
    _strip(scene)
    if scene.bench.word(scene.place) < 0:
        inform(
            say(
                "This word is not in the vocabulary: it is replaced by a random word first, so "
                "it has no likely outputs and no odds itself."
            )
        )
        return
    st.subheader(say("The most likely outputs"), anchor=False)
    if scene.defined:
        _law(scene)
    else:
        inform(say("The chosen mechanism is not defined at this ε."))
    st.subheader(say("The odds"), anchor=False)
    _odds(scene)


def _choose(scene: RewriteScene) -> None:
    """Draw the same choice as a click in the grid, as a list."""
    shorts = [m.short for m in scene.mechanisms]
    # Fields with keys of their own: Streamlit forgets the value of a field that is not drawn, and
    # the chosen place outlives this tab.
    st.session_state["place_box"] = scene.place
    st.session_state["via_box"] = scene.chosen.short
    left, right = st.columns(2)
    left.selectbox(
        say("Word"),
        range(scene.bench.sentence.protected),
        format_func=lambda place: f"{place + 1}. {scene.bench.label(place)}",
        key="place_box",
        on_change=_take,
        args=(scene.bench,),
        help=say("The word of your text to look at; the same as choosing it in the grid."),
    )
    right.selectbox(
        say("Mechanism"),
        shorts,
        key="via_box",
        on_change=_take_mechanism,
        help=say("The mechanism whose likely outputs are shown."),
    )


def _take(bench: Bench) -> None:
    place = heard("place_box")
    if isinstance(place, int):  # a label, where the sentence was changed before it arrived
        choose_place(bench, place)
    run_dependents()


def _take_mechanism() -> None:
    short = heard("via_box")
    if short is not None:
        st.session_state["via"] = short
    run_dependents()


def _strip(scene: RewriteScene) -> None:
    mechanisms = list(scene.mechanisms)
    table = strip_table(scene.bench, mechanisms, scene.place, scene.seed, scene.number)
    # The whole range of each slider, so that the strips do not stretch with the drawn pieces.
    ranges = {}
    for meaning in dict.fromkeys(m.meaning for m in mechanisms):
        grid = group_of(meaning).grid
        ranges[meaning] = (grid[0], grid[-1])
    show_figure(strip_figure(table, ranges), strip_caption(table), table, "epsilon-strip")


def _law(scene: RewriteScene) -> None:
    bench, word = scene.bench, scene.bench.word(scene.place)
    if not bench.has_law(scene.chosen, word, scene.epsilon):
        with st.spinner(say("Computing the likely outputs…"), show_time=True):
            bench.law(scene.chosen, word, scene.epsilon)
    law, _ = bench.law(scene.chosen, word, scene.epsilon)
    table = law_table(bench, scene.chosen, scene.place, scene.epsilon)
    stay = bench.probability(scene.chosen, word, word, scene.epsilon)
    certain = law.exact and stay[0] > _CERTAIN
    # From logarithms only where it is needed: it sums over the whole vocabulary.
    change = bench.log_change(scene.chosen, word, scene.epsilon) if certain else -math.inf
    caption = law_caption(table, stay, law.method, change)
    show_figure(law_figure(table), caption, table, "likely-outputs")


def _odds(scene: RewriteScene) -> None:
    bench, word = scene.bench, scene.bench.word(scene.place)
    words = bench.lexicon.words
    # Of a guarantee that grows with the distance, near words show what it is worth.
    others = bench.neighbours(word, _ALTERNATIVES)
    other = st.selectbox(
        say("Compare with the word"),
        others,
        format_func=lambda index: words[index],
        key="other",
        help=say(
            "Anyone who sees the output asks: was it your word or this one? The list holds the "
            "nearest words, the hardest to tell apart."
        ),
    )
    defined = [mechanism for mechanism, _ in scene.defined_rows]
    # Both laws first, with progress; the table below then only looks them up.
    missing = [
        (m, w)
        for m in defined
        for w in (word, other)
        if not bench.has_law(m, w, scene.epsilons[m.key])
    ]
    for mechanism, each in timed(say("Computing the odds"), missing):
        bench.law(mechanism, each, scene.epsilons[mechanism.key])
    table = odds_table(bench, defined, scene.place, other, scene.epsilons, scene.seed, scene.number)
    show_figure(odds_figure(table), odds_caption(table), table, "odds")
