"""PixelDP in networks, recorded: noise at each place, trained together or apart; its cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from dpcore.papers.lecuyer2019.summary import costs, summary
from dpcore.plots.layout import percent
from dpcore.plots.robust.shares import certified_caption, ends_caption, lines_figure
from dpcore.study.reading import Figures
from pages.robustness.recorded_frame import recorded_view
from pages.shared.downloads import csv_button
from pages.shared.figure import show_figure
from pages.shared.fragments import fragment
from pages.shared.language import later, numeral, say
from pages.shared.linking import choose_one
from pages.shared.messages import note
from pages.shared.once import once
from pages.shared.table import PERCENT, numbers, show_table

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from dpcore.study.recorded import Recorded
    from pages.robustness.recorded_frame import Parts

_PLACES = {
    "picture": later("in the picture"),
    "first-layer": later("after the first layer"),
    "auto-encoder": later("in an auto-encoder"),
}
_REGIMES = {
    "joint": later("trained together"),
    "separate": later("first part trained apart"),
    "linear": later("linear classifier"),
}
_CONDITIONS = {
    "pixeldp": later("PixelDP's condition"),
    "tight": later("tight"),
    "slides": later("the slides' condition (not proved)"),
}
_BOUNDS = {"clopper-pearson": later("Clopper–Pearson"), "hoeffding": later("Hoeffding")}


def noise_view() -> None:
    """Draw what is recorded of PixelDP with networks."""
    note(
        say(
            "The view Pictures trains a linear classifier under the noise. Here a convolutional "
            "network is trained together with its noise layer, whose sensitivity is held fixed "
            "during training, as PixelDP does it; and the layer stands on word vectors of texts."
        )
    )
    fragment(
        recorded_view,
        ("pixeldp-",),
        "noise",
        _parts,
        say(
            "`pip install -r requirements-learn.txt`, then the command above; "
            "`dpcore.learn.pixeldp.training` trains one network in a few seconds."
        ),
    )


def _parts(record: Recorded) -> Parts:
    pictures = record.entry.name == "pixeldp-digits"
    parts: Parts = {later("Certified accuracy"): lambda: _certified(record)}
    if pictures:
        parts[later("Cost of a step")] = lambda: _costs(record)
    else:
        parts[later("Counted in words")] = lambda: _words(record)
    parts[later("All certificates")] = lambda: _all(record)
    return parts


def _summary(record: Recorded, quantity: str) -> pd.DataFrame:
    key = (record.entry.sha256, quantity)
    return once("pixeldp", key, lambda: summary(record, quantity))


def _options(table: pd.DataFrame, column: str, titles: dict[str, str]) -> dict[str, str]:
    there = [str(name) for name in dict.fromkeys(table[column]) if name not in ("", None)]
    ordered = [name for name in titles if name in there] + [n for n in there if n not in titles]
    return {name: titles.get(name, name) for name in ordered}


def _certified(record: Recorded) -> None:
    table = _summary(record, "certified")
    with st.container(horizontal=True):
        for column, title, titles, help_text in (
            (
                "noise",
                say("Noise"),
                {"gaussian": say("Gaussian"), "laplace": say("Laplace")},
                say("Its kind."),
            ),
            ("scale", say("Scale"), {}, say("In units of the layer's sensitivity.")),
            (
                "accounting",
                say("Theorem"),
                {"gaussian-analytic": later("exact"), "gaussian-classical": later("classical")},
                say("Which theorem says how private the noise is."),
            ),
            (
                "condition",
                say("Condition"),
                _CONDITIONS,
                say("When a prediction counts as certified."),
            ),
            ("bound", say("Votes bounded by"), _BOUNDS, say("As in the view Pictures.")),
        ):
            options = _options(table, column, titles)
            if not options:
                continue
            value = next(iter(options))
            if len(options) > 1:
                value = choose_one(
                    st.selectbox, title, options, f"noise_{column}", width=210, help=help_text
                )
            table = table[table[column].astype(str) == value]
    curves = table.assign(
        curve=[_curve(row) for row in table.to_dict("records")], mechanism="", x=table["at"]
    )[["curve", "mechanism", "x", "mean", "low", "high"]].dropna(subset=["x"])
    if not len(curves):
        note(say("Nothing was recorded for this choice."))
        return
    trials = int(table["trials"].max())
    show_figure(
        lines_figure(curves, "size L of the attack", "certified accuracy"),
        certified_caption(curves, f"inputs, mean over {trials} trials,", _at(curves)),
        curves,
        f"{record.entry.name}_certified",
    )
    note(
        say(
            "Bands are 95 % intervals of the mean over trials, each with its own training. Of "
            "each input the bounds on its votes are wrong with probability at most {error:g}.",
            error=Figures(record).option("error"),
        )
    )


def _at(curves: pd.DataFrame) -> float:
    """A size at which the curves are apart: the first where the best has lost a quarter."""
    best = curves.groupby("x")["mean"].max()
    # At 0 all are alike, and far out all are at 0.
    lost = best.index[best < 0.75 * best.max()]
    return float(lost[0] if len(lost) else best.index[-1])


def _curve(row: Mapping[Hashable, object]) -> str:
    if row["labels"]:
        return str(row["labels"])
    place = _PLACES.get(str(row["place"]), "no noise layer")
    return f"{place}, {_REGIMES.get(str(row['regime']), str(row['regime']))}"


def _costs(record: Recorded) -> None:
    table = costs(record)
    named = table.assign(place=[_PLACES.get(str(name), str(name)) for name in table["place"]])
    curves = pd.DataFrame(
        {
            "curve": [f"{a}, {b}" for a, b in zip(named["place"], named["noise"], strict=True)],
            "mechanism": "",
            "x": named["channels"].astype(float),
            "mean": named["ratio"],
            "low": named["low"],
            "high": named["high"],
        }
    )
    show_figure(
        lines_figure(
            curves, "channels of the first convolution", "time of a step, with ÷ without",
            logarithm=True, share=False,
        ),
        ends_caption(curves, "Time of a training step with the noise layer ÷ without it",
                     "channels"),
        named,
        "noise_costs",
    )  # fmt: skip
    note(
        say(
            "Processor time, medians of many steps in turn with and without the layer; bands "
            "are the smallest and largest end of the trials' intervals. Lecture slides name "
            "0.65 s and 0.66 s, 1.5 % at most, for a residual network on CIFAR-10, where much "
            "is computed after the noise. This network is small, and after its first layer the "
            "noise has many more numbers than the picture."
        )
    )


def _words(record: Recorded) -> None:
    table = _summary(record, "with_words")
    shown = table[["labels", "scale", "accounting", "condition", "bound", "at", "mean", "low",
                   "high"]].rename(columns={"at": "distance of the new word"})  # fmt: skip
    show_table(
        shown,
        say("Share of texts whose certificate covers at least one replaced word"),
        column_config=numbers(("mean", "low", "high"), PERCENT),
    )
    csv_button(say("Table as CSV"), "noise_words", lambda: shown, key="csv_noise_words")
    near, far = (
        float(shown["distance of the new word"].min()),
        float(shown["distance of the new word"].max()),
    )
    any_word = shown[shown["distance of the new word"] == far]["mean"].max()
    note(
        say(
            "Share of the texts in which a word may be replaced: by one at distance {near:.3g}, "
            "the smallest between two words of the lexicon, or at {far:.3g}, the largest, which "
            "is any word. For any word the best is {share}.",
            near=near,
            far=far,
            share=numeral(percent(any_word)),
        )
    )


def _all(record: Recorded) -> None:
    quantity = choose_one(
        st.selectbox,
        say("Number"),
        {
            name: title
            for name, title in {
                "accuracy": say("accuracy of the noisy vote"),
                "abstained": say("share of inputs on which it abstains"),
                "largest": say("largest certified size"),
                "median": say("median certified size"),
                "sensitivity": say("stretch of an attack before the noise"),
            }.items()
            if len(record.rows(name))
        },
        "noise_number",
        width=330,
        help=say("Means over trials with 95 % intervals."),
    )
    table = _summary(record, quantity).dropna(axis="columns", how="all")
    table = table.loc[:, [name for name in table if not (table[name] == "").all()]]
    table = table.assign(scale=pd.to_numeric(table["scale"], errors="coerce"))
    show_table(table, say("The recorded numbers of every arm"))
    csv_button(
        say("Table as CSV"), f"{record.entry.name}_{quantity}", lambda: table, key="csv_noise_all"
    )
