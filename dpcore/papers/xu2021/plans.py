"""Xu et al. 2021: the plans of Figures 1 and 2 (Nw and Sw) and of Tables 2 and 3 (training).

The axes of Figure 1 are not legible as text; its caption and Section 6.5 say that it has ε for
Laplace and ln ε for Gumbel. The sizes of the training are what one core holds in an hour or two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcore.papers.xu2021.printed import EPSILONS, FIRST, LOGARITHMS, TRAINED_AND_TESTED
from dpcore.study.definition import Choice, Panel, Study, grid, powers, series, words_plan
from dpcore.study.plan import Arm, Plan

PROBES = ("movie", "woman", "guitar", "doctor", "friday")
"""Ordinary words whose own figures are recorded beside the means, at a few ε."""
_LAPLACE, _GUMBEL = "madlib", "truncated-gumbel"
_FINE = tuple(float(x) for x in np.round(np.concatenate(
    (np.arange(2.75, 6.0, 0.125), np.arange(6.0, 24.0, 1.0), np.arange(24.0, 88.1, 2.0))
), 4))  # fmt: skip
"""ln ε of the curve of Gumbel: fine where the domain ends."""


def _series(key: str, counted: int) -> tuple[Arm, ...]:
    """Both curves, each by the best method, by the protocol, and for the probes."""
    table = powers(FIRST[key], *LOGARITHMS)
    curves = (
        (_LAPLACE, grid(1, 200, 40, *EPSILONS), EPSILONS, counted),
        (_GUMBEL, tuple(sorted({*powers(*_FINE), *table})), table, 100),
    )
    return tuple(
        arm
        for name, fine, few, words in curves
        for arm in (
            series(name, fine),
            series(name, few, (), f"{name}, protocol", method="protocol", words=words, curve=name),
            series(name, few, (), f"{name}, words", named=PROBES, curve=name),
        )
    )


def _figures(key: str, name: str, trade: str, words: int, counted: int) -> Study:
    over_epsilon = tuple(
        Panel(f"Figure 1 ({name}): {what}, {curve}", quantity, (curve,))
        for curve in (_LAPLACE, _GUMBEL)
        for quantity, what in (("nw", "Nw"), ("sw", "Sw"))
    )
    against = Panel(f"Figure {trade} ({name}): log Sw against Nw", "trade", (_LAPLACE, _GUMBEL))
    return Study(
        f"Nw and Sw on the vocabulary of {name}",
        f"Xu et al. 2021, Figures 1 and 2 ({name})",
        words_plan(f"xu2021-figure-1-{key}", key, _series(key, counted)),
        choice=Choice(words),
        panels=(*over_epsilon, against),
    )


FIGURES = (_figures("imdb", "IMDb", "2a", 600, 24), _figures("snli", "SNLI", "2b", 1_000, 50))
"""The studies of words."""

_LISTS = "d5380df5c4bb34dbeb581a0dcb3f299d660b882635090428409be2828995535d"
_EDGE = {"imdb": 3.3, "snli": 2.92}
"""ln ε just above the lower end of the domain of truncated Gumbel over our lexicons, where the
paper's first column was meant to be."""
_COMMON = {
    "hidden": 100,
    "copies": 4,
    "lists": _LISTS,
    "population": 20,
    "tries": 6,
    "draws": 40,
    "held_out": 500,
    "batch": 32,
}


def seeds_of(count: int) -> str:
    """How many seeds, in words."""
    return "one seed" if count == 1 else f"each of {count} seeds"


def _training(
    key: str, name: str, lexicon: str, file: str, seeds: tuple[int, ...], **sizes: object
) -> Study:
    gumbel = powers(_EDGE[key], FIRST[key], *LOGARITHMS)
    given = dict(sorted((_COMMON | sizes).items()))
    plan = Plan(
        f"xu2021-tables-2-3-{key}",
        "dpcore.papers.xu2021.training:measure",
        (
            Arm(""),
            Arm(_LAPLACE, EPSILONS, options=(("grid", EPSILONS),)),
            Arm(_GUMBEL, gumbel, options=(("grid", gumbel),)),
        ),
        (lexicon,),
        (file,),
        seeds,
        tuple(given.items()),
    )
    use: dict[str, Any] = given
    cut = f" of at most {use['most']} words" if use["most"] else ""
    return Study(
        f"{name}: normal, augmented and certified training against a mechanism",
        f"Xu et al. 2021, Tables 2 and 3 ({name})",
        plan,
        f"{use['train']:,} training {'pairs' if use['pairs'] else 'texts'}{cut}, "
        f"{use['held_out']:,} held out, {use['test']:,} tested on and {use['attacked']:,} attacked "
        f"(the paper: {TRAINED_AND_TESTED[key]}), {seeds_of(len(seeds))}; augmented training of "
        f"{use['epochs']['augmented']} epochs; an attack of {use['population']} texts and "
        f"{use['generations']} generations, {use['draws']} draws of a mechanism a word, and the "
        f"stronger one the best of {use['tries']} words in each place.",
        rewrites=False,
    )


TRAININGS = (
    # Sentiment of movie reviews, by the convolutional network.
    _training(
        "imdb",
        "IMDb",
        "imdb10k",
        "imdb.parquet",
        (0,),
        train=5_000,
        test=1_000,
        attacked=100,
        splits=("train", "test"),
        pairs=False,
        most=100,
        epochs={"normal": 6, "augmented": 2, "ibp": 12},
        generations=15,
    ),
    # Entailment, by the network of sums of words; only words of the hypothesis are replaced.
    _training(
        "snli",
        "SNLI",
        "snli",
        "snli_dev_test.parquet",
        (0, 1),
        train=9_000,
        test=3_000,
        attacked=200,
        splits=("dev", "test"),
        pairs=True,
        most=None,
        epochs={"normal": 5, "augmented": 2, "ibp": 12},
        generations=10,
    ),
)
