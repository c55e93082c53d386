"""View of a hundred draws: how often each word stayed, and its outputs."""

from __future__ import annotations

import streamlit as st

from dpcore.limits import PAGE_DRAWS
from dpcore.plots.style import tally_caption
from pages.rewrite.scene import Scene
from pages.rewrite.tables import sentences_table, tally_table
from pages.shared.figure import csv_button
from pages.shared.language import say
from pages.shared.messages import inform
from pages.shared.progress import timed
from pages.shared.table import show_table


def draws_view(scene: Scene) -> None:
    """Tally the draws of the chosen mechanism at its ε."""
    if not (scene.defined and scene.bench.sentence.protected):
        inform(
            say("There is nothing to draw: choose a word of a mechanism that is defined at its ε.")
        )
        return
    title = scene.chosen.title
    request = (scene.chosen, scene.seed, PAGE_DRAWS)
    places = range(scene.bench.sentence.protected)
    missing = [
        place for place in places if not scene.bench.has_redraw(*request, place, scene.epsilon)
    ]
    for place in timed(say("Drawing each word {draws} times", draws=PAGE_DRAWS), missing):
        scene.bench.redraw(*request, place, scene.epsilon)
    what = (scene.bench, scene.chosen, scene.epsilon, scene.seed, PAGE_DRAWS)
    counts = tally_table(*what, [scene.place])
    texts = sentences_table(*what)
    label = scene.bench.label(scene.place)
    kept = int(counts.loc[counts["output"] == label, "count"].sum())
    different = int((counts["output"] != label).sum())
    st.text(tally_caption(label, kept, different, PAGE_DRAWS, title))
    left, right = st.columns([1, 2])
    with left:
        show_table(
            counts[["output", "count"]],
            say("How often the chosen word became what in {draws} draws", draws=PAGE_DRAWS),
            height=320,
        )
    with right:
        show_table(
            texts,
            say("The rewritten text of {draws} draws", draws=PAGE_DRAWS),
            height=320,
        )
    with st.container(horizontal=True):
        csv_button(
            say("Counts as CSV"), "counts", lambda: tally_table(*what, places), key="csv_counts"
        )
        csv_button(say("Texts as CSV"), "texts", lambda: texts, key="csv_texts")
