"""Budget of a sentence: guarantees that add up word by word, as stairs on a scale of odds."""

from __future__ import annotations

import math
from itertools import accumulate

import pandas as pd
import plotly.graph_objects as go

from dpcore.outwards import at_most
from dpcore.plots.attack.words import limit_text, share_at_most
from dpcore.plots.style import BLUE, VERMILION, Caption, axis, factor_text, plain, powers_of_ten
from dpcore.plots.traces import draw_figure
from dpcore.written import Filled

COLUMNS = ("word", "places", "releases", "nearest", "loss")
"""One row for each distinct word, in the order of the text: its count in the text, the number of
its outputs that are seen, its nearest word, and ln of the largest odds that the guarantee allows
between the two."""

_SHOWN = 24  # stairs; the remaining words share one more
_ROW_PIXELS, _REST_PIXELS = 24, 96
_LETTERS = 18


def budget_figure(table: pd.DataFrame) -> go.Figure:
    """Draw a stair for each word, beginning where the one above ends, and the whole sentence below.

    The x axis is log10 of a factor.
    """
    steps = _steps(table)
    losses = [loss for *_, loss in steps]
    # Guarantees add up: a stair begins at the sum of those above it.
    bases = [base / math.log(10) for base in accumulate(losses[:-1], initial=0.0)]
    total = sum(losses)
    places, labels = powers_of_ten(0.0, total / math.log(10), most=6)
    steps.append(("<b>the sentence</b>", "the sentence", total))
    rows = list(range(len(steps)))
    bars = go.Bar(
        orientation="h",
        base=[*bases, 0.0],
        x=[loss / math.log(10) for loss in (*losses, total)],
        y=rows,
        hovertext=[
            f"{name}: at most {factor_text(loss, at_most)} times" for _, name, loss in steps
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        marker={
            "color": [BLUE] * len(losses) + [VERMILION],
            "pattern": {"shape": [""] * len(losses) + ["/"]},
        },
    )
    return draw_figure(
        bars,
        height=_REST_PIXELS + _ROW_PIXELS * len(rows),
        xaxis=axis("largest odds that the guarantee allows", tickvals=places, ticktext=labels),
        yaxis=axis(
            autorange="reversed",
            showgrid=False,
            tickvals=rows,
            ticktext=[tick for tick, *_ in steps],
        ),
    )


def budget_caption(table: pd.DataFrame, success: float) -> Caption:
    """Describe the sum of the guarantees; `success` is the guaranteed bound on a right guess."""
    total = float(table["loss"].sum())
    worst = table.iloc[table["loss"].argmax()]
    outputs = int(worst["releases"])
    seen = Filled("1 output") if outputs == 1 else Filled("{count:,} outputs", count=outputs)
    right = share_at_most(success, certain=math.isinf(total))
    how = Filled(
        "This sentence, or the same one with every word replaced by its nearest neighbour? Odds "
        "that the outputs may give by the guarantee: {limit}; a guess may be right in {right} "
        "cases. Most of that is spent on “{word}” ({seen}; {loss} against “{nearest}”).",
        limit=limit_text(total),
        right=right,
        word=worst["word"],
        seen=seen,
        loss=limit_text(float(worst["loss"])),
        nearest=worst["nearest"],
    )
    finding = Filled(
        "A guess at this sentence, against one of nearest neighbours, may be right in {right} "
        "cases; “{word}” spends most.",
        right=right,
        word=_short(str(worst["word"])),
    )
    return Caption(finding, how)


def _steps(table: pd.DataFrame) -> list[tuple[str, str, float]]:
    """Return the label, name and loss of each stair; words are quoted, and labels of ours bold."""
    rows = list(zip(table["word"].tolist(), table["places"].tolist(), table["loss"], strict=True))
    steps = []
    for word, places, loss in rows[:_SHOWN]:
        often = "" if places == 1 else f" ({places}×)"
        steps.append((plain(_short(word + often)), f"“{plain(word)}”{often}", float(loss)))
    rest = rows[_SHOWN:]
    if rest:
        more = f"{len(rest)} more words"
        steps.append((f"<b>{more}</b>", more, sum(float(loss) for *_, loss in rest)))
    return steps


def _short(name: str) -> str:
    return name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…"
