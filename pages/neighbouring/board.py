"""The part of the Neighbourhoods page that moves with the sliders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from dpcore.plots.distances import distance_caption, distance_strip_figure
from dpcore.plots.pair import pair_caption, pair_figure
from pages.neighbouring.maps import View, choose_view, show_map
from pages.neighbouring.measuring import measured
from pages.neighbouring.tables import noise_table, pair_table, styled
from pages.neighbouring.views import views
from pages.shared.downloads import csv_button
from pages.shared.figure import show_figure
from pages.shared.groups import GROUPS, group_of
from pages.shared.messages import note
from pages.shared.pair import chosen_pair
from pages.shared.slider import epsilon_slider

if TYPE_CHECKING:
    import pandas as pd

    from dpcore.mechanisms.mechanism import Mechanism
    from pages.neighbouring.bench import PairBench


@dataclass(frozen=True)
class Scene:
    """One state of the moving part.

    Attributes:
        bench: the pair and what is measured of it.
        mechanisms: those that are shown.
        epsilons: ε by registry key.
        view: of the map.
        lexicon: its name in the catalogue.
        tables: what is measured so far, one a mechanism.
    """

    bench: PairBench
    mechanisms: tuple[Mechanism, ...]
    epsilons: dict[str, float]
    view: View
    lexicon: str
    tables: tuple[pd.DataFrame, ...]


@st.fragment
def board(bench: PairBench, mechanisms: list[Mechanism], lexicon: str) -> None:
    """Sliders, map, strip, table and views; a step of a slider runs only this."""
    first, second = chosen_pair(bench.pair.lexicon)
    names = bench.pair.names
    if (first or names[0], second or names[1]) != names:
        st.rerun()  # a click in here has chosen another word
    values = _sliders(mechanisms)
    readings = {m.key: group_of(m.meaning).reading(values[m.key]) for m in mechanisms}
    epsilons = {m.key: group_of(m.meaning).epsilon(values[m.key]) for m in mechanisms}
    st.subheader("Where the output falls", anchor=False)
    view = choose_view()
    shorts = {m.short: m for m in mechanisms}
    picked = st.segmented_control(
        "Outputs of",
        list(shorts),
        default=mechanisms[0].short,
        required=True,
        key="outputs_of",
        bind="query-params",
        help="The larger a filled mark, the likelier that word is to come out.",
    )
    mechanism = shorts.get(picked, mechanisms[0])
    epsilon, at = epsilons[mechanism.key], readings[mechanism.key]
    if epsilon not in mechanism.admissible:
        note(f"{mechanism.short} is not defined at this ε: only the words are drawn.")
    show_map(bench, view, mechanism, epsilon, at)
    st.subheader("The true distances", anchor=False)
    _strip(bench, mechanisms, epsilons)
    st.subheader("The same ε, two words", anchor=False)
    tables = measured(bench, mechanisms)
    if tables:
        _compared(tables, epsilons)
    views(Scene(bench, tuple(mechanisms), epsilons, view, lexicon, tuple(tables)))


def _sliders(mechanisms: list[Mechanism]) -> dict[str, float]:
    """One slider for each group that has a mechanism; value by registry key."""
    groups = [g for g in GROUPS if any(m.meaning in g.meanings for m in mechanisms)]
    values: dict[str, float] = {}
    for group, column in zip(groups, st.columns(len(groups)), strict=True):
        members = [m for m in mechanisms if m.meaning in group.meanings]
        with column, st.container(gap=None):
            value = epsilon_slider(group, members)
            values |= {m.key: value for m in members}
    return values


def _strip(bench: PairBench, mechanisms: list[Mechanism], epsilons: dict[str, float]) -> None:
    table = bench.distances()
    noise = noise_table(bench, mechanisms, epsilons)
    shown = noise if len(noise) else None
    show_figure(
        distance_strip_figure(table, shown), distance_caption(table, shown), table, "distances"
    )
    note(
        "Noise is added in all dimensions at once, so that it may be longer than every distance "
        "and still leave the word where it is: only what it moves *towards another word* counts."
    )


def _compared(tables: list[pd.DataFrame], epsilons: dict[str, float]) -> None:
    import pandas as pd

    here = pair_table(tables, epsilons)
    everything = pd.concat(tables, ignore_index=True)
    if len(here):
        st.dataframe(
            styled(here, tables),
            hide_index=True,
            column_config={"mark": st.column_config.TextColumn("", width=24)},
            alt="Nw, Sw, distance of the output and success of an attacker for both words under "
            "each mechanism at the chosen ε",
        )
    csv_button("All ε as CSV", "two_words", lambda: everything, key="csv_pair")
    note(
        "**Attacker**: sees the output, knows that it came from one of two words, and takes the "
        "likelier one; 0.5 is guessing. A range is what the estimate leaves: its lower end is an "
        "attacker who learnt from one half of the noise directions, tried on the other half; its "
        "upper end is right or too high on average. ± is two standard errors."
    )
    show_figure(
        pair_figure(everything, epsilons),
        pair_caption(everything, epsilons),
        everything,
        "staying",
    )
