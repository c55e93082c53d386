"""Views of the Rewrite page: limits of the protection, a hundred draws, the legend of the grid."""

from __future__ import annotations

import streamlit as st

from dpcore.limits import PAGE_DRAWS
from dpcore.plots.style import tally_caption
from pages.rewrite.scene import RewriteScene
from pages.rewrite.tables import sentences_table, tally_table
from pages.shared.figure import csv_button
from pages.shared.language import say
from pages.shared.messages import inform
from pages.shared.progress import timed
from pages.shared.table import show_table


def protection_view(scene: RewriteScene) -> None:
    """List the content that is released unchanged under the chosen options."""
    encoding = scene.bench.sentence.encoding
    lines = encoding.treatment.released(encoding.language)
    protected = scene.bench.sentence.protected
    unknown = len(encoding.unknown)
    st.markdown(
        say(
            "The promise covers **{protected} words** of this text; {unknown} of them are not "
            "in the vocabulary. Every word gets noise of its own, so the losses add up over the "
            "text: open “what it promises” in a row to see the sum, and how much less it is "
            "together where that is known. **Not protected:**",
            protected=protected,
            unknown=unknown,
        )
    )
    st.markdown("\n".join(f"- {say(line)}" for line in lines))
    st.markdown(
        say(
            "**This page is for looking.** It shows one draw of the noise at many ε. Anyone who "
            "holds two outputs of one draw may be able to solve for the words, so publish at "
            "most one text, made with fresh noise and an unpredictable seed: `python -m dpcore "
            "rewrite` without `--seed`."
        )
    )


def draws_view(scene: RewriteScene) -> None:
    """Tally the draws of the chosen mechanism at its ε."""
    if not (scene.defined and scene.bench.sentence.protected):
        inform(
            say("There is nothing to draw: choose a word of a mechanism that is defined at its ε.")
        )
        return
    title = scene.chosen.title
    request = (scene.chosen, scene.seed, PAGE_DRAWS)
    places = range(scene.bench.sentence.protected)
    # Every place, though the table shows one: the texts beside it need all of them.
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
    # As text: the chosen word may be typed.
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


def reading_view() -> None:
    """Draw the meaning of the grid's signs."""
    with st.expander(say("How to read this"), icon=":material/help:"):
        st.markdown(
            say(
                "Chance decides what comes out for every word, the word itself or another: how "
                "much an output tells of its word has a limit, and ε sets it. **Changed words** "
                "are underlined and carry the sign ↻; choose a word to see what else it could "
                "have become. Mechanisms in one group mean the same kind of ε, and still differ "
                "in how many words they have to change for it."
            )
        )
