"""Audit: every published claim with its verdict, and what one of them looks like from near."""

import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.papers.claims import CLAIMS
from dpcore.papers.verdicts import RecordedVerdicts
from pages.audit.board import chosen_claim, overview
from pages.audit.detail import detail
from pages.audit.store import recorded_verdicts
from pages.shared.footer import footer
from pages.shared.messages import refuse
from pages.shared.needed import lexicon_or_stop
from pages.shared.sidebar import choose_lexicon

st.title("Is the promise true?", anchor=False)
st.markdown(
    f"{len(CLAIMS)} claims, published ones and those of the repairs made here, each looked at by "
    "computation. An audit can **refute** a claim or fail to; only a proof proves it for every "
    "vocabulary, and only a bound on every loss for one. A verdict speaks of the law in real "
    "numbers; what rounding may add stands with a mechanism's promise on the page Rewrite. Choose "
    "a claim to see its numbers, where its proof fails if it does, and what holds in its place."
)

with st.sidebar:
    name = choose_lexicon()
words = lexicon_or_stop(name)
recorded: RecordedVerdicts | None
try:
    recorded = recorded_verdicts()
except DpcoreError as error:
    refuse("The recorded verdicts are missing; claims can be computed one by one below.", error)
    recorded = None
overview(words, recorded)
detail(chosen_claim(recorded), words, recorded)
footer(words, 0 if recorded is None else recorded.settings.seed, "samples as each verdict says")
