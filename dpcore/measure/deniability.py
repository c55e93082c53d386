"""Deniability of words (Nw, Sw) under a mechanism, measured in one of three labelled ways.

`measure` is the single entry point. Exact wherever the law can be computed; Rao–Blackwell over
noise directions for additive mechanisms; and the papers' protocol (independent runs, counted) for
all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.arguments import a_name, a_whole
from dpcore.arrays import FloatArray, IntArray
from dpcore.display import table
from dpcore.errors import ParameterError
from dpcore.lexicon.neighbours import Ranking, rank
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_RUNS, MAX_RUNS_TIMES_EPSILONS
from dpcore.measure.counting import Counts, effective_number, expected_distinct, inverse
from dpcore.measure.directions import direction_figures
from dpcore.measure.figures import Figures, independent_mean_error, ranked, seal
from dpcore.measure.probability_intervals import Tally
from dpcore.measure.words import Selection
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.streams import generator
from dpcore.optional import need

if TYPE_CHECKING:
    import pandas as pd


RUNS = 1_000
"""R in the papers."""
_SHOWN = 6  # values of ε in one line


class Method(StrEnum):
    """Method of measuring Nw and Sw."""

    AUTO = "auto"
    """Best method of the mechanism: exact, else Rao–Blackwell, else the protocol."""
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
        mean_low: lower end of the interval of level 95 % for the mean under this noise; the mean if
            exact, NaN for the effective number.
        mean_high: upper end.
        median: 50 % quantile.
        worst: value of the least deniable word: the largest Nw, the smallest Sw or effective
            number.
        worst_word: position of that word in the selection.
        bands: quantiles `dpcore.measure.deniability.BANDS`, shape (4, E).
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
        """Make the arrays read-only: they are shared."""
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
        summaries: cache of `summarise` by quantity, since a page calls it at
        every step of a slider.
    """

    mechanism: str
    method: Method
    selection: Selection
    epsilons: FloatArray
    runs: int
    figures: Figures
    summaries: dict[str, Summary] = field(default_factory=dict, init=False, repr=False)

    def rows(self, at: float | None = None) -> list[dict[str, Any]]:
        """Return one plain row a word and ε, words in the order of the selection.

        `nw_low` and `nw_high` are the ends of an interval of level 95 % for the true Nw.
        `standard_error` is that of Nw, and is meaningless where the word hardly ever stayed; all
        errors are 0 for an exact method. An effective number that is infinite (no two runs agreed)
        is None.

        Args:
            at: a single ε, which may have no rows; None for all ε.
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
        """Return the rows as a table: one a word and ε, columns as in `rows`.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        table: pd.DataFrame = need("pandas", "a table needs the package pandas", "app").DataFrame(
            self.rows()
        )
        return table

    def __repr__(self) -> str:
        """Return one line with the measurement and its method."""
        words = f"{len(self.selection):,} words" if len(self.selection) > 1 else "1 word"
        epsilons = ", ".join(f"{epsilon:g}" for epsilon in self.epsilons[:_SHOWN])
        more = ", …" if self.epsilons.size > _SHOWN else ""
        return f"Deniability({self.mechanism}, {words} at ε = {epsilons}{more}; {self.method})"

    def _repr_html_(self) -> str:
        """Return the main columns of `rows` as a table."""
        columns = ("word", "epsilon", "nw", "sw", "effective")
        return table(
            ("word", "ε", "Nw", "Sw", "effective number"),
            [[row[column] for column in columns] for row in self.rows()],
        )


def finite(value: float) -> float | None:
    """Return a number for JSON: None if it is infinite or NaN."""
    return float(value) if np.isfinite(value) else None


def methods_of(mechanism: Mechanism) -> tuple[Method, ...]:
    """Return the methods that `measure` accepts for this mechanism, best first."""
    methods = (
        (Method.EXACT, mechanism.exact_law),
        (Method.RAO_BLACKWELL, mechanism.rays is not None),
        (Method.PROTOCOL, True),
    )
    return tuple(method for method, possible in methods if possible)


def choose_method(mechanism: Mechanism, method: Method | str) -> Method:
    """Return the method to use, with AUTO resolved.

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
    """Return R unchanged if it is 2 to MAX_RUNS (one run has no spread and no pair)."""
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
    """Measure Nw, Sw and the effective number of words at several ε.

    Args:
        mechanism: over the lexicon of the selection.
        selection: the words.
        epsilons: shape (E,), in any order.
        method: exact, rao-blackwell, protocol, or auto.
        runs: R, which Sw depends on with any method.
        seed: of the noise; exact methods ignore it. A measurement protects nothing, so a fixed seed
            is fine here.
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
    # This method keeps the outputs of all runs at all ε; the protocol keeps those of one ε.
    if chosen is Method.RAO_BLACKWELL and runs * values.size > MAX_RUNS_TIMES_EPSILONS:
        raise ParameterError(
            f"runs times values of epsilon may be {MAX_RUNS_TIMES_EPSILONS:,} at most, got "
            f"{runs:,} times {values.size:,}"
        )
    a_whole(repetitions, "repetitions", 1)
    figures: Figures
    if chosen is Method.EXACT:
        figures = exact_figures(mechanism, words, weights, values, runs, progress)
    elif chosen is Method.RAO_BLACKWELL and mechanism.rays is not None:
        figures = direction_figures(
            mechanism.rays, words, weights, values, runs, seed, repetitions, progress
        )
    else:
        figures = protocol_figures(mechanism, words, weights, values, runs, seed, progress)
    return Deniability(mechanism.key, chosen, selection, values, runs, figures)


# Deniability as the papers measure it: run the mechanism R times and count.
#
# Feyisetan et al. 2020, Section 4, and Xu et al. 2021, Section 5, with R = 1,000.


def protocol_figures(
    mechanism: Mechanism,
    words: IntArray,
    weights: FloatArray,
    epsilons: FloatArray,
    runs: int,
    seed: int | None,
    progress: Progress = silent,
) -> Figures:
    """Measure with fresh noise for every word, ε and run: R calls of the mechanism each.

    The noise is keyed by the word and ε, so that a result does not depend on what else is measured.
    Where all or none of the runs stayed the standard error is 0, by its formula; the interval is
    that of Clopper and Pearson, which then reaches to 3.7/R.

    Args:
        mechanism: the mechanism.
        words: shape (k,).
        weights: of the words in a mean, shape (k,).
        epsilons: shape (E,).
        runs: R ≥ 1; Sw and the effective number depend on it.
        seed: of the noise; None is unpredictable.
        progress: called after every word and ε.
    """
    columns = np.empty((6, words.size, epsilons.size))
    for i, word in enumerate(words.tolist()):
        entries = np.full(runs, word, dtype=np.int64)
        for e, epsilon in enumerate(epsilons.tolist()):
            # repr: the shortest text that denotes only this ε, the same on every machine.
            rng = generator(seed, "protocol", mechanism.key, word, repr(epsilon))
            outputs = mechanism.sample(rng, entries, epsilon)
            counts = Counts.of(outputs[:, None], word)
            columns[:, i, e] = np.concatenate(
                (*counts.nw(), *counts.sw(), *inverse(*counts.agreement()))
            )
            progress(mechanism.short, i * epsilons.size + e + 1, words.size * epsilons.size)
    nw, nw_error, sw, sw_error, effective, effective_error = columns
    nw_low, nw_high = Tally.counted(nw * runs, runs).interval()
    return Figures(
        nw=nw,
        sw=sw,
        effective=effective,
        nw_error=nw_error,
        nw_low=nw_low,
        nw_high=nw_high,
        sw_error=sw_error,
        effective_error=effective_error,
        **counted_means(nw, sw_error, weights, runs),
        numerical_error=0.0,
        detail=f"{runs:,} independent runs at each epsilon",
    )


def counted_means(
    nw: FloatArray, sw_error: FloatArray, weights: FloatArray, runs: int
) -> dict[str, FloatArray]:
    """Return the fields of `Figures` about means over words, from shares of R runs, (k, E)."""
    mean = Tally.counted(nw * runs, runs).mean(weights)
    low, high = mean.interval()
    return {
        "nw_mean_error": mean.error,
        "nw_mean_low": low,
        "nw_mean_high": high,
        "sw_mean_error": independent_mean_error(sw_error, weights),
    }


# Deniability from the law itself, for mechanisms with a computed law (TEM, truncated Gumbel).


_ENTRIES = 2_000_000  # probabilities held at a time: 16 MB


def exact_figures(
    mechanism: Mechanism,
    words: IntArray,
    weights: FloatArray,
    epsilons: FloatArray,
    runs: int,
    progress: Progress = silent,
) -> Figures:
    """Compute Nw = p_w, E[Sw] = Σ 1 − (1 − p_y)^R and 1/Σp_y², for words (k,) and ε (E,)."""
    shape = (words.size, epsilons.size)
    nw, sw, effective = np.empty(shape), np.empty(shape), np.empty(shape)
    vectors = mechanism.lexicon.vectors
    step = max(1, _ENTRIES // len(mechanism.lexicon))
    error, detail = 0.0, ""
    pairs = ranked(words, len(vectors), lambda block: rank(vectors, vectors[block]))
    for i, (word, ranking) in enumerate(pairs):
        # A law that groups far words gives the sums directly; else the whole law, some ε at a time.
        sums = _sums(mechanism, word, epsilons, ranking, runs)
        if sums is not None:
            nw[i], sw[i], effective[i] = sums
            error, detail = mechanism.grouped_error, mechanism.law_method
            progress(mechanism.short, i + 1, words.size)
            continue
        for start in range(0, epsilons.size, step):
            part = slice(start, start + step)
            law = mechanism.law(word, epsilons[part], ranking=ranking)
            nw[i, part] = law.stay()
            effective[i, part] = effective_number(law.probabilities)
            sw[i, part] = expected_distinct(law.probabilities, runs)
            error, detail = max(error, law.error), law.method
        progress(mechanism.short, i + 1, words.size)
    none = np.zeros(shape)
    return Figures(
        nw=nw,
        sw=sw,
        effective=effective,
        nw_error=none,
        nw_low=nw,
        nw_high=nw,
        sw_error=none,
        effective_error=none,
        **exact_means(nw, weights),
        numerical_error=error,
        detail=detail,
    )


def exact_means(nw: FloatArray, weights: FloatArray) -> dict[str, FloatArray]:
    """Return the fields of `Figures` about means over words: no error, an interval of one point."""
    none, mean = np.zeros(nw.shape[1]), weights @ nw / weights.sum()
    return {
        "nw_mean_error": none,
        "nw_mean_low": mean,
        "nw_mean_high": mean,
        "sw_mean_error": none,
    }


def _sums(
    mechanism: Mechanism, word: int, epsilons: FloatArray, ranking: Ranking, runs: int
) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Return the figures from a law that groups far words; None if there is none."""
    grouped = mechanism.grouped_law(word, epsilons, ranking)
    if grouped is None:
        return None
    stay, p, counts = grouped
    with np.errstate(divide="ignore"):  # a probability of 1 gives log 0, and the right answer
        shown = -np.expm1(runs * np.log1p(-np.minimum(p, 1.0)))
    return stay, (counts * shown).sum(axis=1), 1.0 / (counts * p * p).sum(axis=1)


# Measurements of a few words at a time, joined: for progress, and for early stopping.


_EACH = (
    "nw", "sw", "effective", "nw_error", "nw_low", "nw_high", "sw_error", "effective_error",
)  # fmt: skip
_MEANS = ("nw_mean_error", "nw_mean_low", "nw_mean_high", "sw_mean_error")


def part_of(selection: Selection, places: Sequence[int]) -> Selection:
    """Return some words of a selection with their weights, in the given order."""
    rows = np.asarray(places, dtype=np.int64)
    names = tuple(selection.names[i] for i in rows.tolist())
    return Selection(selection.words[rows], names, selection.weights[rows], selection.description)


def join_measurements(parts: Sequence[Deniability], selection: Selection) -> Deniability:
    """Return one measurement from several of different words, one mechanism and the same ε.

    The words' own figures and errors are those of a measurement of all words at once with the same
    seed. The error of their mean is the same for independent runs and exact laws. Words measured
    along shared directions have errors of unknown correlation between two parts, so there it is the
    upper bound for full correlation: not smaller than that of one measurement.

    Args:
        parts: of different words of the selection.
        selection: gives the order of the words; words that no part has measured are left out.

    Raises:
        ParameterError: there is no part, or they differ in mechanism, method, R or ε.
    """
    if not parts:
        raise ParameterError("nothing has been measured; at least one part is needed")
    first = parts[0]
    settings = [(part.mechanism, part.method, part.runs) for part in parts]
    for part, setting in zip(parts[1:], settings[1:], strict=True):
        if not (setting == settings[0] and np.array_equal(part.epsilons, first.epsilons)):
            raise ParameterError(
                "parts must be of one mechanism, method, number of runs and grid of epsilon, got "
                f"{', '.join(map(str, settings[0]))} and {', '.join(map(str, setting))}"
            )
    measured = np.concatenate([part.selection.words for part in parts])
    places = np.flatnonzero(np.isin(selection.words, measured))
    selection = part_of(selection, places.tolist())
    # Parts are in the order of measurement; rows go back to that of the selection.
    row_of = {word: i for i, word in enumerate(measured.tolist())}
    order = [row_of[word] for word in selection.words.tolist()]
    each = {
        name: np.concatenate([getattr(p.figures, name) for p in parts])[order] for name in _EACH
    }
    if first.method is Method.RAO_BLACKWELL:
        # A mean of the parts' means, as if their errors were fully correlated.
        shares = np.array([part.selection.weights.sum() for part in parts])
        shares /= shares.sum()
        means = {
            name: shares @ np.stack([getattr(part.figures, name) for part in parts])
            for name in _MEANS
        }
    elif first.method is Method.PROTOCOL:
        means = counted_means(each["nw"], each["sw_error"], selection.weights, first.runs)
    else:
        means = exact_means(each["nw"], selection.weights)
    figures = Figures(
        **each,
        **means,
        numerical_error=max(part.figures.numerical_error for part in parts),
        detail=first.figures.detail,
    )
    return Deniability(
        first.mechanism, first.method, selection, first.epsilons, first.runs, figures
    )


# Summary of a distribution over words: mean ± deviation as in the papers, and quantiles.

STANDARD_ERRORS = 2.0
"""Number of standard errors by which an estimate of many runs may reasonably be off."""
QUANTITIES = ("nw", "sw", "effective")
BANDS = (0.05, 0.25, 0.75, 0.95)
"""Quantiles of the two bands: the middle half and the middle nine tenths of the words."""


def summarise(measured: Deniability, quantity: str) -> Summary:
    """Return one quantity of a measurement over its words, computed once for each measurement.

    Raises:
        ParameterError: there is no such quantity.
    """
    if quantity not in QUANTITIES:
        raise ParameterError(f"quantity must be one of {', '.join(QUANTITIES)}, got {quantity!r}")
    if quantity not in measured.summaries:
        measured.summaries[quantity] = _summary(measured, quantity)
    return measured.summaries[quantity]


def _summary(measured: Deniability, quantity: str) -> Summary:
    figures, weights = measured.figures, measured.selection.weights
    values: FloatArray = getattr(figures, quantity)
    total = weights.sum()
    with np.errstate(invalid="ignore"):  # an infinite effective number has no deviation
        mean = weights @ values / total
        squares = weights @ np.square(values - mean)
    quantiles = np.quantile(values, (0.5, *BANDS), axis=0, method="inverted_cdf", weights=weights)
    # The least deniable word stays most often, or has the fewest outputs.
    worst = values.argmax(axis=0) if quantity == "nw" else values.argmin(axis=0)
    errors = {"nw": figures.nw_mean_error, "sw": figures.sw_mean_error}
    # There is no estimate of the error of a mean of reciprocals.
    error = errors.get(quantity, np.full(mean.shape, np.nan))
    low, high = mean - STANDARD_ERRORS * error, mean + STANDARD_ERRORS * error
    if quantity == "nw":
        low, high = figures.nw_mean_low, figures.nw_mean_high
    return Summary(
        quantity=quantity,
        mean=mean,
        # Weights are counts of tokens, so the divisor is that of so many observations.
        deviation=np.sqrt(squares / max(total - 1.0, 1.0)),
        mean_error=error,
        mean_low=low,
        mean_high=high,
        median=quantiles[0],
        worst=np.take_along_axis(values, worst[None], axis=0)[0],
        worst_word=worst,
        bands=quantiles[1:],
    )


def summary_rows(measured: Deniability) -> list[dict[str, Any]]:
    """Return one plain row an ε and quantity."""
    rows = []
    for quantity in QUANTITIES:
        s = summarise(measured, quantity)
        rows += [
            {
                "mechanism": measured.mechanism,
                "epsilon": epsilon,
                "quantity": quantity,
                "mean": finite(s.mean[e]),
                "standard_deviation": finite(s.deviation[e]),
                "standard_error": finite(s.mean_error[e]),
                "mean_low": finite(s.mean_low[e]),
                "mean_high": finite(s.mean_high[e]),
                "median": finite(s.median[e]),
                "worst": finite(s.worst[e]),
                "worst_word": measured.selection.names[int(s.worst_word[e])],
                **{f"q{100 * q:02.0f}": finite(s.bands[j, e]) for j, q in enumerate(BANDS)},
                "words": len(measured.selection),
                "method": str(measured.method),
                "runs": measured.runs,
            }
            for e, epsilon in enumerate(measured.epsilons.tolist())
        ]
    return rows
