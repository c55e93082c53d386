"""Tables of the page Words, from its measurements."""

from __future__ import annotations

import base64
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from dpcore.guarantee import Status
from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.density import (
    STRATA,
    NoiseRadius,
    VocabularyDensity,
    extremes,
    noise_radii,
    ordinary_words,
)
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.outwards import at_most
from dpcore.plots.maps.distances import NOISE_COLUMNS
from dpcore.plots.style import name_tag, percent, probability_text, style_of
from dpcore.written import Filled
from pages.shared.language import numeral, say
from pages.shared.once import once
from pages.shared.session import admissible
from pages.words.bench import Measurements, PairBench


def facts_table(bench: PairBench, density: VocabularyDensity | None, radius: float) -> pd.DataFrame:
    """Return facts of both words as text: columns fact, first, second."""
    pair = bench.pair
    around = [bench.around(place, radius) for place in (0, 1)]
    k = around[0].neighbours.size
    rows: list[tuple[str, str, str]] = []

    def add(fact: str, *values: str) -> None:
        rows.append((fact, values[0], values[1]))

    add(Filled("nearest word"), *(pair.lexicon.words[a.neighbours[0]] for a in around))
    add(Filled("distance to it, δ"), *(_digits(a.nearest) for a in around))
    mean = Filled("mean distance, nearest {count}", count=k)
    add(mean, *(_digits(a.mean_distance) for a in around))
    within = Filled("other words within {radius:.4g}", radius=radius)
    add(within, *(_count(a.within) for a in around))
    if density is not None:
        strata, n = density.strata(), density.nearest.size
        words = pair.words
        add(Filled("stratum"), *(Filled(str(STRATA[strata[w]])) for w in words))
        add(
            Filled("words with nearer words"),
            *(numeral(percent((density.nearest < density.nearest[w]).sum() / n)) for w in words),
        )
        add(
            Filled("hubness among {count} nearest", count=density.k),
            *(_count(density.hubness[w]) for w in words),
        )
    # Objects: a column of strings would lose the templates that `Filled` cells are translated by.
    return pd.DataFrame(rows, columns=["fact", "first", "second"], dtype=object)


def _digits(value: float) -> str:
    return Filled("{value:.4g}", value=value)


def _count(number: Any) -> str:
    return Filled("{number:,}", number=number)


def neighbour_table(bench: PairBench, place: int) -> pd.DataFrame:
    """Return the nearest words of one word, nearest first: columns word, distance."""
    around = bench.around(place)
    words = bench.pair.lexicon.words
    return pd.DataFrame(
        {"word": [words[i] for i in around.neighbours.tolist()], "distance": around.distances}
    )


def extremes_table(
    words: Lexicon, density: VocabularyDensity, count: int, end: int
) -> pd.DataFrame:
    """Return the densest (end 0) or sparsest (end 1) ordinary words, most extreme first."""
    chosen = extremes(density, count, ordinary_words(words))[end]
    strata = density.strata()
    return pd.DataFrame(
        {
            "word": [words.words[i] for i in chosen.tolist()],
            "distance": density.nearest[chosen].astype(np.float64),
            "hubness": density.hubness[chosen],
            "stratum": [str(STRATA[i]) for i in strata[chosen]],
        }
    )


def pair_table(measured: list[Measurements], epsilons: dict[str, float]) -> pd.DataFrame:
    """Return both words under every mechanism at its chosen ε (by key), for people; ± is 2 s.e."""
    rows = []
    for part in measured:
        key = part.mechanism
        # Nothing where the mechanism is undefined, or this ε is not measured yet.
        for row in part.rows.get(epsilons[key], []):
            exact = bool(row["exact"])
            rows.append(
                {
                    "mark": swatch(key),
                    "mechanism": name_tag(key),
                    "epsilon": numeral(f"{row['epsilon']:,.5g}"),
                    "word": row["word"],
                    "nw": numeral(probability_text(row["nw"], row["nw_low"], row["nw_high"])),
                    "attack_nearest": _against(row, "attack_nearest", exact),
                    "attack": _against(row, "attack", exact),
                    "distance": _with_error(row["output_distance"], row["output_distance_error"]),
                    "relative": numeral(f"{row['output_distance_relative']:.2g}"),
                    "sw": _with_error(row["sw"], row["sw_standard_error"]),
                    "effective": _effective(row["effective"]),
                }
            )
    return pd.DataFrame(rows)


@cache
def swatch(mechanism: str) -> str:
    """Return the mark of a mechanism in its colour, as an image that is part of the page itself."""
    style = style_of(mechanism)
    drawing = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16">'
        '<text x="8" y="14" font-family="sans-serif" font-size="16" text-anchor="middle" '
        f'fill="{style.colour}">{style.glyph}</text></svg>'
    )
    # Not a file of the server: the page's rules allow pictures from itself and from data.
    return "data:image/svg+xml;base64," + base64.b64encode(drawing.encode()).decode()


def noisy(mechanisms: list[Mechanism]) -> tuple[str, ...]:
    """Return the names of the mechanisms that add noise to vectors, at any ε."""
    return tuple(name_tag(mechanism.key) for mechanism in mechanisms if noise_of(mechanism))


def noise_table(mechanisms: list[Mechanism], epsilons: dict[str, float]) -> pd.DataFrame:
    """Return lengths of noise, one row per mechanism defined at its ε (columns `NOISE_COLUMNS`)."""
    rows = []
    for mechanism in mechanisms:
        radius = noise_of(mechanism).get(epsilons[mechanism.key])
        if radius is not None:
            colour = style_of(mechanism.key).colour
            rows.append((name_tag(mechanism.key), colour, radius.low, radius.median, radius.high))
    return pd.DataFrame(rows, columns=list(NOISE_COLUMNS))


def noise_of(mechanism: Mechanism) -> dict[float, NoiseRadius]:
    """Return the length of the noise by ε of the slider; empty without noise on vectors.

    It depends on no word, so that all sessions share it.
    """

    def compute() -> dict[float, NoiseRadius]:
        grid = admissible(mechanism).tolist()
        return dict(zip(grid, noise_radii(mechanism, grid) or (), strict=False))

    return once("noise radii", mechanism, compute)


def attack_text(row: dict[str, Any], name: str, exact: bool) -> str:
    """Format the success of the attacker: a number, or the range that an estimate leaves."""
    low, high = (row[f"{name}_{end}"] for end in ("low", "high"))
    # A range of two equal numbers would look like a mistake.
    if exact or f"{low:.3f}" == f"{high:.3f}":
        return numeral(f"{low:.3f}")
    return say("{low:.3f} to {high:.3f}", low=low, high=high)


def _against(row: dict[str, Any], name: str, exact: bool) -> str:
    """Format the success of the attacker, and the bound of the guarantee; a refuted has none."""
    # An upper bound, so it is rounded up.
    bound = (
        say("refuted")
        if row["status"] == Status.REFUTED
        else f"≤ {numeral(at_most(row[f'{name}_bound'], places=3))}"
    )
    return f"{attack_text(row, name, exact)} ({bound})"


def _with_error(value: float, error: float) -> str:
    if error == 0:
        return numeral(f"{value:.3g}")
    # Two standard errors, to one digit: more digits of an error mean nothing.
    return numeral(f"{value:.3g} ± {float(f'{2 * error:.1g}'):g}")


def _effective(value: float | None) -> str:
    # 1/Σp² cannot be estimated where no two of the runs agree.
    if value is None or np.isnan(value):
        return say("too many to tell")
    return numeral(f"{value:.3g}")
