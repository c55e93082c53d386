"""Xu et al. 2021, Figures 1 and 2: Nw and Sw of multivariate Laplace and truncated Gumbel."""

from __future__ import annotations

import numpy as np

from dpcore.study.parts import Panel, Series, Study, grid, powers

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


def _series(key: str, words: int) -> tuple[Series, ...]:
    own = powers(XU_FIRST[key], *XU_LOGARITHMS)
    return (
        Series("madlib", "madlib", grid(1, 200, 40, *XU_EPSILONS)),
        Series(
            "madlib, protocol",
            "madlib",
            XU_EPSILONS,
            method="protocol",
            words=words,
            curve="madlib",
        ),
        Series("madlib, words", "madlib", XU_EPSILONS, named=PROBES, curve="madlib"),
        Series(
            "truncated-gumbel", "truncated-gumbel", tuple(sorted({*powers(*_LOGARITHMS), *own}))
        ),
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


def _panels(name: str, trade: str) -> tuple[Panel, ...]:
    found = [
        Panel(f"Figure 1 ({name}): {what}, {curve}", quantity, (curve,))
        for curve in ("madlib", "truncated-gumbel")
        for quantity, what in (("nw", "Nw"), ("sw", "Sw"))
    ]
    both = ("madlib", "truncated-gumbel")
    return (*found, Panel(f"Figure {trade} ({name}): log Sw against Nw", "trade", both))


_SOURCE = "Xu et al. 2021, Figures 1 and 2"

STUDIES = (
    Study(
        name="xu2021-figure-1-imdb",
        title="Nw and Sw on the vocabulary of IMDb",
        source=f"{_SOURCE} (IMDb)",
        vocabulary="imdb",
        words=600,
        series=_series("imdb", 24),
        panels=_panels("IMDb", "2a"),
    ),
    Study(
        name="xu2021-figure-1-snli",
        title="Nw and Sw on the vocabulary of SNLI",
        source=f"{_SOURCE} (SNLI)",
        vocabulary="snli",
        words=1_000,
        series=_series("snli", 50),
        panels=_panels("SNLI", "2b"),
    ),
)
