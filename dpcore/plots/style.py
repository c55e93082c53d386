"""One colour, dash and marker for each mechanism, the same on every page and in every figure.

The table was found by a search (simulated annealing over the colours that reach a contrast of 3:1
on a white and on a near-black ground) and then looked at. Tests compute what it keeps, as
differences by CIEDE2000, of which about 2 is just seen. Any two colours are 9 apart, and those of
responses over k neighbours, one family, 6. Where two mechanisms share a dash, or have marks of one
shape, they are 12 apart to everybody, the colour-blind included, and not equally dark in a print
without colours. Those that are shown together by default are 15 apart to everybody. Members of a
family (TEM and its calibration, Laplace noise in two norms) share a hue, and lightness, dash and
marker tell them apart. No mechanism of the table is grey: the lines that stand for none are.

What is no mechanism takes its colour from the Okabe-Ito palette (Okabe and Ito 2008).
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass

from dpcore.guarantee import EpsilonMeaning

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
"""Dashes that read as different on a thin line; of Plotly's own the length depends on its width."""

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
    """How one mechanism is drawn.

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
}
_STYLES["neighbour-response"] = _STYLES["neighbour-response, k = 10"]  # its default
_GREYS = ("#5F6A74", GREY, "#87929C")


def short_name(mechanism: str) -> str:
    """The name without its version: "tem.v1" gives "tem"."""
    return re.sub(r"\.v\d+$", "", mechanism)


def name_tag(mechanism: str) -> str:
    """The mark and the short name, as an axis shows them: narrow enough for a phone."""
    return f"{style_of(mechanism).glyph} {short_name(mechanism)}"


def style_of(name: str) -> Style:
    """The style of a mechanism or of a curve.

    Args:
        name: registry key ("tem.v1"), short name ("tem") or label of a curve: the name of a
            mechanism, a comma and a setting ("neighbour-response, k = 3").

    Returns:
        That of the table. A label that the table does not hold keeps the colour of its mechanism; a
        name that it does not hold is grey. Either has a dash and a marker that depend on the text
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
    """The style of a curve of a mechanism.

    Args:
        label: of the curve; it counts where it names the mechanism, as
            "neighbour-response, k = 3" does.
        mechanism: whose style the curve has else.
    """
    named = short_name(label.partition(", ")[0]) == short_name(mechanism)
    return style_of(label if named else mechanism)


INK = "#1B2229"
"""Letters on a tint, which is light on both themes."""


def faint(colour: str) -> str:
    """A hexadecimal colour as the fill of a band, through which a grid can be seen."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.16)"


def tint(colour: str, share: float) -> str:
    """A share of the colour, the rest almost white: legible under dark ink on both themes."""
    # 247 of 255: next to white, but not lost on a white page.
    mixed = [round(share * int(colour[i : i + 2], 16) + (1 - share) * 247) for i in (1, 3, 5)]
    return "#" + "".join(f"{part:02X}" for part in mixed)


@dataclass(frozen=True)
class Scale:
    """How an axis of one meaning of ε is labelled.

    Attributes:
        title: what the group of mechanisms is called.
        axis: the title of its axis.
        explanation: one sentence on what ε bounds.
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
        "The same promise as metric privacy, but useful only at huge values, so the axis is the "
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
