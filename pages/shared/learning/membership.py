"""Membership inference: can an attacker tell which texts a model was trained on?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dpcore.outwards import at_most
from dpcore.plots.captions import Caption
from dpcore.plots.utility.roc import roc_caption, roc_figure
from dpcore.study.tables import chosen
from dpcore.study.utility_summary import roc_curves
from pages.shared.fields import pick
from pages.shared.figure import show_figure
from pages.shared.language import numeral, say
from pages.shared.messages import note

if TYPE_CHECKING:
    from pages.shared.learning.evidence import Evidence

_RATES = (0.01, 0.001)
_VACUOUS = 0.999  # an AUC above it is allowed by a bound that bounds nothing
_MOST = 3  # values of ε in one figure


def membership_view(evidence: Evidence) -> None:
    """Draw the choice of a curve and its ε, the ROC, and what it means."""
    rows = evidence.once("roc", lambda: chosen(evidence.table, "roc", **evidence.where("roc")))
    curves = [name for name in dict.fromkeys(rows["label"]) if name != "baseline"]
    if not curves:
        note(say("There is no ROC curve of an inference of membership here, or not yet."))
        return
    with st.container(horizontal=True):
        label = pick(
            say("Mechanism"),
            curves,
            "use_roc",
            say("Whose private text the attacked model was trained on."),
            width=230,
        )
        values = sorted(set(rows.loc[rows["label"] == label, "epsilon"].dropna()))
        picked = st.pills(
            say("ε of {label}", label=label),
            values,
            selection_mode="multi",
            default=sorted({values[0], values[len(values) // 2], values[-1]}),
            format_func=lambda value: numeral(f"{value:.4g}"),
            key=f"use_roc_{label}",
            help=say(
                "The privacy parameter, as far as it was measured; up to {most} at a time.",
                most=_MOST,
            ),
        )
    epsilons = sorted(picked)[:_MOST]
    picks = [("baseline", None), *((label, epsilon) for epsilon in epsilons)]
    table = roc_curves(evidence.table, picks, **evidence.where("roc"))
    outside = int(rows["count"].min())
    rates = dict.fromkeys(max(rate, 1 / outside) for rate in _RATES)
    captions = [roc_caption(table, rate) for rate in rates]
    caption = Caption(captions[0].finding, "\n".join(caption.how for caption in captions))
    show_figure(roc_figure(table), caption, table, f"{evidence.name}_roc")
    note(
        say(
            "Both axes are logarithmic, because an accusation can afford few false positives. "
            "On the dotted line the attacker guesses. The band is the 95 % interval of the mean "
            "over trials, at each false-positive rate by itself."
        )
    )
    st.text(_resolution(outside, evidence.trials))
    _promises(evidence, label, epsilons)


def _resolution(outside: int, trials: int) -> str:
    """Below which false-positive rate nothing was seen."""
    each = (
        say("In the one trial") if trials == 1 else say("In each of {trials} trials", trials=trials)
    )
    return say(
        "{each} about {outside:,} texts were used and as many were not, so nothing is seen "
        "below a false-positive rate of 1/{outside:,} = {rate:.2g}: there the curves are "
        "straight lines to 0.",
        each=each,
        outside=outside,
        rate=1 / outside,
    )


def _promises(evidence: Evidence, label: str, epsilons: list[float]) -> None:
    """What differential privacy promises about a whole text, where that was computed."""
    rows = evidence.table[
        (evidence.table["quantity"] == "document_auc")
        & (evidence.table["lexicon"] == evidence.lexicon)
        & (evidence.table["label"] == label)
        & evidence.table["epsilon"].isin(epsilons)
    ]
    if not len(rows):
        return
    words = int(rows["count"].iloc[0])
    bounds = dict(zip(rows["epsilon"].tolist(), rows["value"].tolist(), strict=True))
    empty = [numeral(f"{epsilon:g}") for epsilon, bound in bounds.items() if bound > _VACUOUS]
    allowed = [
        say(
            "at ε = {epsilon:g} an AUC of at most {bound:.3g}",
            epsilon=epsilon,
            bound=float(at_most(bound, 3)),
        )
        for epsilon, bound in bounds.items()
        if bound <= _VACUOUS
    ]
    if empty:
        allowed.append(
            say(
                "at ε = {epsilons} an attacker who is practically always right: it rules out "
                "nothing",
                epsilons=", ".join(empty),
            )
        )
    st.text(
        say(
            "What {label} promises of one word allows, for a whole text of {words} words in "
            "place of another of as many, {allowed}. That less is given away here is measured, "
            "not promised.",
            label=label,
            words=words,
            allowed="; ".join(allowed),
        )
    )
