"""Style of all figures: one colour, dash and marker for each mechanism, axes, numbers, captions.

The table of styles was found by a search (simulated annealing over the colours that reach a
contrast of 3:1 on a white and on a near-black ground) and then checked by eye. Tests compute its
properties, as differences by CIEDE2000, of which about 2 is just visible. Any two colours are 9
apart, and those of responses over k neighbours, one family, 6. Where two mechanisms share a dash,
or have marks of one shape, they are 12 apart to everyone, the colour-blind included, and not
equally dark in a print without colours. Those that are shown together by default are 15 apart to
everyone. Members of a family (TEM and its calibration, Laplace noise in two norms) share a hue, and
lightness, dash and marker tell them apart. No mechanism of the table is grey: grey is for lines of
no mechanism.

Anything that is no mechanism takes its colour from the Okabe-Ito palette (Okabe and Ito 2008).
"""

from __future__ import annotations

import html
import math
import re
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcore.guarantee import EpsilonMeaning
from dpcore.outwards import Shown, at_least, at_most, ordinary, without_noise
from dpcore.plots.attack.words import limit_text
from dpcore.written import Filled, Named, as_numeral, listed

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


BLUE = "#0072B2"
VERMILION = "#D55E00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
GREY = "#7A8691"

SOLID, DOT, DASH, LONG_DASH = "solid", "dot", "dash", "longdash"
DASH_DOT, LONG_DASH_DOT = "dashdot", "longdashdot"
SPARSE = "3px,9px"
NICKED = "16px,4px"
THREE_DOTS = "3px,3px,3px,3px,3px,12px"
DASH_THREE_DOTS = "14px,4px,3px,4px,3px,4px,3px,4px"
DASHES = (
    SOLID, DOT, DASH, LONG_DASH, DASH_DOT, LONG_DASH_DOT, SPARSE, NICKED, THREE_DOTS,
    DASH_THREE_DOTS,
)  # fmt: skip
"""Dashes that look different on a thin line; the length of Plotly's own depends on its width."""

# Characters that Windows, macOS, Android and Linux have in a font that comes with them, and none
# that a phone shows as an emoji (▶ and ✖ are among those).
GLYPHS = {
    "circle": "●", "square": "■", "diamond": "◆", "cross": "✚", "x": "✕",
    "triangle-up": "▲", "triangle-down": "▼", "triangle-left": "◄", "triangle-right": "►",
    "triangle-ne": "◥", "triangle-nw": "◤", "triangle-se": "◢", "triangle-sw": "◣",
    "pentagon": "⬟", "hexagon": "⬢", "star": "★", "hexagram": "✶", "star-diamond": "✦",
    "diamond-tall": "⧫", "bowtie": "⋈",
}  # fmt: skip
"""Plotly's marker symbols and the characters that look like them in running text."""


@dataclass(frozen=True)
class Style:
    """Look of one mechanism.

    Attributes:
        colour: hexadecimal, contrast at least 3:1 on both themes.
        dash: of the line: Plotly's name, or lengths of strokes and gaps in pixels.
        marker: Plotly's name of the marker symbol.
    """

    colour: str
    dash: str
    marker: str

    @property
    def glyph(self) -> str:
        """The marker as one character."""
        return GLYPHS[self.marker]


_STYLES = {
    "madlib": Style("#4899D8", SOLID, "circle"),
    "mahalanobis": Style("#AB9000", THREE_DOTS, "square"),
    "vickrey": Style("#007563", DASH, "triangle-up"),
    "random-projection": Style("#637E48", SPARSE, "cross"),
    "tem": Style("#905A1B", NICKED, "diamond"),
    "tem-calibrated": Style("#B48763", DASH_THREE_DOTS, "bowtie"),
    "optimal": Style("#369099", DOT, "star"),
    "truncated-gumbel": Style("#F32D7E", DASH, "pentagon"),
    "truncated-gumbel-repaired": Style("#C6005A", DOT, "hexagram"),
    "laplace": Style("#755A7E", SPARSE, "triangle-down"),
    "l2-laplace": Style("#A25AFC", THREE_DOTS, "triangle-left"),
    "gaussian": Style("#6348E1", LONG_DASH_DOT, "hexagon"),
    "gaussian-classical": Style("#7E87FC", DASH_DOT, "triangle-right"),
    "trlaplace": Style("#F36375", NICKED, "x"),
    "trlaplace-corrected": Style("#EA003F", DASH_DOT, "star-diamond"),
    "adept": Style("#E1753F", LONG_DASH, "diamond-tall"),
    "adept-l1": Style("#CF1200", DASH_THREE_DOTS, "triangle-sw"),
    "k-ary": Style("#09A287", LONG_DASH_DOT, "triangle-nw"),
    "neighbour-response, k = 3": Style("#A50FD2", SOLID, "triangle-ne"),
    "neighbour-response, k = 10": Style("#9B5AB9", LONG_DASH, "square"),
    "neighbour-response, k = 30": Style("#A573B4", NICKED, "triangle-se"),
    "neighbour-response, k = 100": Style("#BE78DC", SPARSE, "cross"),
    "santext": Style("#7E7500", LONG_DASH_DOT, "circle"),
    "santext-plus": Style("#909951", DOT, "star"),
    "custext": Style("#4863FC", DOT, "hexagram"),
    "wbb": Style("#126C99", DASH_DOT, "x"),
    "rantext": Style("#12AB00", DASH, "triangle-up"),
    "diffractor": Style("#905163", LONG_DASH, "square"),
    "syntf": Style("#24752D", THREE_DOTS, "bowtie"),
    "budget": Style("#BD635A", SOLID, "triangle-nw"),
    "hyperbolic": Style("#7E75AB", DASH_THREE_DOTS, "diamond"),
    "vmf": Style("#AB5692", THREE_DOTS, "triangle-up"),
    "purkayastha": Style("#C46879", DASH_DOT, "triangle-down"),
}
_STYLES["neighbour-response"] = _STYLES["neighbour-response, k = 10"]  # its default
_GREYS = ("#5F6A74", GREY, "#87929C")


def short_name(mechanism: str) -> str:
    """Return the name without its version: "tem.v1" gives "tem"."""
    return re.sub(r"\.v\d+$", "", mechanism)


def name_tag(mechanism: str) -> str:
    """Return the mark and the short name, as an axis shows them: narrow enough for a phone."""
    return f"{style_of(mechanism).glyph} {short_name(mechanism)}"


def style_of(name: str) -> Style:
    """Return the style of a mechanism or of a curve.

    Args:
        name: registry key ("tem.v1"), short name ("tem") or label of a curve: the name of a
            mechanism, a comma and a setting ("neighbour-response, k = 3").

    Returns:
        That of the table. A label that is not in the table keeps the colour of its mechanism; a
        name that is not in it is grey. Either has a dash and a marker that depend on the text
        alone.
    """
    mechanism, comma, setting = name.partition(", ")
    mechanism = short_name(mechanism)
    label = mechanism + comma + setting
    if label in _STYLES:
        return _STYLES[label]
    # Python's own hash of a text differs from one process to the next.
    place = zlib.crc32(label.encode())
    own = _STYLES.get(mechanism)
    if own is None:
        place, i = divmod(place, len(_GREYS))
        return _drawn_from(place, _GREYS[i], DASHES, tuple(GLYPHS))
    dashes = tuple(dash for dash in DASHES if dash != own.dash)
    markers = tuple(marker for marker in GLYPHS if marker != own.marker)
    return _drawn_from(place, own.colour, dashes, markers)


def _drawn_from(
    place: int, colour: str, dashes: tuple[str, ...], markers: tuple[str, ...]
) -> Style:
    place, i = divmod(place, len(dashes))
    return Style(colour, dashes[i], markers[place % len(markers)])


def curve_style(label: str, mechanism: str) -> Style:
    """Return the style of a curve of a mechanism.

    Args:
        label: of the curve; it counts where it names the mechanism, as
            "neighbour-response, k = 3" does.
        mechanism: whose style the curve has otherwise.
    """
    named = short_name(label.partition(", ")[0]) == short_name(mechanism)
    return style_of(label if named else mechanism)


INK = "#1B2229"
"""Colour of letters on a tint, which is light on both themes."""


def faint(colour: str) -> str:
    """Return a hexadecimal colour as the fill of a band, through which a grid can be seen."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.16)"


def tint(colour: str, share: float) -> str:
    """Mix a share of the colour with near-white: legible under dark ink on both themes."""
    # 247 of 255: next to white, but not lost on a white page.
    mixed = [round(share * int(colour[i : i + 2], 16) + (1 - share) * 247) for i in (1, 3, 5)]
    return "#" + "".join(f"{part:02X}" for part in mixed)


@dataclass(frozen=True)
class Scale:
    """Labels and look of one meaning of ε.

    Attributes:
        title: name of the group of mechanisms.
        axis: the title of its axis.
        explanation: one sentence on the bound that ε gives.
        colour: of the group, hexadecimal.
        dash: of the group.
        marker: of the group.
    """

    title: str
    axis: str
    explanation: str
    colour: str
    dash: str
    marker: str


SCALES = {
    EpsilonMeaning.METRIC: Scale(
        "Metric privacy",
        "ε per unit of distance",
        "ε is multiplied by the distance of two words: near words are harder to tell apart "
        "than far ones.",
        BLUE,
        "solid",
        "circle",
    ),
    EpsilonMeaning.METRIC_LOG: Scale(
        "Metric privacy, in ln ε",
        "ln ε (ε per unit of distance)",
        "The same guarantee as metric privacy, but useful only at huge values, so the axis is the "
        "natural logarithm of ε.",
        PURPLE,
        "dash",
        "star",
    ),
    EpsilonMeaning.LOCAL: Scale(
        "Local privacy",
        "ε between any two words",
        "ε bounds the odds between any two words of the vocabulary, near or far.",
        GREEN,
        "dot",
        "triangle-down",
    ),
    EpsilonMeaning.LOCAL_APPROXIMATE: Scale(
        "Approximate local privacy",
        "ε between any two words, up to δ",
        "ε bounds the odds between any two words, except with a probability of δ.",
        VERMILION,
        "dashdot",
        "x",
    ),
}


# Common to all figures: margins, axes without clutter, text that cannot be markup.


# A sample of a line must be long enough for its dash to be seen on both sides of the mark.
LEGEND = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "itemwidth": 44}
"""Names of curves in lines above the figure, where a phone has room for them."""
LEGEND_CLOSE = LEGEND | {"y": 1.0}
"""The same, directly on top of the figure."""
NAMED: dict[str, Any] = {"legend": LEGEND, "margin": {"l": 8, "r": 16, "t": 90, "b": 8}}
"""Layout of a figure whose legend may take three lines above it."""
_USUAL, _LARGE = 13, 16  # pixels: of the theme (12 to 14), and for a projector


def plain(text: str) -> str:
    """Escape text for Plotly, which would read tags and entities as markup."""
    return html.escape(text, quote=False)


def base_layout(**more: object) -> dict[str, Any]:
    """Return a layout of the common settings; `more` adds to it or replaces a setting.

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
    """Copy a figure with letters for a projector; its size and the places of its marks stay.

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
    """Return an axis that makes room for its labels."""
    settings: dict[str, Any] = {"automargin": True, "zeroline": False, "showgrid": True}
    if title is not None:
        settings["title"] = {"text": title}
    return settings | more


def epsilon_axis(title: str, epsilons: pd.Series, logarithm: bool) -> dict[str, Any]:
    """Return the ε axis from the smallest to the largest ε: evenly in ln ε, or in decades of ε."""
    ends = epsilons.min(), epsilons.max()
    if logarithm:
        return axis(title, fixedrange=True, range=[math.log(end) for end in ends])
    # Plotly takes the ends of a logarithmic axis as powers of ten.
    powers = [math.log10(end) for end in ends]
    return axis(title, fixedrange=True, range=powers, type="log", dtick=1)


def epsilon_hover(logarithm: bool) -> str:
    """Return the hover text of a value at an ε, on either axis."""
    return "%{y:.3g} at ln ε = %{x:.4g}" if logarithm else "%{y:.3g} at ε = %{x:.4g}"


def note(text: str, x: float, y: float, **more: object) -> dict[str, Any]:
    """Return text in a figure without an arrow, as one of Plotly's annotations."""
    return {"text": text, "x": x, "y": y, "showarrow": False} | more


def powers_of_ten(low: float, high: float, most: int = 8) -> tuple[list[float], list[str]]:
    """Return ticks of an axis that shows log10 of a factor: whole powers between two ends.

    Returns:
        Positions (whole numbers) and labels ("1×", "10×", "10⁶×"), at most `most`.
    """
    first, last = math.floor(low), math.ceil(high)
    step = max(1, math.ceil((last - first) / (most - 1)))
    start = step * math.ceil(first / step)
    places = list(range(start, last + 1, step))
    return [float(place) for place in places], [factor_label(place) for place in places]


def whole_ticks(high: float) -> dict[str, object]:
    """Return ticks at 1, 2, 5, 10, …: counts of words, where decades alone would be too few."""
    steps = (1, 2, 5) if high < 1e4 else (1,)
    places = [step * 10**power for power in range(6) for step in steps]
    shown = [place for place in places if place <= high]
    return {"tickvals": shown, "ticktext": [f"{place:,}" for place in shown]}


_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_RARE = 1e-3  # below it a probability is shown as "1 in 4,000"
_LEAST, _MOST = 1e-4, 1e12  # numbers between them have no power of ten
_NOTHING = 0.01  # of one end: a smaller other end is uninformative


def factor_label(exponent: int) -> str:
    """Format 10^exponent as a factor: "1×", "10×", "1000×", "10⁶×"."""
    if 0 <= exponent <= 3:
        return f"{10**exponent}×"
    return f"10{str(exponent).translate(_SUPERSCRIPTS)}×"


@as_numeral
def factor_text(log_factor: float, shown: Shown = ordinary) -> str:
    """Format a factor e^log_factor so that it stays readable when it is huge.

    Of a factor beyond 10¹⁰⁰⁰ only the power is given, to three digits: its logarithm is not known
    more precisely.

    Args:
        log_factor: natural logarithm of the factor; may be infinite.
        shown: rounding: `outwards.ordinary`, `at_most` or `at_least`.
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


@as_numeral
def probability_text(value: float, low: float, high: float) -> str:
    """Format a probability with its interval, one-sided where the other end is uninformative.

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
    for digits in (2, 3, 4):  # as many as it takes to tell the ends from each other
        ends = _chance(low, digits), _chance(high, digits)
        if ends[0] != ends[1]:
            break
    return f"{_chance(value)} ({ends[0]} to {ends[1]})"


def _chance(probability: float, digits: int = 3, shown: Shown = ordinary) -> str:
    """Format a probability in three digits, or, where that would be hard to read, as a count."""
    if not 0 < probability < _RARE:
        return shown(probability, digits)
    # The larger the probability, the smaller the count.
    count = at_least if shown is at_most else ordinary
    return f"1 in {number(float(count(without_noise(1 / probability), digits)))}"


def one_sided(low: float, high: float) -> bool:
    """Return True if the lower end of an interval says nothing about the size of a probability."""
    return low < _NOTHING * high


def _rounded_down(share: float) -> str:
    """Round a share next to 1 down, with two digits of its distance from 1."""
    first = math.floor(math.log10(without_noise(1.0 - share)))
    return at_least(share, places=1 - first)


@as_numeral
def number(value: float, shown: Shown = ordinary) -> str:
    """Format a number for running text, to three digits: "22,000", "0.0312", "1.2·10⁻⁷".

    Args:
        value: the number.
        shown: rounding: `outwards.ordinary`, `at_most` or `at_least`.
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


@as_numeral
def percent(share: float) -> str:
    """Format a share for running text, to three digits: "16%", "99.2%"; "100%" only of all."""
    return "over 99.9%" if 0.9995 <= share < 1 else f"{number(100 * share)}%"


# Captions below a figure, and sentences under sliders and tallies, which have no figure.


MOST_WORDS = 25
"""Largest number of words of a finding."""


@dataclass(frozen=True)
class Caption:
    """Caption of a figure, from the table that it is drawn from.

    Attributes:
        finding: the main result, in at most `MOST_WORDS` words.
        how: all numbers that are read from it, and how they were computed.
    """

    finding: str
    how: str

    @property
    def alternative(self) -> str:
        """Text alternative of the figure, for screen readers."""
        return listed((self.finding, self.how), " ")


def epsilon_reading(meaning: EpsilonMeaning, epsilon: float, nearest: float | None) -> str:
    """Describe the bound that a value of ε claims: the factor on odds from one output.

    Args:
        meaning: of ε.
        epsilon: its value.
        nearest: typical distance of a word of the text to its nearest neighbour; None if unknown.
    """
    numeral = number(epsilon)
    if meaning in (EpsilonMeaning.LOCAL, EpsilonMeaning.LOCAL_APPROXIMATE):
        return Filled(
            "ε = {epsilon}: one output may multiply the odds between any two words by e^{epsilon}: "
            "{limit}.",
            epsilon=numeral,
            limit=limit_text(epsilon),
        )
    if nearest is None:
        return Filled("ε = {epsilon} per unit of distance.", epsilon=numeral)
    near = float(f"{nearest:.3g}")  # so that the reader's calculator comes to the same
    return Filled(
        "ε = {epsilon}: one output may multiply the odds by e^({epsilon} × {near:g}) against a "
        "nearest word {near:g} away: {limit}.",
        epsilon=numeral,
        near=near,
        limit=limit_text(epsilon * near),
    )


def tally_caption(word: str, kept: int, different: int, draws: int, title: str) -> str:
    """Describe many draws: in how many the word stayed, and how many different outputs came."""
    if different == 1:
        outputs = Filled("1 different word")
    else:
        outputs = Filled("{different} different words", different=different)
    return Filled(
        "{title}: in {draws} draws “{word}” stayed {kept} times and became {outputs}.",
        title=Named(title),
        draws=draws,
        word=word,
        kept=kept,
        outputs=outputs,
    )
