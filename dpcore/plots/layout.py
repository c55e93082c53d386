"""What all figures have in common: margins, axes without clutter, text that cannot be markup."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING, Any

from dpcore.outwards import at_least, at_most, ordinary, without_noise

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from dpcore.outwards import Shown

# A sample of a line must be long enough for its dash to be seen on both sides of the mark.
LEGEND = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "itemwidth": 44}
"""Names of curves in lines above the figure, where a phone has room for them."""
LEGEND_CLOSE = LEGEND | {"y": 1.0}
"""The same right on top of the figure."""
NAMED: dict[str, Any] = {"legend": LEGEND, "margin": {"l": 8, "r": 16, "t": 90, "b": 8}}
"""What a figure is drawn with whose legend may take three lines above it."""
_USUAL, _LARGE = 13, 16  # pixels: of the theme (12 to 14), and for a projector


def plain(text: str) -> str:
    """Text that Plotly shows as it stands: it would read tags and entities as markup."""
    return html.escape(text, quote=False)


def base_layout(**more: object) -> dict[str, Any]:
    """A layout of the common settings; `more` adds to it or replaces a setting.

    A figure has a legend if one is given. No font and no background are set: the page's theme
    gives them, light or dark.
    """
    settings: dict[str, Any] = {
        "margin": {"l": 8, "r": 16, "t": 8, "b": 8},
        "showlegend": "legend" in more,
        # A finger that scrolls the page must not draw a box on a figure.
        "dragmode": False,
        "bargap": 0.35,
        "hoverlabel": {"align": "left"},
        "uirevision": "keep",
    }
    return settings | more


def enlarged(figure: go.Figure) -> go.Figure:
    """A copy of a figure with letters for a projector; its size and the places of its marks stay.

    Words inside the plot keep theirs: the room for them was measured out.
    """
    import plotly.graph_objects as go

    figure = go.Figure(figure)
    figure.update_layout(font_size=_LARGE, legend_font_size=_LARGE, hoverlabel_font_size=_LARGE)
    for axes in (figure.update_xaxes, figure.update_yaxes):
        axes(tickfont_size=_LARGE, title_font_size=_LARGE)
    for text in figure.layout.annotations:
        text.font.size = text.font.size or _USUAL
    return figure


def axis(title: str | None = None, **more: object) -> dict[str, Any]:
    """An axis that makes room for its labels."""
    settings: dict[str, Any] = {"automargin": True, "zeroline": False, "showgrid": True}
    if title is not None:
        settings["title"] = {"text": title}
    return settings | more


def epsilon_axis(title: str, epsilons: pd.Series, logarithm: bool) -> dict[str, Any]:
    """The ε axis from the smallest to the largest ε: evenly in ln ε, or in decades of ε."""
    ends = epsilons.min(), epsilons.max()
    if logarithm:
        return axis(title, fixedrange=True, range=[math.log(end) for end in ends])
    # Plotly takes the ends of a logarithmic axis as powers of ten.
    powers = [math.log10(end) for end in ends]
    return axis(title, fixedrange=True, range=powers, type="log", dtick=1)


def epsilon_hover(logarithm: bool) -> str:
    """The ε of a point in its hover text, on either axis."""
    return f"{'ln ε' if logarithm else 'ε'} = %{{x:.4g}}"


def note(text: str, x: float, y: float, **more: object) -> dict[str, Any]:
    """Text in a figure without an arrow, as one of Plotly's annotations."""
    return {"text": text, "x": x, "y": y, "showarrow": False} | more


def powers_of_ten(low: float, high: float, most: int = 8) -> tuple[list[float], list[str]]:
    """Ticks of an axis that shows log10 of a factor: whole powers between two ends.

    Returns:
        Positions (whole numbers) and labels ("1×", "10×", "10⁶×"), `most` at the outside.
    """
    first, last = math.floor(low), math.ceil(high)
    step = max(1, math.ceil((last - first) / (most - 1)))
    start = step * math.ceil(first / step)
    places = list(range(start, last + 1, step))
    return [float(place) for place in places], [factor_label(place) for place in places]


def whole_ticks(high: float) -> dict[str, object]:
    """Ticks at 1, 2, 5, 10, …: counts of words, where decades alone would be too few."""
    steps = (1, 2, 5) if high < 1e4 else (1,)
    places = [step * 10**power for power in range(6) for step in steps]
    shown = [place for place in places if place <= high]
    return {"tickvals": shown, "ticktext": [f"{place:,}" for place in shown]}


_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_RARE = 1e-3  # a probability that is said as "1 in 4,000"
_LEAST, _MOST = 1e-4, 1e12  # numbers between them have no power of ten
_NOTHING = 0.01  # of one end: the other end says nothing of the size


def factor_label(exponent: int) -> str:
    """10^exponent as a factor: "1×", "10×", "1000×", "10⁶×"."""
    if 0 <= exponent <= 3:
        return f"{10**exponent}×"
    return f"10{str(exponent).translate(_SUPERSCRIPTS)}×"


def factor_text(log_factor: float, shown: Shown = ordinary) -> str:
    """A factor e^log_factor in words that stay readable when it is huge.

    Of a factor beyond 10¹⁰⁰⁰ only the power is said, to three digits: what it was computed from
    is not known better.

    Args:
        log_factor: natural logarithm of the factor; may be infinite.
        shown: how it is rounded: `outwards.ordinary`, `at_most` or `at_least`.
    """
    if math.isinf(log_factor):
        return "any factor" if log_factor > 0 else "0"
    if abs(log_factor) < math.log(1e4):
        return shown(without_noise(math.exp(log_factor)), 3)
    exponent = log_factor / math.log(10)
    if abs(exponent) >= 1000:
        return f"10{str(int(float(shown(exponent, 3)))).translate(_SUPERSCRIPTS)}"
    whole = math.floor(exponent)
    mantissa = float(shown(without_noise(10 ** (exponent - whole)), 2))
    if mantissa >= 10.0:
        mantissa, whole = 1.0, whole + 1
    return f"{mantissa:.1f}·10{str(whole).translate(_SUPERSCRIPTS)}"


def probability_text(value: float, low: float, high: float) -> str:
    """A probability with its interval, one-sided where the other side says nothing.

    Args:
        value: the estimate.
        low: lower end; equal to `high` for a number that is exact.
        high: upper end.
    """
    if low == high:
        return _chance(value)
    if one_sided(low, high):
        return f"at most {_chance(high, shown=at_most)}"
    if one_sided(1.0 - high, 1.0 - low):
        return f"at least {_rounded_down(low)}"
    return f"{_chance(value)} ({_chance(low, 2)} to {_chance(high, 2)})"


def _chance(probability: float, digits: int = 3, shown: Shown = ordinary) -> str:
    """A probability in three digits, or, where that would be hard to read, as a count."""
    if not 0 < probability < _RARE:
        return shown(probability, digits)
    # The larger the probability, the smaller the count.
    count = at_least if shown is at_most else ordinary
    return f"1 in {number(float(count(without_noise(1 / probability), digits)))}"


def one_sided(low: float, high: float) -> bool:
    """Whether the lower end of an interval says nothing about the size of a probability."""
    return low < _NOTHING * high


def _rounded_down(share: float) -> str:
    """A share next to 1 with two digits of what is missing."""
    first = math.floor(math.log10(without_noise(1.0 - share)))
    return at_least(share, places=1 - first)


def number(value: float, shown: Shown = ordinary) -> str:
    """A number for running text, to three digits: "22,000", "0.0312", "1.2·10⁻⁷".

    Args:
        value: it.
        shown: how it is rounded: `outwards.ordinary`, `at_most` or `at_least`.
    """
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    rounded = float(shown(value, 3))
    if not _LEAST <= abs(rounded) < _MOST:
        mantissa, _, exponent = f"{rounded:.2e}".partition("e")
        factor = f"{float(mantissa):g}"
        times = "" if factor == "1" else f"{factor}·"
        return f"{times}10{str(int(exponent)).translate(_SUPERSCRIPTS)}"
    return f"{rounded:,.0f}" if abs(rounded) >= 1000 else f"{rounded:g}"


def percent(share: float) -> str:
    """A share for running text, to three digits: "16%", "99.2%"; "100%" only of all."""
    return "over 99.9%" if 0.9995 <= share < 1 else f"{number(100 * share)}%"
