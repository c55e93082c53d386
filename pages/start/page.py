"""Start page: a sentence that changes with the dial, the guessed words, and ways on."""

import streamlit as st

from dpcore.errors import DpcoreError
from pages.papers.store import recorded_verdicts
from pages.shared.fragments import fragment
from pages.shared.frame import heading
from pages.shared.language import say
from pages.shared.messages import footer, note, refuse
from pages.shared.needed import lexicon_or_stop
from pages.shared.session import bench_for
from pages.shared.sidebar import carried_choices
from pages.shared.text_box import draw_again, seed_and_draw, text_box
from pages.start.below import (
    crowd_in_short,
    follow_old_link,
    lesson_steps,
    other_pages,
    small_verdicts,
)
from pages.start.changing import (
    TAKING,
    changing_sentence,
    choose_method,
    meaning_of_epsilon,
    take,
)

follow_old_link()

heading(say("Could anyone tell what you wrote?"))
st.markdown(say("Drag the slider: words are swapped at random until no one can be sure."))
# Reserved here and filled last: the sentence comes first on the screen, and needs the text below
# it.
place, dial_place, below_dial = st.container(), st.container(), st.container()
with st.container(horizontal=True, vertical_alignment="center"):
    with st.popover(say("Your own sentence"), icon=":material/edit:"):
        text = text_box()
        label = choose_method()
    draw_again()
    st.page_link(
        "pages/attacker/page.py",
        label=say("Beat the attacker"),
        icon=":material/play_arrow:",
        query_params={"view": "Guess the word"},
    )
    st.page_link(
        "pages/tradeoff/page.py", label=say("Compare all methods"), icon=":material/arrow_forward:"
    )
drawing = seed_and_draw()
# The curves were recorded on the bundled words; the lexicon chosen on other pages has none.
words = lexicon_or_stop("default")
bench = None
with place:
    try:
        bench = bench_for(text, words, carried_choices("default"))
        changing_sentence(bench, label, drawing, dial_place)
        with below_dial:
            note(meaning_of_epsilon(bench, label))
    except DpcoreError as error:
        refuse(say("This could not be rewritten."), error)
# Near the sentence: who shows it to others needs its link and its picture.
if bench is not None:
    fragment(take, bench, label, drawing, text, key=TAKING)
crowd_in_short(words)

st.header(say("Which published guarantees are true?"), anchor=False)
try:
    small_verdicts(recorded_verdicts())
except DpcoreError as error:
    refuse(
        say("The recorded verdicts are missing; the page Papers computes them one by one."), error
    )

st.header(say("Learn it in twenty minutes"), anchor=False)
lesson_steps()
st.header(say("What each page answers"), anchor=False)
other_pages()
footer(words, drawing[0], say("one noise draw per word; the guessing rates are recorded"))
