"""ADePT (Krishna et al. 2021) and its refutation (Habernal 2021), compared with measurements."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.audit.montecarlo import clopper_pearson
from dpcore.errors import ParameterError
from dpcore.lexicon.progress import Progress
from dpcore.limits import MAX_DRAWS
from dpcore.papers.row import Row, comparison_row, listing, signed
from dpcore.study.recorded import Figures

if TYPE_CHECKING:
    import pandas as pd


row = partial(comparison_row, "habernal2021")
"""Row about the refutation."""
_CORPORA = {"ATIS": "atis.parquet", "SNIPS": "snips.parquet"}
_NO_NOISE = "no noise"
_REPAIRS = {
    "adept-l1": "(a) L1 clipping",
    "laplace": "(b) wide noise",
    "l2-laplace": "(c) round noise",
}


def adept_rows(figures: Figures) -> tuple[Row, ...]:
    """Return rows about the corpus, the sensitivity, the attack and the utility of the repairs."""
    return (
        _words(figures),
        row("unprotected", figures, ours=_baselines(figures, "unprotected")),
        _factor(figures),
        _bound(figures, 1.0),
        _bound(figures, 4.0),
        row("attack", figures, ours=_of_each(figures, _attacked)),
        row("utility", figures, ours=_of_each(figures, _accuracies)),
        row("repaired", figures, ours=_of_each(figures, _recalls)),
        _equal_privacy(figures),
    )


def _each(figures: Figures) -> list[tuple[str, Figures]]:
    """Return name and figures of each corpus."""
    return [(name, figures.only(data=data)) for name, data in _CORPORA.items()]


def _of_each(figures: Figures, text: Callable[[Figures], str]) -> str:
    """Join a text for each corpus."""
    return "; ".join(f"{name}: {text(part)}" for name, part in _each(figures))


def _baselines(figures: Figures, quantity: str) -> str:
    """Join a baseline of each corpus."""
    return ", ".join(f"{name} {part.without(quantity).mean:.4g}" for name, part in _each(figures))


def _true_epsilon(figures: Figures, epsilon: float) -> float:
    """Return the true ε of the published noise, which depends only on the latent dimension."""
    return figures.mean("true_epsilon", "adept", epsilon, data=_CORPORA["ATIS"])


def _words(figures: Figures) -> Row:
    words = figures.without("vocabulary", data=_CORPORA["ATIS"]).mean
    # 941 words of ATIS, as the paper says.
    return row("words", figures, words=words, difference=signed(words - 941))


def _factor(figures: Figures) -> Row:
    true = _true_epsilon(figures, 1.0)
    widest = _baselines(figures, "widest_pair")
    numbers = {"true": true, "widest": widest, "root": math.sqrt(32)}
    # The abstract speaks of a factor of 6 at 32 coordinates: √32 = 5.7, rounded up.
    return row("factor", figures, difference=signed(true - 6), **numbers)


def _bound(figures: Figures, epsilon: float) -> Row:
    claims = ", ".join(
        f"{name} {part.mean('first_bound', 'adept', epsilon, variant='claimed'):.3g}"
        for name, part in _each(figures)
    )

    def named(part: Figures) -> str:
        mean, half = _pooled(part, epsilon)
        repaired = part.mean("bayes", "l2-laplace", epsilon)
        return f"{mean:.3g} ({mean - half:.3g} to {mean + half:.3g}), with (c) {repaired:.3g}"

    return row("bound", figures, epsilon=epsilon, claims=claims, ours=_of_each(figures, named))


def _pooled(figures: Figures, epsilon: float) -> tuple[float, float]:
    """Return mean and half interval of the Bayes optimum over trials, which are independent."""
    rows = figures.rows("bayes", label="adept", epsilon=epsilon)
    halves = (rows["high"] - rows["value"]).to_numpy(dtype=float)
    # Variances of independent means add up.
    return float(rows["value"].mean()), float((halves**2).sum() ** 0.5 / halves.size)


def _attacked(part: Figures) -> str:
    shares = listing(part.mean("first", "adept", epsilon) for epsilon in (4.0, 8.0, 16.0, 32.0))
    count = float(part.rows("first_bound")["count"].mean())
    return (
        f"{shares}; mean rank at ε = 8 {part.mean('rank', 'adept', 8.0):.3g}, with (c) "
        f"{part.mean('rank', 'l2-laplace', 8.0):.4g}, by guessing {(count + 1) / 2:.0f}"
    )


def _accuracies(corpus: Figures) -> str:
    part = corpus.only(learner="tf-idf", tested_on="clean")
    alone, plain = (part.without("accuracy", variant=kind).mean for kind in (_NO_NOISE, ""))
    return (
        f"{part.at('accuracy', 'adept', 1.0)}; without noise {alone:.3f}, original text "
        f"{plain:.3f}, largest intent {corpus.without('majority').mean:.3f}"
    )


def _recalls(part: Figures) -> str:
    """Join the ROUGE-1 scores at one claimed ε, the same for all."""
    return ", ".join(
        f"{title} {part.mean('rouge1', arm, 16.0):.3f}"
        for arm, title in {"adept": "published", **_REPAIRS}.items()
    )


def _equal_privacy(figures: Figures) -> Row:
    true = _true_epsilon(figures, 16.0)

    def recalls(part: Figures) -> str:
        repairs = ", ".join(
            f"{title} {part.interpolated('rouge1', arm, true):.3f}"
            for arm, title in _REPAIRS.items()
        )
        return f"published {part.mean('rouge1', 'adept', 16.0):.3f}, {repairs}"

    return row("equal-privacy", figures, true=true, recalls=_of_each(figures, recalls))


# Share of pairs of latent vectors that ADePT's noise does not cover (Habernal 2021, Figure 1).
#
# ADePT adds Laplace noise of scale 2C/ε, which covers two clipped vectors if they are at most 2C
# apart in the L1 norm. Clipping by the L2 norm does not ensure that. Pairs are drawn as the paper
# does, uniform and normal; clipping by the L1 norm is the control, where no pair may exceed.


COLUMNS = (
    "distribution",
    "clipping",
    "dimension",
    "pairs",
    "exceeding",
    "share",
    "low",
    "high",
    "largest",
    "expected",
)
"""One row for each distribution, clipping and dimension. `exceeding` counts pairs with
‖x − y‖₁ > 2C; `low` and `high` are a Clopper–Pearson interval of 95 %; `largest` is the largest
‖x − y‖₁/(2C); `expected` is the share by a formula, NaN where there is none."""
GEOMETRY_COLUMNS = ("shape", "order", "x", "y")
"""Points in the drawing order of a shape, in units of C."""

DIMENSIONS = (*range(1, 65), *range(70, 256, 5))
"""From 1 to 255: every n where the shares rise, then every fifth."""
LARGEST_DIMENSION = 1_024
_BLOCK = 500  # pairs at a time: they stay in the processor's cache
_ONE_SIDED = 0.025
_NEGLIGIBLE = 1e-6  # chance of being clipped, below which a formula leaves clipping out
_STEPS = 90  # of the circle


@dataclass(frozen=True)
class Coordinates:
    """Law of each coordinate of a latent vector, in units of C.

    Attributes:
        name: for people.
        deviation: σ/C of a normal law centred at 0; None for the uniform law on [−C, C].
    """

    name: str
    deviation: float | None

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Draw independent coordinates divided by C."""
        if self.deviation is None:
            return rng.uniform(-1.0, 1.0, shape)
        return rng.standard_normal(shape) * self.deviation

    def expected(self, dimension: int) -> float:
        """Return the share of pairs with ‖x − y‖₁ > 2C; NaN where no formula is known.

        In one dimension it is 0. For normal vectors that clipping hardly ever changes, ‖x − y‖₁ is
        a sum of n half-normal numbers: the central limit theorem with its first correction, for
        skewness (Edgeworth), error of order 1/n. Half of the pairs exceed at n = √π·C/σ.
        """
        from scipy.stats import chi2, norm

        if dimension == 1:
            return 0.0
        if self.deviation is None:
            return math.nan
        if 2.0 * chi2.sf(self.deviation**-2, dimension) > _NEGLIGIBLE:
            return math.nan
        spread = self.deviation * math.sqrt(2.0 * dimension * (1.0 - 2.0 / math.pi))
        t = (2.0 - 2.0 * dimension * self.deviation / math.sqrt(math.pi)) / spread
        half_normal = math.sqrt(2.0) * (4.0 - math.pi) / (math.pi - 2.0) ** 1.5
        skew = half_normal / math.sqrt(dimension)
        share = norm.sf(t) + skew / 6.0 * (t * t - 1.0) * norm.pdf(t)
        return float(min(max(share, 0.0), 1.0))


DISTRIBUTIONS = (
    Coordinates("uniform on [−C, C]", None),
    Coordinates("normal, σ = 0.1 C", 0.1),
    Coordinates("normal, σ = 0.01 C", 0.01),
)
"""Distributions of the paper: its text names the first two kinds; Figure 1 has the third too."""


def exceeding_pairs(
    rng: np.random.Generator,
    dimensions: Iterable[int] = DIMENSIONS,
    pairs: int = 10_000,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Compute Figure 1 of Habernal 2021: the share of pairs that the noise does not cover.

    C cancels: all distributions are in units of it. One set of vectors serves all dimensions, each
    taking the first n coordinates: every row has its own law and interval, but the rows of one
    distribution depend on one another, so a curve is smoother than independent points would be.

    Args:
        rng: source of randomness.
        dimensions: n, each from 1 to 1,024.
        pairs: number drawn for each dimension.
        progress: called with (stage, done, all).

    Returns:
        A table with the columns `COLUMNS`.

    Raises:
        ParameterError: a dimension or the number of pairs is out of range.
    """
    import pandas as pd

    wanted = sorted(set(dimensions))
    if not (wanted and wanted[0] >= 1 and wanted[-1] <= LARGEST_DIMENSION):
        raise ParameterError(f"dimensions must be 1 to {LARGEST_DIMENSION:,}, got {wanted[:3]}")
    if not 1 <= pairs <= MAX_DRAWS:
        raise ParameterError(f"pairs must be 1 to {MAX_DRAWS:,}, got {pairs}")
    rows: list[tuple[object, ...]] = []
    steps = len(DISTRIBUTIONS) * -(-pairs // _BLOCK)
    done = 0
    for kind in DISTRIBUTIONS:
        counts = np.zeros((2, len(wanted)), dtype=np.int64)
        largest = np.zeros((2, len(wanted)))
        for start in range(0, pairs, _BLOCK):
            # Coordinates first: a running sum along them serves every dimension.
            shape = (wanted[-1], min(_BLOCK, pairs - start))
            x, y = kind.draw(rng, shape), kind.draw(rng, shape)
            for which, order in enumerate((2, 1)):
                lengths = clipped_distances(x, y, wanted, order)
                counts[which] += (lengths > 2.0).sum(axis=1)
                largest[which] = np.maximum(largest[which], 0.5 * lengths.max(axis=1))
            done += 1
            if progress is not None:
                progress("pairs", done, steps)
        for which, clipping in enumerate(("L2", "L1")):
            for place, n in enumerate(wanted):
                count = int(counts[which, place])
                low, high = clopper_pearson(count, pairs, _ONE_SIDED)
                # Clipped by the L1 norm, no pair can exceed: the control.
                expected = 0.0 if clipping == "L1" else kind.expected(n)
                top = float(largest[which, place])
                row = (kind.name, clipping, n, pairs, count, count / pairs, low, high, top)
                rows.append((*row, expected))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def clipped_distances(
    x: FloatArray, y: FloatArray, dimensions: list[int], order: int
) -> FloatArray:
    """Compute ‖clip(x) − clip(y)‖₁ of the first n coordinates, clipped to norm 1.

    Args:
        x: coordinates of the first vectors, shape (d, k).
        y: of the second ones, shape (d, k).
        dimensions: E values of n, ascending, at most d.
        order: of the norm that clips, 1 or 2.

    Returns:
        Shape (E, k).
    """
    longest = [np.cumsum(np.abs(v) ** order, axis=0) ** (1.0 / order) for v in (x, y)]
    # Where nothing is clipped, one running sum serves all dimensions.
    plain = np.cumsum(np.abs(x - y), axis=0)
    apart = np.empty((len(dimensions), x.shape[1]))
    # Keeps rounding from putting a vector outside, where the control would count it.
    room = 1.0 - (x.shape[0] + 4) * 2.0**-51
    for row, n in zip(apart, dimensions, strict=True):
        row[:] = plain[n - 1]
        norms = [lengths[n - 1] for lengths in longest]
        changed = np.flatnonzero((norms[0] > room) | (norms[1] > room))
        if not changed.size:
            continue
        left, right = (room / np.maximum(length[changed], room) for length in norms)
        # Then no copy of the columns is needed, which is the usual case in high dimensions.
        every = changed.size == row.size
        a = x[:n] * left if every else x[:n, changed] * left
        b = y[:n] * right if every else y[:n, changed] * right
        np.subtract(a, b, out=a)
        np.abs(a, out=a)
        row[changed] = a.sum(axis=0)
    return apart


def two_dimensions() -> pd.DataFrame:
    """Return the two-dimensional counterexample as shapes in units of C.

    Vectors clipped by the L2 norm fill the disc. The noise covers pairs from the square
    |x| + |y| ≤ 1, any two of which are at most 2 apart in the L1 norm. The smallest such square
    around the disc has |x| + |y| ≤ √2, and ±(1, 1)/√2 lie on both: 2√2 apart.

    Returns:
        A table with the columns `GEOMETRY_COLUMNS`.
    """
    import pandas as pd

    angle = np.linspace(0.0, 2.0 * math.pi, _STEPS + 1)
    rows = [("disc", i, math.cos(a), math.sin(a)) for i, a in enumerate(angle.tolist())]
    for name, reach in (("covered square", 1.0), ("square around the disc", math.sqrt(2.0))):
        corners = ((reach, 0.0), (0.0, reach), (-reach, 0.0), (0.0, -reach), (reach, 0.0))
        rows += [(name, i, x, y) for i, (x, y) in enumerate(corners)]
    side = 1.0 / math.sqrt(2.0)
    rows += [("worst pair", 0, side, side), ("worst pair", 1, -side, -side)]
    return pd.DataFrame(rows, columns=list(GEOMETRY_COLUMNS))
