"""Deniability as the papers measure it: run the mechanism R times and count.

Feyisetan et al. 2020, Section 4, and Xu et al. 2021, Section 5, with R = 1,000.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.lexicon.progress import Progress, silent
from dpcore.measure.counting import Counts, inverse
from dpcore.measure.figures import Figures, independent_mean_error
from dpcore.measure.probability_intervals import Tally
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from dpcore.mechanisms.mechanism import Mechanism


def protocol_figures(
    mechanism: Mechanism,
    words: IntArray,
    weights: FloatArray,
    epsilons: FloatArray,
    runs: int,
    seed: int | None,
    progress: Progress = silent,
) -> Figures:
    """Fresh noise for every word, ε and run: R calls of the mechanism each.

    The noise is keyed by the word and ε, so that a result does not depend on what else is
    measured beside it. Where all or none of the runs stayed the standard error is 0, as the
    formula has it; the interval is that of Clopper and Pearson, which then reaches to 3.7/R.

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
            # repr: the shortest text that is this ε and no other, the same on every machine.
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
    """The fields of `Figures` about means over words, from shares of R runs, shape (k, E)."""
    mean = Tally.counted(nw * runs, runs).mean(weights)
    low, high = mean.interval()
    return {
        "nw_mean_error": mean.error,
        "nw_mean_low": low,
        "nw_mean_high": high,
        "sw_mean_error": independent_mean_error(sw_error, weights),
    }
