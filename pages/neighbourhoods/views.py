"""The views below the table: lists of words, how to misread the map, link and commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.neighbourhoods.command import mechanism_commands, word_commands
from pages.neighbourhoods.density import density_or_button
from pages.neighbourhoods.maps import misreading
from pages.neighbourhoods.moving import AT_EPSILON, OPEN_VIEW, readings
from pages.neighbourhoods.session import follow
from pages.neighbourhoods.tables import extremes_table
from pages.neighbourhoods.words import selectable
from pages.shared import link
from pages.shared.messages import note
from pages.shared.pair import pair_is_typed
from pages.shared.tabs import tabs

if TYPE_CHECKING:
    import pandas as pd

    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.measure.density.density import VocabularyDensity
    from pages.neighbourhoods.board import Scene

_LISTED = 40


def views(scene: Scene) -> None:
    """Draw the tabs; only the open one is computed."""
    follow(scene.bench)
    kinds = {
        "Dense and sparse words": _extremes_view,
        "How to misread the map": _misreading_view,
        AT_EPSILON: _files_view,
    }
    tabs(kinds, OPEN_VIEW, scene)


def _extremes_view(scene: Scene) -> None:
    words = scene.bench.pair.lexicon
    found = density_or_button(words)
    if found is None:
        return
    note(
        f"Among the ordinary words: alphabetic, of the {min(len(words), 10_000):,} most frequent. "
        "A click chooses the word that is set above the map under *A click chooses the*. Hubness: "
        f"of how many words it is among the nearest {found.k}. Stratum: in which third of the "
        "vocabulary it is by the distance to its nearest word."
    )
    titles = ("Densest: another word is near", "Sparsest: no word is near")
    for end, (column, title) in enumerate(zip(st.columns(2), titles, strict=True)):
        with column:
            st.markdown(f"**{title}**")
            selectable(
                _listed(words.fingerprint, end, words, found),
                scene.view.slot,
                key=f"extreme_{end}_{words.fingerprint[:12]}",
                alt=f"{title}: word, distance to its nearest word, hubness, stratum",
                label="",
            )


@st.cache_resource(max_entries=8, show_spinner=False)
def _listed(
    fingerprint: str,  # noqa: ARG001 - stands for the lexicon in the key of the cache
    end: int,
    _words: Lexicon,
    _density: VocabularyDensity,
) -> pd.DataFrame:
    return extremes_table(_words, _density, _LISTED, end)


def _misreading_view(scene: Scene) -> None:
    misreading(scene.bench, scene.view)


def _files_view(scene: Scene) -> None:
    names = scene.bench.pair.names
    st.subheader("Link", anchor=False)
    if pair_is_typed():
        note(
            "A word of your own text is not put into the link: whoever opens it sees the word that "
            "a fresh visit begins with. Search for the word above to have it in the link."
        )
    st.code(link.permalink(), language=None, wrap_lines=True)
    st.subheader("Commands", anchor=False)
    lines = word_commands(names, scene.lexicon, max(scene.bench.pair.gaps))
    epsilons, _ = readings(list(scene.mechanisms))
    for mechanism in scene.mechanisms:
        epsilon = epsilons[mechanism.key]
        if epsilon in mechanism.admissible:
            lines += mechanism_commands(mechanism, epsilon, names, scene.lexicon)
    st.code("\n".join(lines), language=None, wrap_lines=True)
    note(
        "They print the facts, the neighbours, and the table at the chosen ε: `deniability` Nw, Sw "
        "and effective number, `attack` the distance of the output and the attacker."
    )
