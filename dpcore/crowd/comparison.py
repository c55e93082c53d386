"""Comparison of groups of private texts: words that differ, trends, and the distance of two means.

With the estimates Ĝ of a query in two groups of N₁ and N₂ words, Ĝ₁/N₁ − Ĝ₂/N₂ has the sum of both
variances, for the groups are of different texts. If nothing differs both groups have one variance a
word: it is estimated from both together, so that a word that never came out in a small group is not
taken for one that is never there. Few outputs are not normal: there a probability is at least that
of Bernstein's inequality, 2·exp(−t²/(2(V + M·t/3))) for a difference t of variance V whose terms
are at most M apart. What may be biased counts as a difference only beyond the bound of its bias.

Of many comparisons false discoveries are controlled (Benjamini and Hochberg 1995), and the
intervals of those that are shown because they differ are wider, so that of these a share of 5 %
misses at most (Benjamini and Yekutieli 2005, Definition 1: the false coverage rate).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.arrays import BoolArray, FloatArray, IntArray
from dpcore.crowd.estimates import ENOUGH, POPULATION, Estimates, OutputCounts, Sums, sums_of
from dpcore.display import table
from dpcore.errors import ParameterError
from dpcore.learn.intervals import normal_quantile, student_quantile

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

RATE = 0.05
"""Share of false discoveries among those that are called different."""


def candidates(observed: OutputCounts, count: int) -> IntArray:
    """Return the words whose outputs differ most between groups, or of one group the commonest.

    Args:
        observed: outputs by group.
        count: number of words.

    Returns:
        Word indices, first the one that differs most, shape (count,) or fewer.
    """
    outputs = observed.outputs.astype(np.float64)
    if len(observed.groups) == 1:
        score = outputs[0]
    else:
        share = outputs.sum(axis=0) / outputs.sum()
        expected = observed.words[:, None] * share
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.nan_to_num((outputs - expected) ** 2 / expected).max(axis=0)
    order = np.argsort(-score, kind="stable")[:count]
    return np.asarray(order[score[order] > 0])


@dataclass(frozen=True)
class Difference:
    """A query in a group compared with the rest, or in the second of two groups with the first.

    Attributes:
        query: what is counted.
        group: the group.
        rest: with what it is compared: the other group, or "the rest".
        share: estimated share of its words.
        other: that of the rest.
        difference: `share` − `other`.
        low: lower end of the interval of `difference`.
        high: upper end.
        z: difference in standard errors, beyond the bias.
        p: two-sided probability of a larger one by chance.
        q: least rate of false discoveries at which it is one (Benjamini and Hochberg).
    """

    query: str
    group: str
    rest: str
    share: float
    other: float
    difference: float
    low: float
    high: float
    z: float
    p: float
    q: float

    @property
    def differs(self) -> bool:
        """True if it is a discovery at `RATE`."""
        return self.q <= RATE

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "query": self.query, "group": self.group, "rest": self.rest, "share": self.share,
            "other": self.other, "difference": self.difference, "low": self.low, "high": self.high,
            "z": self.z, "p": self.p, "q": self.q, "differs": self.differs,
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class Comparison:
    """Differences of groups, the clearest first.

    Attributes:
        of: what the intervals are for, as in `Estimates`.
        hypotheses: number of comparisons, those that were not looked at included.
        rows: one for each query, and for three or more groups each group.
    """

    of: str
    hypotheses: int
    rows: tuple[Difference, ...]

    @property
    def found(self) -> list[Difference]:
        """Those that differ at a rate of false discoveries of `RATE`."""
        return [row for row in self.rows if row.differs]

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a table."""
        import pandas as pd

        return pd.DataFrame([row.to_dict() for row in self.rows])

    def figure(self, group: str | None = None) -> go.Figure:
        """Draw the differences of one group: how large, and how sure.

        Args:
            group: the group; the first that is compared if it is not given.
        """
        from dpcore.plots.crowd import volcano

        names = sorted({row.group for row in self.rows})
        wanted = group if group is not None else names[0]
        if wanted not in names:
            raise ParameterError(f"there is no group {wanted[:40]!r}")
        return volcano([row.to_dict() for row in self.rows if row.group == wanted])

    def _repr_html_(self) -> str:
        """Return the rows as a table, shares of 1,000 words."""
        return table(
            ("query", "group", "compared with", "of 1,000", "there", "z", "differs"),
            [
                (row.query, row.group, row.rest, 1000 * row.share, 1000 * row.other, row.z,
                 "yes" if row.differs else "no")
                for row in self.rows
            ],
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "for": self.of,
            "hypotheses": self.hypotheses,
            "false_discoveries": RATE,
            "rows": [row.to_dict() for row in self.rows],
        }


def compare(estimates: Estimates) -> Comparison:
    """Compare two groups, or each of several with the rest.

    Raises:
        ParameterError: there is one group only.
    """
    observed = estimates.observed
    groups = len(observed.groups)
    if groups < 2:
        raise ParameterError("a comparison needs two groups: count by a column")
    sums = sums_of(estimates.estimators, observed, estimates.of)
    words = np.maximum(observed.words.astype(np.float64), 1.0)
    names = estimates.estimators.queries.names
    pairs = (
        [(1, [0])]
        if groups == 2
        else [(k, [i for i in range(groups) if i != k]) for k in range(groups)]
    )
    parts = [_between(estimates, sums, words, own, others) for own, others in pairs]
    share, other, bias = (np.concatenate([part[i] for part in parts]) for i in range(3))
    noise = _joined([part[3] for part in parts])
    difference = share - other
    beyond = np.maximum(np.abs(difference) - bias, 0.0)
    error = np.sqrt(noise.variance)
    z = np.divide(beyond, error, out=np.where(beyond > 0, math.inf, 0.0), where=error > 0)
    p = noise.chance(beyond)
    hypotheses = max(p.size, (estimates.hypotheses or 0) * len(pairs))
    q = _adjusted(p, hypotheses)
    # Those that differ get the level of the false coverage rate, the others the plain one.
    discoveries = max(int((q <= RATE).sum()), 1)
    level = np.where(q <= RATE, 1.0 - RATE * discoveries / hypotheses, estimates.level)
    width = noise.half(level) + bias
    labels = [
        (name, observed.groups[own], observed.groups[others[0]] if groups == 2 else "the rest")
        for own, others in pairs
        for name in names
    ]
    rows = [
        Difference(
            query=labels[i][0],
            group=labels[i][1],
            rest=labels[i][2],
            share=float(share[i]),
            other=float(other[i]),
            difference=float(difference[i]),
            low=float(difference[i] - width[i]),
            high=float(difference[i] + width[i]),
            z=float(math.copysign(z[i], difference[i])),
            p=float(p[i]),
            q=float(q[i]),
        )
        for i in np.lexsort((-z, q)).tolist()
    ]
    return Comparison(estimates.of, hypotheses, tuple(rows))


@dataclass(frozen=True, eq=False)
class _Noise:
    """Noise of numbers such as differences; arrays of shape (k,).

    Attributes:
        variance: V.
        largest: M, the most by which one output changes a number.
        few: True where the noise is not taken for normal.
        freedom: degrees of freedom of Student's law; ∞ for the normal one.
    """

    variance: FloatArray
    largest: FloatArray
    few: BoolArray
    freedom: FloatArray

    def chance(self, size: FloatArray) -> FloatArray:
        """Return the two-sided probability of a number of at least this size."""
        from scipy.special import ndtr, stdtr

        error = np.sqrt(self.variance)
        z = np.divide(size, error, out=np.where(size > 0, math.inf, 0.0), where=error > 0)
        finite = np.isfinite(self.freedom)
        chance = 2.0 * ndtr(-z)
        chance[finite] = 2.0 * stdtr(self.freedom[finite], -z[finite])
        scale = 2.0 * (self.variance + self.largest * size / 3.0)
        exponent = np.divide(size**2, scale, out=np.zeros_like(size), where=scale > 0)
        safe = np.minimum(2.0 * np.exp(-exponent), 1.0)
        return np.asarray(np.where(self.few, np.maximum(chance, safe), chance))

    def half(self, level: FloatArray) -> FloatArray:
        """Return half the width of the interval of each level."""
        quantiles = [
            student_quantile(int(freedom), one) if math.isfinite(freedom) else normal_quantile(one)
            for freedom, one in zip(self.freedom.tolist(), level.tolist(), strict=True)
        ]
        normal = np.array(quantiles) * np.sqrt(self.variance)
        # Bernstein's inequality, solved for a size that is no smaller.
        term = np.log(2.0 / (1.0 - level))
        safe = np.sqrt(2.0 * self.variance * term) + 2.0 / 3.0 * self.largest * term
        return np.asarray(np.where(self.few, np.maximum(normal, safe), normal))


def _joined(parts: list[_Noise]) -> _Noise:
    return _Noise(
        np.concatenate([part.variance for part in parts]),
        np.concatenate([part.largest for part in parts]),
        np.concatenate([part.few for part in parts]),
        np.concatenate([part.freedom for part in parts]),
    )


def _between(
    estimates: Estimates, sums: Sums, words: FloatArray, own: int, others: list[int]
) -> tuple[FloatArray, FloatArray, FloatArray, _Noise]:
    """Return the shares in a group and in others, the bias of their difference, and its noise."""
    texts, total = estimates.observed.texts, float(words[others].sum())
    every = [own, *others]
    share, other = sums.estimate[own] / words[own], sums.estimate[others].sum(axis=0) / total
    variance = sums.variance[own] / words[own] ** 2 + sums.variance[others].sum(axis=0) / total**2
    together = sums.variance[every].sum(axis=0) / words[every].sum()
    variance = np.maximum(variance, together * (1.0 / words[own] + 1.0 / total))
    bias = sums.bias[own] / words[own] + sums.bias[others].sum(axis=0) / total
    smaller = min(words[own], total)
    noise = sums.noise[every].sum(axis=0) / words[every].sum() * smaller
    freedom = math.inf
    if estimates.of == POPULATION:
        freedom = float(min(texts[own], texts[others].sum()) - 1)
    return (
        share,
        other,
        bias,
        _Noise(
            variance,
            sums.reach / smaller,
            noise < ENOUGH * sums.reach**2,
            np.full(share.size, freedom),
        ),
    )


def _adjusted(p: FloatArray, hypotheses: int) -> FloatArray:
    """Return the adjusted p of Benjamini and Hochberg, of more hypotheses with p = 1."""
    from scipy.stats import false_discovery_control

    everything = np.concatenate((p, np.ones(hypotheses - p.size)))
    return np.asarray(false_discovery_control(everything)[: p.size])


# Trends over an ordered column.


@dataclass(frozen=True)
class Trend:
    """A line through the shares of a query in ordered groups.

    Attributes:
        query: what is counted.
        start: share on the line at the first place.
        slope: change of the share for one step, or for one unit where the groups are numbers.
        low: lower end of the interval of the slope.
        high: upper end.
        p: two-sided probability of a steeper line by chance.
        q: least rate of false discoveries at which it is one.
    """

    query: str
    start: float
    slope: float
    low: float
    high: float
    p: float
    q: float


def trends(estimates: Estimates) -> list[Trend]:
    """Fit a line to each query over the groups, in the order of their names or numbers.

    Least squares weighted by the words of a group: without a trend all have one variance a word,
    which is estimated from all together. A bias has no place in it, so that queries with one are
    refused.

    Raises:
        ParameterError: there are fewer than three groups, or a query has a bias.
    """
    observed, estimators = estimates.observed, estimates.estimators
    if len(observed.groups) < 3:
        raise ParameterError(
            "a trend needs three groups: count by an ordered column, such as a month"
        )
    if not estimators.unbiased.all():
        raise ParameterError("a trend is fitted to estimates without a bias alone")
    x = places(observed.groups)
    sums = sums_of(estimators, observed, estimates.of)
    words = np.maximum(observed.words.astype(np.float64), 1.0)
    share = sums.estimate / words[:, None]
    middle = float(words @ x) / words.sum()
    away = x - middle
    # The slope is Σ a_k·share_k; one output of a group changes its share by reach/words.
    weights = words * away / float(words @ away**2)
    slope = weights @ share
    a_word = sums.variance.sum(axis=0) / words.sum()
    noise = _Noise(
        a_word / float(words @ away**2),
        float(np.abs(weights / words).max()) * sums.reach,
        sums.noise.sum(axis=0) < ENOUGH * sums.reach**2,
        np.full(slope.size, math.inf),
    )
    p = noise.chance(np.abs(slope))
    q = _adjusted(p, p.size)
    width = noise.half(np.full(slope.size, estimates.level))
    start = (words @ share) / words.sum() + slope * (x.min() - middle)
    columns = (start, slope, slope - width, slope + width, p, q)
    return [
        Trend(name, *(float(column[j]) for column in columns))
        for j, name in enumerate(estimators.queries.names)
    ]


def places(groups: tuple[str, ...]) -> FloatArray:
    """Return where ordered groups lie: at their numbers, or at 0, 1 and so on."""
    try:
        numbers = np.array([float(group) for group in groups])
    except ValueError:
        return np.arange(len(groups), dtype=np.float64)
    if not np.isfinite(numbers).all() or np.unique(numbers).size < numbers.size:
        return np.arange(len(groups), dtype=np.float64)
    return numbers


# The mean vectors of two groups.


@dataclass(frozen=True)
class Distance:
    """Squared distance of the mean word vectors of two groups.

    Attributes:
        groups: the two.
        squared: unbiased estimate of the square; it may be below 0 where the distance is small.
        low: lower end of its interval, at least 0.
        high: upper end.
        noise: what the noise alone adds to the plain square, which was taken off.
    """

    groups: tuple[str, str]
    squared: float
    low: float
    high: float
    noise: float


def mean_distance(estimates: Estimates, first: str, second: str) -> Distance:
    """Estimate how far apart the mean vectors of two groups are, without what noise adds.

    With v̂ the difference of the estimated means and Σ the covariance of its noise, |v̂|² has the
    mean |v|² + tr Σ, and about the variance 4·vᵀΣv + 2·tr Σ². tr Σ is estimated as any variance for
    these texts is; for the width of the interval Σ is replaced by the covariance of h over the
    outputs, which is no less.

    Args:
        estimates: of all coordinates (`dpcore.crowd.queries.of_coordinates`).
        first: name of a group.
        second: name of another.

    Raises:
        ParameterError: there is no such group, a coordinate has a bias, or the estimates are for
            `POPULATION`.
    """
    observed, estimators = estimates.observed, estimates.estimators
    if estimates.of == POPULATION:
        raise ParameterError("the distance of two means is of these texts: count with of=texts")
    if not estimators.unbiased.all():
        raise ParameterError("a distance is estimated from coordinates without a bias alone")
    for name in (first, second):
        if name not in observed.groups:
            raise ParameterError(f"there is no group {name[:40]!r}")
    h = estimators.values.astype(np.float64)
    sums = sums_of(estimators, observed, estimates.of)
    noise = 0.0
    difference, covariance = np.zeros(h.shape[1]), np.zeros((h.shape[1], h.shape[1]))
    for name, sign in ((first, 1.0), (second, -1.0)):
        own = observed.groups.index(name)
        outputs = observed.outputs[own].astype(np.float64)
        total = max(float(outputs.sum()), 1.0)
        mean = outputs @ h / total
        difference += sign * mean
        second_moment = (h * outputs[:, None]).T @ h / total
        covariance += (second_moment - np.outer(mean, mean)) / total
        noise += float(sums.variance[own].sum()) / total**2
    squared = float(difference @ difference) - noise
    variance = 4.0 * float(difference @ covariance @ difference) + 2.0 * float(
        (covariance**2).sum()
    )
    width = normal_quantile(estimates.level) * math.sqrt(variance)
    return Distance(
        (first, second), squared, max(squared - width, 0.0), max(squared + width, 0.0), noise
    )


def trend_figure(estimates: Estimates, query: str) -> go.Figure:
    """Draw one query over ordered groups, with the line of `trends`.

    Args:
        estimates: of the query in three groups at least.
        query: its name.

    Raises:
        ParameterError: there is no such query, or as `trends`.
    """
    from dpcore.plots.crowd import trend_line

    fitted = {trend.query: trend for trend in trends(estimates)}
    if query not in fitted:
        raise ParameterError(f"there is no query {query[:40]!r}")
    x = places(estimates.observed.groups)
    order = np.argsort(x, kind="stable")
    own = [row for row in estimates.rows if row.query == query]
    shares = [(row.estimate / row.words, row.low / row.words, row.high / row.words) for row in own]
    line = (fitted[query].start, fitted[query].slope)
    return trend_line(
        [own[i].group for i in order], x[order].tolist(), [shares[i] for i in order], line, query
    )
