"""Nw, Sw and the effective number of candidates, from a law or from counted outputs.

Nw is the probability that a word stays, and Sw the number of distinct outputs in R independent
runs (Feyisetan et al. 2020, Section 4: N_x and S_x with R = 1,000; Xu et al. 2021, Section 5). From
a law p they are p_w and, in expectation, Σ_y 1 − (1 − p_y)^R.

The effective number of candidates is the inverse Simpson index 1/Σ_y p_y² (the Hill number of order
2; Simpson 1949, Hill 1973): the number of equally likely outputs with which two independent runs
would agree as often. Order 2 because it alone has an unbiased estimate of its reciprocal at any
number of runs; the exponential of the entropy would need the words that no run produced.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray, IntArray


def expected_distinct(probabilities: FloatArray, runs: int) -> FloatArray:
    """Return E[Sw] = Σ_y 1 − (1 − p_y)^R, without cancellation for tiny p.

    Only for an exact law. With an estimated law the sum is too small: words that no direction
    reached are missing, and there are many of them wherever Sw is large.

    Args:
        probabilities: shape (..., m); the last axis is the law.
        runs: R.

    Returns:
        Shape (...).
    """
    values = np.asarray(probabilities, dtype=np.float64)
    rows = values.reshape(-1, values.shape[-1])
    series = _binomial_series(runs)
    sums = [_distinct(row, runs, series) for row in rows]
    return np.array(sums).reshape(values.shape[:-1])


_RARE = 0.1  # R·p up to which an output is rare
_TERMS = 8


def _binomial_series(runs: int) -> FloatArray:
    """Return the coefficients of 1 − (1 − x/R)^R = Σ_j (−1)^{j+1} C(R, j)/R^j · x^j, shape (8,).

    The terms alternate and fall, so the omitted part is at most the next term: below 3e-14 of the
    value for x up to `_RARE`.
    """
    j = np.arange(_TERMS)
    return np.asarray(np.cumprod(np.where(j == 0, 1.0, -1.0) * (runs - j) / (runs * (j + 1.0))))


def _distinct(p: FloatArray, runs: int, series: FloatArray) -> float:
    """Return Σ 1 − (1 − p)^R; rare outputs, most of a vocabulary, by sums of powers."""
    x = p * runs
    often = np.flatnonzero(x > _RARE)
    x[often] = 0.0
    x2 = x * x
    x3, x4 = x2 * x, x2 * x2
    pairs = ((x, x), (x2, x), (x2, x2), (x3, x2), (x3, x3), (x4, x3), (x4, x4))
    # Not `@`: for vectors this long it would start the threads of the matrix library every time.
    powers = [x.sum(), *(np.einsum("i,i->", a, b) for a, b in pairs)]
    with np.errstate(divide="ignore"):  # a probability of 1 gives log 0, and the right answer
        missed = np.log1p(-np.minimum(p[often], 1.0))
    missed *= runs
    return float(series @ np.array(powers) - np.expm1(missed, out=missed).sum())


def effective_number(probabilities: FloatArray) -> FloatArray:
    """Return the inverse Simpson index 1/Σ_y p_y² of a law, shape (..., m) to (...)."""
    return np.asarray(1.0 / np.einsum("...i,...i->...", probabilities, probabilities))


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts of R runs at each ε; every array has shape (E,), float64.

    Attributes:
        runs: R.
        stayed: runs in which the word was unchanged.
        distinct: number of distinct outputs, Sw.
        singletons: outputs that occurred exactly once.
        pairs: Σ_y N_y(N_y − 1), ordered pairs of runs that agree.
        triples: Σ_y N_y(N_y − 1)(N_y − 2).
    """

    runs: int
    stayed: FloatArray
    distinct: FloatArray
    singletons: FloatArray
    pairs: FloatArray
    triples: FloatArray

    @classmethod
    def of(cls, outputs: IntArray, word: int) -> Counts:
        """Count outputs of shape (R, E), one column an ε."""
        runs, width = outputs.shape
        # In a sorted row equal outputs are adjacent: where one begins, a new output does.
        rows = np.sort(outputs.T, axis=1)
        starts = np.ones(rows.shape, dtype=bool)
        starts[:, 1:] = rows[:, 1:] != rows[:, :-1]
        first = np.flatnonzero(starts)
        times = np.diff(np.append(first, rows.size)).astype(np.float64)
        column = first // runs  # of the flattened rows, each of R entries

        def gather(values: FloatArray) -> FloatArray:
            return np.asarray(np.bincount(column, values, minlength=width), dtype=np.float64)

        return cls(
            runs=runs,
            stayed=(outputs == word).sum(axis=0).astype(np.float64),
            distinct=gather(np.ones_like(times)),
            singletons=gather((times == 1).astype(np.float64)),
            pairs=gather(times * (times - 1)),
            triples=gather(times * (times - 1) * (times - 2)),
        )

    def nw(self) -> tuple[FloatArray, FloatArray]:
        """Return the share of runs in which the word stayed, and its error √(p(1 − p)/R)."""
        share = self.stayed / self.runs
        return share, np.sqrt(share * (1.0 - share) / self.runs)

    def sw(self) -> tuple[FloatArray, FloatArray]:
        """Return the number of distinct outputs, and a standard error that errs upwards.

        The variance of the number of distinct values among independent runs is at most the expected
        number of values seen once (the Efron–Stein inequality: exchanging one run changes the count
        by at most one, and only if that run was alone). It is close to it where Sw is large, and
        available from a single set of runs.
        """
        return self.distinct, np.sqrt(self.singletons)

    def agreement(self) -> tuple[FloatArray, FloatArray]:
        """Return the share of pairs of runs that agree, an unbiased estimate of Σp², and variance.

        The variance is that of a U-statistic of degree 2 (Hoeffding 1948), with Σp³ estimated from
        the triples of runs that agree.
        """
        runs = float(self.runs)
        if runs < 3:
            share = self.pairs / max(runs * (runs - 1), 1.0)
            return share, share * (1.0 - share)
        share = self.pairs / (runs * (runs - 1))
        cubes = self.triples / (runs * (runs - 1) * (runs - 2))
        # 4·ζ₁/R + 2·ζ₂/(R(R − 1)) with ζ₁ = Σp³ − (Σp²)² and ζ₂ = Σp²(1 − Σp²). The exact variance
        # has the factor (R − 2)/(R − 1) < 1 at ζ₁. The estimate of ζ₁ may be below 0.
        spread = 4.0 * np.maximum(cubes - share**2, 0.0) / runs
        return share, spread + 2.0 * share * (1.0 - share) / (runs * (runs - 1))


def inverse(agreement: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the effective number 1/Σp² from an estimate of Σp², with a first-order error.

    Both are infinite where no two runs agree: then the runs only show that the number is large.
    """
    some = agreement > 0
    # The derivative of 1/a is −1/a², so an error of a is one of 1/a times its square.
    number = np.divide(1.0, agreement, out=np.full(agreement.shape, np.inf), where=some)
    error = np.full(agreement.shape, np.inf)
    np.multiply(np.sqrt(variance), np.square(number), out=error, where=some)
    return number, error
