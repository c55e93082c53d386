"""Views of a classifier's results: curves over ε or at equal privacy, solving for ε, frontier."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import pandas as pd
import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.guarantee import EpsilonMeaning, Status
from dpcore.mechanisms.registry import resolve
from dpcore.plots.style import SCALES, Caption, number, percent
from dpcore.plots.utility.curves import TITLES, utility_caption, utility_figure
from dpcore.plots.utility.frontier import (
    X_TITLES,
    equal_caption,
    equal_figure,
    frontier_caption,
    frontier_figure,
)
from dpcore.study.utility import LOSS, at_equal, loss_sentence, solve_margin
from dpcore.study.utility_summary import curves, frontier
from pages.shared.dial import GROUPS, Group
from pages.shared.figure import csv_button, show_figure
from pages.shared.language import later, numeral, say
from pages.shared.learning.evidence import Evidence, membership_view
from pages.shared.link import choose_one, choose_some
from pages.shared.messages import inform, note, refuse
from pages.shared.table import numbers, show_table

if TYPE_CHECKING:
    import plotly.graph_objects as go


T = TypeVar("T")

NOMINAL = "nominal"
EQUAL = {
    "nw": later("equal Nw"),
    "counts-word": later("equal guesses"),
    "counts-near": later("equal near guesses"),
    "word": later("equal guesses, all alike"),
    "auc": later("equal attacker success"),
    LOSS: later("equal proved loss"),
}
LEARNING_TABS = {
    "curves": later("Curves"),
    "frontier": later("Frontier"),
    "membership": later("Membership"),
    "solve": later("Solve for ε"),
    "examples": later("Examples"),
}
"""Titles of the views of an experiment or a run, by their short names in the link."""
VIEW = "use_view"
"""Name of the open view in the link."""
_COSTS = ("auc", "nw", "counts-word", "counts-near", "word")
_FIRST = ("accuracy", "auc", "nw")  # the first two of those available


def learning_views(evidence: Callable[[], Evidence]) -> dict[str, Callable[[], object]]:
    """Return the views of an experiment or a run, by their keys in `LEARNING_TABS`.

    Args:
        evidence: draws the choice of the part, and returns it; called by the open view alone.
    """
    return {
        "curves": lambda: curves_view(evidence()),
        "frontier": lambda: frontier_view(evidence()),
        "membership": lambda: membership_view(evidence()),
        "solve": lambda: solve_view(evidence()),
    }


def curves_view(evidence: Evidence) -> None:
    """Draw the choice of the axis and of the quantities, and their figures."""
    there = evidence.quantities
    if not there:
        _baseline_alone(evidence)
        return
    with st.container(horizontal=True):
        how = choose_one(
            st.segmented_control,
            say("Compare mechanisms at"),
            {NOMINAL: later("nominal ε")}
            | {by: title for by, title in EQUAL.items() if _has(evidence, by)},
            "use_compare",
            required=True,
            help=say(
                "nominal: each mechanism over its own ε, in one figure per meaning of ε. "
                "equal: all in one figure, over a measure of leakage: words that stay, words "
                "guessed, success of membership inference, or the largest proved privacy loss "
                "between two words."
            ),
        )
        names = choose_some(
            say("Drawn"),
            {name: TITLES[name] for name in there},
            "use_drawn",
            [name for name in _FIRST if name in there][:2],
            help=say(
                "Accuracy of the classifier, success of membership inference, words that stay, "
                "and similarity of the rewritten text."
            ),
        )
    if not names:
        inform(say("Choose at least one quantity above."))
        return
    if how == NOMINAL:
        _nominal(evidence, names)
    else:
        _equal(evidence, how, names)


def _baseline_alone(evidence: Evidence) -> None:
    """Report the result of the first part of a run."""
    note(say("There is no curve yet: a run begins with the original texts. Results so far:"))
    lines = [
        f"{say(TITLES[name])}, {say(line.name)}: {numeral(number(line.value))}"
        for name in ("accuracy", "auc")
        for line in evidence.lines(name)
    ]
    st.text("\n".join(lines))


def _has(evidence: Evidence, by: str) -> bool:
    return by in evidence.quantities or (by == LOSS and evidence.has_losses)


def _nominal(evidence: Evidence, names: list[str]) -> None:
    for group in GROUPS:
        every = {
            name: evidence.once((name, group.name), _part(evidence, name, group)) for name in names
        }
        parts = {name: part for name, part in every.items() if len(part)}
        if not parts:
            continue
        st.subheader(say(group.title), anchor=False)
        drawn = [str(key) for part in parts.values() for key in part["mechanism"]]
        _say_delta(drawn)
        _say_refuted(evidence, drawn)
        axis = SCALES[group.meanings[0]].axis.removeprefix("ln ε (").removesuffix(")")
        for pair in _pairs(list(parts.items())):
            for column, (name, part) in zip(st.columns(len(pair)), pair, strict=True):
                with column:
                    _figure(evidence, name, part, axis, group.name)


def _part(evidence: Evidence, name: str, group: Group) -> Callable[[], pd.DataFrame]:
    """Return a function that computes the curves of the mechanisms of a group."""

    def compute() -> pd.DataFrame:
        table = curves(evidence.table, name, **evidence.where(name))
        meanings = table["mechanism"].map(lambda key: resolve(str(key)).meaning)
        return table[meanings.isin(group.meanings)]

    return compute


def _say_delta(mechanisms: list[str]) -> None:
    """Note which mechanisms have δ and which do not, since both kinds share an axis."""
    meanings = {name: resolve(name).meaning for name in dict.fromkeys(mechanisms)}
    some = [name for name, of in meanings.items() if of is EpsilonMeaning.LOCAL_APPROXIMATE]
    if some and len(set(meanings.values())) > 1:
        note(say("ε together with a δ: {names}. The others claim ε alone.", names=", ".join(some)))


def _say_refuted(evidence: Evidence, mechanisms: list[str]) -> None:
    """Note which ε belong to refuted claims and are no guarantee: a curve does not show that."""
    rows = evidence.table[
        (evidence.table["quantity"] == "claimed_loss")
        & (evidence.table["lexicon"] == evidence.lexicon)
        & (evidence.table["variant"] == Status.REFUTED)
    ]
    refuted = [name for name in dict.fromkeys(mechanisms) if (rows["mechanism"] == name).any()]
    if refuted:
        note(
            say(
                "Claimed, but refuted at some or all of these ε: {names}. The page Papers "
                "says why.",
                names=", ".join(refuted),
            )
        )


def _figure(evidence: Evidence, name: str, part: pd.DataFrame, axis: str, group: str) -> None:
    lines = evidence.lines(name)
    figure, caption = evidence.once(
        ("figure", name, group),
        lambda: (utility_figure(part, name, axis, lines), utility_caption(part, name, lines)),
    )
    show_figure(figure, caption, part, f"{evidence.name}_{name}_{group}")


def _equal(evidence: Evidence, by: str, names: list[str]) -> None:
    drawn = [name for name in names if name != by]
    if not drawn:
        inform(say("Choose another quantity: this one is the axis."))
    for pair in _pairs(drawn):
        for column, name in zip(st.columns(len(pair)), pair, strict=True):
            table, figure, caption = evidence.once((by, name), _over(evidence, by, name))
            with column:
                if figure is None or caption is None:
                    note(say("No mechanism has a measurement on this axis."))
                else:
                    show_figure(figure, caption, table, f"{evidence.name}_{name}_by_{by}")
    if by == LOSS:
        known = evidence.once(
            "loss", lambda: loss_sentence(evidence.table, lexicon=evidence.lexicon)
        )
        if known:
            st.text(known)
        note(
            say(
                "A bound on the privacy loss between any two words, in nats: one output "
                "changes the odds between them by a factor of at most e^loss. It is proved, or "
                "computed over all pairs of words; for metric privacy it applies to the two "
                "most distant words and is smaller for nearer ones."
            )
        )
    else:
        note(say("Equal here is not equal privacy in every respect: the guarantees still differ."))


def _over(
    evidence: Evidence, by: str, name: str
) -> Callable[[], tuple[pd.DataFrame, go.Figure | None, Caption | None]]:
    """Return a function that computes a quantity over leakage, with its figure and caption."""

    def compute() -> tuple[pd.DataFrame, go.Figure | None, Caption | None]:
        where = {"lexicon": evidence.lexicon} if by == LOSS else evidence.where(by)
        table = at_equal(evidence.table, (by, where), evidence.of(name))
        if not len(table):
            return table, None, None
        lines = evidence.lines(name)
        figure = equal_figure(table, by, name, lines)
        return table, figure, equal_caption(table, by, name, lines)

    return compute


def _pairs(items: list[T]) -> list[list[T]]:
    """Group the items in pairs, one pair per row."""
    return [items[start : start + 2] for start in range(0, len(items), 2)]


# Solve for ε: the smallest that keeps accuracy within a margin of the one without privacy.


_COLUMNS = (
    later("mechanism"),
    later("smallest ε"),
    later("interval from"),
    later("interval to"),
    later("measured from"),
    later("to"),
)


def solve_view(evidence: Evidence) -> None:
    """Draw the margin, the answer in words, and the table."""
    if "accuracy" not in evidence.quantities:
        note(say("No accuracy was measured in this experiment."))
        return
    points = st.number_input(
        say("Accuracy may fall by at most (percentage points)"),
        0.0,
        100.0,
        5.0,
        step=1.0,
        format="%g",
        key="use_within",
        bind="query-params",
        width=330,
        help=say(
            "Relative to the accuracy without privacy, with the same classifier on clean text."
        ),
    )
    try:
        answers = solve_margin(evidence.table, points / 100, **evidence.where("accuracy"))
    except DpcoreError as error:
        refuse(say("These trials give no answer."), error)
        return
    reference = next(iter(evidence.lines("accuracy")))
    st.markdown(
        say(
            "**Within {points:g} points of {accuracy}**, the accuracy without privacy:",
            points=points,
            accuracy=percent(reference.value),
        )
    )
    st.text("\n".join(answer.sentence for answer in answers))
    table = pd.DataFrame(
        [(a.curve, a.epsilon, a.low, a.high, a.smallest, a.largest) for a in answers],
        columns=list(_COLUMNS),
    ).astype(dict.fromkeys(_COLUMNS[1:], "float64"))
    show_table(
        table,
        say("The smallest ε of each mechanism, with its interval"),
        column_config=numbers(_COLUMNS[1:]),
    )
    csv_button(
        say("Answers as CSV"), f"{evidence.name}_epsilon", lambda: table, key="csv_use_solution"
    )
    note(
        say(
            "From this ε up to the largest measured one, the mean loss of accuracy is within "
            "the margin. The interval is where the two ends of the loss's 95 % interval (over "
            "trials, each compared with its own baseline) come within the margin. Interpolated "
            "linearly in ln ε between measurements. **The ε of two mechanisms are not the same "
            "quantity.**"
        )
    )


# Frontier: how much text still teaches against how much it gives away, one mark per mechanism and
# ε.


def frontier_view(evidence: Evidence) -> None:
    """Draw the choice of both axes, and the figure."""
    there = evidence.quantities
    costs: list[str] = [name for name in _COSTS if name in there]
    if evidence.has_losses:
        costs.append(LOSS)
    gains = [name for name in there if name not in _COSTS]
    if not (costs and gains):
        note(say("There is nothing to compare yet."))
        return
    with st.container(horizontal=True):
        private = choose_one(
            st.selectbox,
            say("Privacy measured by"),
            {name: X_TITLES[name] for name in costs},
            "use_cost",
            help=say("Less is more private."),
            width=360,
        )
        useful = choose_one(
            st.selectbox,
            say("Utility measured by"),
            {name: TITLES[name] for name in gains},
            "use_gain",
            help=say("More is more useful."),
            width=300,
        )
    points, figure, caption = evidence.once(
        ("frontier", private, useful), lambda: _marks(evidence, private, useful)
    )
    if figure is None or caption is None:
        note(say("No mechanism has a measurement on these axes."))
        return
    show_figure(figure, caption, points, f"{evidence.name}_frontier_{private}_{useful}")
    if private == LOSS:
        st.text(loss_sentence(evidence.table, lexicon=evidence.lexicon))
    trials = (
        say("one trial") if evidence.trials == 1 else say("{trials} trials", trials=evidence.trials)
    )
    note(
        say(
            "Marks are means over {trials}; two marks that differ by less than their intervals "
            "(see the curves) may swap places in another experiment.",
            trials=trials,
        )
    )


def _marks(
    evidence: Evidence, private: str, useful: str
) -> tuple[pd.DataFrame, go.Figure | None, Caption | None]:
    """Return the marks, their figure and its caption."""
    where = {"lexicon": evidence.lexicon} if private == LOSS else evidence.where(private)
    table = at_equal(evidence.table, (private, where), evidence.of(useful))
    if not len(table):
        return table, None, None
    points = frontier(table.rename(columns={"mean": "useful", "x": "private"}), "private", "useful")
    axes = X_TITLES[private], TITLES[useful]
    lines, logarithm = evidence.lines(useful), private == LOSS
    figure = frontier_figure(points, *axes, lines, logarithm=logarithm)
    return points, figure, frontier_caption(points, *axes)
