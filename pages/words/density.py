"""Density of the whole vocabulary: shared by all sessions, computed only on request."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dpcore.lexicon.cache import kinds_kept
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import Progress, silent
from dpcore.measure.density import (
    NEIGHBOURS,
    VocabularyDensity,
    bundled_density,
    vocabulary_density,
)
from pages.shared.language import say
from pages.shared.messages import note
from pages.shared.session import of_lexicon

_ASKED = "density_asked"


def density_of(words: Lexicon) -> VocabularyDensity | None:
    """Return the density of every word if it needs no waiting, else None."""
    known = _known(words.fingerprint)
    if not known:
        density = bundled_density(words)
        # A table on disk is read in a moment; only a new one needs a request.
        if density is None and _on_disk(words):
            density = _computed(words, silent)
        known += [] if density is None else [density]
    return known[0] if known else None


def density_or_button(words: Lexicon) -> VocabularyDensity | None:
    """Return the density; if it takes a while, draw a button that computes it with progress."""
    density = density_of(words)
    if density is not None:
        return density
    if st.session_state.pop(_ASKED, False):
        # In the shared list, so that every other session has it without waiting.
        _known(words.fingerprint).append(_computed(words, _pulse()))
        st.rerun()  # the facts above can now show more
    note(
        say(
            "This compares each of the {count:,} words with all others, once: half a minute for "
            "25,000 words. It is kept for the next time.",
            count=len(words),
        )
    )
    st.button(
        say("Find the densest and the sparsest words"),
        key="find_extremes",
        icon=":material/search:",
        on_click=_ask,
        help=say("Computes the table of neighbours of all words."),
    )
    return None


@of_lexicon(max_entries=4, show_spinner=False)
def _known(fingerprint: str) -> list[VocabularyDensity]:  # noqa: ARG001 - the key of the cache
    """Return a list that holds the density once computed, for a check without waiting."""
    return []


def _computed(words: Lexicon, progress: Progress) -> VocabularyDensity:
    return vocabulary_density(words, min(NEIGHBOURS, len(words) - 1), progress)


def _on_disk(words: Lexicon) -> bool:
    return "neighbours" in kinds_kept(words.with_metric(Metric.EUCLIDEAN).fingerprint)


def _ask() -> None:
    st.session_state[_ASKED] = True


def _pulse() -> Progress:
    """Return a progress callback of the table, drawn where it is computed."""
    slot: list[Any] = []

    def report(_: str, done: int, total: int) -> None:
        if not slot:
            slot.append(st.empty())
        if done < total:
            slot[0].progress(
                done / total,
                text=say("Comparing words: {done:,} of {total:,}", done=done, total=total),
            )
        else:
            slot[0].empty()

    return report
