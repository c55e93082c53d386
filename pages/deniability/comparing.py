"""Mechanisms at equal mean Nw: one axis for all, since how often a word stays means one thing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dpcore.plots.deniability.equal_nw import equal_alt, equal_caption, equal_figure, equal_mark
from dpcore.plots.style import short_name
from pages.deniability.moving import COMPARED, draw_dials
from pages.deniability.tables import equal_table, read_table
from pages.shared.epsilon_dial import epsilon_of
from pages.shared.fields import pick
from pages.shared.figure import still_figure
from pages.shared.fragments import fragment
from pages.shared.groups import group_of
from pages.shared.language import later, say
from pages.shared.messages import note
from pages.shared.table import numbers, show_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from streamlit.delta_generator import DeltaGenerator

    from pages.deniability.curves import Curve
    from pages.shared.figure import Still

_QUANTITIES = ("sw", "effective")
_COLUMNS = {
    "mechanism": "mechanism",
    "epsilon": later("ε at this Nw"),
    "low": later("more than"),
    "high": later("less than"),
    "sw": later("mean Sw"),
    "effective": later("median effective number"),
}


def comparison(curves: Sequence[Curve], dial_place: DeltaGenerator) -> None:
    """Draw the choice of the reference, its dial, two figures and the table.

    Args:
        curves: of all mechanisms.
        dial_place: where the dial stands.
    """
    names = {curve.mechanism.short: curve for curve in curves}
    reference = pick(
        say("Reference"),
        names,
        "reference",
        say(
            "The mechanism whose ε you set. The others are read at the ε where the words stay "
            "as often as under it."
        ),
        names=True,
        width=260,
    )
    mechanism = names[reference].mechanism
    defined = names[reference].measured.epsilons.tolist()
    draw_dials(dial_place, {group_of(mechanism.meaning): [mechanism]}, defined, COMPARED)
    table = equal_table(curves)
    runs = curves[0].measured.runs
    places = {}
    for quantity, column in zip(_QUANTITIES, st.columns(2), strict=True):
        with column:
            places[quantity] = still_figure(
                equal_figure(table, quantity, runs),
                equal_alt(table, quantity, runs),
                table,
                f"{quantity}_at_equal_nw",
            )
    below = st.container()
    note(
        say(
            "**Equal Nw is not equal privacy**: the guarantees of two mechanisms may still mean "
            "different things, and protect different pairs of words. ε is read on a straight "
            "line in ln ε between the curves' measured ε; “more than” and “less than” are those "
            "between which it certainly lies (the interval of level 95 % of the mean Nw). An "
            "empty row: the mean Nw of this mechanism never has the value at a measured ε; "
            "several rows: it is not monotone."
        )
    )
    fragment(_moving, list(curves), names[reference], table, places, below, key=COMPARED)


def _moving(
    curves: list[Curve],
    reference: Curve,
    table: pd.DataFrame,
    places: dict[str, Still],
    below: DeltaGenerator,
) -> None:
    """What is said at the ε of the reference."""
    mechanism, runs = reference.mechanism, reference.measured.runs
    group = group_of(mechanism.meaning)
    epsilon = epsilon_of(group)
    read, nw = read_table(curves, reference, epsilon)
    st.markdown(
        say(
            "**{mechanism}** at {reading}: the mean Nw is **{nw:.3g}**.",
            mechanism=mechanism.short,
            reading=group.reading(epsilon),
            nw=nw,
        )
    )
    for quantity, place in places.items():
        place.show(
            equal_caption(read, nw, quantity),
            equal_mark(table, read, quantity, runs, nw),
        )
    shown = read.assign(mechanism=read["mechanism"].map(short_name)).rename(columns=_COLUMNS)
    show_table(
        shown,
        say("ε of each mechanism at which the mean Nw is {nw:.3g}", nw=nw),
        place=below,
        column_config=numbers(list(_COLUMNS.values())[1:]),
    )
