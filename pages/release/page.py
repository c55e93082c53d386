"""Release page in three steps: a file, a goal with the ε that meets it, the private copy."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.errors import DpcoreError
from pages.release.below import BELOW, ReleaseScene, below
from pages.release.board import CHOSEN, choose_goal, goal_dial, offers_for, show_board, step_of
from pages.release.running import run_of
from pages.release.uploading import awaits_file, choose_source
from pages.shared import link
from pages.shared.frame import arrived_by_address, heading
from pages.shared.language import say
from pages.shared.messages import footer, refuse
from pages.shared.needed import lexicon_or_stop, mechanisms_or_stop
from pages.shared.sidebar import START_MECHANISM, choose_lexicon, choose_mechanisms

START = ("neighbour-response", "optimal", "tem", "madlib", "gaussian", "k-ary")
_EXPERIMENT = "experiment"
# Headings are those of steps and sections, not of pages; a step keeps to its line, on a phone too.
_STYLE = """
.st-key-release_line { row-gap: 0.75rem; margin: -0.25rem 0; }
[class*=st-key-release_step] { flex: 0 0 auto; flex-wrap: nowrap; max-width: 100%; }
[class*=st-key-release_step] [data-testid=stText] {
  max-width: 9rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap;
}
.st-key-release_preview [data-testid=stColumn]:last-child {
  border-left: 4px solid rgb(128 128 128 / 60%); padding-left: 0.75rem;
}
[data-testid=stMainBlockContainer] h2 { font-size: 1.4rem; padding: 0.5rem 0 0; }
[data-testid=stMainBlockContainer] [class*=st-key-release_step] h2 { padding: 0; }
[data-testid=stMainBlockContainer] h3 { font-size: 1.1rem; padding: 0.25rem 0 0; }
"""


def follow_old_link() -> None:
    """Redirect to the recorded experiments if a link of the old page Utility names one."""
    if _EXPERIMENT in st.query_params and arrived_by_address():
        link.turn_to("pages/papers/page.py")


def _step(name: str, title: str) -> DeltaGenerator:
    """Begin a numbered step: its heading, with its controls on the same line."""
    place = st.container(
        key=f"release_step_{name}",
        horizontal=True,
        vertical_alignment="center",
        width="content",
        gap="small",
    )
    place.header(title, anchor=False, width="content")
    return place


def choose(short: str) -> None:
    """Choose the mechanism whose row was clicked."""
    st.session_state[CHOSEN] = short
    link.write(CHOSEN, short, START_MECHANISM)


follow_old_link()
heading(say("What can you release?"), _STYLE)
with st.sidebar:
    chosen = choose_mechanisms(START, "use_")
    name = choose_lexicon()
with st.container(key="release_line", horizontal=True, vertical_alignment="center", gap="medium"):
    with _step("file", say("1 File")):
        with st.popover(say("Your file"), icon=":material/upload_file:"):
            source = choose_source()
        if source is not None:
            st.text(source.name, width="content")
    with _step("goal", say("2 Goal")):
        goal = choose_goal()
# A block of its own: only there the dial sticks to the top.
dial_place = st.container()
words = lexicon_or_stop(name)
members = mechanisms_or_stop(words, chosen)
if source is not None and awaits_file(source):
    # On the page and not with the uploader: that is folded away, and the table shows other texts.
    st.text(
        say(
            "No file is here: a link never holds one. The teaching corpus is shown until you drop "
            "your file."
        )
    )
try:
    run = None if source is None else run_of(source)
    # Before the dial, whose readings are the ε of these offers.
    rows, clean = offers_for(source, run, members, goal)
except DpcoreError as error:
    refuse(say("What was recorded could not be read."), error)
    st.stop()
with dial_place:
    goal_dial(goal, [row.offers for row in rows], BELOW)
show_board(rows, goal, step_of(goal), clean, choose)
below(ReleaseScene(source, run, rows, goal, words, name, dict(chosen)))
footer(words, 0, say("noise of a private copy from the operating system; trials as set above"))
