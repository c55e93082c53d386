"""The one bench of a session: made anew when the text or an option changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dpcore.rewrite.sentence import prepare
from pages.shared.bench import Bench
from pages.shared.resources import directions

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from pages.shared.sidebar import Choices

_BENCH = "bench"


def bench_for(text: str, words: Lexicon, choices: Choices) -> Bench:
    """The bench of this text under these options, from the session if it is the same.

    Raises:
        TextError: the text cannot be rewritten; the message says why and what is allowed.
    """
    options = (choices.policy, choices.keep_stop_words, choices.case)
    identity = (text, words.fingerprint, *options)
    held = st.session_state.get(_BENCH)
    if held is not None and held[0] == identity:
        same: Bench = held[1]
        return same
    sentence = prepare(
        text,
        words,
        policy=choices.policy,
        keep_stop_words=choices.keep_stop_words,
        case_policy=choices.case,
    )
    bench = Bench(sentence, directions(words.fingerprint))
    st.session_state[_BENCH] = (identity, bench)
    return bench
