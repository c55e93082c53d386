"""The one bench of a session: made anew when the text or an option changes.

The sentence that all sessions begin with is public, and has one bench for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dpcore.rewrite.sentence import prepare
from pages.shared.bench import Bench
from pages.shared.presets import DEFAULT_PRESET, PRESETS
from pages.shared.resources import directions

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from pages.shared.sidebar import Choices, Reading

_BENCH = "bench"


def bench_for(text: str, words: Lexicon, choices: Choices) -> Bench:
    """The bench of this text under these options, from the session if it is the same.

    Raises:
        TextError: the text cannot be rewritten; the message says why and what is allowed.
    """
    if text == PRESETS[DEFAULT_PRESET]:
        st.session_state.pop(_BENCH, None)
        return first_bench(words.fingerprint, choices.reading, words)
    identity = (text, words.fingerprint, choices.reading)
    held = st.session_state.get(_BENCH)
    if held is not None and held[0] == identity:
        same: Bench = held[1]
        return same
    bench = _bench(text, words, choices.reading)
    st.session_state[_BENCH] = (identity, bench)
    return bench


@st.cache_resource(max_entries=4, show_spinner=False)
def first_bench(
    fingerprint: str,  # noqa: ARG001 - stands for the lexicon in the key of the cache
    reading: Reading,
    _words: Lexicon,
) -> Bench:
    """The bench of the first example: fifty people who open the page need not draw it each."""
    return _bench(PRESETS[DEFAULT_PRESET], _words, reading)


def _bench(text: str, words: Lexicon, reading: Reading) -> Bench:
    policy, keep_stop_words, case_policy = reading
    sentence = prepare(
        text, words, policy=policy, keep_stop_words=keep_stop_words, case_policy=case_policy
    )
    return Bench(sentence, directions(words.fingerprint))
