"""Trade-off page: leakage and utility of every mechanism, on one axis of leakage."""

import streamlit as st

from pages.shared.frame import heading
from pages.shared.language import say
from pages.shared.messages import footer
from pages.shared.needed import bench_or_stop, lexicon_or_stop
from pages.shared.sidebar import carried_choices
from pages.tradeoff.scene import (
    STYLE,
    choose_curves,
    choose_sentence,
    choose_two,
    scene_or_stop,
    show_scene,
)
from pages.tradeoff.views import views

heading(say("What does it cost to hide a word?"))
# The dial sticks to the top only in a block of the page that holds nothing else.
dial_place = st.container()
# One block, so that the style can move the choices below the picture on a phone.
with st.container(key="tradeoff_first"):
    st.html(f"<style>{STYLE}</style>")
    with st.container(horizontal=True, key="tradeoff_choices"):
        leakage, utility = choose_two()
        labels = choose_curves()
        text, seed, number = choose_sentence()
    board_place = st.container()
# The curves were recorded on the bundled words alone.
words = lexicon_or_stop("default")
bench = bench_or_stop(text, words, carried_choices("default"))
scene = scene_or_stop(bench, labels, leakage, utility, seed, number)
show_scene(scene, bench, dial_place, board_place)
views(scene, bench)
footer(words, seed, say("recorded curves; one noise draw per word of the sentence"))
