"""The one bench of a session: made anew when the text or an option changes.

The sentence that all sessions begin with is public, and has one bench for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dpcore.rewrite.sentence import prepare
from pages.shared.bench import Bench
from pages.shared.memo import latest
from pages.shared.once import once
from pages.shared.presets import DEFAULT_PRESET, PRESETS
from pages.shared.resources import directions

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.rewrite.policy import Treatment
    from pages.shared.sidebar import Choices

_BENCH = "bench"
_READINGS = 4  # lexicons and options whose first bench is kept


def bench_for(text: str, words: Lexicon, choices: Choices) -> Bench:
    """The bench of this text under these options, from the session if it is the same.

    Raises:
        TextError: the text cannot be rewritten; the message says why and what is allowed.
    """
    if text == PRESETS[DEFAULT_PRESET]:
        st.session_state.pop(_BENCH, None)
        return first_bench(words, choices.treatment)
    identity = (text, words.fingerprint, choices.treatment)
    return latest(_BENCH, identity, lambda: _bench(text, words, choices.treatment))


def first_bench(words: Lexicon, treatment: Treatment) -> Bench:
    """The bench of the first example: fifty people who open the page need not draw it each."""
    return once(
        "first bench",
        (words.fingerprint, treatment),
        lambda: _bench(PRESETS[DEFAULT_PRESET], words, treatment),
        _READINGS,
    )


def _bench(text: str, words: Lexicon, treatment: Treatment) -> Bench:
    return Bench(prepare(text, words, treatment), directions(words.fingerprint))
