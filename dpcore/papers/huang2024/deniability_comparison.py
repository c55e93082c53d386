"""Huang et al. 2024, Figures 2 and 5: Nw over ε, word by word, and the δ behind it."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from dpcore.papers.huang2024 import printed as paper
from dpcore.papers.huang2024.plans import published_noise
from dpcore.papers.row import Row, compared, differences, epsilon_text, joined, signed
from dpcore.plots.layout import number, probability_text

if TYPE_CHECKING:
    from dpcore.study.reading import Figures

row = partial(compared, "huang2024")
"""A row about this paper."""
_SHOWN = (0.05, 0.5, 20.0)


def figure_rows(figures: Figures) -> tuple[Row, ...]:
    """All rows of one corpus."""
    return (
        _vocabulary(figures),
        row("clipping-norm", figures, norm=paper.NORM),
        *(_curve(figures, curve) for curve in paper.MECHANISMS),
        _noiseless(figures),
        _needed(figures),
        _order(figures),
        *_delta(figures),
    )


def _corpus(figures: Figures) -> str:
    return str(figures.entry.vocabulary["key"])


def _figure(figures: Figures) -> str:
    return f"Figure {2 if _corpus(figures) == 'yelp' else 5}, Tables 2 and 3"


def deviations() -> dict[str, float]:
    """Standard deviation of a coordinate of the noise times ε/C, δ = 4^−d, d = 300."""
    log_delta = paper.DIMENSION * math.log(0.25)
    gaussian = 2.0 * math.sqrt(2.0 * (math.log(1.25) - log_delta))
    return {"gaussian-classical": gaussian, "laplace": 2.0 * math.sqrt(2.0 * paper.DIMENSION)}


def published_deviation(epsilon: float) -> float:
    """Standard deviation of a coordinate of TrLaplace over C, with the paper's d′ at this ε."""
    return published_noise(epsilon).deviation / paper.NORM


def _vocabulary(figures: Figures) -> Row:
    words = figures.entry.vocabulary
    n, theirs = int(words["words"]), int(words["paper_words"])
    kept = (
        "its most frequent words that have a GloVe vector."
        if n == theirs
        else "all its words that are among the 33,860 GloVe vectors at hand."
    )
    difference = signed(n - theirs, "+,") if n != theirs else "0"
    sizes = {"n": n, "theirs": theirs, "title": words["title"], "kept": kept}
    return row("words", figures, difference=difference, **sizes)


def _curve(figures: Figures, curve: str) -> Row:
    """One mechanism, at three ε."""
    printed = paper.printed(_corpus(figures), "nw", curve)
    ours = [figures.at("nw", curve, epsilon) for epsilon in _SHOWN]
    truncated = curve == "trlaplace"
    wide = [
        f"{published_deviation(epsilon):.3g} C"
        if truncated
        else f"{number(deviations()[curve] / epsilon)} C"
        for epsilon in _SHOWN
    ]
    another = (
        f"The paper's N_w is {paper.noiseless(_corpus(figures), 'nw'):g} without any noise, so it "
        "is counted in the text that the auto-encoder writes, which was trained with the noise "
        "inside: another quantity."
    )
    return row(
        "curve-trlaplace" if truncated else "curve",
        figures,
        figure=_figure(figures),
        mechanism=paper.MECHANISMS[curve],
        shown=joined(_SHOWN, "g"),
        in_paper=joined((printed[epsilon] for epsilon in _SHOWN), ".3f"),
        ours=", ".join(probability_text(*nw) for nw in ours),
        difference=differences((nw.mean for nw in ours), (printed[e] for e in _SHOWN)),
        wide=", ".join(wide),
        another=another,
    )


def _noiseless(figures: Figures) -> Row:
    theirs = paper.noiseless(_corpus(figures), "nw")
    clipped = float(figures.curve("nw", "laplace")["mean"].iloc[-1])
    unclipped = figures.curve("nw", "laplace, unclipped").iloc[-1]
    numbers = {"theirs": theirs, "clipped": clipped, "unclipped": unclipped}
    return row("noiseless-nw", figures, difference=signed(clipped - theirs), **numbers)


def _needed(figures: Figures) -> Row:
    level = 0.7
    reached = (
        f"{curve} {epsilon_text(figures.crossing('nw', curve, level))}"
        for curve in ("laplace", "gaussian-classical", "l2-laplace")
    )
    theirs = []
    for curve in paper.MECHANISMS:
        printed = paper.printed(_corpus(figures), "nw", curve)
        first = next((f"{epsilon:g}" for epsilon, nw in printed.items() if nw >= 0.6), "never")
        theirs.append(f"{curve} {first}")
    texts = {"theirs": ", ".join(theirs), "reached": ", ".join(reached)}
    return row("needed", figures, figure=_figure(figures), level=level, **texts)


def _order(figures: Figures) -> Row:
    pair = ("laplace", "gaussian-classical")
    half = {curve: figures.crossing("nw", curve, 0.5) for curve in pair}
    reached = [curve for curve in pair if half[curve] is not None]
    laplace, gaussian = (paper.printed(_corpus(figures), "nw", curve).values() for curve in pair)
    return row(
        "order",
        figures,
        better=sum(g > lap for g, lap in zip(gaussian, laplace, strict=True)),
        columns=len(paper.EPSILONS),
        half=", ".join(f"{curve} {epsilon_text(epsilon)}" for curve, epsilon in half.items()),
        first=min(reached, key=lambda curve: half[curve] or math.inf, default="neither"),
        ratio=deviations()["gaussian-classical"] / deviations()["laplace"],
    )


def _delta(figures: Figures) -> list[Row]:
    published = figures.curve("nw", "trlaplace").set_index("epsilon")["true_delta"]
    corrected = figures.curve("nw", "trlaplace-corrected").iloc[0]
    half, laplace = (
        epsilon_text(figures.crossing("nw", curve, 0.5))
        for curve in ("trlaplace-corrected", "laplace")
    )
    lowest = probability_text(corrected["mean"], corrected["low"], corrected["high"])
    texts = {"lowest": lowest, "half": half, "laplace": laplace}
    return [
        *(
            row("delta", figures, epsilon=epsilon, delta=published[epsilon])
            for epsilon in (0.05, 0.5, 5.0)
        ),
        row("corrected", figures, epsilon=corrected["epsilon"], **texts),
    ]
