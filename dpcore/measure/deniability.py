"""Deniability of words under a mechanism, three ways and always labelled.

`measure` is the one entrance. Exact wherever the law can be computed; Rao–Blackwell over noise
directions for additive mechanisms; and the papers' protocol (independent runs, counted) for all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.arguments import a_name, a_whole
from dpcore.errors import ParameterError
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_RUNS, MAX_RUNS_TIMES_EPSILONS
from dpcore.measure.figures import seal
from dpcore.optional import need

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from dpcore.arrays import FloatArray, IntArray
    from dpcore.measure.figures import Figures
    from dpcore.measure.words import Selection
    from dpcore.mechanisms.mechanism import Mechanism

RUNS = 1_000
"""R of the papers."""
_SHOWN = 6  # values of ε in one line


class Method(StrEnum):
    """How Nw and Sw are found."""

    AUTO = "auto"
    """The best that the mechanism has: exact, else Rao–Blackwell, else the protocol."""
    EXACT = "exact"
    PROTOCOL = "protocol"
    RAO_BLACKWELL = "rao-blackwell"


@dataclass(frozen=True, eq=False)
class Summary:
    """One quantity over the words of a selection, at each ε; read-only arrays of shape (E,).

    Words count by their weights (tokens of a corpus). A quantile is the value of a word: the
    smallest one that at least this share of the weight does not exceed.

    Attributes:
        quantity: nw, sw or effective.
        mean: weighted mean over words.
        deviation: standard deviation over words (weights as frequencies); 0 for one word.
        mean_error: standard error of the mean from the noise of the measurement, not from the
            choice of words; 0 if exact, NaN for the effective number.
        mean_low: lower end of the interval that this noise leaves to the mean, of level 95 %; the
            mean if exact, NaN for the effective number.
        mean_high: upper end.
        median: 50 % quantile.
        worst: of the least deniable word: the largest Nw, the smallest Sw or effective number.
        worst_word: position of that word in the selection.
        bands: quantiles `dpcore.measure.summary.BANDS`, shape (4, E).
    """

    quantity: str
    mean: FloatArray
    deviation: FloatArray
    mean_error: FloatArray
    mean_low: FloatArray
    mean_high: FloatArray
    median: FloatArray
    worst: FloatArray
    worst_word: IntArray
    bands: FloatArray

    def __post_init__(self) -> None:
        """Make the arrays read-only: all who ask share them."""
        seal(self)


@dataclass(frozen=True, eq=False)
class Deniability:
    """Deniability of a selection of words under one mechanism at several ε.

    Attributes:
        mechanism: registry key.
        method: EXACT, PROTOCOL or RAO_BLACKWELL.
        selection: the words and their weights.
        epsilons: shape (E,).
        runs: R of Sw.
        figures: Nw, Sw and effective number with their errors, shape (k, E) each.
        summaries: by quantity, what `dpcore.measure.summary.summarise` was asked for, which keeps
            it here: a page asks again at every step of a slider.
    """

    mechanism: str
    method: Method
    selection: Selection
    epsilons: FloatArray
    runs: int
    figures: Figures
    summaries: dict[str, Summary] = field(default_factory=dict, init=False, repr=False)

    def rows(self, at: float | None = None) -> list[dict[str, Any]]:
        """One plain row a word and ε, words in the order of the selection.

        `nw_low` and `nw_high` are the ends of an interval of level 95 % for the true Nw.
        `standard_error` is that of Nw, and says nothing where the word hardly ever stayed; all
        errors are 0 for an exact method. An effective number that is infinite (no two runs
        agreed) is None.

        Args:
            at: one ε alone, for which there may be no rows; None for all of them.
        """
        figures, epsilons = self.figures, self.epsilons.tolist()
        places = [e for e, epsilon in enumerate(epsilons) if at is None or epsilon == at]
        return [
            {
                "mechanism": self.mechanism,
                "epsilon": epsilons[e],
                "word": name,
                "weight": float(self.selection.weights[i]),
                "nw": float(figures.nw[i, e]),
                "nw_low": float(figures.nw_low[i, e]),
                "nw_high": float(figures.nw_high[i, e]),
                "sw": float(figures.sw[i, e]),
                "effective": finite(figures.effective[i, e]),
                "method": str(self.method),
                "runs": self.runs,
                "standard_error": float(figures.nw_error[i, e]),
                "sw_standard_error": float(figures.sw_error[i, e]),
                "effective_standard_error": finite(figures.effective_error[i, e]),
            }
            for i, name in enumerate(self.selection.names)
            for e in places
        ]

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a table: one a word and ε, columns as in `rows`.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        table: pd.DataFrame = need("pandas", "a table needs the package pandas", "app").DataFrame(
            self.rows()
        )
        return table

    def __repr__(self) -> str:
        """One line: what was measured and how."""
        words = f"{len(self.selection):,} words" if len(self.selection) > 1 else "1 word"
        epsilons = ", ".join(f"{epsilon:g}" for epsilon in self.epsilons[:_SHOWN])
        more = ", …" if self.epsilons.size > _SHOWN else ""
        return f"Deniability({self.mechanism}, {words} at ε = {epsilons}{more}; {self.method})"

    def _repr_html_(self) -> str:
        """The main columns of `rows` as a table."""
        from dpcore.display import table

        columns = ("word", "epsilon", "nw", "sw", "effective")
        return table(
            ("word", "ε", "Nw", "Sw", "effective number"),
            [[row[column] for column in columns] for row in self.rows()],
        )


def finite(value: float) -> float | None:
    """A number for JSON, which has no infinity: None."""
    return float(value) if np.isfinite(value) else None


def methods_of(mechanism: Mechanism) -> tuple[Method, ...]:
    """What `measure` accepts for this mechanism, the best first."""
    methods = (
        (Method.EXACT, mechanism.exact_law),
        (Method.RAO_BLACKWELL, mechanism.rays is not None),
        (Method.PROTOCOL, True),
    )
    return tuple(method for method, possible in methods if possible)


def choose_method(mechanism: Mechanism, method: Method | str) -> Method:
    """The method to use, AUTO resolved.

    Raises:
        ParameterError: there is no such method, or the mechanism does not have it.
    """
    allowed = methods_of(mechanism)
    names = ", ".join(allowed)
    a_name(method, "a method")
    try:
        wanted = Method(method)
    except ValueError:
        msg = f"method must be one of {', '.join(Method)}, got {str(method)[:40]!r}"
        raise ParameterError(msg) from None
    if wanted is Method.AUTO:
        return allowed[0]
    if wanted not in allowed:
        why = (
            "its law has no closed form"
            if wanted is Method.EXACT
            else "it does not choose the nearest word along a noise direction"
        )
        msg = f"{mechanism.short} has no method {wanted.value!r} ({why}); it has {names}"
        raise ParameterError(msg)
    return wanted


def check_runs(runs: int) -> int:
    """R as it is, if it is 2 to MAX_RUNS (one run has no spread and no pair to compare)."""
    return a_whole(runs, "runs", 2, MAX_RUNS)


def measure(
    mechanism: Mechanism,
    selection: Selection,
    epsilons: FloatArray | Sequence[float],
    *,
    method: Method | str = Method.AUTO,
    runs: int = RUNS,
    seed: int | None = 0,
    repetitions: int = 1,
    progress: Progress = silent,
) -> Deniability:
    """Nw, Sw and the effective number of words at several ε.

    Args:
        mechanism: over the lexicon of the selection.
        selection: which words.
        epsilons: shape (E,), in any order.
        method: exact, rao-blackwell, protocol, or auto.
        runs: R, which Sw depends on whatever the method.
        seed: of the noise; exact methods ignore it. What is measured protects nothing, so a
            fixed seed is right here.
        repetitions: of a Rao–Blackwell measurement, averaged.
        progress: called with (mechanism, done, total).

    Raises:
        ParameterError: an argument is outside its range, or the method not the mechanism's.
        EpsilonError: an ε is not admissible.
    """
    chosen = choose_method(mechanism, method)
    values = mechanism.check_epsilons(epsilons)
    check_runs(runs)
    words, weights = mechanism.check_words(selection.words), selection.weights
    if not (values.size and words.size):
        raise ParameterError("at least one word and one epsilon are needed")
    # Here the outputs of all runs at all ε are kept at once; the protocol keeps those of one ε.
    if chosen is Method.RAO_BLACKWELL and runs * values.size > MAX_RUNS_TIMES_EPSILONS:
        raise ParameterError(
            f"runs times values of epsilon may be {MAX_RUNS_TIMES_EPSILONS:,} at most, got "
            f"{runs:,} times {values.size:,}"
        )
    a_whole(repetitions, "repetitions", 1)
    figures: Figures
    if chosen is Method.EXACT:
        from dpcore.measure.exact import exact_figures

        figures = exact_figures(mechanism, words, weights, values, runs, progress)
    elif chosen is Method.RAO_BLACKWELL and mechanism.rays is not None:
        from dpcore.measure.directions import direction_figures

        figures = direction_figures(
            mechanism.rays, words, weights, values, runs, seed, repetitions, progress
        )
    else:
        from dpcore.measure.protocol import protocol_figures

        figures = protocol_figures(mechanism, words, weights, values, runs, seed, progress)
    return Deniability(mechanism.key, chosen, selection, values, runs, figures)
