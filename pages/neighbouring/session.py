"""Which two words are shown, and the bench that holds what is measured of them.

The pair that a fresh visit begins with is public, so that its bench is shared by all sessions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dpcore.measure.maps import DEFAULT_PAIR
from dpcore.measure.pair import Pair
from pages.neighbouring.bench import PairBench
from pages.shared.pair import chosen_pair
from pages.shared.resources import directions

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon

_BENCH = "neighbouring_bench"


def default_words(words: Lexicon) -> tuple[str, str]:
    """The pair of a fresh visit: a dense and a sparse word where they are known, else any two."""
    if all(word in words for word in DEFAULT_PAIR):
        return DEFAULT_PAIR
    return words.words[0], words.words[1]


def shown_words(words: Lexicon) -> tuple[str, str]:
    """The chosen words; a word that was not chosen is the default, or the other default."""
    first, second = chosen_pair(words)
    one, two = default_words(words)
    if first is None:
        first = two if second == one else one
    if second is None:
        second = one if first == two else two
    return first, second


def bench_for(words: Lexicon, first: str, second: str) -> PairBench:
    """The bench of a pair: of all sessions for the default pair, else of this session.

    Raises:
        DpcoreError: a word is unknown, or both are the same.
    """
    if (first, second) == default_words(words):
        return _default_bench(words.fingerprint, words)
    identity = (words.fingerprint, first, second)
    held = st.session_state.get(_BENCH)
    if held is not None and held[0] == identity:
        same: PairBench = held[1]
        return same
    bench = PairBench(Pair.of(words, first, second), directions(words.fingerprint))
    st.session_state[_BENCH] = (identity, bench)
    return bench


@st.cache_resource(max_entries=2, show_spinner=False)
def _default_bench(
    fingerprint: str,
    _words: Lexicon,
) -> PairBench:
    return PairBench(Pair.of(_words, *default_words(_words)), directions(fingerprint))
