"""Curves against ε, one figure for each meaning of ε, or all mechanisms at equal privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import streamlit as st

from dpcore.guarantee import EpsilonMeaning
from dpcore.mechanisms.registry import resolve
from dpcore.plots.layout import number
from dpcore.plots.style import SCALES
from dpcore.plots.utility import TITLES, utility_caption, utility_figure
from dpcore.plots.utility_equal import equal_caption, equal_figure
from dpcore.study.utility_calibrated import LOSS, at_equal, loss_sentence
from dpcore.study.utility_summary import curves
from pages.shared.figure import show_figure
from pages.shared.groups import GROUPS
from pages.shared.messages import note
from pages.using.linking import choose_one, choose_some

if TYPE_CHECKING:
    import pandas as pd

    from pages.using.evidence import Evidence

T = TypeVar("T")

NOMINAL = "nominal"
EQUAL = {"nw": "equal Nw", "auc": "equal attacker success", LOSS: "equal true loss"}
_FIRST = ("accuracy", "auc", "nw")  # the first two of them that there are


def curves_view(evidence: Evidence) -> None:
    """Draw the choice of the axis and of the quantities, and their figures."""
    there = evidence.quantities
    if not there:
        _baseline_alone(evidence)
        return
    with st.container(horizontal=True):
        how = choose_one(
            st.segmented_control,
            "Compare mechanisms at",
            {NOMINAL: "nominal ε"}
            | {by: title for by, title in EQUAL.items() if _has(evidence, by)},
            "use_compare",
            required=True,
            help="nominal: each mechanism over its own ε, those whose ε means the same together. "
            "equal: all in one figure, over what their text gives away: how many words stay, how "
            "well an attacker finds out which texts were used, or the largest privacy loss between "
            "two words that is known to be true.",
        )
        names = choose_some(
            "Drawn",
            {name: TITLES[name] for name in there},
            "use_drawn",
            [name for name in _FIRST if name in there][:2],
            help="Accuracy of the classifier, success of the attacker who asks whether a text was "
            "used, words that stay, and likeness of the rewritten text.",
        )
    if not names:
        st.info("Choose at least one quantity above.", icon=":material/info:")
        return
    if how == NOMINAL:
        _nominal(evidence, names)
    else:
        _equal(evidence, how, names)


def _baseline_alone(evidence: Evidence) -> None:
    """Say what the first part of a run has found."""
    note(
        "There is no curve yet: a run begins with the texts as they were written. What is known of "
        "them so far:"
    )
    said = [
        f"{TITLES[name]}, {line.name}: {number(line.value)}"
        for name in ("accuracy", "auc")
        for line in evidence.lines(name)
    ]
    st.text("\n".join(said))


def _has(evidence: Evidence, by: str) -> bool:
    return by in evidence.quantities or (
        by == LOSS and bool((evidence.table["quantity"] == "claimed_loss").any())
    )


def _nominal(evidence: Evidence, names: list[str]) -> None:
    tables = {name: curves(evidence.table, name, **evidence.where(name)) for name in names}
    for group in GROUPS:
        parts = {}
        for name, table in tables.items():
            meanings = table["mechanism"].map(lambda key: resolve(str(key)).meaning)
            part = table[meanings.isin(group.meanings)]
            if len(part):
                parts[name] = part
        if not parts:
            continue
        st.subheader(group.title, anchor=False)
        _say_delta([str(key) for part in parts.values() for key in part["mechanism"]])
        axis = SCALES[group.meanings[0]].axis.removeprefix("ln ε (").removesuffix(")")
        for pair in _pairs(list(parts.items())):
            for column, (name, part) in zip(st.columns(len(pair)), pair, strict=True):
                with column:
                    _figure(evidence, name, part, axis, group.name)


def _say_delta(mechanisms: list[str]) -> None:
    """Mechanisms with and without δ share an axis; which is which is said."""
    meanings = {name: resolve(name).meaning for name in dict.fromkeys(mechanisms)}
    some = [name for name, of in meanings.items() if of is EpsilonMeaning.LOCAL_APPROXIMATE]
    if some and len(set(meanings.values())) > 1:
        note(f"Only up to a probability δ: {', '.join(some)}. The others promise ε alone.")


def _figure(evidence: Evidence, name: str, part: pd.DataFrame, axis: str, group: str) -> None:
    lines = evidence.lines(name)
    show_figure(
        utility_figure(part, name, axis, lines),
        utility_caption(part, name, lines),
        part,
        f"{evidence.name}_{name}_{group}",
    )


def _equal(evidence: Evidence, by: str, names: list[str]) -> None:
    where = {"lexicon": evidence.lexicon} if by == LOSS else evidence.where(by)
    drawn = [name for name in names if name != by]
    if not drawn:
        st.info("Choose another quantity: this one is the axis.", icon=":material/info:")
    for pair in _pairs(drawn):
        for column, name in zip(st.columns(len(pair)), pair, strict=True):
            table = at_equal(evidence.table, (by, where), evidence.of(name))
            with column:
                if not len(table):
                    note("Nothing is known of any mechanism on this axis.")
                    continue
                lines = evidence.lines(name)
                show_figure(
                    equal_figure(table, by, name, lines),
                    equal_caption(table, by, name, lines),
                    table,
                    f"{evidence.name}_{name}_by_{by}",
                )
    if by == LOSS:
        said = loss_sentence(evidence.table, lexicon=evidence.lexicon)
        if said:
            st.text(said)
        note(
            "The largest loss between any two words, in nats: seeing an output, one word is at "
            "most e^loss times likelier than another. It is proved or computed; for metric privacy "
            "it is taken at the two words that are farthest apart, and near words lose less."
        )
    else:
        note("Equal here is not equal privacy in every respect: the promises still differ.")


def _pairs(items: list[T]) -> list[list[T]]:
    """Two of them a row."""
    return [items[start : start + 2] for start in range(0, len(items), 2)]
