"""Crowd page: what many private texts say together, none of which can be read."""

import streamlit as st

from pages.crowd.scene import STYLE, choose_corpus, scene_or_stop, show_scene
from pages.crowd.views import views
from pages.shared import link
from pages.shared.footer import footer
from pages.shared.frame import heading
from pages.shared.language import say
from pages.shared.needed import lexicon_or_stop

heading(say("No one can read these texts. Together they still speak."), STYLE)
# The dials stick to the top only in a block of the page that holds nothing else.
dial_place = st.container(key="crowd_dials")
# One block, so that the style can move the choices below the picture on a phone.
with st.container(key="crowd_first"):
    # The words were counted over the bundled lexicon alone.
    words = lexicon_or_stop("default")
    chosen = choose_corpus(words)
    board_place = st.container()
with board_place:
    scene = scene_or_stop(words, chosen)
show_scene(scene, dial_place, board_place)
views(scene)
footer(words, link.SEED, say("one draw of noise for each setting of the dials"))
