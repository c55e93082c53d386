"""The studies that are recorded: figures of papers, and every mechanism on the bundled lexicon.

Each figure is measured twice: by the best method that a mechanism has, on a fine grid of ε, and by
the paper's own protocol (R independent runs, counted) at the paper's own values of ε.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.errors import StudyError
from dpcore.mechanisms.registry import MECHANISMS
from dpcore.study.vocabularies import BUNDLED

Settings = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Series:
    """One mechanism at some ε, measured in one way.

    Attributes:
        name: unique in its study.
        mechanism: short name in the registry.
        epsilons: ascending; those that the mechanism does not have are recorded as undefined.
        settings: of the mechanism.
        method: as for `dpcore.measure.deniability.measure`.
        words: at most this many of the study's words; None takes them all.
        named: measure these words, one by one, instead of the study's; those that the vocabulary
            does not hold are left out.
        curve: series that are drawn as one have the same; its name if empty.
    """

    name: str
    mechanism: str
    epsilons: tuple[float, ...]
    settings: Settings = ()
    method: str = "auto"
    words: int | None = None
    named: tuple[str, ...] = ()
    curve: str = ""


@dataclass(frozen=True)
class Study:
    """A study to be recorded.

    Attributes:
        name: what the command line takes.
        title: for people.
        source: paper and figures to be compared with; empty if none.
        vocabulary: key of `dpcore.study.vocabularies`.
        words: how many are measured.
        series: what is measured.
        by_tokens: words are drawn as the corpus holds them, frequent ones often; else one word
            from each of equal parts of the vocabulary.
        runs: R.
    """

    name: str
    title: str
    source: str
    vocabulary: str
    words: int
    series: tuple[Series, ...]
    by_tokens: bool = False
    runs: int = 1_000


def _grid(low: float, high: float, count: int, *more: float) -> tuple[float, ...]:
    """A geometric grid of values with four digits, and more values between."""
    points = {float(f"{value:.4g}") for value in np.geomspace(low, high, count)}
    return tuple(sorted(points | set(more)))


def _exp(*logarithms: float) -> tuple[float, ...]:
    return tuple(math.exp(value) for value in logarithms)


# Xu et al. 2021: ε of Table 3 and ln ε of Table 2. The axes of Figure 1 are not legible as text;
# its caption and Section 6.5 say that the figure has ε for Laplace and ln ε for Gumbel.
XU_EPSILONS = (1.0, 5.0, 9.0, 20.0, 40.0, 60.0, 80.0, 100.0, 150.0, 200.0)
XU_LOGARITHMS = (10.0, 14.0, 17.0, 23.0, 38.0, 50.0, 62.0, 74.0, 86.0)
XU_FIRST = {"imdb": 4.67, "snli": 4.52}
"""The first column of Table 2, "slightly larger than their respective lower bounds"."""
PROBES = ("movie", "woman", "guitar", "doctor", "friday")
"""Ordinary words whose own figures are recorded beside the means, at a few ε."""

_LOGARITHMS = tuple(float(x) for x in np.round(np.concatenate(
    (np.arange(2.75, 6.0, 0.125), np.arange(6.0, 24.0, 1.0), np.arange(24.0, 88.1, 2.0))
), 4))  # fmt: skip


def _xu(key: str, words: int) -> tuple[Series, ...]:
    own = _exp(XU_FIRST[key], *XU_LOGARITHMS)
    return (
        Series("madlib", "madlib", _grid(1, 200, 40, *XU_EPSILONS)),
        Series(
            "madlib, protocol",
            "madlib",
            XU_EPSILONS,
            method="protocol",
            words=words,
            curve="madlib",
        ),
        Series("madlib, words", "madlib", XU_EPSILONS, named=PROBES, curve="madlib"),
        Series("truncated-gumbel", "truncated-gumbel", tuple(sorted({*_exp(*_LOGARITHMS), *own}))),
        Series(
            "truncated-gumbel, protocol",
            "truncated-gumbel",
            own,
            method="protocol",
            words=100,
            curve="truncated-gumbel",
        ),
        Series(
            "truncated-gumbel, words",
            "truncated-gumbel",
            own,
            named=PROBES,
            curve="truncated-gumbel",
        ),
    )


# Huang et al. 2024, Section 6.1: δ = 4^−d, d = 300; d′ = 500 at ε = 10 and d′ = 1700 at ε = 20.
HUANG_EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 10.0, 20.0)
HUANG_DIMENSION = 300
HUANG_DELTA = 0.25**HUANG_DIMENSION
HUANG_NORM = 1.0
"""C is not given in the paper. 1 is below the norm of every GloVe vector, so that all are clipped
and, on the clipped vocabulary, the result does not depend on C."""


def _dummies(total: int) -> Settings:
    """δ = 4^−d′ with d′ coordinates: the setting is δ^{1/d}, the d-th root for the real d."""
    root = 0.25 ** (total / HUANG_DIMENSION)
    return (("delta_root", root), ("dummy_dimensions", total - HUANG_DIMENSION))


def _huang() -> tuple[Series, ...]:
    clip: Settings = (("clip_norm", HUANG_NORM),)
    paper: Settings = (*clip, ("compare_with", "unclipped"))
    delta: Settings = (("delta", HUANG_DELTA),)
    fine = _grid(0.05, 2_000, 40, *HUANG_EPSILONS)
    gaussian, laplace, l2 = "gaussian-classical", "laplace", "l2-laplace"
    steps = ((HUANG_EPSILONS[:6], 300), ((10.0,), 500), ((20.0,), 1700))
    published = tuple(
        Series(
            "trlaplace" if total == HUANG_DIMENSION else f"trlaplace, d′ = {total}",
            "trlaplace",
            epsilons,
            (*clip, *_dummies(total)),
            words=40,
            curve="trlaplace",
        )
        for epsilons, total in steps
    )
    return (
        Series(gaussian, gaussian, fine, (*clip, *delta)),
        Series(laplace, laplace, fine, clip),
        Series(l2, l2, fine, clip),
        *published,
        Series(
            "trlaplace-corrected",
            "trlaplace-corrected",
            (0.05, 0.5, 5.0, 20.0, 80.0, 160.0, 320.0, 640.0),
            (*clip, *delta),
            words=24,
        ),
        Series(
            "gaussian-classical, protocol",
            gaussian,
            HUANG_EPSILONS,
            (*clip, *delta),
            "protocol",
            words=24,
            curve=gaussian,
        ),
        Series(
            "laplace, protocol", laplace, HUANG_EPSILONS, clip, "protocol", words=24, curve=laplace
        ),
        # Equation (2) as printed: the noisy clipped vector against the unclipped vocabulary.
        Series("laplace, unclipped", laplace, fine, paper),
        Series("gaussian-classical, unclipped", gaussian, fine, (*paper, *delta)),
    )


def _every() -> tuple[Series, ...]:
    """Every mechanism with its default settings; those that only the protocol measures coarsely."""
    grids = {
        "tem": _grid(0.1, 20, 40),
        "truncated-gumbel": _exp(*(x / 4 for x in range(8, 81))),
        "trlaplace": _grid(0.05, 8.5, 6),
        "trlaplace-corrected": _grid(5, 2_000, 10),
    }
    local = ("laplace", "l2-laplace", "gaussian", "gaussian-classical")
    names = dict.fromkeys(kind.short for kind in MECHANISMS.values())
    return tuple(
        Series(
            name,
            name,
            grids.get(name, _grid(1, 5_000, 40) if name in local else _grid(0.5, 500, 40)),
            words=24 if name.startswith("trlaplace") else None,
        )
        for name in names
    )


_XU = "Xu et al. 2021, Figures 1 and 2"
_HUANG = "Huang et al. 2024"

STUDIES = {
    study.name: study
    for study in (
        Study(
            "xu2021-figure-1-imdb",
            "Nw and Sw on the vocabulary of IMDb",
            f"{_XU} (IMDb)",
            "imdb",
            250,
            _xu("imdb", 20),
        ),
        Study(
            "xu2021-figure-1-snli",
            "Nw and Sw on the vocabulary of SNLI",
            f"{_XU} (SNLI)",
            "snli",
            500,
            _xu("snli", 50),
        ),
        Study(
            "huang2024-figure-2-yelp",
            "Nw over ε on the words of Yelp",
            f"{_HUANG}, Figure 2 and Tables 2 and 3 (Yelp)",
            "yelp",
            300,
            _huang(),
            by_tokens=True,
        ),
        Study(
            "huang2024-figure-5-yahoo",
            "Nw over ε on the words of Yahoo answers",
            f"{_HUANG}, Figure 5 and Tables 2 and 3 (Yahoo)",
            "yahoo",
            300,
            _huang(),
            by_tokens=True,
        ),
        Study(
            "bundled-every-mechanism",
            "Every mechanism on the bundled lexicon",
            "",
            BUNDLED,
            100,
            _every(),
        ),
    )
}
"""By name, in the order in which they are shown."""


def study_of(name: str) -> Study:
    """The study of a name.

    Raises:
        StudyError: there is none; the message names those that there are.
    """
    if name not in STUDIES:
        raise StudyError(f"no study {name[:60]!r}; there are: {', '.join(STUDIES)}")
    return STUDIES[name]
