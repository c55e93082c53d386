"""Accuracy, attacker's AUC and similarity against ε: means with bands, baselines across."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from dpcore.plots.style import NAMED, Caption, axis, curve_style, number
from dpcore.plots.traces import band, curve, draw_figure, line
from dpcore.written import Filled, Named, listed

COLUMNS = ("curve", "mechanism", "epsilon", "mean", "low", "high", "trials")
"""One row for each curve and ε, ε ascending; `low` and `high` may be missing (one trial)."""

TITLES = {
    "accuracy": "accuracy",
    "auc": "attacker's AUC (0.5: guessing)",
    "nw": "Nw: share of words that stay",
    "counts-word": "content words guessed by frequency",
    "counts-near": "guessed by frequency, near words too",
    "word": "share of words guessed, all equally likely",
    "rouge1": "ROUGE-1 F1",
    "rouge1_recall": "ROUGE-1 recall",
    "bleu": "BLEU",
    "matching": "greedy matching of static vectors",
    "bert_style": "matching of contextual vectors",
    "cosine": "cosine of sentence vectors",
}
EXPLAINED = {
    "accuracy": "Accuracy: the share of test texts that the classifier gets right.",
    "auc": "Attacker's AUC: how well an attacker tells the texts that the classifier learned from "
    "apart from others (0.5: as by guessing, 1: never wrong).",
    "nw": "Nw: the share of words that come out unchanged.",
    "counts-word": "Guessed: the share of content words that someone names who knows the mechanism "
    "and how common words are, and sees what came out. Where that cannot be computed the guess is "
    "that of the best of some attackers, which is a lower bound.",
    "counts-near": "Guessed or nearly: the same share where one of the nine nearest words counts "
    "as well.",
    "word": "Guessed: of all words of the lexicon, taken for equally likely, the share that an "
    "attacker names who knows the mechanism and sees what came out. Where that cannot be computed "
    "the guess is the output itself, which is a lower bound.",
    "rouge1": "ROUGE-1 F1: how many words the rewritten text and the original share (1: all).",
    "rouge1_recall": "ROUGE-1 recall: the share of the original's words that are in the rewritten "
    "text.",
    "bleu": "BLEU: how many runs of one to four words are those of the original (100: all).",
    "matching": "Each word is compared with the most similar word of the other text (1: the same "
    "words).",
    "bert_style": "Each word in its context is compared with the most similar one of the other "
    "text (1: the same).",
    "cosine": "How similar the meanings of the whole texts are to an encoder (1: the same).",
}
"""Each quantity in a sentence, for those who see it for the first time."""
_HEIGHT = 420


@dataclass(frozen=True)
class Line:
    """A straight line across the figure.

    Attributes:
        name: label of the line.
        value: its height.
        dash: Plotly's name of its dash.
    """

    name: str
    value: float
    dash: str = "dash"


def utility_figure(
    table: pd.DataFrame, quantity: str, axis_title: str, lines: Sequence[Line] = ()
) -> go.Figure:
    """Draw means with their intervals against ε.

    Args:
        table: the columns `COLUMNS`; a curve whose ε means another thing than its neighbour's
            belongs on another figure.
        quantity: a key of `TITLES`; names the y axis.
        axis_title: of the ε axis.
        lines: baselines.
    """
    traces: list[Any] = []
    for name, rows in table.groupby("curve", sort=False):
        name = str(name)
        style = curve_style(name, str(rows["mechanism"].iloc[0]))
        hover, trials = "%{y:.3f} at ε = %{x:.4g}, mean of %{meta}", int(rows["trials"].max())
        # The band first: the curve and its marks lie on top.
        traces += interval_band(rows, "epsilon", style.colour, name)
        traces.append(
            curve(
                rows["epsilon"],
                rows["mean"],
                style,
                hover,
                name=name,
                legendgroup=name,
                meta=trials,
            )
        )
    span = [float(table["epsilon"].min()), float(table["epsilon"].max())]
    traces += across(span, lines)
    # Plotly takes the range of a logarithmic axis as powers of ten.
    ends = [math.log10(end) for end in span]
    # One ε alone needs a margin too.
    pad = 0.03 * max(ends[1] - ends[0], 0.1)
    return draw_figure(
        traces,
        height=_HEIGHT,
        **NAMED,
        xaxis=axis(
            axis_title,
            fixedrange=True,
            **log_ticks(span[0], span[1]),
            range=[ends[0] - pad, ends[1] + pad],
        ),
        yaxis=axis(TITLES[quantity], fixedrange=True),
    )


def log_ticks(low: float, high: float, most: int = 11) -> dict[str, object]:
    """Return a log axis with ticks at 1, 2, 5, 10, …; only powers of ten where those are many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1,)):
        places = [step * 10.0**power for power in powers for step in steps]
        # A tick at an end of the axis is not lost to rounding.
        shown = [place for place in places if 0.999 * low <= place <= 1.001 * high]
        if len(shown) <= most:
            break
    return {
        "type": "log",
        "tickvals": shown,
        "ticktext": [number(place) for place in shown],
    }


def across(span: Sequence[float], lines: Sequence[Line]) -> list[Any]:
    """Draw straight lines from one end of the x axis to the other."""
    return [
        line(
            list(span),
            [base.value, base.value],
            base.name,
            dash=base.dash,
            width=1.5,
            hover="%{fullData.name}: %{y:.3f}<extra></extra>",
        )
        for base in lines
    ]


def interval_band(
    rows: pd.DataFrame, x: str, colour: str, name: str, floor: float | None = None
) -> list[go.Scatter]:
    """Draw the band of the known intervals, which a click on its curve's name hides as well.

    Args:
        rows: of one curve, with the columns `low` and `high`, which may be missing.
        x: the column of its places.
        colour: of the curve.
        name: of the curve.
        floor: lower end of a logarithmic axis; None for no end.

    Returns:
        Two traces, or none where fewer than two intervals are known.
    """
    known = rows.dropna(subset=["low", "high"])
    # One interval alone has no area to fill.
    if len(known) < 2:
        return []
    under, over = (known[end].clip(lower=floor) for end in ("low", "high"))
    return band(known[x], under, over, colour, showlegend=False, legendgroup=name)


def utility_caption(
    table: pd.DataFrame, quantity: str, lines: Sequence[Line] = (), trials_of: str = "trials"
) -> Caption:
    """Describe the ends of every curve, the bands (over `trials_of`) and the baselines."""
    sentences: list[str] = [
        Filled("{explained} A smaller ε means more noise.", explained=Named(EXPLAINED[quantity]))
    ]
    changes: dict[str, float] = {}
    ends: dict[str, dict[str, str]] = {}
    for key, rows in table.groupby("curve", sort=False):
        name, first, last = str(key), rows.iloc[0], rows.iloc[-1]
        changes[name] = abs(last["mean"] - first["mean"])
        ends[name] = {
            "name": Named(name),
            "first": number(first["mean"]),
            "low": number(first["epsilon"]),
            "last": number(last["mean"]),
            "high": number(last["epsilon"]),
        }
        sentences.append(
            Filled("{name}: from {first} at ε = {low} to {last} at ε = {high}", **ends[name])
        )
    sentences += values_of(lines)
    few, trials = int(table["trials"].min()), int(table["trials"].max())
    filling = {"few": few, "trials": trials, "of": Named(trials_of)}
    if trials == 1:
        sentences.append(Filled("One trial, so no bands."))
    elif few == trials:
        sentences.append(
            Filled("Bands are 95 % intervals of the mean over {trials} {of}.", **filling)
        )
    else:
        sentences.append(
            Filled("Bands are 95 % intervals of the mean over {few} to {trials} {of}.", **filling)
        )
    most = ends[max(changes, key=changes.__getitem__)]
    title = Named(TITLES[quantity])
    if len(ends) > 1:
        finding = Filled(
            "{name} changes most: {first} at ε = {low}, {last} at ε = {high} ({title}).",
            title=title,
            **most,
        )
    else:
        finding = Filled(
            "{name} changes so: {first} at ε = {low}, {last} at ε = {high} ({title}).",
            title=title,
            **most,
        )
    return Caption(finding, listed(sentences, "\n"))


def values_of(lines: Sequence[Line]) -> list[Filled]:
    """Return the value of each baseline."""
    return [
        Filled("{name}: {value}", name=Named(line.name), value=number(line.value)) for line in lines
    ]
