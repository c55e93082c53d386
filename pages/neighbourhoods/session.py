"""Which two words are shown, and the bench that holds what is measured of them.

The pair that a fresh visit begins with is public, so that its bench is shared by all sessions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dpcore.measure.density.density import extremes, ordinary_words
from dpcore.measure.maps.maps import DEFAULT_PAIR
from dpcore.measure.pair import Pair
from pages.neighbourhoods.bench import PairBench
from pages.neighbourhoods.density import density
from pages.shared.pair import chosen_pair
from pages.shared.resources import directions

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.measure.density.density import VocabularyDensity

_BENCH = "neighbouring_bench"


def default_words(words: Lexicon) -> tuple[str, str]:
    """The pair of a fresh visit: a dense and a sparse word where they are known, else any two."""
    if all(word in words for word in DEFAULT_PAIR):
        return DEFAULT_PAIR
    known = density(words)
    found = None if known is None else _extremes(words.fingerprint, words, known)
    return found or (words.words[0], words.words[1])


@st.cache_resource(max_entries=4, show_spinner=False)
def _extremes(
    fingerprint: str,  # noqa: ARG001 - stands for the lexicon in the key of the cache
    _words: Lexicon,
    _density: VocabularyDensity,
) -> tuple[str, str] | None:
    """The densest and the sparsest ordinary word; None if there are no two."""
    found = [one.tolist() for one in extremes(_density, 1, ordinary_words(_words))]
    if not all(found) or found[0] == found[1]:
        return None
    return _words.words[found[0][0]], _words.words[found[1][0]]


def shown_words(words: Lexicon) -> tuple[str, str]:
    """The chosen words; a word that was not chosen is the default, or the other default."""
    first, second = chosen_pair(words)
    one, two = default_words(words)
    if first is None:
        first = two if second == one else one
    if second is None:
        second = one if first == two else two
    return first, second


def follow(bench: PairBench) -> None:
    """Run the whole page again if a click in a fragment has chosen another word."""
    if shown_words(bench.pair.lexicon) != bench.pair.names:
        st.rerun()


def bench_for(words: Lexicon, first: str, second: str) -> PairBench:
    """The bench of a pair: of all sessions for the default pair, else of this session.

    Raises:
        DpcoreError: a word is unknown, or both are the same.
    """
    if (first, second) == default_words(words):
        return default_bench(words)
    identity = (words.fingerprint, first, second)
    held = st.session_state.get(_BENCH)
    if held is not None and held[0] == identity:
        same: PairBench = held[1]
        return same
    bench = PairBench(Pair.of(words, first, second), directions(words.fingerprint))
    st.session_state[_BENCH] = (identity, bench)
    return bench


def default_bench(words: Lexicon) -> PairBench:
    """The bench of the pair of a fresh visit, shared by all sessions."""
    return _default_bench(words.fingerprint, default_words(words), words)


@st.cache_resource(max_entries=2, show_spinner=False)
def _default_bench(fingerprint: str, names: tuple[str, str], _words: Lexicon) -> PairBench:
    return PairBench(Pair.of(_words, *names), directions(fingerprint))
