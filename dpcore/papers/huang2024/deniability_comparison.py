"""Huang et al. 2024 against measurement: Nw over ε, word by word, and the δ behind it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcore.mechanisms.clipped.truncation import published_truncation
from dpcore.papers.huang2024.deniability import HUANG_DIMENSION, HUANG_NORM, HUANG_TOTALS
from dpcore.papers.reported import HUANG_EPSILONS, NOISELESS, reported_nw
from dpcore.papers.row import Row, signed
from dpcore.plots.layout import number, probability_text
from dpcore.study.reading import crossing, interval, line, value

if TYPE_CHECKING:
    from dpcore.study.results import Recorded

_PAPER = "Huang et al. 2024"
_NAMES = {
    "gaussian-classical": "Gaussian (Theorem 2)",
    "laplace": "Laplace (Theorem 1)",
    "trlaplace": "TrLaplace (Theorem 3)",
}
_SHOWN = (0.05, 0.5, 20.0)
_LOG_DELTA = HUANG_DIMENSION * math.log(0.25)


def huang_rows(recorded: Recorded) -> tuple[Row, ...]:
    """All rows of one corpus."""
    return (
        *_vocabulary(recorded),
        *_curves(recorded),
        _noiseless(recorded),
        _needed(recorded),
        _order(recorded),
        *_delta(recorded),
    )


def _figure(recorded: Recorded) -> str:
    figure = "2" if recorded.entry.vocabulary["key"] == "yelp" else "5"
    return f"Figure {figure}, Tables 2 and 3"


def deviations() -> dict[str, float]:
    """Standard deviation of a coordinate of the noise times ε/C, δ = 4^−d, d = 300."""
    gaussian = 2.0 * math.sqrt(2.0 * (math.log(1.25) - _LOG_DELTA))
    return {"gaussian-classical": gaussian, "laplace": 2.0 * math.sqrt(2.0 * HUANG_DIMENSION)}


def _vocabulary(recorded: Recorded) -> list[Row]:
    words = recorded.entry.vocabulary
    n, paper = int(words["words"]), int(words["paper_words"])
    return [
        Row(
            _PAPER,
            "Section 6.1",
            "number of words n",
            f"{paper:,}",
            f"{n:,}",
            f"{n - paper:+,}".replace("-", "−") if n != paper else "0",
            f"{words['title']}: "
            + (
                "its most frequent words that have a GloVe vector."
                if n == paper
                else "all its words that are among the 33,860 GloVe vectors at hand."
            ),
        ),
        Row(
            _PAPER,
            "Section 6.1",
            "clipping norm C",
            "not given",
            f"C = {HUANG_NORM:g}",
            "",
            "Below the norm of every GloVe vector, so that all are clipped; on the clipped "
            "vocabulary the outputs then do not depend on C. A larger C only adds noise relative "
            "to the short vectors.",
        ),
    ]


def _curves(recorded: Recorded) -> list[Row]:
    """One row a mechanism, at three ε."""
    rows = []
    for curve, name in _NAMES.items():
        printed = reported_nw(recorded.entry.name, curve)
        found = [value(recorded, curve, "nw", epsilon) for epsilon in _SHOWN]
        rows.append(
            Row(
                _PAPER,
                _figure(recorded),
                f"Nw of {name} at ε = {', '.join(f'{e:g}' for e in _SHOWN)}",
                ", ".join(f"{printed[epsilon]:.3f}" for epsilon in _SHOWN),
                ", ".join(probability_text(*nw) for nw in found),
                ", ".join(
                    signed(nw - printed[e]) for (nw, _, _), e in zip(found, _SHOWN, strict=True)
                ),
                _reason(recorded, curve),
            )
        )
    return rows


def _reason(recorded: Recorded, curve: str) -> str:
    without = NOISELESS[recorded.entry.name]
    another = (
        f"The paper's N_w is {without:g} without any noise, so it is counted in the text that the "
        "auto-encoder writes, which was trained with the noise inside: another quantity."
    )
    if curve == "trlaplace":
        wide = ", ".join(f"{_published_deviation(epsilon):.3g} C" for epsilon in _SHOWN)
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


def _published_deviation(epsilon: float) -> float:
    """Standard deviation of a coordinate of TrLaplace over C, with the paper's d′ at this ε."""
    total = next(d for d, top in HUANG_TOTALS if epsilon <= top)
    root = 0.25 ** (total / HUANG_DIMENSION)
    return published_truncation(
        epsilon, root, 1.0, HUANG_DIMENSION, total - HUANG_DIMENSION
    ).deviation


def _noiseless(recorded: Recorded) -> Row:
    said = NOISELESS[recorded.entry.name]
    rows = line(recorded, "laplace, unclipped", "nw")
    clipped = line(recorded, "laplace", "nw")
    top = float(rows["epsilon"].iloc[-1])
    return Row(
        _PAPER,
        "Tables 2 and 3, ε = ∞; equation (2)",
        "Nw without noise",
        f"{said:.3f}",
        f"at ε = {top:g} (almost no noise): {clipped['mean'].iloc[-1]:.4g} on the clipped "
        f"vocabulary, {rows['mean'].iloc[-1]:.2g} by equation (2) as printed",
        signed(float(clipped["mean"].iloc[-1]) - said),
        "The paper's value shows what its auto-encoder itself loses. "
        "Equation (2) compares the clipped vector with unclipped words: even without noise "
        "another word is nearer than the word itself, unless C exceeds the norms.",
    )


def _needed(recorded: Recorded) -> Row:
    level = 0.7
    said = []
    for curve in ("laplace", "gaussian-classical", "l2-laplace"):
        epsilon = crossing(recorded, curve, "nw", level)
        said.append(f"{curve} {'never' if epsilon is None else f'{epsilon:.3g}'}")
    reached = [
        f"{curve} {next((f'{e:g}' for e, nw in printed.items() if nw >= 0.6), 'never')}"
        for curve in _NAMES
        if (printed := reported_nw(recorded.entry.name, curve))
    ]
    return Row(
        _PAPER,
        _figure(recorded),
        f"ε at which Nw reaches {level:g}",
        f"0.6 or more from ε = {', '.join(reached)} on",
        f"ε = {', '.join(said)}",
        "",
        "Word by word the same noise needs an ε in the hundreds, at which local privacy "
        "promises odds of e^100 and more: nothing. L2-Laplace, the same promise with less noise, "
        "is the baseline that the paper leaves out.",
    )


def _order(recorded: Recorded) -> Row:
    at = {
        curve: crossing(recorded, curve, "nw", 0.5) for curve in ("laplace", "gaussian-classical")
    }
    spread = deviations()
    ratio = spread["gaussian-classical"] / spread["laplace"]
    reached = [epsilon for epsilon in at.values() if epsilon is not None]
    first = min(at, key=lambda curve: at[curve] or math.inf) if reached else "neither"
    values = ", ".join(f"{c} {'never' if e is None else f'{e:.3g}'}" for c, e in at.items())
    better = sum(
        reported_nw(recorded.entry.name, "gaussian-classical")[e]
        > reported_nw(recorded.entry.name, "laplace")[e]
        for e in HUANG_EPSILONS
    )
    return Row(
        _PAPER,
        "Section 6.2",
        "which is better, Gaussian or Laplace",
        f"Gaussian, in almost all experiments (in {better} of {len(HUANG_EPSILONS)} columns here)",
        f"Nw = 0.5 at ε = {values}: {first} keeps more words",
        "",
        f"At δ = 4^−300 the Gaussian noise is {ratio:.3g} times as wide as the Laplace noise, at "
        "every ε. And above ε = 1 the Gaussian formula of Theorem 2 is no theorem.",
    )


def _delta(recorded: Recorded) -> list[Row]:
    rows = line(recorded, "trlaplace", "nw")
    corrected = line(recorded, "trlaplace-corrected", "nw")
    found = []
    for epsilon in (0.05, 0.5, 5.0):
        row = rows[rows["epsilon"] == epsilon].iloc[0]
        found.append(
            Row(
                _PAPER,
                "Theorem 3",
                f"δ of TrLaplace at ε = {epsilon:g}",
                "4^−300 (2.4e−181)",
                f"{row['true_delta']:.3f}",
                "",
                "The proof bounds the volume of the difference of two supports by a cube of side "
                "2C; an output outside the other support gives the word away with this "
                "probability. What Nw this mechanism has is not bought with privacy.",
            )
        )
    first = corrected.iloc[0]
    laplace = crossing(recorded, "laplace", "nw", 0.5)
    mine = crossing(recorded, "trlaplace-corrected", "nw", 0.5)
    found.append(
        Row(
            _PAPER,
            "Theorem 3, corrected",
            "Nw with the cut that (ε, 4^−300) needs",
            "TrLaplace changes a smaller share of words than both baselines",
            f"{probability_text(*interval(first))} at ε = {first['epsilon']:g}; "
            f"0.5 at ε = {'never' if mine is None else f'{mine:.3g}'} "
            f"(Laplace {'never' if laplace is None else f'{laplace:.3g}'})",
            "",
            "Cut as far out as the promise needs it is plain Laplace noise: nothing is gained.",
        )
    )
    return found
