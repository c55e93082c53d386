"""Views of records: training of text networks, and PixelDP in networks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

import pandas as pd
import streamlit as st

from dpcore.errors import DpcoreError, StudyError
from dpcore.mechanisms.registry import resolve
from dpcore.papers.lecuyer2019.study import costs, summary
from dpcore.papers.studies import EXPERIMENTS
from dpcore.papers.xu2021.training_comparison import against_paper
from dpcore.plots.robust.shares import (
    certified_caption,
    ends_caption,
    lines_figure,
    printed_caption,
)
from dpcore.plots.style import SCALES, percent
from dpcore.study.recorded import Figures, Recorded, read_bundled
from dpcore.study.robust_curves import constant_line, training_curves
from dpcore.written import Filled, Named
from pages.papers.experiments import takeaway
from pages.robustness.reproducing import recorded_mark
from pages.shared.figure import csv_button, show_figure
from pages.shared.fragments import fragment
from pages.shared.language import later, say
from pages.shared.link import choose_one, tabs
from pages.shared.messages import note, refuse
from pages.shared.once import once
from pages.shared.table import PERCENT, numbers, show_table
from pages.shared.taking import made_view, papers_view, recorded, recorded_footer, take_it_with_you

Parts = dict[str, Callable[[], None]]


def recorded_view(
    beginning: tuple[str, ...],
    field: str,
    parts: Callable[[Recorded], Parts],
    oneself: str,
) -> None:
    """Draw the choice of a record and its parts.

    Args:
        beginning: beginnings of the names of the offered experiments.
        field: beginning of the names in the link.
        parts: returns the parts of a record, by title.
        oneself: instructions to run a similar experiment, our own fixed Markdown.
    """
    try:
        there = {entry.name: entry.title for entry in read_bundled()}
        # In the order of the studies, of those that are recorded.
        titles = {n: there[n] for n in EXPERIMENTS if n in there and n.startswith(beginning)}
        if not titles:
            # A record that is missing and one that is damaged are told in one place, below.
            raise StudyError(
                "this installation has no record of it; restore the folder data/results/experiments"
            )
        name = next(iter(titles))
        # A single record needs no choice.
        if len(titles) > 1:
            name = choose_one(
                st.selectbox,
                say("Record"),
                titles,
                f"{field}_record",
                help=say("Measured beforehand; nothing is computed when you look at it."),
            )
        record = recorded(name)
    except DpcoreError as error:
        refuse(say("The record could not be read; the views that are computed now work."), error)
        return
    entry = record.entry
    recorded_mark(entry.date)
    source = say("To be compared with {source}.", source=entry.source) if entry.source else ""
    numbers = ", ".join(str(seed) for seed in entry.plan["seeds"])
    note(" ".join(filter(None, (entry.sizes, source, say("Seeds: {numbers}.", numbers=numbers)))))
    views = parts(record)
    if entry.source:
        views |= {later("Paper against ours"): lambda: papers_view(record)}
    views |= {later("How it was made"): lambda: _made(record, oneself)}
    try:
        tabs(views, f"{field}_part")
    except DpcoreError as error:
        # The other parts, and the way to make the record again, stay.
        refuse(say("This part cannot be shown."), error)
    take_it_with_you(lambda: takeaway(record))
    recorded_footer(record)


def _made(record: Recorded, oneself: str) -> None:
    made_view(record)
    st.header(say("Do it yourself"), anchor=False)
    note(oneself)


# Normal, augmented and certified training of text networks: recorded (Xu et al. 2021).


_MEASURED = {
    "paper": later("after the paper's attack"),
    "stronger": later("after a stronger attack"),
    "rewritten": later("on texts that were rewritten once"),
    "clean": later("on texts as they are"),
    "certified": later("certified: correct under every substitution"),
}
# The mechanisms of Tables 2 and 3, the paper's own first.
_FIRST = ("truncated-gumbel", "madlib")


def training_view() -> None:
    """Draw the compared trainings, and the record."""
    note(
        say(
            "Three ways to train the same network: as usual; on four more copies of every text "
            "that the mechanism rewrote (augmented); and so that interval bounds stay right for "
            "every allowed substitution (IBP, Jia et al. 2019). The attack tries words that the "
            "mechanism drew for each word at ε, as Xu et al. 2021 do in their Tables 2 and 3; a "
            "word that every draw gave back is left alone."
        )
    )
    fragment(
        recorded_view,
        ("xu2021-tables-2-3-",),
        "training",
        _parts,
        say(
            "`pip install -r requirements-learn.txt`, then `python -m dpcore robust train "
            "--help` says how a network is trained on texts of your own."
        ),
    )


def _parts(record: Recorded) -> Parts:
    return {
        later("Accuracy against ε"): lambda: _curves(record),
        later("All numbers"): lambda: _numbers(record),
    }


def _mechanisms(record: Recorded) -> list[str]:
    there = set(record.table["label"])
    return [name for name in _FIRST if name in there]


def _curves(record: Recorded) -> None:
    names = _mechanisms(record)
    with st.container(horizontal=True):
        mechanism = choose_one(
            st.selectbox,
            say("Mechanism"),
            {name: resolve(name).title for name in names},
            "training_mechanism",
            width=300,
            help=say(
                "The mechanism whose words the attack tries, and that rewrote the copies for "
                "augmented training."
            ),
        )
        measured = choose_one(
            st.selectbox,
            say("Accuracy"),
            _MEASURED,
            "training_measured",
            width=360,
            help=say(
                "After an attack: share of texts still classified correctly. Certified: share "
                "that no substitution from the lists can change."
            ),
        )
    table = against_paper(record, mechanism, measured)
    if not len(table):
        note(say("This was not measured for this mechanism."))
        return
    if measured != "certified":
        table = pd.concat((table, constant_line(record, table)), ignore_index=True)
    axis = SCALES[resolve(mechanism).meaning].axis
    # An axis of ln ε is logarithmic already.
    unit = "ln ε" if axis.startswith("ln") else "ε"
    logarithm = unit == "ε"
    show_figure(
        lines_figure(table, axis, "accuracy", logarithm=logarithm),
        printed_caption(
            table, Filled("Accuracy {measured}", measured=Named(_MEASURED[measured])), unit
        ),
        table,
        f"{record.entry.name}_{mechanism}_{measured}",
    )
    note(
        say(
            "Bands are 95 % intervals over the attacked texts, where a record has them; these "
            "are few, so where nothing moves their accuracy need not be that of all test texts. "
            "A network that was trained without the mechanism has the same clean and certified "
            "accuracy at every ε. **No attack changes a constant answer**: a network at the "
            "line of the largest class may be robust because it reads nothing; compare its "
            "accuracy on texts as they are."
        )
    )


def _numbers(record: Recorded) -> None:
    """Draw one table per mechanism: every training and every measure at every ε."""
    for mechanism in _mechanisms(record):
        st.header(say(resolve(mechanism).title), anchor=False)
        parts = []
        for measured, title in _MEASURED.items():
            table = training_curves(record, mechanism, measured)
            parts.append(table.assign(accuracy=title))
        table = pd.concat(parts, ignore_index=True)
        # One row a training, one column an ε, in the order of the record.
        wide = table.pivot_table(
            index=["accuracy", "curve"], columns="x", values="mean", sort=False
        ).reset_index()
        wide.columns = [str(name) if isinstance(name, str) else f"{name:.3g}" for name in wide]
        show_table(
            wide.rename(columns={"curve": "training"}),
            say("Accuracy of each training at every ε of {mechanism}", mechanism=mechanism),
            spoken=["accuracy"],
            column_config=numbers(wide.columns[2:], PERCENT),
        )


# PixelDP in networks, recorded: noise at each place, trained together or apart; its cost.


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
    """Draw the records of PixelDP in networks."""
    note(
        say(
            "The view Pictures trains a linear classifier under noise. Here a convolutional "
            "network is trained together with its noise layer, whose sensitivity is held fixed"
            " during training, as in PixelDP; for texts, the layer follows the word vectors."
        )
    )
    fragment(
        recorded_view,
        ("pixeldp-",),
        "noise",
        _parts_noise_view,
        say(
            "`pip install -r requirements-learn.txt`, then the command above; "
            "`dpcore.learn.pixeldp.training` trains one network in a few seconds."
        ),
    )


def _parts_noise_view(record: Recorded) -> Parts:
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
    # What we have a title for first, then anything that a later record may add.
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
            # A record need not vary in this: then it is no choice.
            if not options:
                continue
            value = next(iter(options))
            if len(options) > 1:
                value = choose_one(
                    st.selectbox, title, options, f"noise_{column}", width=210, help=help_text
                )
            # Filtered step by step: the next choice offers only what is left.
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
        certified_caption(
            curves, Filled("inputs, mean over {trials} trials,", trials=trials), _at(curves)
        ),
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
    """Return a size at which the curves differ: the first where the best has lost a quarter."""
    best = curves.groupby("x")["mean"].max()
    # At 0 all curves agree, and at large sizes all are 0.
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
        ends_caption(
            curves,
            Filled("Time of a training step with the noise layer ÷ without it"),
            later("channels"),
        ),
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
    # The diameter of the vocabulary: no two words are farther apart.
    any_word = shown[shown["distance of the new word"] == far]["mean"].max()
    note(
        say(
            "Share of the texts in which a word may be replaced: by one at distance {near:.3g}, "
            "the smallest between two words of the lexicon, or at {far:.3g}, the largest, which "
            "is any word. For any word the best is {share}.",
            near=near,
            far=far,
            share=percent(any_word),
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
    # Columns that this quantity does not have would be empty.
    table = _summary(record, quantity).dropna(axis="columns", how="all")
    table = table.loc[:, [name for name in table if not (table[name] == "").all()]]
    table = table.assign(scale=pd.to_numeric(table["scale"], errors="coerce"))
    show_table(table, say("The recorded numbers of every arm"))
    csv_button(
        say("Table as CSV"), f"{record.entry.name}_{quantity}", lambda: table, key="csv_noise_all"
    )
