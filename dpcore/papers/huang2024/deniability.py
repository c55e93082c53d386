"""Huang et al. 2024, Figures 2 and 5: Nw over ε, word by word, of clipped mechanisms."""

from __future__ import annotations

from dpcore.papers.reported import HUANG_EPSILONS
from dpcore.study.parts import Panel, Series, Settings, Study, grid

# Huang et al. 2024, Section 6.1: δ = 4^−d, d = 300; d′ = 500 at ε = 10 and d′ = 1700 at ε = 20.
HUANG_DIMENSION = 300
HUANG_TOTALS = ((300, 5.0), (500, 10.0), (1700, 20.0))
"""d′, and the largest ε at which the paper takes it."""
HUANG_DELTA = 0.25**HUANG_DIMENSION
HUANG_NORM = 1.0
"""C is not given in the paper. 1 is below the norm of every GloVe vector, so that all are clipped
and, on the clipped vocabulary, the result does not depend on C."""


def dummies(total: int) -> Settings:
    """δ = 4^−d′ with d′ coordinates: the setting is δ^{1/d}, the d-th root for the real d."""
    root = 0.25 ** (total / HUANG_DIMENSION)
    return (("delta_root", root), ("dummy_dimensions", total - HUANG_DIMENSION))


def _series() -> tuple[Series, ...]:
    clip: Settings = (("clip_norm", HUANG_NORM),)
    paper: Settings = (*clip, ("compare_with", "unclipped"))
    delta: Settings = (("delta", HUANG_DELTA),)
    fine = grid(0.05, 2_000, 40, *HUANG_EPSILONS)
    gaussian, laplace, l2 = "gaussian-classical", "laplace", "l2-laplace"
    lows = (0.0, *(top for _, top in HUANG_TOTALS))
    steps = [
        (tuple(e for e in HUANG_EPSILONS if low < e <= top), total)
        for low, (total, top) in zip(lows, HUANG_TOTALS, strict=False)
    ]
    published = tuple(
        Series(
            "trlaplace" if total == HUANG_DIMENSION else f"trlaplace, d′ = {total}",
            "trlaplace",
            epsilons,
            (*clip, *dummies(total)),
            words=48,
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


def _panels(figure: str, name: str) -> tuple[Panel, ...]:
    unclipped = ("gaussian-classical, unclipped", "laplace, unclipped")
    clipped = ("gaussian-classical", "laplace", "l2-laplace", "trlaplace", "trlaplace-corrected")
    return (
        Panel(f"Figure {figure} ({name}): Nw, projected onto the clipped words", "nw", clipped),
        Panel(f"Nw by equation (2) as printed ({name}): unclipped words", "nw", unclipped),
    )


STUDIES = tuple(
    Study(
        name=f"huang2024-figure-{figure}-{key}",
        title=f"Nw over ε on the words of {title}",
        source=f"Huang et al. 2024, Figure {figure} and Tables 2 and 3 ({name})",
        vocabulary=key,
        words=400,
        series=_series(),
        panels=_panels(figure, name),
        by_tokens=True,
    )
    for figure, key, name, title in (
        ("2", "yelp", "Yelp", "Yelp"),
        ("5", "yahoo", "Yahoo", "Yahoo answers"),
    )
)
