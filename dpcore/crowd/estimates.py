"""Estimates from private texts: outputs by group, sums over the words, and their intervals.

With h from `dpcore.crowd.undo` the estimate of Σ g(w_i) is Ĝ = Σ h(y_i). It has two intervals, for
two questions:

* `texts`: how often is it in *these* texts? Only the mechanism's noise is random, and outputs are
  independent: the variance is Σ Var(h(y_i) | w_i), of which Σ h(y_i)² − Σ h₂(y_i) is an unbiased
  estimate. The interval is that of the normal law where the noise is as large as that of `ENOUGH`
  outputs of the largest h. Fewer outputs may be seen by chance never, and their variance with them:
  there it is that of Maurer and Pontil 2009 (Theorem 4; its proof needs numbers of one range that
  are independent, not of one law, since a sample variance is on average no less than their own).
* `population`: how often is it where such texts come from? The texts are a sample: the variance is
  that of a ratio of sums over texts (Cochran 1977, Section 2.11), and holds the noise too. An
  interval is no narrower than the one for few outputs.

What P h = g lacks is added to both ends: |P h − g| is a query too, and a function of outputs whose
mean is no less, for whatever word, is estimated in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.arguments import a_real, describe
from dpcore.arrays import BoolArray, FloatArray, IntArray
from dpcore.crowd.undo import Estimators
from dpcore.display import table
from dpcore.errors import ParameterError
from dpcore.learn.intervals import normal_quantile, student_quantile
from dpcore.limits import MAX_CROWD_GROUPS

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

TEXTS, POPULATION = "texts", "population"
FOR = (TEXTS, POPULATION)
LEVEL = 0.95
ENOUGH = 30.0
"""Outputs of the largest h whose noise is taken for normal."""
LEAST_TEXTS = 2
"""Texts of a group: one text is no crowd."""
_TERMS = 500_000  # terms of exact probabilities that are computed together
_BIAS_LEVEL = 1e-4  # chance that the bound on the bias fails, beside that of the interval
EVERYTHING = "all"
"""Name of the group of all texts, where no column divides them."""

UNBIASED, BIASED, UNKNOWN = "unbiased", "biased", "undetermined"


def check_level(value: object) -> float:
    """Return the level of an interval.

    Raises:
        ParameterError: it is no number from .5 to 1, 1 excluded.
    """
    level = a_real(value, "level")
    if not 0.5 <= level < 1:
        raise ParameterError(f"a level is at least .5 and below 1, got {describe(value)}")
    return level


class Tally:
    """Outputs of private texts, counted by group while the texts are read.

    Args:
        n: number of words of the lexicon.
        estimators: functions whose sums over each text `POPULATION` needs; None for `TEXTS`.
        used: outputs that count, shape (n,); all if None.
    """

    def __init__(
        self, n: int, estimators: Estimators | None = None, used: BoolArray | None = None
    ) -> None:
        self.names: dict[str, int] = {}
        self._n, self._used = n, used
        self._values = None if estimators is None else estimators.values.astype(np.float64)
        self._rows: list[IntArray] = []
        self._texts: list[int] = []
        self._moments: list[_Moments] = []

    def add(self, words: IntArray, offsets: IntArray, groups: Sequence[str] | None = None) -> None:
        """Count some texts.

        Args:
            words: outputs of all of them, shape (k,); −1 for what is no word of the lexicon.
            offsets: text i has words[offsets[i] : offsets[i + 1]], shape (J + 1,).
            groups: of each text, shape (J,); None where all are one group.

        Raises:
            ParameterError: there are too many groups.
        """
        texts = offsets.size - 1
        labels = [EVERYTHING] * texts if groups is None else groups
        codes = np.fromiter((self._code(label) for label in labels), dtype=np.int64, count=texts)
        text = np.repeat(np.arange(texts), np.diff(offsets))
        in_use = words >= 0
        if self._used is not None:
            in_use[in_use] = self._used[words[in_use]]
        words, text = words[in_use], text[in_use]
        for code in np.unique(codes).tolist():
            own = codes[text] == code
            self._rows[code] += np.bincount(words[own], minlength=self._n)
            self._texts[code] += int((codes == code).sum())
        if self._values is not None:
            self._add_moments(self._values, words, text, codes)

    def _code(self, label: str) -> int:
        code = self.names.setdefault(label, len(self.names))
        if code == len(self._rows):
            if code == MAX_CROWD_GROUPS:
                raise ParameterError(
                    f"the column has more than {MAX_CROWD_GROUPS:,} different values: count by a "
                    "column with few, such as a label or a month"
                )
            self._rows.append(np.zeros(self._n, dtype=np.int64))
            self._texts.append(0)
            self._moments.append(
                _Moments.none(0 if self._values is None else self._values.shape[1])
            )
        return code

    def _add_moments(
        self, values: FloatArray, words: IntArray, text: IntArray, codes: IntArray
    ) -> None:
        from scipy.sparse import csr_matrix

        shape = (codes.size, self._n)
        sums = np.asarray(csr_matrix((np.ones(words.size), (text, words)), shape=shape) @ values)
        sizes = np.bincount(text, minlength=codes.size).astype(np.float64)
        for code in np.unique(codes).tolist():
            own = codes == code
            self._moments[code] = self._moments[code].with_texts(sums[own], sizes[own])

    def observed(self) -> OutputCounts:
        """Return what was counted, groups in the order of their names.

        Raises:
            ParameterError: there is no text, or a group has one only.
        """
        if not self.names:
            raise ParameterError("there is no text to count in")
        names = sorted(self.names)
        order = [self.names[name] for name in names]
        texts = np.array(self._texts)[order]
        if small := [
            name for name, count in zip(names, texts.tolist(), strict=True) if count < LEAST_TEXTS
        ]:
            raise ParameterError(
                f"{len(small)} of {len(names)} groups have one text only: one text is no crowd; "
                "leave it out, or count by a column with fewer values"
            )
        moments = None if self._values is None else tuple(self._moments[code] for code in order)
        return OutputCounts(
            tuple(names), texts, np.stack([self._rows[code] for code in order]), moments
        )


@dataclass(frozen=True, eq=False)
class _Moments:
    """Sums of D, D², D·n and n² over the texts of a group, D that of h over a text of n words."""

    sums: FloatArray
    squares: FloatArray
    products: FloatArray
    sizes: float

    @classmethod
    def none(cls, m: int) -> _Moments:
        return cls(np.zeros(m), np.zeros(m), np.zeros(m), 0.0)

    def with_texts(self, sums: FloatArray, sizes: FloatArray) -> _Moments:
        return _Moments(
            self.sums + sums.sum(axis=0),
            self.squares + (sums**2).sum(axis=0),
            self.products + sizes @ sums,
            self.sizes + float(sizes @ sizes),
        )

    def variance(self, total: float, texts: int) -> FloatArray:
        """Return the variance of `sums`, as a share of `total` words that is scaled up again."""
        ratio = self.sums / total
        spread = self.squares - 2.0 * ratio * self.products + ratio**2 * self.sizes
        return np.maximum(spread, 0.0) * texts / (texts - 1.0)


@dataclass(frozen=True, eq=False)
class OutputCounts:
    """Outputs of private texts by group.

    Attributes:
        groups: names, G of them.
        texts: number of texts of each, shape (G,).
        outputs: how often each word came out, shape (G, n).
        moments: of the sums over texts, for `POPULATION`; None if they were not asked for.
    """

    groups: tuple[str, ...]
    texts: IntArray
    outputs: IntArray
    moments: tuple[_Moments, ...] | None = field(default=None, repr=False)

    @property
    def words(self) -> IntArray:
        """Number of words of each group, shape (G,)."""
        return np.asarray(self.outputs.sum(axis=1))


@dataclass(frozen=True)
class Row:
    """One estimate.

    Attributes:
        query: what is counted.
        group: in which texts.
        words: number of words of these texts.
        estimate: Ĝ; NaN if `method` is "undetermined".
        low: lower end of the interval.
        high: upper end.
        error: standard error, without the bias.
        biased_by: bound on the bias, which is part of the interval.
        method: "unbiased"; "biased", where no function of the outputs has the query as its mean;
            "undetermined", where the outputs say nothing of it.
    """

    query: str
    group: str
    words: int
    estimate: float
    low: float
    high: float
    error: float
    biased_by: float
    method: str

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; null where there is no estimate."""
        known = math.isfinite(self.estimate)
        return {
            "query": self.query,
            "group": self.group,
            "words": self.words,
            "estimate": self.estimate if known else None,
            "low": self.low,
            "high": self.high,
            "biased_by": self.biased_by,
            "method": self.method,
        }


@dataclass(frozen=True, eq=False)
class Sums:
    """Estimates of all queries in all groups as arrays, shape (G, m) each unless it is said.

    Attributes:
        estimate: Ĝ.
        variance: of it, as `of` asks, and at least that of the noise.
        noise: estimated variance of what the mechanism adds.
        bias: bound on the bias.
        sample: sample variance of h over the outputs.
        reach: difference of the largest and the least h, shape (m,).
    """

    estimate: FloatArray
    variance: FloatArray
    noise: FloatArray
    bias: FloatArray
    sample: FloatArray
    reach: FloatArray

    @property
    def few(self) -> BoolArray:
        """True where the noise is less than that of `ENOUGH` outputs of the largest h."""
        return np.asarray(self.noise < ENOUGH * self.reach**2)


def sums_of(estimators: Estimators, observed: OutputCounts, of: str = TEXTS) -> Sums:
    """Return the estimates, their variances and the bounds on their bias.

    Args:
        estimators: functions of outputs.
        observed: outputs by group.
        of: `TEXTS` or `POPULATION`.

    Raises:
        ParameterError: `POPULATION` without the sums over texts.
    """
    if of not in FOR:
        raise ParameterError(f"an interval is for {' or '.join(FOR)}, got {of[:40]!r}")
    h = estimators.values.astype(np.float64)
    outputs = observed.outputs.astype(np.float64)
    estimate, second = outputs @ h, outputs @ h**2
    itself = (
        estimate if estimators.squares is None else outputs @ estimators.squares.astype(np.float64)
    )
    variance = noise = np.maximum(second - itself, 0.0)
    if of == POPULATION:
        if observed.moments is None:
            raise ParameterError(
                "the sums over texts were not counted: ask for them when you count"
            )
        groups = zip(observed.moments, observed.words, observed.texts, strict=True)
        over_texts = [moments.variance(max(float(n), 1.0), int(j)) for moments, n, j in groups]
        variance = np.maximum(noise, over_texts)
    total = np.maximum(outputs.sum(axis=1, keepdims=True), 2.0)
    over = estimators.over.astype(np.float64)
    spread = _sample_variance(outputs @ over, outputs @ over**2, total)
    beyond = _beyond(spread, np.ptp(over, axis=0), total, _BIAS_LEVEL)
    bias = np.minimum(total * estimators.worst, np.maximum(outputs @ over + beyond, 0.0))
    sample = _sample_variance(estimate, second, total)
    return Sums(estimate, variance, noise, bias, sample, np.asarray(np.ptp(h, axis=0)))


def _sample_variance(sums: FloatArray, squares: FloatArray, total: FloatArray) -> FloatArray:
    """Return the sample variance of `total` numbers with these sums, and sums of squares."""
    return np.asarray(np.maximum(squares - sums**2 / total, 0.0) / (total - 1.0))


def _beyond(sample: FloatArray, reach: FloatArray, total: FloatArray, chance: float) -> FloatArray:
    """Bound by how much a sum exceeds its mean with a given chance, by Maurer and Pontil 2009.

    Args:
        sample: sample variance of the numbers.
        reach: difference of the largest and the least possible one.
        total: number of them.
        chance: that the sum is farther off, to one side.
    """
    term = math.log(2.0 / chance)
    return np.asarray(
        np.sqrt(2.0 * total * sample * term) + 7.0 / 3.0 * term * reach * total / (total - 1.0)
    )


def half_widths(sums: Sums, observed: OutputCounts, of: str, level: float) -> FloatArray:
    """Return half the width of each interval without the bias, shape (G, m)."""
    if of == POPULATION:
        quantiles = np.array([student_quantile(int(j) - 1, level) for j in observed.texts])
    else:
        quantiles = np.full(len(observed.groups), normal_quantile(level))
    normal = quantiles[:, None] * np.sqrt(sums.variance)
    total = np.maximum(observed.words.astype(np.float64)[:, None], 2.0)
    safe = _beyond(sums.sample, sums.reach, total, 0.5 * (1.0 - level))
    return np.asarray(np.where(sums.few, np.maximum(normal, safe), normal))


def _exact_ends(
    came: IntArray, total: IntArray, inside: FloatArray, outside: FloatArray, tail: float
) -> tuple[FloatArray, FloatArray]:
    """Return the least and the largest count c under which what came out is no rare number.

    Of c words of a query and N − c others, Bin(c, p) + Bin(N − c, q) outputs are among the query's:
    the more, the larger c is.

    Args:
        came: outputs among its words, shape (r,).
        total: N, shape (r,).
        inside: p, shape (r,).
        outside: q < p, shape (r,).
        tail: probability of each end to be missed.
    """
    low, high = np.zeros(came.size), np.zeros(came.size)
    order = np.argsort(came, kind="stable")  # rows of one part have about as many terms
    for rows in np.array_split(order, math.ceil((came.sum() + 1) / _TERMS)):
        seen, most, chances = came[rows], total[rows], (inside[rows], outside[rows])

        def as_many(count: IntArray) -> BoolArray:
            return 1.0 - _at_most(seen - 1, count, most, *chances) > tail  # noqa: B023 - at once

        def too_many(count: IntArray) -> BoolArray:
            return ~(_at_most(seen, count, most, *chances) > tail)  # noqa: B023 - at once

        low[rows] = np.minimum(_least(as_many, most), most)
        high[rows] = np.maximum(_least(too_many, most) - 1, 0)
    return low, high


def _least(holds: Callable[[IntArray], BoolArray], most: IntArray) -> IntArray:
    """Return the least of 0 to `most` from which on it holds, for each row; `most` + 1 if none."""
    below, above = np.full_like(most, -1), most + 1
    while np.any(going := above - below > 1):
        middle = np.where(going, (below + above) // 2, 0)
        enough = holds(middle)
        above = np.where(going & enough, middle, above)
        below = np.where(going & ~enough, middle, below)
    return above


def _at_most(
    limit: IntArray, count: IntArray, total: IntArray, inside: FloatArray, outside: FloatArray
) -> FloatArray:
    """Return P(Bin(c, p) + Bin(N − c, q) ≤ limit) for each row."""
    from scipy.special import bdtr, gammaln

    others, q = (total - count)[:, None], outside[:, None]
    j = np.arange(int(limit.max(initial=0)) + 1)
    possible = (j <= limit[:, None]) & (j <= others)
    from_others = np.where(possible, j, 0)
    logs = from_others * np.log(q) + (others - from_others) * np.log1p(-q)
    logs += gammaln(others + 1.0) - gammaln(from_others + 1.0) - gammaln(others - from_others + 1.0)
    left = np.where(possible, limit[:, None] - j, 0)
    rest = bdtr(left, np.maximum(count, 1)[:, None], inside[:, None])
    rest = np.where(left >= count[:, None], 1.0, rest)
    return np.asarray(np.where(possible, np.exp(logs) * rest, 0.0).sum(axis=1))


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates of queries in groups of private texts.

    Attributes:
        mechanism: short name.
        epsilon: ε of the texts.
        of: `TEXTS` or `POPULATION`: what the intervals are for.
        level: coverage of an interval, or of all of them at once.
        together: True if `level` is that of all intervals at once (Bonferroni); with `hypotheses`
            of those of all words that could have been chosen.
        observed: the outputs.
        estimators: the functions of outputs.
        hypotheses: number of words that could have been asked, where they were chosen by their
            outputs; None where they were named.
    """

    mechanism: str
    epsilon: float
    of: str
    level: float
    together: bool
    observed: OutputCounts = field(repr=False)
    estimators: Estimators = field(repr=False)
    hypotheses: int | None = None

    @property
    def rows(self) -> list[Row]:
        """One row for each query and group."""
        observed, estimators, queries = self.observed, self.estimators, self.estimators.queries
        sums = sums_of(estimators, observed, self.of)
        # Words that were chosen by their outputs are among those that came out too often by chance.
        possible = (self.hypotheses or 0) * len(observed.groups)
        intervals = max(sums.estimate.size, possible) if self.together else 1
        miss = (1.0 - self.level) / intervals
        half = half_widths(sums, observed, self.of, 1.0 - miss)
        lows, highs = sums.estimate - (half + sums.bias), sums.estimate + (half + sums.bias)
        if self.of == TEXTS and estimators.chances is not None:
            few = np.nonzero(sums.few)
            came = np.stack([observed.outputs[:, at].sum(axis=1) for at in queries.places], axis=1)
            inside, outside = estimators.chances[:, few[1]]
            lows[few], highs[few] = _exact_ends(
                came[few], observed.words[few[0]], inside, outside, 0.5 * miss
            )
        ranges = queries.ranges
        rows: list[Row] = []
        for j, query in enumerate(queries.names):
            for k, group in enumerate(observed.groups):
                words = int(observed.words[k])
                least, most = (ranges[j] * words).tolist()
                value, bias = float(sums.estimate[k, j]), float(sums.bias[k, j])
                low, high = max(float(lows[k, j]), least), min(float(highs[k, j]), most)
                method = UNBIASED if estimators.unbiased[j] else BIASED
                if low <= least and high >= most:
                    method, value = UNKNOWN, math.nan
                error = math.sqrt(float(sums.variance[k, j]))
                # An estimate may lie beyond what is possible; its interval does not.
                low, high = min(low, most), max(high, least)
                rows.append(Row(query, group, words, value, low, high, error, bias, method))
        return rows

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a table."""
        import pandas as pd

        return pd.DataFrame([row.to_dict() for row in self.rows])

    def figure(self) -> go.Figure:
        """Draw the estimates with their intervals."""
        from dpcore.plots.crowd import dots

        return dots([row.to_dict() for row in self.rows])

    def _repr_html_(self) -> str:
        """Return the rows as a table."""
        columns = ("query", "group", "words", "estimate", "low", "high", "method")
        rows = [row.to_dict() for row in self.rows]
        return table(columns, [[row[name] for name in columns] for row in rows])

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "mechanism": self.mechanism,
            "epsilon": self.epsilon,
            "for": self.of,
            "level": self.level,
            "simultaneous": self.together,
            "words_total": int(self.observed.words.sum()),
            "texts_total": int(self.observed.texts.sum()),
            "rows": [row.to_dict() for row in self.rows],
        }
