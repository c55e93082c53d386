"""Release: the private copy of one's own file with its label, and what it would still teach."""

import streamlit as st

from pages.release.copying import copy_view
from pages.release.running import run_of_ones_own
from pages.release.views import run_views
from pages.shared.footer import footer, provenance
from pages.shared.linking import choose_one
from pages.shared.needed import lexicon_or_stop, mechanisms_or_stop
from pages.shared.sidebar import choose_lexicon, choose_mechanism, choose_mechanisms

START = ("madlib", "tem")
ASKED, COPY, TEACH = "asked", "copy", "teach"
_TITLES = {COPY: "Make a private copy", TEACH: "What would it still teach?"}


def copy_part() -> None:
    """A file, and its private copy."""
    with st.sidebar:
        chosen = choose_mechanism("What exchanges the words of your texts, one by one.")
        name = choose_lexicon()
    words = lexicon_or_stop(name)
    (mechanism,) = mechanisms_or_stop(words, [chosen])
    copy_view(mechanism, name, dial_place)
    provenance(
        f"Lexicon {words.name}: {len(words):,} words, {words.dimension} dimensions, fingerprint "
        f"{words.fingerprint[:12]} · noise from the operating system, never twice"
    )


def teaching_part() -> None:
    """What a classifier learns from private texts, and what it gives away."""
    st.markdown(
        "A classifier is trained on rewritten text: how often is it right, and can an attacker "
        "tell from it which texts it was trained on?"
    )
    st.page_link(
        "pages/papers/page.py",
        label="Recorded experiments",
        icon=":material/arrow_forward:",
        query_params={"experiment": "teaching-corpus"},
    )
    with st.sidebar:
        chosen = choose_mechanisms(START, "use_")
        name = choose_lexicon()
    words = lexicon_or_stop(name)
    run = run_of_ones_own(mechanisms_or_stop(words, chosen), dict(chosen), name)
    if run is not None and run.rows is not None:
        run_views(run, run.rows)
    footer(words, 0, "trials and texts as set above")


if "experiment" in st.query_params:  # a link from before the recorded experiments had moved
    given = {field: st.query_params.get_all(field) for field in st.query_params}
    st.switch_page("pages/papers/page.py", query_params=given)
st.title("What shall I run on my file?", anchor=False)
dial_place = st.container()
of_a_run = any(field.startswith("use_") for field in st.query_params)
if of_a_run and ASKED not in st.session_state and ASKED not in st.query_params:
    st.session_state[ASKED] = TEACH  # a link from before there was this choice
asked = choose_one(
    st.segmented_control,
    "Show",
    _TITLES,
    ASKED,
    required=True,
    help="A private copy of your file with its record and label; or how well a classifier learns "
    "from private texts.",
    label_visibility="collapsed",
)
if asked == COPY:
    copy_part()
else:
    teaching_part()
