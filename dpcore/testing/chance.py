"""Statistics and small lexicons for randomised tests.

A test of a sampler fails a correct sampler with probability at most `FALSE_ALARM`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dpcore.arrays import FloatArray
from dpcore.lexicon.lexicon import Lexicon

FALSE_ALARM = 1e-6
"""Probability with which a randomised test fails by chance."""
_SMALLEST_CELL = 25  # expected counts below this are pooled: the chi-square law must hold far out


def _pooled(counts: FloatArray, expected: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Pool cells with small expectation; keep a cell that must stay empty."""
    small = expected < _SMALLEST_CELL
    counts = np.append(counts[..., ~small], counts[..., small].sum(axis=-1, keepdims=True), -1)
    expected = np.append(expected[~small], expected[small].sum())
    if 0 < expected[-1] < _SMALLEST_CELL and expected.size > 1:
        into = expected[:-1].argmin()
        counts[..., into] += counts[..., -1]
        expected[into] += expected[-1]
        counts, expected = counts[..., :-1], expected[:-1]
    return counts, expected


def assert_law(outputs: ArrayLike, law: ArrayLike) -> None:
    """Test by chi-square that `outputs` (indices) are independent draws from `law`, shape (n,)."""
    from scipy import stats

    probabilities = np.asarray(law, dtype=np.float64)
    counts = np.bincount(np.asarray(outputs), minlength=probabilities.size).astype(np.float64)
    assert counts.size == probabilities.size
    assert not counts[probabilities == 0].any(), "an output of probability zero was drawn"
    counts, expected = _pooled(counts, counts.sum() * probabilities / probabilities.sum())
    used = expected > 0
    if used.sum() < 2:
        return
    statistic = (np.square(counts - expected)[used] / expected[used]).sum()
    p = stats.chi2.sf(statistic, used.sum() - 1)
    assert p >= FALSE_ALARM, f"p = {p:.3g}: the draws do not have this law"


def assert_same_law(first: ArrayLike, second: ArrayLike) -> None:
    """Test by chi-square that two samples of indices come from one law."""
    from scipy import stats

    a, b = np.asarray(first), np.asarray(second)
    size = int(max(a.max(), b.max())) + 1
    counts = np.stack([np.bincount(x, minlength=size) for x in (a, b)]).astype(np.float64)
    share = counts.sum(axis=0) / counts.sum()
    # Pool by the smaller sample's expectation, then test independence of sample and output.
    counts, _ = _pooled(counts, share * min(a.size, b.size))
    counts = counts[:, counts.sum(axis=0) > 0]
    if counts.shape[1] < 2:
        return
    p = stats.chi2_contingency(counts, correction=False).pvalue
    assert p >= FALSE_ALARM, f"p = {p:.3g}: the two samples differ in law"


def deviation(draws: int, variance: ArrayLike, alarms: float = FALSE_ALARM) -> FloatArray:
    """Return the empirical Bernstein bound on |mean − expectation| (Audibert 2007).

    The draws lie in [0, 1].
    """
    log = math.log(3.0 / alarms)
    return np.sqrt(2.0 * np.asarray(variance) * log / draws) + 3.0 * log / draws


def assert_law_near(outputs: ArrayLike, law: ArrayLike, error: float, directions: int) -> None:
    """Check that draws agree with an *estimated* law, `error` its largest standard error.

    Both sides are means of independent numbers in [0, 1], so both obey Bernstein's bound.
    """
    probabilities = np.asarray(law, dtype=np.float64)
    drawn = np.asarray(outputs)
    share = np.bincount(drawn, minlength=probabilities.size) / drawn.size
    alarms = FALSE_ALARM / (2 * probabilities.size)
    slack = deviation(drawn.size, share * (1 - share), alarms) + deviation(
        directions, error**2 * directions, alarms
    )
    worst = (np.abs(share - probabilities) - slack).max()
    assert worst <= 0, f"a probability is off by {worst:.3g} more than chance allows"


# Small lexicons with made-up words, on which everything can be computed.


def lexicon(vectors: ArrayLike, name: str = "test") -> Lexicon:
    """Return a lexicon with made-up words."""
    rows = np.asarray(vectors, dtype=np.float32)
    return Lexicon(name, tuple(f"w{i}" for i in range(len(rows))), rows)


def cloud(n: int, d: int, seed: int = 0) -> Lexicon:
    """Return a lexicon of Gaussian vectors of unequal lengths, like embeddings."""
    rng = np.random.default_rng([seed, n, d])
    return lexicon(rng.standard_normal((n, d)) * rng.uniform(0.5, 2.0, (n, 1)))


def line(*points: float) -> Lexicon:
    """Return a lexicon of words on a line: d = 1."""
    return lexicon(np.array(points)[:, None])
