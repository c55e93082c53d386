"""Maps of words with the probabilities of outputs, captions of two panes, and map colours."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd

from dpcore.plots.attack.words import chance_at_most, chance_text
from dpcore.plots.style import (
    BLUE,
    VERMILION,
    Caption,
    percent,
)
from dpcore.written import Filled, Numeral, as_numeral, listed

POINT_COLUMNS = ("word", "x", "y", "role", "kept")
"""One row for each point; `role` is background, near_a, near_b, centre_a or centre_b."""

MASS_COLUMNS = ("word", "x", "y", "source", "mass")
"""One row for each possible output word; `source` is a or b, `mass` its probability."""

COLOURS = {"a": BLUE, "b": VERMILION}
MARKERS = {"a": "circle", "b": "diamond"}


def map_caption(
    projection: str,
    words: int,
    of: int,
    kept: float,
    k: int,
    density: float,
    masses: pd.DataFrame | None = None,
    setting: str = "",
    drawn: pd.DataFrame | None = None,
) -> Caption:
    """Describe a map and its losses, from the numbers that it is drawn from.

    Args:
        projection: umap, densmap or pca.
        words: mapped words.
        of: words of the lexicon.
        kept: mean share of the k nearest words that are nearest on the map.
        k: neighbours compared.
        density: rank correlation of true crowdedness and that on the map; NaN if undefined.
        masses: columns word, on_map (probability that the output is a mapped word); one row an
            input word.
        setting: mechanism and ε in words.
        drawn: the columns `MASS_COLUMNS`, as in the figure: how much of the mass it draws.
    """
    name = {"umap": "UMAP", "densmap": "densMAP", "pca": "PCA"}.get(projection, projection)
    share = Numeral(f"{kept:{'.0%' if kept >= 0.02 else '.1%'}}")
    sentences: list[str] = [
        Filled(
            "{name} of {words:,} of {of:,} words: of the {k} nearest words of a word, this map "
            "keeps {share} among the {k} nearest.",
            name=name,
            words=words,
            of=of,
            k=k,
            share=share,
        )
    ]
    if not math.isnan(density):
        sentences.append(
            Filled(
                "Crowded places stay crowded with a rank correlation of {density:.2f} (1: all, 0: "
                "nothing of it).",
                density=density,
            )
        )
    if masses is not None and len(masses):
        shares = listed(
            Filled("{share} of the outputs of “{word}”", share=percent(share), word=word)
            for word, share in zip(masses["word"], masses["on_map"].tolist(), strict=True)
        )
        sentences.append(
            Filled("{setting}: {shares} fall on words of this map.", setting=setting, shares=shares)
        )
    if drawn is not None:
        sources, mass = drawn["source"].to_numpy(), drawn["mass"].to_numpy()
        shown = [percent(mass[sources == name].sum()) for name in sorted(set(sources.tolist()))]
        if shown:
            sentences.append(
                Filled(
                    "The {words:,} output words that are drawn hold {shares}.",
                    words=len(drawn),
                    shares=_both(shown),
                )
            )
        else:
            sentences.append(
                Filled(
                    "No output is likely enough to be drawn: the mass is spread over too many "
                    "words."
                )
            )
    finding = Filled(
        "Of the {k} nearest words, this {name} map keeps {share}: gaps on it are not distances.",
        k=k,
        name=name,
        share=share,
    )
    return Caption(finding, listed(sentences, " "))


def _both(parts: Sequence[str]) -> str:
    """Join one text or two."""
    first, *others = parts
    return Filled("{first} and {second}", first=first, second=others[0]) if others else first


# Captions of two panes, one for each word: recomputed at every ε of the slider.


_LONGEST = 24  # letters of a word in a sentence
_NEVER = 1e-6
_SEEN = 0.1  # of the upper end: an estimate below it tells no more than that end
_WORDS = 25  # in a finding

CROWD, ALONE, ALIKE, UNKNOWN = "crowd", "alone", "alike", ""
"""Standing of one of two words by how often it is guessed; unknown if estimates overlap."""

APART = 0.1
"""A word stands alone if it is guessed in so many more of its outputs than the other."""


@dataclass(frozen=True)
class Guess:
    """Share of one word's outputs that are the word itself, at one ε.

    Someone who takes the output for the input word is right in this share.

    Attributes:
        value: the share.
        low: lower end of its interval; `value` if it is exact.
        high: upper end.
        near: share of the outputs that are one of its nearest words: its crowd.
    """

    value: float
    low: float
    high: float
    near: float


def standings(guesses: Sequence[Guess]) -> tuple[str, str]:
    """Say which of two words stands alone at one ε, and which has a crowd.

    The one that is guessed in at least 10 more of 100 outputs stands alone.
    """
    first, second = guesses
    if first.low != first.high and first.low <= second.high and second.low <= first.high:
        return UNKNOWN, UNKNOWN
    if abs(first.value - second.value) < APART:
        return ALIKE, ALIKE
    return (ALONE, CROWD) if first.value > second.value else (CROWD, ALONE)


def pane_caption(names: Sequence[str], guesses: Sequence[Guess], setting: str) -> str:
    """Say which of two words is guessed more often at one ε, in at most 25 words.

    Args:
        names: of the two words.
        guesses: of both.
        setting: mechanism and ε in words: "tem, ε = 3".
    """
    if all(guess.low > 1.0 - _NEVER for guess in guesses):
        return Filled(
            "{setting}: both words stay in practically every draw: neither is hidden.",
            setting=setting,
        )
    short = [shortened(name) for name in names]
    often = [_often(guess) for guess in guesses]
    standing = standings(guesses)
    if ALONE in standing:
        alone = standing.index(ALONE)
        other: str = often[1 - alone]
        if often[alone].endswith(_OF):
            other = Numeral(other.removesuffix(_OF))
        return Filled(
            "{setting}: “{alone}” stands alone, guessed in {often} outputs; “{other}”, in a crowd, "
            "in {seldom}.",
            setting=setting,
            alone=short[alone],
            often=often[alone],
            other=short[1 - alone],
            seldom=other,
        )
    *others, last = dict.fromkeys(often)
    if all(each.endswith(_OF) for each in often):
        others = [Numeral(each.removesuffix(_OF)) for each in others]
    filling = {
        "setting": setting,
        "first": short[0],
        "second": short[1],
        "shares": _both([*others, last]),
    }
    if UNKNOWN in standing:
        return Filled(
            "{setting}: “{first}” and “{second}” are guessed in {shares} outputs: the estimates do "
            "not tell them apart.",
            **filling,
        )
    why = Filled(
        "{setting}: “{first}” and “{second}” are guessed nearly alike, in {shares} outputs; near "
        "words take {near:.0f} and {other_near:.0f}.",
        near=100 * guesses[0].near,
        other_near=100 * guesses[1].near,
        **filling,
    )
    # With a long reading of ε, the reason would make the finding too long.
    if len(why.split()) <= _WORDS:
        return why
    return Filled(
        "{setting}: “{first}” and “{second}” are guessed nearly alike, in {shares} outputs.",
        **filling,
    )


_OF = " of 100"


@as_numeral
def _often(guess: Guess) -> str:
    """Format a share of the outputs: "30 of 100", "practically no", "at most 1 of 90"."""
    if guess.value < _SEEN * guess.high:  # of too few observations for a number
        return f"at most {_count(guess.high, chance_at_most)}"
    return _count(guess.value)


def _count(probability: float, written: Callable[[float], str] = chance_text) -> str:
    if probability < _NEVER:
        return "practically no"
    much = written(probability)
    return much.replace(" in ", " of ") if much[0].isdigit() else "nearly all"


def shortened(word: str) -> str:
    """Shorten a word for a sentence."""
    return word if len(word) <= _LONGEST else f"{word[: _LONGEST - 1]}…"


# Colours of crowded and of lonely words on the map of a whole vocabulary.
#
# A dark ground needs other colours than a light one, so there is a scale for each. On both the
# crowded words stand out most, lightness alone tells the order (to the colour-blind, and in print),
# and every colour has a contrast of at least 3:1. The stops are those of viridis (Smith and van der
# Walt 2015), from its dark half on white and from its light half on dark.


LIGHT = ("#440154", "#46327E", "#365C8D", "#277F8E", "#1D938A")
"""Colours on a light ground, the most crowded class first."""

DARK = ("#FDE725", "#A0DA39", "#4AC16D", "#1FA187", "#277F8E")
"""Colours on a dark ground, the most crowded class first."""

CLASSES = len(LIGHT)
"""Number of classes of equal size, by the mean distance to the nearest words."""
