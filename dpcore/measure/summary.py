"""Summary of a distribution over words: mean ± deviation as in the papers, and quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.measure.deniability import Deniability, Summary, finite

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
