"""Data of the two panes at every ε, and the component that draws them.

The numbers of all ε are sent at once, so that discs move without a request to the server. Words
come from a lexicon that may be uploaded: they reach the browser as data alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.arrays import FloatArray
from dpcore.measure.maps.store import Map, Projection
from dpcore.measure.maps.table import NAMED
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.outwards import at_least, at_most
from dpcore.plots.maps.distances import SIDES
from dpcore.plots.maps.panes import (
    ALIKE,
    ALONE,
    COLOURS,
    CROWD,
    Guess,
    pane_caption,
    shortened,
    standings,
)
from pages.shared.dial import Group
from pages.shared.language import for_component, later, numeral, say
from pages.shared.session import admissible
from pages.words.bench import Fate, PairBench
from pages.words.tables import noise_of

# Sentences of the page's components, which fill their gaps.


PANES = {
    "gap": later("nearest word at {distance}"),
    "around": later("Words around {word}, by distance"),
    "away": later("{word}, distance {distance}"),
    "itself": later("{word}, the word itself"),
    "distance": later("distance {distance}"),
    "the word": later("the word itself"),
    "most": later("at most {chance}"),
    "interval": later("95 %: {low} to {high}"),
    "elsewhere": later("elsewhere: {chance}"),
    CROWD: later("In a crowd"),
    ALONE: later("Alone"),
    ALIKE: later("Nearly alike"),
    "guessed": later("guessed: {chance}"),
    "noise": later("median noise: {length}"),
    "always": later("practically always"),
    "never": later("practically never"),
    "in": later("{count} in {whole}"),
    "of": later("{count} of {whole}"),
    "undefined": later("{mechanism} is not defined at {reading}."),
    "one draw": later("One draw"),
    "hundred": later("A hundred"),
    "less protected": later("Try a less protected word"),
    "less protected help": later(
        "Puts a common word in the second place that is guessed clearly more often than the first "
        "one under this mechanism at this ε, another one each time. The sentence beside the "
        "buttons says by how much."
    ),
    "key": later(
        "10 of 100: area is probability. Rings are true distances, direction has no meaning."
    ),
    "sheet": later("Area is probability; rings are true distances; direction has no meaning."),
    "how": later("How is this computed?"),
    "how stands": later(
        "A word in the middle, its nearest words around it at their true distance in the vectors, "
        "in one scale for both panes. Directions are arranged for reading and have no meaning."
    ),
    "how guess": later(
        "Guessed: by someone who takes the word that comes out for the word that went in. "
        "Someone who knows more, such as how common words are, guesses at least as well on "
        "average. A word stands alone if it is guessed in at least 10 more of 100 outputs than "
        "the other; its near words are those in its pane."
    ),
    "kept": later("keeps {share} of neighbours"),
    "map key": later("10 of 100: area is probability. {name} of both neighbourhoods, one scale."),
    "map sheet": later("{name}: gaps are not distances. Area is probability."),
    "how map": later(
        "One {name} of the 60 nearest words of both words, cut out around each, in one scale. Gaps "
        "and areas of a map are not distances. In the corner: how many of the {compared} nearest "
        "words of a word in the pane are among its {compared} nearest on the map, on average. A "
        "hollow dot at the rim lies farther out."
    ),
    "how area": later(
        "The area of a disc is the probability that the word comes out, in one scale for both "
        "panes; a dot marks a word whose disc is too small to see. The arc at the rim is the share "
        "of all other words."
    ),
    "how noise": later(
        "The dashed ring is the median length of the noise, where noise is added to the vectors; "
        "an arrow at the rim stands for a ring farther out. Noise acts in all dimensions at once: "
        "it may be longer than every distance and still leave the word where it is."
    ),
    "how draws": later(
        "Draws are real, made with a fixed seed, and each is followed through all ε; the arrow of "
        "a draw points to the word that came out."
    ),
    "exact": later("Probabilities of {mechanism}: {detail}."),
    "estimated": later(
        "Probabilities of {mechanism}: {detail}, with intervals of level 95 % at each word."
    ),
    "long": later(" (noise {length} long)"),
    "became": later("{word} became {output}{noise}"),
    "stayed": later("{word} stayed{noise}"),
    "times": later("{word} stayed {count} times"),
    "times away": later("{word} stayed {count} times, went elsewhere {away}"),
    "sum": later("Of {count} draws each: {sums}."),
}

MAP = {
    "no webgl": later(
        "This browser offers no WebGL: the points are drawn without it, and may move less smoothly."
    ),
    "too old": later("This browser is too old to unpack the map: use a newer version."),
    "tap": later(
        "Tap a point or find a word: its true nearest words are listed here, and lines lead to "
        "them."
    ),
    "make first": later("Make it the first word"),
    "make second": later("Make it the second word"),
    "looking": later("Its nearest words are being looked up…"),
    "nearest": later("True nearest words of {word}, with their distances"),
    "find": later("Find a word by its beginning"),
    "offers": later("Words with this beginning"),
    "none": later("No word on this map contains that: try a shorter beginning."),
    "map": later("map"),
    "nearer": later("Zoom in"),
    "farther": later("Zoom out"),
    "whole": later("Whole map"),
    "waiting": later("Loading the words…"),
    "parked": later("{count} words that lie beyond the frame are drawn at its edge."),
    "focus": later("The word in focus"),
    "file": later("Save this view as {form}"),
    "legend": later("Mean distance to the {count} nearest words:"),
    "crowded": later("crowded, up to {distance}"),
    "to": later("to {distance}"),
    "alone": later("to {distance}, alone"),
    "pair": later("{word} and its nearest"),
    "keys": later(
        "{alt} Arrow keys move the map, plus and minus zoom, 0 shows the whole map, Enter selects "
        "the word in the middle."
    ),
}


TITLES_OF = {Projection.UMAP: "UMAP", Projection.DENSMAP: "densMAP", Projection.PCA: "PCA"}
_HERE = Path(__file__).parent
_WHOLE = 0.26
"""Radius of the disc of a probability of 1, in shares of the radius of a pane."""


@cache
def _component(name: str, *code: str, css: str | None = None) -> Callable[..., Any]:
    js = "\n".join((_HERE / part).read_text(encoding="utf-8") for part in code)
    style = None if css is None else (_HERE / css).read_text(encoding="utf-8")
    return st.components.v2.component(f"word_privacy_lab.{name}", css=style, js=js)


def panes(data: dict[str, Any], on_less_protected: Callable[[], None]) -> None:
    """Draw the two panes.

    Args:
        data: from `pane_data`, with `step`, the place of ε on the slider of its group, `map`, from
            `map_data` or None, `offers`, True if another second word can be asked for, and
            `none found`, the sentence that there is none, with a number, or None.
        on_less_protected: called when another second word is asked for.
    """
    # In this order: the scripts become one, and the later ones use the earlier.
    code = (
        "../shared/spoken.js",
        "../shared/outwards.js",
        "../shared/captioned.js",
        "../shared/svg_files.js",
        "pane.js",
        "play.js",
        "panes.js",
    )
    component = _component("panes", *code, css="panes.css")
    component(
        key="panes",
        data=data | for_component(PANES),
        on_less_protected_change=on_less_protected,
    )


def pane_data(
    bench: PairBench,
    mechanism: Mechanism,
    group: Group,
    steps: tuple[float, ...],
) -> dict[str, Any]:
    """Return the data of the panes for one mechanism at every step, rounded for sending.

    Args:
        bench: the two words.
        mechanism: mechanism whose outputs are shown.
        group: group of the mechanism.
        steps: the values of ε on its slider.
    """
    # The slider is the group's: this mechanism may be undefined at some of its steps.
    grid = admissible(mechanism).tolist()
    fates = [bench.fate(mechanism, place) for place in (0, 1)]
    guesses = [_guesses(fates, row) for row in range(len(grid))]
    noise = noise_of(mechanism)
    return {
        "group": group.name,
        "mechanism": mechanism.short,
        "readings": [group.reading(epsilon) for epsilon in steps],
        "rows": [grid.index(epsilon) if epsilon in grid else None for epsilon in steps],
        "captions": [
            say(
                pane_caption(
                    bench.pair.names, guess, f"{mechanism.short}, {group.reading(epsilon)}"
                )
            )
            for guess, epsilon in zip(guesses, grid, strict=True)
        ],
        "standings": [standings(guess) for guess in guesses],
        "exact": fates[0].chances.exact,
        "detail": fates[0].chances.detail,
        "noise": [_short(noise[epsilon].median) for epsilon in grid] if noise else None,
        "reach": bench.reach,
        "rings": bench.rings,
        "whole": _WHOLE,
        "panes": [_pane(bench, fates[place], place) for place in (0, 1)],
    }


def map_data(bench: PairBench, shown: Map) -> dict[str, Any]:
    """Return the places of the words in the panes on a map, instead of their true distances.

    Args:
        bench: the two words.
        shown: a map of their surroundings.
    """
    reach, cut = bench.insets(shown)
    spread = bench.spread(shown)
    return {
        "name": TITLES_OF[shown.projection],
        "reach": reach,
        "named": NAMED,
        "kept": [numeral(f"{inset.kept:.0%}") for inset in cut],
        "near": [_rounded(inset.near, 4) for inset in cut],
        "others": [_rounded(inset.others, 3) for inset in cut],
        "compared": shown.k,
        "note": ""
        if spread is None
        else say(
            "The {count} nearest words of “{second}” are {true:.3g} times as far from it as those "
            "of “{first}”; on this map {drawn:.3g} times.",
            count=spread.neighbours,
            first=shortened(bench.pair.names[0]),
            second=shortened(bench.pair.names[1]),
            true=spread.true,
            drawn=spread.drawn,
        ),
    }


def _guesses(fates: list[Fate], row: int) -> list[Guess]:
    return [
        Guess(*ends, float(chances.value[row, 1:-1].sum()))
        for chances in (fate.chances for fate in fates)
        for ends in [(float(chances.value[row, 0]), chances.low[row, 0], chances.high[row, 0])]
    ]


def _pane(bench: PairBench, fate: Fate, place: int) -> dict[str, Any]:
    pair, around = bench.pair, bench.pane(place)
    names = pair.lexicon.words
    word = pair.words[place]
    chances, arrangement = fate.chances, around.arrangement
    near = zip(
        around.neighbours.tolist(),
        around.distances.tolist(),
        arrangement.angles.tolist(),
        arrangement.sides.tolist(),
        strict=True,
    )
    return {
        "word": names[word],
        "gap": numeral(f"{pair.gaps[place]:.2g}"),
        "colour": COLOURS["ab"[place]],
        "near": [
            # Few digits, since all of it is sent, and a pane is a few hundred pixels wide.
            [names[i], _short(distance, 6), _short(angle, 5), SIDES[side]]
            for i, distance, angle, side in near
        ],
        "chances": _rounded(chances.value, 4),
        "ends": None
        if chances.exact
        else [_ends(chances.low, at_least), _ends(chances.high, at_most)],
        **_drawn(bench, fate, place),
    }


def _drawn(bench: PairBench, fate: Fate, place: int) -> dict[str, Any]:
    """Return a hundred draws: the row from which each output appears, and the noise lengths.

    An output is a place: 0 is the word itself, then come its neighbours, then `others`.
    """
    word, around, draws = bench.pair.words[place], bench.pane(place), fate.draws
    shown = [word, *around.neighbours.tolist()]
    others = np.setdiff1d(draws.outputs, shown)
    code = {index: i for i, index in enumerate([*shown, *others.tolist()])}
    paths = []
    for outputs in draws.outputs.tolist():
        # Only changes: along the whole slider a draw passes through a few words.
        changes = [0, *(i for i in range(1, len(outputs)) if outputs[i] != outputs[i - 1])]
        paths.append([part for i in changes for part in (i, code[outputs[i]])])
    far = bench.pair.distances(word)[others]
    angles = bench.directions(place, others)
    names = bench.pair.lexicon.words
    elsewhere = zip(others.tolist(), far.tolist(), angles.tolist(), strict=True)
    lengths = draws.lengths
    return {
        "others": [[names[i], _short(d, 3), _short(angle)] for i, d, angle in elsewhere],
        "paths": paths,
        # ε only scales the noise: the lengths of the first row, and the share of them that is left.
        "lengths": None if lengths is None else [_short(x, 5) for x in lengths[:, 0].tolist()],
        "scales": None
        if lengths is None
        else [_short(x, 5) for x in (lengths[0] / lengths[0, 0]).tolist()],
    }


def pane_table(bench: PairBench, mechanism: Mechanism) -> pd.DataFrame:
    """Return the numbers behind the panes: one row per word, output and ε."""
    parts = []
    for place, name in enumerate(bench.pair.names):
        around, chances = bench.pane(place), bench.fate(mechanism, place).chances
        # "" is everything elsewhere; a word of the lexicon is never empty.
        outputs = [name, *(bench.pair.lexicon.words[i] for i in around.neighbours.tolist()), ""]
        count, rows = len(outputs), len(chances.epsilons)
        parts.append(
            pd.DataFrame(
                {
                    "mechanism": mechanism.short,
                    "epsilon": np.repeat(chances.epsilons, count),
                    "word": name,
                    "output": outputs * rows,
                    "elsewhere": [*[False] * (count - 1), True] * rows,
                    "distance": [0.0, *around.distances.tolist(), np.nan] * rows,
                    "probability": chances.value.ravel(),
                    "low": chances.low.ravel(),
                    "high": chances.high.ravel(),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def _rounded(values: FloatArray, digits: int) -> list[float]:
    return [_short(value, digits) for value in values.ravel().tolist()]


def _ends(values: FloatArray, rounded: Callable[..., str]) -> list[float]:
    """Round ends of intervals outwards, to the few digits that the browser shows."""
    return [float(rounded(value, 2)) for value in values.ravel().tolist()]


def _short(value: float, digits: int = 4) -> float:
    return float(f"{value:.{digits}g}")
