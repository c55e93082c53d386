"""Release page: a file, a goal, the ε of each mechanism that meets it, and the private copy."""

import streamlit as st

from dpcore.errors import DpcoreError
from pages.release.below import BELOW, ReleaseScene, below
from pages.release.board import CHOSEN, choose_goal, goal_dial, offers_for, show_board, step_of
from pages.release.running import run_of
from pages.release.uploading import choose_source
from pages.shared import link
from pages.shared.frame import arrived_by_address, heading
from pages.shared.language import say
from pages.shared.messages import footer, refuse
from pages.shared.needed import lexicon_or_stop, mechanisms_or_stop
from pages.shared.sidebar import START_MECHANISM, choose_lexicon, choose_mechanisms

START = ("neighbour-response", "optimal", "tem", "madlib", "gaussian", "k-ary")
_EXPERIMENT = "experiment"
# Headings below the table are those of sections, not of pages.
_STYLE = """
[data-testid=stMainBlockContainer] h2 { font-size: 1.4rem; padding: 0.5rem 0 0; }
[data-testid=stMainBlockContainer] h3 { font-size: 1.1rem; padding: 0.25rem 0 0; }
"""


def follow_old_link() -> None:
    """Redirect to the recorded experiments if a link of the old page Utility names one."""
    if _EXPERIMENT in st.query_params and arrived_by_address():
        asked = {name: st.query_params.get_all(name) for name in st.query_params}
        st.switch_page("pages/papers/page.py", query_params=asked)


def choose(short: str) -> None:
    """Choose the mechanism whose row was clicked."""
    st.session_state[CHOSEN] = short
    link.write(CHOSEN, short, START_MECHANISM)


follow_old_link()
heading(say("What can you release?"), _STYLE)
with st.sidebar:
    chosen = choose_mechanisms(START, "use_")
    name = choose_lexicon()
# A block of its own: only there the dial sticks to the top.
dial_place = st.container()
with st.container(horizontal=True, vertical_alignment="center"):
    with st.popover(say("Your file"), icon=":material/upload_file:"):
        source = choose_source()
    goal = choose_goal()
words = lexicon_or_stop(name)
members = mechanisms_or_stop(words, chosen)
try:
    run = None if source is None else run_of(source)
    # Before the dial, whose readings are the ε of these offers.
    rows, without = offers_for(source, run, members, goal)
except DpcoreError as error:
    refuse(say("What was recorded could not be read."), error)
    st.stop()
with dial_place:
    goal_dial(goal, [row.offers for row in rows], BELOW)
show_board(rows, goal, step_of(goal), without, choose)
below(ReleaseScene(source, run, rows, goal, words, name, dict(chosen)))
footer(words, 0, say("noise of a private copy from the operating system; trials as set above"))
