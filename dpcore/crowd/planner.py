"""Planner of counts: of the number of texts, the leakage and the error, two give the third.

The noise to expect is that of `dpcore.crowd.expected`, and a number of words is one of texts by the
words of a text. The least noise that any channel could have is in `dpcore.crowd.lower_bound`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.arguments import a_real, a_whole, describe, reals
from dpcore.arrays import FloatArray
from dpcore.attack.leak import COUNTS, Leak, leak, stranger_of
from dpcore.attack.output.operators import check_countable, response_of
from dpcore.attack.output.prior import Prior
from dpcore.attack.trade.levels import epsilons_at
from dpcore.crowd import queries as asking
from dpcore.crowd.estimates import LEVEL, check_level
from dpcore.crowd.expected import Noise, language_shares, noise_of, rough_noise_of
from dpcore.crowd.lower_bound import least_mean_variance, least_variance
from dpcore.crowd.queries import Queries
from dpcore.crowd.undo import frequencies
from dpcore.errors import ParameterError
from dpcore.guarantee import PureLocalPrivacy, Status
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_TEXTS_PLANNED
from dpcore.measure.targets import scan
from dpcore.mechanisms.mechanism import Mechanism, SparseLaw, check_mechanism

if TYPE_CHECKING:
    import pandas as pd

WORDS_PER_TEXT = 220
"""Words of a text, if nothing else is said: those of the mean review of IMDb."""
TEXTS, ERROR, EPSILON = "texts", "error", "epsilon"
"""Names of the number that a plan computes."""
_RANKS = (100, 1_000, 10_000)  # of the words that are planned for, if none is named
_NAMED = 3  # queries in a sentence
_SAMPLE = 64  # words by which `countable` judges those of a lexicon
_FIRST, _MOST = 4.0**11, 4.0**25  # words of text for which h is computed, if not known
_FINE, _MIDDLE, _COARSE = 1e-4, 0.02, 0.05
"""Relative width of ε: for a quick law, one that is less so, and a first guess for a slow one."""
_MET = 0.03  # relative: an error below the wanted one by less is that of the least ε
_SOLUTIONS = 8  # of a slow law, at most
_ROUNDING = 1e-9  # of a number of texts: one that was computed back is the same
_SMALL = 2_000  # words of a lexicon whose laws are all quick


@dataclass(frozen=True)
class PlannedQuery:
    """Plan of one query.

    Attributes:
        query: its name.
        share: f, its share of the words of the texts.
        variance: V, the variance for each word of text.
        error: relative half width of the interval with the texts of the plan.
        texts: number of texts for the error of the plan; None if no number is enough.
        least_share: the share from which on it would be counted with the error of the plan; None
            if there is none.
        above_bound: V over the least variance of any channel with the same local ε that serves
            this query alone (`dpcore.crowd.lower_bound`); None without a proved local guarantee,
            or with a biased estimate.
    """

    query: str
    share: float
    variance: float
    error: float
    texts: int | None
    least_share: float | None
    above_bound: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "query": self.query, "share": self.share, "variance": self.variance,
            "error": _finite(self.error), "texts": self.texts, "least_share": self.least_share,
            "above_bound": self.above_bound,
        }  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """Number of texts, leakage and error that go together.

    Attributes:
        computed: which of them was computed: "texts", "error" or "epsilon".
        mechanism: short name.
        epsilon: ε of each word.
        leak: what a stranger guesses at this ε.
        texts: number of texts; None if no number is enough.
        words_per_text: words of each that go through the mechanism.
        error: relative half width of the intervals, of the least certain query if it was computed.
        level: coverage of each interval by itself.
        rows: the queries.
        above_bound: mean variance over all words, equally common, over the least of any channel
            with the same local ε; for k-ary response only, else None.
        noise: of the estimates, with the functions of outputs for `texts`.
    """

    computed: str
    mechanism: str
    epsilon: float
    leak: Leak
    texts: int | None
    words_per_text: float
    error: float
    level: float
    rows: tuple[PlannedQuery, ...]
    above_bound: float | None
    noise: Noise = field(repr=False)

    def errors_in(self, texts: Sequence[float]) -> FloatArray:
        """Return the relative half width of the interval of each query, shape (m, E).

        Args:
            texts: E numbers of texts.
        """
        share = np.array([row.share for row in self.rows])
        words = [number * self.words_per_text for number in texts]
        return np.stack([self.noise.error(share, total, self.level) for total in words], axis=1)

    @property
    def sentence(self) -> str:
        """The plan in words."""
        setting = f"{self.mechanism} at ε = {self.epsilon:.3g}"
        names = ", ".join(row.query for row in self.rows[:_NAMED])
        within = f"within {100 * self.error:.3g} %" if math.isfinite(self.error) else "at all"
        if self.texts is None:
            first = f"Under {setting} no number of texts is enough to count {names}"
        elif self.computed == TEXTS:
            first = f"Under {setting} it takes {_texts(self.texts)} to count {names}"
        elif self.computed == EPSILON:
            first = f"It takes {setting} to count {names} in {_texts(self.texts)}"
        else:
            first = f"In {_texts(self.texts)} under {setting} one counts"
            within = ", ".join(
                f"{row.query} within {100 * row.error:.3g} %" for row in self.rows[:_NAMED]
            )
        if len(self.rows) > _NAMED:
            within += f", with {len(self.rows) - _NAMED:,} more"
        return (
            f"{first} {within} (intervals of {100 * self.level:g} %, texts of "
            f"{self.words_per_text:g} words); {self.leak.sentence}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "computed": self.computed,
            "mechanism": self.mechanism,
            "epsilon": self.epsilon,
            "stranger": self.leak.stranger,
            "guessed": self.leak.after,
            "guessed_before": self.leak.before,
            "texts": self.texts,
            "words_per_text": self.words_per_text,
            "error": _finite(self.error),
            "level": self.level,
            "rows": [row.to_dict() for row in self.rows],
            "above_bound": self.above_bound,
            "statement": self.sentence,
        }

    def to_pandas(self) -> pd.DataFrame:
        """Return the queries as a table."""
        import pandas as pd

        return pd.DataFrame([row.to_dict() for row in self.rows])


@dataclass(frozen=True)
class CountableWords:
    """Words of a lexicon that can be counted with a number of texts.

    Attributes:
        mechanism: short name.
        epsilon: ε of each word.
        texts: number of texts.
        words_per_text: words of each.
        error: relative half width of the intervals, at most.
        share: share of all words from which on a word is counted with this error, the median over
            `judged` words; None if none is.
        words: number of words of the lexicon at least as common in the language.
        judged: number of words, equally spaced in the logarithm of their rank, whose laws were
            used. For k-ary response all words have the same share.
    """

    mechanism: str
    epsilon: float
    texts: int
    words_per_text: float
    error: float
    share: float | None
    words: int
    judged: int

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "mechanism": self.mechanism, "epsilon": self.epsilon, "texts": self.texts,
            "words_per_text": self.words_per_text, "error": self.error, "share": self.share,
            "words": self.words, "judged": self.judged,
        }  # fmt: skip


def plan(
    mechanism: Mechanism,
    *,
    texts: int | None = None,
    error: float | None = None,
    epsilon: float | None = None,
    leakage: float | None = None,
    words: str | Sequence[str] | Queries | None = None,
    share: float | Sequence[float] | None = None,
    words_per_text: float = WORDS_PER_TEXT,
    level: float = LEVEL,
    stranger: str | Prior = COUNTS,
    progress: Progress = silent,
) -> Plan:
    """Compute the number of texts, the ε or the error of a count from the other two.

    The error is that of the noise: the interval is for the texts that are there, not for those they
    stand for. If ε is computed it is the least that is enough, for an error that falls as ε rises,
    to a part in 10,000 for k-ary response and small lexicons, and to 2 % for other responses; for
    all other laws its error is at most 3 % below the wanted one.

    Args:
        mechanism: with an exact law.
        texts: number of texts.
        error: relative half width of the interval of every query.
        epsilon: ε of each word.
        leakage: in place of ε, the share of words that the stranger guesses.
        words: what is counted: words, or 0–1 queries of `dpcore.crowd.queries`; words of the ranks
            100, 1,000 and 10,000 if left out.
        share: share of all words of the texts, one number or one for each query; that of the
            language if left out.
        words_per_text: words of each text that go through the mechanism.
        level: coverage of each interval by itself.
        stranger: who guesses, as `dpcore.attack.leak.leak` reads it.
        progress: called with (stage, done, all).

    Raises:
        ParameterError: not exactly one of the three is missing, the noise cannot be undone, no ε
            is enough, or an argument is out of range.
        UnknownWordError: the lexicon does not hold one of the words.
        EpsilonError: ε is not admissible.
    """
    check_mechanism(mechanism)
    computed = _missing(texts, error, epsilon, leakage)
    stranger_of(mechanism.lexicon, stranger)  # refuses a wrong name before a long search
    texts = None if texts is None else a_whole(texts, "texts", 1, MAX_TEXTS_PLANNED)
    error = None if error is None else _positive(error, "error")
    per_text = _positive(words_per_text, "words per text")
    frequency = frequencies(mechanism.lexicon)
    queries = _asked(mechanism.lexicon, words, frequency)
    shares = _shares(queries, share, frequency)
    question = _Question(mechanism, queries, frequency, shares, check_level(level), progress)
    if texts is not None and error is not None:
        value = question.least_epsilon(texts * per_text, error)
    else:
        value = _epsilon(mechanism, epsilon, leakage, stranger, progress)
    check_countable(mechanism, value)
    if texts is None and error is not None:
        noise, needed = question.needed(value, error)
        texts = _in_texts(float(needed.max()), per_text)
    else:
        noise = question.noise(value, (texts or 1) * per_text)
    total = math.inf if texts is None else texts * per_text
    if error is None:
        error = float(noise.error(shares, total, question.level).max())
    return Plan(
        computed,
        mechanism.short,
        value,
        leak(mechanism, value, stranger, progress=progress),
        texts,
        per_text,
        error,
        question.level,
        question.rows(value, noise, total, error, per_text),
        _above_all(mechanism, value),
        noise,
    )


def countable_words(
    mechanism: Mechanism,
    *,
    texts: int,
    error: float,
    epsilon: float | None = None,
    leakage: float | None = None,
    words_per_text: float = WORDS_PER_TEXT,
    level: float = LEVEL,
    stranger: str | Prior = COUNTS,
    progress: Progress = silent,
) -> CountableWords:
    """Compute which words can be counted with a number of texts: those of a share or more.

    The arguments are those of `plan`, of which ε or the leakage must be given.

    Raises:
        ParameterError: as `plan`.
        EpsilonError: ε is not admissible.
    """
    check_mechanism(mechanism)
    if (epsilon is None) == (leakage is None):
        raise ParameterError("give epsilon or leakage, and not both")
    texts = a_whole(texts, "texts", 1, MAX_TEXTS_PLANNED)
    error = _positive(error, "error")
    words_per_text = _positive(words_per_text, "words per text")
    level = check_level(level)
    value = _epsilon(mechanism, epsilon, leakage, stranger, progress)
    check_countable(mechanism, value)
    frequency = frequencies(mechanism.lexicon)
    n = frequency.size
    ranks = np.unique(np.geomspace(1, n, min(_SAMPLE, n)).astype(np.int64)) - 1
    queries = asking.of_indices(mechanism.lexicon, _by_rank(frequency)[ranks])
    total = texts * words_per_text
    noise = noise_of(mechanism, value, queries, frequency, total, progress)
    least = noise.least_share(total, error, level)
    median = float(np.median(np.where(np.isnan(least), math.inf, least)))
    return CountableWords(
        mechanism.short, value, texts, words_per_text, error, _finite(median),
        int((frequency >= median).sum()), len(queries),
    )  # fmt: skip


# Arguments.


def _missing(texts: object, error: object, epsilon: float | None, leakage: float | None) -> str:
    """Return which of the three is to be computed."""
    if epsilon is not None and leakage is not None:
        raise ParameterError("epsilon and leakage say the same: give one of them")
    numbers = {TEXTS: texts, ERROR: error, EPSILON: leakage if epsilon is None else epsilon}
    absent = [name for name, value in numbers.items() if value is None]
    if len(absent) != 1:
        names = ", ".join(name for name in numbers if name not in absent) or "none"
        raise ParameterError(
            "give two of texts, error, and epsilon or leakage, and the third is computed; given: "
            f"{names}"
        )
    return absent[0]


def _positive(value: object, what: str) -> float:
    number = a_real(value, what)
    if not 0 < number < math.inf:
        raise ParameterError(f"{what} must be above 0 and finite, got {describe(value)}")
    return number


def _asked(
    lexicon: Lexicon, words: str | Sequence[str] | Queries | None, frequency: FloatArray
) -> Queries:
    if words is None:
        n = len(lexicon)
        ranks = [rank for rank in _RANKS if rank <= n] or [n]
        return asking.of_indices(lexicon, _by_rank(frequency)[np.array(ranks) - 1])
    if not isinstance(words, Queries):
        return asking.of_typed(lexicon, words)
    if not words.binary or any(not places.size for places in words.places):
        raise ParameterError(
            "a plan is for words and lists of words: these queries have other numbers than 0 and 1"
        )
    return words


def _by_rank(frequency: FloatArray) -> Any:
    return np.argsort(-frequency, kind="stable")


def _shares(
    queries: Queries, numbers: float | Sequence[float] | None, frequency: FloatArray
) -> FloatArray:
    if numbers is None:
        shares = language_shares(queries, frequency)
        if not np.all(shares > 0):
            name = queries.names[int(np.argmin(shares))]
            raise ParameterError(f"{name} does not occur in the language: give its share")
        return shares
    values = reals(numbers, "share")
    if values.size not in (1, len(queries)) or not np.all((values > 0) & (values < 1)):
        raise ParameterError(
            f"share must be one number or {len(queries)}, each above 0 and below 1, got "
            f"{describe(numbers) if values.size == 1 else f'{values.size} numbers'}"
        )
    return np.broadcast_to(values, len(queries)).astype(np.float64)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _texts(number: int) -> str:
    return f"{number:,} text{'' if number == 1 else 's'}"


def _in_texts(words: float, words_per_text: float) -> int | None:
    if not math.isfinite(words):
        return None
    return max(math.ceil(words / words_per_text * (1.0 - _ROUNDING)), 1)


# The three directions.


@dataclass(frozen=True, eq=False)
class _Question:
    """Queries in texts whose words have known shares.

    Attributes:
        mechanism: the mechanism.
        queries: m of them.
        frequency: shares of the words in the language, shape (n,).
        shares: of the queries in the texts, shape (m,).
        level: of the intervals.
        progress: called with (stage, done, all).
    """

    mechanism: Mechanism
    queries: Queries
    frequency: FloatArray
    shares: FloatArray
    level: float
    progress: Progress

    def noise(self, epsilon: float, total: float) -> Noise:
        """Return the noise at ε, for so many words of text."""
        return noise_of(
            self.mechanism, epsilon, self.queries, self.frequency, total, self.progress
        )  # fmt: skip

    def needed(self, epsilon: float, error: float) -> tuple[Noise, FloatArray]:
        """Return the noise at ε, and the words of text that each query needs, shape (m,)."""
        total = _FIRST
        while True:
            noise = self.noise(epsilon, total)
            needed = noise.words(self.shares, error, self.level)
            most = float(needed.max())
            # More words of text allow a smaller bias, where there is one.
            if noise.unbiased.all() or most <= total or total >= _MOST:
                return noise, needed
            total = min(4.0 * total if math.isinf(most) else most, _MOST)

    def rows(
        self, epsilon: float, noise: Noise, total: float, error: float, words_per_text: float
    ) -> tuple[PlannedQuery, ...]:
        """Return the plan of each query."""
        shares, level = self.shares, self.level
        variances, errors = noise.variance(shares), noise.error(shares, total, level)
        needed = noise.words(shares, error, level)
        least = noise.least_share(min(total, _MOST), error, level)
        bound = _bound(self.mechanism, epsilon)
        return tuple(
            PlannedQuery(
                name,
                float(shares[j]),
                float(variances[j]),
                float(errors[j]),
                _in_texts(float(needed[j]), words_per_text),
                _finite(float(least[j])),
                float(variances[j]) / bound if bound and noise.unbiased[j] else None,
            )
            for j, name in enumerate(self.queries.names)
        )

    def least_epsilon(self, total: float, error: float) -> float:
        """Return the least ε whose error is at most the given one, taken to fall as ε rises."""
        mechanism = self.mechanism
        grid = scan(mechanism)
        low, high = float(grid[0]), float(grid[-1])
        check_countable(mechanism, high)

        def excess(epsilon: float) -> float:
            return self._excess(self.noise(epsilon, total), total, error)

        def guess(epsilon: float) -> float:
            rough = rough_noise_of(
                mechanism, epsilon, self.queries, self.frequency, self.progress
            )  # fmt: skip
            return self._excess(rough, total, error)

        quick = len(mechanism.lexicon) <= _SMALL or response_of(mechanism, high) is not None
        sparse = mechanism.sparse_law(high) is not None
        if (excess if quick or sparse else guess)(high) > 0:
            raise ParameterError(
                f"{mechanism.short} does not count with an error of {error:g} in so many words "
                "even at its largest ε: take more texts, or a larger error"
            )
        if quick or sparse:
            within = _FINE if quick else _MIDDLE
            return _bisected(low, high, lambda value: excess(value) <= 0, within)
        guesses: dict[float, float] = {}

        def enough(epsilon: float) -> bool:
            guesses[math.log(epsilon)] = guess(epsilon)
            return guesses[math.log(epsilon)] <= 0

        _bisected(low, high, enough, _COARSE)
        return _refined(guesses, excess)

    def _excess(self, noise: Noise, total: float, error: float) -> float:
        """Return ln of the largest error over the wanted one."""
        largest = float(noise.error(self.shares, total, self.level).max())
        return math.log(min(max(largest / error, 1e-300), 1e300))


def _bound(mechanism: Mechanism, epsilon: float) -> float | None:
    """Return the least variance of a query under the local guarantee; None without one."""
    guarantee = mechanism.guarantee(epsilon)
    if not isinstance(guarantee, PureLocalPrivacy):
        return None
    if guarantee.status not in (Status.PROVED, Status.CERTIFIED):
        return None
    return least_variance(guarantee.epsilon)


def _above_all(mechanism: Mechanism, epsilon: float) -> float | None:
    """Return the mean variance over all words over the least; None for all but k-ary response."""
    alike, n = response_of(mechanism, epsilon), len(mechanism.lexicon)
    if alike is None or n < 2 or not _bound(mechanism, epsilon):
        return None
    kept, q = alike
    variance = q * (1.0 - q) / kept**2 + ((1.0 - 2.0 * q) / kept - 1.0) / n
    least = least_mean_variance(mechanism.guarantee(epsilon).epsilon, n)
    return variance / least if least > 0 else None


def _epsilon(
    mechanism: Mechanism,
    epsilon: float | None,
    leakage: float | None,
    stranger: str | Prior,
    progress: Progress,
) -> float:
    """Return the given ε, or the one at which a stranger guesses a share of the words."""
    if epsilon is not None:
        return mechanism.check_epsilon(epsilon)
    guessed = a_real(leakage, "leakage")
    if not 0 < guessed < 1:
        raise ParameterError(
            f"leakage is a share of the words, above 0 and below 1, got {describe(leakage)}"
        )
    name, prior = stranger_of(mechanism.lexicon, stranger)
    grid = scan(mechanism).tolist()
    if name != "reads" and _share_guessed(mechanism, grid[-1], prior) is not None:
        # A little less, so that the share that is told is not rounded up beyond the wanted one.
        target = guessed * (1.0 - 1e-7)

        def enough(value: float) -> bool:
            share = _share_guessed(mechanism, value, prior)
            return share is not None and share >= target

        if enough(grid[0]) or not enough(grid[-1]):
            raise ParameterError(
                f"{mechanism.short} gives away more than {guessed:g} of the words at its least ε, "
                "or less at its largest: take another leakage"
            )
        return _bisected(grid[0], grid[-1], enough, 1e-9)
    if not isinstance(stranger, str):
        raise ParameterError(
            f"for {mechanism.short} the stranger of a leakage is named: take one of those of the "
            "command leak"
        )
    level = epsilons_at(mechanism, [guessed], stranger=stranger, progress=progress)[0]
    if level.epsilon is None:
        raise ParameterError(f"{mechanism.short} {level.why}: take another leakage")
    return level.epsilon


def _share_guessed(mechanism: Mechanism, epsilon: float, prior: Prior) -> float | None:
    """Return Σ_y max_w π(w)·P(y | w) of a law of one number a word and few larger exceptions."""
    law: SparseLaw | None = mechanism.sparse_law(epsilon)
    if law is None or np.any(law.excess < 0):
        return None
    from scipy.sparse import csr_matrix

    n = law.base.size
    # Two exceptions of one pair add up.
    excess = csr_matrix((law.excess, (law.outputs, law.words)), shape=(n, n)).tocoo()
    best = law.base * prior.probability.max()
    joint = prior.probability[excess.col] * (law.base[excess.row] + excess.data)
    np.maximum.at(best, excess.row, joint)
    return float(best.sum())


def _bisected(low: float, high: float, enough: Callable[[float], bool], within: float) -> float:
    """Return the least number that is enough, up to a relative error; `high` is enough."""
    while high > low * (1.0 + within):
        middle = math.sqrt(low * high)
        if not low < middle < high:
            break
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _refined(guesses: dict[float, float], excess: Callable[[float], float]) -> float:
    """Return an ε whose error is enough and hardly less than that, by few solutions.

    Args:
        guesses: ln of the error over the wanted one at ln ε, where it was guessed.
        excess: the same of a solution, by ε; it falls as ε rises.
    """
    last, first = sorted(guesses)[-1], sorted(guesses)[0]
    x1 = min((x for x, y in guesses.items() if y <= 0), default=last)
    x0 = max((x for x, y in guesses.items() if y > 0), default=first)
    # The error over its guess hardly depends on ε, so that both have one slope.
    slope = (guesses[x1] - guesses[x0]) / (x1 - x0) if x1 > x0 else -4.0
    slope = min(slope, -1.0)
    x = x1 - (guesses[x1] + 0.5 * _MET) / slope
    below: tuple[float, float] | None = None  # ln ε and excess of the largest that is too small
    above: tuple[float, float] | None = None
    for _ in range(_SOLUTIONS):
        y = excess(math.exp(x))
        if -_MET <= y <= 0:
            return math.exp(x)
        if y > 0:
            below = (x, y)
        else:
            above = (x, y)
        if below is None or above is None:
            x -= min(max((y + 0.5 * _MET) / slope, -0.3), 0.3)
            continue
        part = (below[1] + 0.5 * _MET) / (below[1] - above[1])
        x = below[0] + min(max(part, 0.05), 0.95) * (above[0] - below[0])
    if above is None:
        raise ParameterError(
            "no ε was found that is enough: take more texts, or give epsilon and read the error"
        )
    return math.exp(above[0])
