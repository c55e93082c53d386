"""Deniability from the law itself, for mechanisms whose law is computed (TEM, truncated Gumbel)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.lexicon.progress import Progress, silent
from dpcore.lexicon.ranking import rank
from dpcore.measure.counting import effective_number, expected_distinct
from dpcore.measure.figures import Figures, ranked

if TYPE_CHECKING:
    from dpcore.lexicon.ranking import Ranking
    from dpcore.mechanisms.mechanism import Mechanism

_ENTRIES = 2_000_000  # probabilities held at a time: 16 MB


def exact_figures(
    mechanism: Mechanism,
    words: IntArray,
    weights: FloatArray,
    epsilons: FloatArray,
    runs: int,
    progress: Progress = silent,
) -> Figures:
    """Nw = p_w, E[Sw] = Σ 1 − (1 − p_y)^R and 1/Σp_y², for words (k,) and ε (E,)."""
    shape = (words.size, epsilons.size)
    nw, sw, effective = np.empty(shape), np.empty(shape), np.empty(shape)
    vectors = mechanism.lexicon.vectors
    step = max(1, _ENTRIES // len(mechanism.lexicon))
    error, detail = 0.0, ""
    pairs = ranked(words, len(vectors), lambda block: rank(vectors, vectors[block]))
    for i, (word, ranking) in enumerate(pairs):
        # A law that groups far words gives the sums at once; else the whole law, some ε at a time.
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
    """The fields of `Figures` about means over words: no error, an interval of one point."""
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
    """The figures from a law that takes far words together, where there is one."""
    grouped = mechanism.grouped_law(word, epsilons, ranking)
    if grouped is None:
        return None
    stay, p, counts = grouped
    with np.errstate(divide="ignore"):  # a probability of 1 gives log 0, and the right answer
        shown = -np.expm1(runs * np.log1p(-np.minimum(p, 1.0)))
    return stay, (counts * shown).sum(axis=1), 1.0 / (counts * p * p).sum(axis=1)
