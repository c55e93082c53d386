"""Odds of one word against another given an output, beside those that the guarantee allows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
import plotly.graph_objects as go

from dpcore.outwards import at_least, at_most, without_noise
from dpcore.plots.attack.words import chance_text, count_text, limit_text, share_text, times_text
from dpcore.plots.style import (
    Caption,
    axis,
    factor_text,
    name_tag,
    note,
    number,
    one_sided,
    plain,
    powers_of_ten,
    style_of,
)
from dpcore.plots.traces import draw_figure, rule, upright
from dpcore.written import Filled, Named, as_numeral, listed

if TYPE_CHECKING:
    import pandas as pd


COLUMNS = (
    "mechanism", "title", "word", "other", "output", "log_ratio", "log_low", "log_high",
    "log_bound", "exact", "status", "most_word", "most_other",
)  # fmt: skip
"""One row for each mechanism: ln P(output|word) − ln P(output|other) (NaN where an estimate has no
more than an end), the ends of its interval (infinite where there is none; both the ratio if exact),
the largest value that the guarantee allows, whether the ratio is exact, the status of the
guarantee, and the upper ends of both probabilities (NaN where the ratio is exact)."""

BEYOND = ("triangle-left", "triangle-right")
"""Symbols of a guaranteed bound beyond the left and the right edge of the axis."""
_WIDEST = 60.0  # powers of ten: a bar or tick beyond it is at the edge, with an arrow


class FavouredWord(NamedTuple):
    """Word that an output favours, and the factor.

    Attributes:
        word: the word that the output favours.
        against: the other word.
        ratio: ln of the factor by which the odds of the first grow; NaN where only an end is known.
        low: lower end of its interval.
        high: upper end.
    """

    word: str
    against: str
    ratio: float
    low: float
    high: float


def favoured_word(row: pd.Series) -> FavouredWord:
    """Return the ratio of a row, turned to the word that it favours."""
    word, other = str(row["word"]), str(row["other"])
    ratio, low, high = (float(row[name]) for name in ("log_ratio", "log_low", "log_high"))
    # Of a ratio of which one end is known, that end is shown as the lower one.
    if ratio < 0 or (math.isnan(ratio) and math.isinf(low)):
        return FavouredWord(other, word, -ratio, -high, -low)
    return FavouredWord(word, other, ratio, low, high)


def log_ratio(
    first: tuple[float, float, float], second: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Compute the columns `log_ratio`, `log_low` and `log_high` of two estimates with intervals.

    Args:
        first: of the output under the word: value, lower and upper end.
        second: under the other word.
    """

    def log(value: float) -> float:
        return math.log(value) if value > 0 else -math.inf

    ends = [
        # An interval that reaches down to 0 leaves its logarithm without a lower end.
        (-math.inf if one_sided(low, high) else log(low), log(high))
        for _, low, high in (first, second)
    ]
    # The ratio is smallest where the first is smallest and the second largest.
    low, high = ends[0][0] - ends[1][1], ends[0][1] - ends[1][0]
    sided = math.isinf(low) or math.isinf(high)
    return (math.nan if sided else log(first[0]) - log(second[0])), low, high


def odds_figure(table: pd.DataFrame) -> go.Figure:
    """Draw the ratio as a bar from 1× and the bound as a tick on either side, logarithmically.

    A bar goes to the right where the output favours the word, to the left where it favours the
    other; the guarantee bounds it on both sides.

    Args:
        table: the columns `COLUMNS`, of one pair of words.

    Returns:
        A figure whose x axis is log10 of the factor; 1× is marked "learns nothing". Values beyond
        the axis are drawn as an arrow at its edge.
    """
    rows = [row for _, row in table.iterrows()]
    limits = table["log_bound"].clip(lower=0.0) / math.log(10)
    lengths = pd.Series([_length(row) for row in rows], dtype=float)
    ratios = (lengths / math.log(10)).clip(-_WIDEST, _WIDEST)
    bounds = limits.clip(upper=_WIDEST)
    styles = [style_of(str(key)) for key in table["mechanism"]]
    names = [name_tag(str(key)) for key in table["mechanism"]]
    # At least one power of ten, so that a ratio near 1 looks as small as it is.
    reach = max(1.0, bounds.max(), ratios.abs().max(skipna=True) if ratios.notna().any() else 0.0)
    pad = 0.12 * reach
    places, labels = _mirrored(reach)
    word, other = (plain(" ".join(table[name].head(1))) for name in ("word", "other"))
    bars = go.Bar(
        orientation="h",
        x=ratios.fillna(0.0).tolist(),
        y=names,
        text=[_bar_text(row) for row in rows],
        hovertext=[_bar_text(row, factor_text) for row in rows],
        textposition="auto",
        marker={
            "color": [style.colour for style in styles],
            "pattern": {"shape": ["" if exact else "/" for exact in table["exact"]]},
        },
        hovertemplate="%{y}<br>%{hovertext}<extra>odds</extra>",
    )
    brackets = go.Scatter(
        mode="markers",
        # The bounds on the right, then their mirror images on the left.
        x=[*bounds, *-bounds],
        y=[*names, *names],
        hovertext=[_bound_text(value) for value in table["log_bound"]] * 2,
        marker={
            "symbol": [
                "line-ns-open" if limit <= _WIDEST else arrow
                for arrow in reversed(BEYOND)
                for limit in limits
            ],
            "size": 22,
            "color": [style.colour for style in styles] * 2,
            "line": {"width": 3},
        },
        hovertemplate="%{y}<br>guarantee: at most %{hovertext}<extra>bound</extra>",
    )
    label = note("1×: learns nothing", 0, 1, yref="paper", yanchor="bottom", xanchor="center")
    return draw_figure(
        [bars, brackets],
        height=104 + 38 * len(table),
        margin={"l": 8, "r": 16, "t": 28, "b": 8},
        shapes=[rule(2, "dot", **upright(0))],
        annotations=[label],
        xaxis=axis(
            f"← for “{other}”   (bar: this output; ticks: limit of the guarantee)   for “{word}” →",
            range=[-reach - pad, reach + pad],
            tickvals=places,
            ticktext=labels,
        ),
        yaxis=axis(autorange="reversed", showgrid=False, type="category"),
    )


def _mirrored(reach: float) -> tuple[list[float], list[str]]:
    """Return ticks of both sides: the factor that multiplies the odds of that side's word."""
    places, labels = powers_of_ten(0.0, reach, most=4)
    left = [(-place, label) for place, label in zip(places, labels, strict=True) if place > 0]
    return [place for place, _ in left[::-1]] + places, [text for _, text in left[::-1]] + labels


@as_numeral
def odds_text(
    ratio: float,
    low: float,
    high: float,
    unit: str = "",
    written: Callable[..., str] = count_text,
) -> str:
    """Format a factor, with the interval of an estimate; "" where nothing is known of it.

    `written` is `count_text`, for people, or `factor_text`, in full for a tooltip; `COLUMNS`
    explains the numbers.
    """
    if low == high:
        return written(ratio) + unit
    if math.isnan(ratio):
        if math.isfinite(low):
            return f"at least {written(low, at_least)}{unit}"
        if math.isfinite(high):
            return f"at most {written(high, at_most)}{unit}"
        return ""
    return f"about {written(ratio)}{unit} ({written(low)} to {written(high)})"


def _undecided(row: pd.Series) -> str:
    """Describe undecided odds: the largest probability of the output, under either word."""
    most = max(float(row["most_word"]), float(row["most_other"]))
    if math.isnan(most):
        return Filled("undecided: both chances are below what can be computed")
    return Filled("undecided: each {chance}", chance=_at_most(most))


@as_numeral
def _at_most(chance: float) -> str:
    """Format a bound on a probability as 1 in a count of two digits, rounded down."""
    whole = float(at_least(without_noise(1.0 / chance), 2))
    return f"at most 1 in {whole:,.0f}" if whole <= 1e6 else "less than 1 in a million"


def _bar_text(row: pd.Series, written: Callable[..., str] = count_text) -> str:
    """Return the text of a bar: the factor and the favoured word, as in the caption."""
    odds = favoured_word(row)
    text = odds_text(odds.ratio, odds.low, odds.high, " times", written)
    if not text:
        return _undecided(row)
    cut = " (beyond this axis)" if abs(_length(row)) > _WIDEST * math.log(10) else ""
    return f"{text} for “{plain(odds.word)}”{cut}"


def _length(row: pd.Series) -> float:
    """Return the length of the bar, in nats: the ratio, else a finite end, else 0."""
    ratio, low, high = (float(row[name]) for name in ("log_ratio", "log_low", "log_high"))
    ends = [end for end in (ratio, low, high) if math.isfinite(end)]
    return ratio if math.isinf(ratio) else (ends[0] if ends else 0.0)


def _bound_text(log_bound: float) -> str:
    beyond = log_bound > _WIDEST * math.log(10)
    return f"{factor_text(log_bound, at_most)} times{' (beyond this axis)' if beyond else ''}"


def odds_caption(table: pd.DataFrame) -> Caption:
    """Name the mechanism whose output tells the words apart best, and describe each mechanism."""
    lengths = [abs(_length(row)) for _, row in table.iterrows()]
    best = table.iloc[lengths.index(max(lengths))]
    return Caption(
        odds_sentence(best), listed((odds_sentence(row) for _, row in table.iterrows()), "\n")
    )


def odds_sentence(row: pd.Series) -> str:
    """Write one row of the odds table as a sentence."""
    bound = limit_text(float(row["log_bound"]))
    if row["status"] == "refuted":
        promised = Filled("guarantee, refuted: {bound}", bound=bound)
    else:
        promised = Filled("guarantee: {bound}", bound=bound)
    odds = favoured_word(row)
    filling = {"title": Named(row["title"]), "output": row["output"], "promised": promised}
    factor = odds_text(odds.ratio, odds.low, odds.high)
    if not factor:
        return Filled(
            "{title}: “{output}” leaves the odds {undecided}; {promised}.",
            undecided=_undecided(row),
            **filling,
        )
    return Filled(
        "{title}: seeing “{output}” multiplies the odds of “{word}” against “{other}” by {factor}; "
        "{promised}.",
        word=odds.word,
        other=odds.against,
        factor=factor,
        **filling,
    )


# Sentences of the odds card, written from the numbers of the attacker's table.


CAPTION_COLUMNS = ("word", "prior", "posterior")
"""One row for each word, likeliest first, with its probability before and after."""


def others_sentence(table: pd.DataFrame, perplexity: float) -> str:
    """Name the next likeliest word; `perplexity` equally likely words leave the same doubt."""
    doubt = Filled(
        "as uncertain as among {count} equally likely words (perplexity)", count=_count(perplexity)
    )
    if perplexity < 1.05:
        doubt = Filled("hardly any doubt is left")
    if len(table) == 1:
        return Filled("No other word is possible: {doubt}.", doubt=doubt)
    second = table.iloc[1]
    return Filled(
        "The next likeliest word is “{word}”, {chance}. All in all {doubt}.",
        word=second["word"],
        chance=chance_text(float(second["posterior"])),
        doubt=doubt,
    )


@as_numeral
def change_text(prior: float, posterior: float) -> str:
    """Describe how much likelier or less likely a word has become."""
    if not prior > 0:
        return "was impossible"
    return times_text(math.log(posterior / prior) if posterior > 0 else -math.inf)


def success_sentence(
    value: float, low: float, high: float, outputs: int, blind: float, *, exact: bool
) -> str:
    """Describe how often the attacker's best guess is right, over all words and outputs.

    Args:
        value: the probability, or its estimate.
        low: lower end of its 95 % interval, where it is an estimate.
        high: upper end.
        outputs: how many were summed or drawn.
        blind: success of someone who sees no output.
        exact: True if all outputs were summed.
    """
    how = Filled("summed over all {outputs:,} outputs", outputs=outputs)
    if not exact:
        how = Filled(
            "{outputs:,} outputs drawn, 95 % interval {low} to {high} in 100",
            outputs=outputs,
            low=number(100 * low),
            high=number(100 * high),
        )
    return Filled(
        "The best guess is right in {share} cases ({how}). Anyone who sees nothing and names the "
        "likeliest word is right in {blind}.",
        share=share_text(value, certain=blind >= 1),
        how=how,
        blind=share_text(blind, certain=True),
    )


def worst_sentence(word: str, other: str, log_ratio: float, claimed: float, *, broken: bool) -> str:
    """Describe the pair of words that an output tells apart by the largest share of the guarantee.

    Args:
        word: one of them.
        other: the other.
        log_ratio: ln of their likelihood ratio.
        claimed: the largest one that the guarantee allows.
        broken: True if the ratio is beyond the guarantee.
    """
    filling = {
        "word": word,
        "other": other,
        "factor": count_text(abs(log_ratio)),
        "limit": limit_text(claimed),
    }
    if broken:
        return Filled(
            "Of all words this output separates “{word}” from “{other}” most, relative to the "
            "guarantee: by a factor of {factor}; guarantee: {limit}, which this breaks.",
            **filling,
        )
    return Filled(
        "Of all words this output separates “{word}” from “{other}” most, relative to the "
        "guarantee: by a factor of {factor}; guarantee: {limit}.",
        **filling,
    )


@as_numeral
def _count(perplexity: float) -> str:
    return f"{perplexity:.2g}" if perplexity < 10 else count_text(math.log(perplexity))
