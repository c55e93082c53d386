"""Crowd page: what many private texts say together, none of which can be read."""

import streamlit as st

from pages.crowd.scene import STYLE, choose_corpus, scene_or_stop, show_scene
from pages.crowd.views import views
from pages.shared import link
from pages.shared.language import say
from pages.shared.messages import footer
from pages.shared.needed import lexicon_or_stop

st.html(f"<style>{STYLE}</style>")
with st.container(horizontal=True, vertical_alignment="center", key="crowd_top"):
    st.title(
        say("No one can read these texts, yet together they say a lot."),
        anchor=False,
        width="content",
    )
    choices_place = st.container()
# The dials stick to the top only in a block of the page that holds nothing else.
dial_place = st.container(key="crowd_dials")
board_place = st.container(key="crowd_board", gap=None)
# The words were counted over the bundled lexicon alone.
words = lexicon_or_stop("default")
with choices_place:
    choices = choose_corpus(words)
# A place of its own for the progress, so that the board keeps its position once it is gone.
with board_place.container():
    scene = scene_or_stop(words, choices)
show_scene(scene, dial_place, board_place)
views(scene)
footer(words, link.SEED, say("one noise draw per setting of the dials"))
