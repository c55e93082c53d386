"""Huang et al. 2024, Figures 2 and 5: Nw over ε, word by word, and the δ behind it."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from dpcore.papers.huang2024 import printed as paper
from dpcore.papers.huang2024.plans import published_noise
from dpcore.papers.row import Row, differences, epsilon_text, joined, signed
from dpcore.plots.layout import number, probability_text

if TYPE_CHECKING:
    from dpcore.study.reading import Figures

row = partial(Row, paper="Huang et al. 2024")
"""A row about this paper."""
_SHOWN = (0.05, 0.5, 20.0)


def figure_rows(figures: Figures) -> tuple[Row, ...]:
    """All rows of one corpus."""
    return (
        *_vocabulary(figures),
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


def _vocabulary(figures: Figures) -> tuple[Row, Row]:
    words = figures.entry.vocabulary
    n, theirs = int(words["words"]), int(words["paper_words"])
    kept = (
        "its most frequent words that have a GloVe vector."
        if n == theirs
        else "all its words that are among the 33,860 GloVe vectors at hand."
    )
    return (
        row(
            figure="Section 6.1",
            quantity="number of words n",
            said=f"{theirs:,}",
            ours=f"{n:,}",
            difference=f"{n - theirs:+,}".replace("-", "−") if n != theirs else "0",
            reason=f"{words['title']}: {kept}",
        ),
        row(
            figure="Section 6.1",
            quantity="clipping norm C",
            said="not given",
            ours=f"C = {paper.NORM:g}",
            reason="Below the norm of every GloVe vector, so that all are clipped; on the clipped "
            "vocabulary the outputs then do not depend on C. A larger C only adds noise relative "
            "to the short vectors.",
        ),
    )


def _curve(figures: Figures, curve: str) -> Row:
    """One mechanism, at three ε."""
    printed = paper.printed(_corpus(figures), "nw", curve)
    ours = [figures.at("nw", curve, epsilon) for epsilon in _SHOWN]
    return row(
        figure=_figure(figures),
        quantity=f"Nw of {paper.MECHANISMS[curve]} at ε = {joined(_SHOWN, 'g')}",
        said=joined((printed[epsilon] for epsilon in _SHOWN), ".3f"),
        ours=", ".join(probability_text(*nw) for nw in ours),
        difference=differences((nw.mean for nw in ours), (printed[e] for e in _SHOWN)),
        reason=_reason(_corpus(figures), curve),
    )


def _reason(corpus: str, curve: str) -> str:
    another = (
        f"The paper's N_w is {paper.noiseless(corpus, 'nw'):g} without any noise, so it is counted "
        "in the text that the auto-encoder writes, which was trained with the noise inside: "
        "another quantity."
    )
    if curve == "trlaplace":
        wide = ", ".join(f"{published_deviation(epsilon):.3g} C" for epsilon in _SHOWN)
        return (
            f"Published noise has deviation {wide} in each of 300 coordinates, on words of length "
            "C. It does not grow further as ε → 0 (uniform on ± 4 C): too little for the promise "
            f"(see δ below), too much to keep a word. {another}"
        )
    wide = ", ".join(f"{number(deviations()[curve] / epsilon)} C" for epsilon in _SHOWN)
    return (
        f"Noise of deviation {wide} in each of 300 coordinates, on words of length C, leaves "
        f"nothing of a word. {another}"
    )


def published_deviation(epsilon: float) -> float:
    """Standard deviation of a coordinate of TrLaplace over C, with the paper's d′ at this ε."""
    return published_noise(epsilon).deviation / paper.NORM


def _noiseless(figures: Figures) -> Row:
    said = paper.noiseless(_corpus(figures), "nw")
    unclipped = figures.curve("nw", "laplace, unclipped").iloc[-1]
    clipped = float(figures.curve("nw", "laplace")["mean"].iloc[-1])
    return row(
        figure="Tables 2 and 3, ε = ∞; equation (2)",
        quantity="Nw without noise",
        said=f"{said:.3f}",
        ours=f"at ε = {unclipped['epsilon']:g} (almost no noise): {clipped:.4g} on the clipped "
        f"vocabulary, {unclipped['mean']:.2g} by equation (2) as printed",
        difference=signed(clipped - said),
        reason="The paper's value shows what its auto-encoder itself loses. "
        "Equation (2) compares the clipped vector with unclipped words: even without noise "
        "another word is nearer than the word itself, unless C exceeds the norms.",
    )


def _needed(figures: Figures) -> Row:
    level = 0.7
    ours = (
        f"{curve} {epsilon_text(figures.crossing('nw', curve, level))}"
        for curve in ("laplace", "gaussian-classical", "l2-laplace")
    )
    theirs = []
    for curve in paper.MECHANISMS:
        printed = paper.printed(_corpus(figures), "nw", curve)
        first = next((f"{epsilon:g}" for epsilon, nw in printed.items() if nw >= 0.6), "never")
        theirs.append(f"{curve} {first}")
    return row(
        figure=_figure(figures),
        quantity=f"ε at which Nw reaches {level:g}",
        said=f"0.6 or more from ε = {', '.join(theirs)} on",
        ours=f"ε = {', '.join(ours)}",
        reason="Word by word the same noise needs an ε in the hundreds, at which local privacy "
        "promises odds of e^100 and more: nothing. L2-Laplace, the same promise with less noise, "
        "is the baseline that the paper leaves out.",
    )


def _order(figures: Figures) -> Row:
    pair = ("laplace", "gaussian-classical")
    half = {curve: figures.crossing("nw", curve, 0.5) for curve in pair}
    reached = [curve for curve in pair if half[curve] is not None]
    first = min(reached, key=lambda curve: half[curve] or math.inf, default="neither")
    laplace, gaussian = (paper.printed(_corpus(figures), "nw", curve).values() for curve in pair)
    better = sum(g > lap for g, lap in zip(gaussian, laplace, strict=True))
    ratio = deviations()["gaussian-classical"] / deviations()["laplace"]
    return row(
        figure="Section 6.2",
        quantity="which is better, Gaussian or Laplace",
        said=f"Gaussian, in almost all experiments (in {better} of {len(paper.EPSILONS)} columns "
        "here)",
        ours=f"Nw = 0.5 at ε = {', '.join(f'{c} {epsilon_text(e)}' for c, e in half.items())}: "
        f"{first} keeps more words",
        reason=f"At δ = 4^−300 the Gaussian noise is {ratio:.3g} times as wide as the Laplace "
        "noise, at every ε. And above ε = 1 the Gaussian formula of Theorem 2 is no theorem.",
    )


def _delta(figures: Figures) -> list[Row]:
    published = figures.curve("nw", "trlaplace").set_index("epsilon")["true_delta"]
    corrected = figures.curve("nw", "trlaplace-corrected").iloc[0]
    lowest = probability_text(corrected["mean"], corrected["low"], corrected["high"])
    mine, laplace = (
        epsilon_text(figures.crossing("nw", curve, 0.5))
        for curve in ("trlaplace-corrected", "laplace")
    )
    return [
        *(
            row(
                figure="Theorem 3",
                quantity=f"δ of TrLaplace at ε = {epsilon:g}",
                said="4^−300 (2.4e−181)",
                ours=f"{published[epsilon]:.3f}",
                reason="The proof bounds the volume of the difference of two supports by a cube of "
                "side 2C; an output outside the other support gives the word away with this "
                "probability. What Nw this mechanism has is not bought with privacy.",
            )
            for epsilon in (0.05, 0.5, 5.0)
        ),
        row(
            figure="Theorem 3, corrected",
            quantity="Nw with the cut that (ε, 4^−300) needs",
            said="TrLaplace changes a smaller share of words than both baselines",
            ours=f"{lowest} at ε = {corrected['epsilon']:g}; 0.5 at ε = {mine} (Laplace {laplace})",
            reason="Cut as far out as the promise needs it is plain Laplace noise: nothing is "
            "gained.",
        ),
    ]
