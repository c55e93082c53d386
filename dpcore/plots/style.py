"""One colour, dash and marker for each mechanism, the same on every page and in every figure.

The colours are from the Okabe-Ito palette (Okabe and Ito 2008) as far as they reach a contrast of
3:1 on a white and on a near-black ground, with a neutral grey as the fifth. A colour is used by
several mechanisms, so the dash and the marker tell apart what the colour does not: no two
mechanisms share all three, and those that are shown together by default differ in two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dpcore.guarantee import EpsilonMeaning

BLUE = "#0072B2"
VERMILION = "#D55E00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
GREY = "#7A8691"

GLYPHS = {
    "circle": "●", "square": "■", "diamond": "◆", "cross": "✚", "x": "✖",
    "triangle-up": "▲", "triangle-down": "▼", "triangle-left": "◀", "triangle-right": "▶",
    "pentagon": "⬟", "hexagon": "⬢", "star": "★", "hourglass": "⧗", "bowtie": "⧓",
    "triangle-se": "◢", "triangle-sw": "◣", "octagon": "⯃",
}  # fmt: skip
"""Plotly's marker symbols and the characters that look like them in running text."""


@dataclass(frozen=True)
class Style:
    """How one mechanism is drawn.

    Attributes:
        colour: hexadecimal, contrast at least 3:1 on both themes.
        dash: Plotly's name of the line dash.
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
    "madlib": Style(BLUE, "solid", "circle"),
    "mahalanobis": Style(PURPLE, "dash", "square"),
    "vickrey": Style(GREEN, "dot", "triangle-up"),
    "random-projection": Style(GREY, "dashdot", "cross"),
    "hyperbolic": Style(GREY, "longdash", "bowtie"),
    "tem": Style(VERMILION, "solid", "diamond"),
    "tem-calibrated": Style(VERMILION, "dash", "hourglass"),
    "truncated-gumbel": Style(PURPLE, "solid", "star"),
    "truncated-gumbel-repaired": Style(PURPLE, "dot", "pentagon"),
    "laplace": Style(GREEN, "dash", "triangle-down"),
    "l2-laplace": Style(GREEN, "solid", "triangle-left"),
    "gaussian": Style(BLUE, "dashdot", "hexagon"),
    "gaussian-classical": Style(BLUE, "dot", "triangle-right"),
    "trlaplace": Style(VERMILION, "dot", "x"),
    "trlaplace-corrected": Style(VERMILION, "longdash", "triangle-se"),
    "adept": Style(GREY, "dot", "triangle-sw"),
    "adept-l1": Style(GREY, "solid", "octagon"),
}
_OTHERS = tuple(
    Style(colour, "longdashdot", marker)
    for marker in ("circle", "square", "diamond", "star", "x")
    for colour in (GREY, BLUE, GREEN, PURPLE, VERMILION)
)


def short_name(mechanism: str) -> str:
    """The name without its version: "tem.v1" gives "tem"."""
    return re.sub(r"\.v\d+$", "", mechanism)


def name_tag(mechanism: str) -> str:
    """The mark and the short name, as an axis shows them: narrow enough for a phone."""
    return f"{style_of(mechanism).glyph} {short_name(mechanism)}"


def style_of(mechanism: str) -> Style:
    """The style of a mechanism, by registry key ("tem.v1") or short name ("tem").

    A name that the table does not hold gets a style of its own dash, always the same one.
    """
    short = short_name(mechanism)
    if short in _STYLES:
        return _STYLES[short]
    # The sum of its bytes: Python's own hash of a text differs from one process to the next.
    return _OTHERS[sum(short.encode()) % len(_OTHERS)]


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
