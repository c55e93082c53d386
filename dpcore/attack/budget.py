"""Repeated releases: sums of guarantees, success of attackers, recognition of persons.

Independent noise on every word makes losses add up (basic composition; Dwork and Roth 2014,
Theorem 3.16, and the same sum for metric privacy). Two texts of ℓ words, released r times, are
told apart by at most r·Σ ε·d(w_i, v_i) under metric privacy and r·ℓ·ε between any two words, with
r·ℓ·δ where there is a δ. A word that occurs twice is protected half as well: anyone who knows that
the two positions hold one word sees two releases of it.

`repeated_leak` computes the success of the best attacker after r releases of one word, with fresh
noise and with memoised answers, where the first output is returned each time (the permanent
randomised response of RAPPOR: Erlingsson, Pihur, Korolova 2014), and the number of words by which
memoised answers recognise a person.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.arguments import a_whole
from dpcore.arrays import FloatArray, a_number
from dpcore.attack.bounds.meter import meter
from dpcore.attack.leak import (
    COUNTS,
    READS,
    SUMMED,
    TRIED,
    Belief,
    all_columns,
    channel_for,
    describe_stranger,
    leak,
    scored_words,
    stranger_of,
    way_of,
)
from dpcore.attack.output.channel import Channel
from dpcore.attack.output.posterior import promised_losses
from dpcore.attack.output.prior import Gain, Prior
from dpcore.attack.output.success import bernstein
from dpcore.audit.composition import TEXT_DELTA, Composition, composition
from dpcore.errors import ParameterError
from dpcore.guarantee import ApproximateLocalPrivacy, Guarantee, MetricPrivacy, Status
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import (
    MAX_ATTACK_OUTPUTS,
    MAX_ATTACK_RELEASES,
    MAX_GUESSED_RELEASES,
    MAX_TEXT_TOKENS,
)
from dpcore.mechanisms.bulk import outputs_at
from dpcore.mechanisms.mechanism import Mechanism, SparseLaw, check_mechanism
from dpcore.noise.streams import check_seed, generator
from dpcore.outwards import at_least, at_most
from dpcore.written import Filled, Numeral

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class WordBudget:
    """Guarantee for one distinct word of a text.

    Attributes:
        word: index.
        places: number of positions with this word.
        releases: places · r, the number of independent outputs of it that are seen.
        nearest: the other word with the smallest guaranteed loss against it.
        nearest_loss: that loss, over all releases: the smaller, the better the word hides behind
            its nearest word.
        other: the word of the other text at its first position, or the word with the largest loss.
        other_loss: the loss against the words of the other text, or against `other`, over all
            releases.
    """

    word: int
    places: int
    releases: int
    nearest: int
    nearest_loss: float
    other: int
    other_loss: float


@dataclass(frozen=True)
class Budget:
    """Guarantee for a whole text.

    Attributes:
        words: one entry for each distinct word, in the order of the text.
        tokens: ℓ, protected positions.
        releases: r.
        nearest_loss: the sum of all `nearest_loss`: against the text in which every word is
            replaced by its nearest.
        other_loss: the sum of all `other_loss`: against the other text, or the farthest one.
        log_delta: ln of the sum of the δ; None without one.
        statement: the guarantee for all positions and releases, in one sentence.
        status: proved, certified, conditional or refuted.
    """

    words: tuple[WordBudget, ...]
    tokens: int
    releases: int
    nearest_loss: float
    other_loss: float
    log_delta: float | None
    statement: str
    status: str

    @property
    def nearest_success(self) -> float:
        """Largest probability of a right guess between the text and its nearest one, δ aside."""
        return 1.0 / (1.0 + math.exp(-self.nearest_loss))


def budget(
    mechanism: Mechanism,
    words: Sequence[int],
    epsilon: float,
    *,
    others: Sequence[int] | None = None,
    releases: int = 1,
) -> Budget:
    """Sum the losses that the guarantee allows.

    Args:
        mechanism: with fresh independent noise for every position and release.
        words: words of the text, position by position; each one of the vocabulary.
        epsilon: ε of every word.
        others: words of another text to be told apart from, position by position; if not given,
            each word is compared with the one that has the largest guaranteed loss.
        releases: r, releases of the whole text.

    Raises:
        ParameterError: the text is empty or too long, the other text differs in length, or r is
            out of range.
        EpsilonError: ε is not admissible.
    """
    guarantee = mechanism.guarantee(epsilon)
    entries = mechanism.check_words(list(words))
    if not 1 <= entries.size <= MAX_TEXT_TOKENS:
        raise ParameterError(f"a text has 1 to {MAX_TEXT_TOKENS} words, got {entries.size}")
    if not 1 <= releases <= MAX_ATTACK_RELEASES:
        raise ParameterError(f"releases must be 1 to {MAX_ATTACK_RELEASES}, got {releases}")
    if others is not None and len(others) != entries.size:
        raise ParameterError(
            f"the other text must have {entries.size} words as well, got {len(others)}"
        )
    second = None if others is None else mechanism.check_words(list(others))
    budgets = []
    for word in dict.fromkeys(entries.tolist()):
        places = np.flatnonzero(entries == word)
        allowed = promised_losses(mechanism.lexicon, guarantee, word)
        away = np.where(np.arange(allowed.size) == word, math.inf, allowed)  # without the word
        nearest = int(away.argmin())
        count = int(places.size) * releases
        if second is None:
            other = int(allowed.argmax())
            total = count * float(allowed[other])
        else:
            other = int(second[places[0]])
            total = releases * float(allowed[second[places]].sum())
        budgets.append(
            WordBudget(
                word, int(places.size), count, nearest, count * float(away[nearest]), other, total
            )
        )
    return Budget(
        words=tuple(budgets),
        tokens=int(entries.size),
        releases=releases,
        nearest_loss=math.fsum(entry.nearest_loss for entry in budgets),
        other_loss=math.fsum(entry.other_loss for entry in budgets),
        log_delta=_log_delta(guarantee, int(entries.size) * releases),
        statement=guarantee.for_tokens(int(entries.size) * releases),
        status=str(guarantee.status),
    )


def _log_delta(guarantee: Guarantee, count: int) -> float | None:
    if not isinstance(guarantee, ApproximateLocalPrivacy):
        return None
    return guarantee.log_delta + math.log(count)


# What is guessed after r releases of one word. The best attacker multiplies the likelihoods of all
# outputs; with the attacker's prior π,
#
#     S(r) = Σ_{y_1 … y_r} max_w π(w)·P(y_1 | w)·…·P(y_r | w)
#
# has n^r terms. k-ary response needs only the counts of the words among the outputs, and is summed
# exactly (`response_success`). Otherwise words and outputs are drawn, and the mean of
# max_w π(w | y_1 … y_r), which is exact given the outputs, is an unbiased estimate of S(r).

PERSONS = 1_000
"""Number of persons among whom one is recognised, if not said otherwise."""
CERTAINTY = 0.95
"""Probability with which that succeeds, if not said otherwise."""
_DRAWS = 400  # words that are drawn where S(r) has no closed form
_TOGETHER = 256  # outputs whose distances are computed together
_TIED = 1e-10  # ln of two posteriors that count as equal; any rule for ties has the same success


@dataclass(frozen=True)
class Released:
    """Success of the best attacker after r releases of one word with fresh noise.

    Attributes:
        releases: r.
        value: S(r), or its estimate.
        error: standard error of the estimate, 0 if exact.
        low: lower end of a 95 % interval; if exact, less the error of the computation.
        high: upper end.
        exact: True if nothing is drawn.
        total: the losses of r releases added up: r·ε, for metric privacy of the two farthest words.
        epsilon: the least ε that is known to hold for r releases at δ = `TEXT_DELTA`; None where
            there is none.
        guaranteed: the most that r releases with this guarantee permit any attacker to guess.
    """

    releases: int
    value: float
    error: float
    low: float
    high: float
    exact: bool
    total: float
    epsilon: float | None
    guaranteed: float

    @property
    def band(self) -> tuple[float, float]:
        """Ends of the interval to draw: none around an exact value, whose error is not seen."""
        return (self.value, self.value) if self.exact else (self.low, self.high)


@dataclass(frozen=True)
class Reached:
    """Number of releases after which a share of the words is guessed.

    Attributes:
        share: the share.
        releases: the least r with `value` ≥ share; None if no r that was computed is enough.
        earliest: the least r with `high` ≥ share.
        latest: the least r with `low` ≥ share.
    """

    share: float
    releases: int | None
    earliest: int | None
    latest: int | None

    def told(self, last: int) -> Filled:
        """Return it as a sentence, if `last` releases were computed."""
        ends = {"after": self.releases, "early": self.earliest, "last": last}
        values = ends | {"share": Numeral(f"{100 * self.share:g}")}
        if self.releases is None:
            return Filled("{share} of 100 words are not guessed within {last} releases", **values)
        if self.earliest == self.latest:
            return Filled("{share} of 100 words are guessed after {after} releases", **values)
        return Filled(
            "{share} of 100 words are guessed after about {after} releases (95 %: {early} to {to})",
            to=self.latest or Filled("more than {last}", last=last),
            **values,
        )


@dataclass(frozen=True)
class Recognition:
    """Recognition of a person by the noisy words of two texts, with memoised answers.

    Both texts hold the same k words, drawn by the prior, at known places. The test says “one
    person” if all k outputs agree. Of two texts of one person they always do, and no other test
    that is always right there is wrong less often. With fresh noise the outputs of one person
    agree no more often than those of two, so no test tells the two cases apart.

    Attributes:
        agreement: Σ_w π(w)·Σ_y P(y | w)²: the probability that two independent outputs of a word
            agree.
        persons: N, the number of persons who wrote these words, the right one included.
        certainty: least probability that the right one alone agrees.
        words: a number k of repeated words that is enough; None if none is.
        wrong: agreement^k, the false-positive rate of the test at this k, at a true-positive rate
            of 1; None with it.
    """

    agreement: float
    persons: int
    certainty: float
    words: int | None
    wrong: float | None

    @property
    def told(self) -> Filled:
        """Return it as a sentence."""
        if self.words is None:
            return Filled(
                "Memoised answers of two persons agree as often as those of one: they recognise "
                "nobody"
            )
        return Filled(
            "Memoised answers of one person agree in every repeated word, those of two persons in "
            "{agreement} of 100; {words} repeated words recognise one of {persons:,} persons with "
            "probability {sure}",
            agreement=Numeral(at_most(self.agreement, 3, times=100)),
            words=self.words,
            persons=self.persons,
            sure=Numeral(f"{self.certainty:g}"),
        )


@dataclass(frozen=True)
class RepeatedLeak:
    """Success of a stranger after 1 to R releases of one word.

    Attributes:
        mechanism: short name.
        epsilon: ε of one release, with the mechanism's meaning of it.
        stranger: of `dpcore.attack.leak.STRANGERS`, or the name of the given prior.
        before: share of the words that is guessed without an output.
        draws: number of words that were drawn, each with R outputs; 0 if all is exact.
        rows: one for each r from 1 to R, with fresh noise. Memoised answers stay at r = 1.
        agreement: probability that two independent outputs of one word agree.
        agreement_error: its standard error; 0 if all outputs were summed.
    """

    mechanism: str
    epsilon: float
    stranger: str
    before: float
    draws: int
    rows: tuple[Released, ...]
    agreement: float
    agreement_error: float

    @property
    def memoised(self) -> float:
        """Share that is guessed after any number of releases of one memoised answer."""
        return self.rows[0].value

    def reached(self, share: float) -> Reached:
        """Find the number of releases after which this share of the words is guessed.

        Raises:
            ParameterError: the share is not in (0, 1).
        """
        if not 0 < share < 1:
            raise ParameterError(f"the share that is guessed must be in (0, 1), got {share}")

        def first(name: str) -> int | None:
            enough = (row.releases for row in self.rows if getattr(row, name) >= share)
            return next(enough, None)

        return Reached(share, first("value"), first("high"), first("low"))

    def recognition(self, persons: int = PERSONS, certainty: float = CERTAINTY) -> Recognition:
        """Find how many repeated words are enough to recognise a person by memoised answers.

        Given the outputs of the person each of the others agrees independently, with the product Q
        of their probabilities, so the person alone agrees with probability E[(1 − Q)^(N − 1)]. By
        Jensen's inequality that is at least (1 − agreement^k)^(N − 1), which is solved for k.

        Raises:
            ParameterError: fewer than two persons, or the certainty is not in (0, 1).
        """
        persons = a_whole(persons, "persons", 2, 10**12)
        if not 0 < certainty < 1:
            raise ParameterError(f"the certainty must be in (0, 1), got {certainty}")
        words = wrong = None
        if self.agreement < 1.0:
            allowed = -math.expm1(math.log(certainty) / (persons - 1))
            words = 1
            if self.agreement > allowed:
                words = math.ceil(math.log(allowed) / math.log(self.agreement) - 1e-12)
            wrong = self.agreement**words
        return Recognition(self.agreement, persons, certainty, words, wrong)

    @property
    def sentence(self) -> str:
        """Words of a hundred that are guessed after 1 and after R releases, rounded outwards."""
        last = self.rows[-1]
        first, high = (
            at_most(share, times=100, places=1) for share in (self.rows[0].high, last.high)
        )
        low = at_least(last.low, times=100, places=1)
        after = high if last.exact else f"{low} to {high}"
        who, words = describe_stranger(self.stranger), scored_words(self.stranger)
        return (
            f"{who} guesses {first} of 100 {words} after 1 release, and {after} after "
            f"{last.releases} releases with fresh noise; of memoised answers {first} for ever"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        return asdict(self) | {"memoised": self.memoised}

    def to_pandas(self) -> pd.DataFrame:
        """Return the curves of `dpcore.plots.attack.success.released_figure`, by its columns."""
        import pandas as pd

        from dpcore.plots.attack.success import ALLOWED, FRESH, MEMOISED, RELEASED

        once = self.rows[0]
        curves = [(FRESH, row.releases, row.value, *row.band) for row in self.rows]
        curves += [(MEMOISED, row.releases, once.value, *once.band) for row in self.rows]
        curves += [
            (ALLOWED, row.releases, row.guaranteed, row.guaranteed, row.guaranteed)
            for row in self.rows
        ]
        return pd.DataFrame(curves, columns=list(RELEASED))


def repeated_leak(
    mechanism: Mechanism,
    epsilon: float,
    releases: int,
    stranger: str | Prior = COUNTS,
    *,
    draws: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> RepeatedLeak:
    """Compute how often a stranger guesses a word that is released 1 to R times.

    Args:
        mechanism: over any lexicon, with an exact law whose columns can be computed.
        epsilon: of each release.
        releases: R, at most `limits.MAX_GUESSED_RELEASES`.
        stranger: as for `leak`, without the one who reads.
        draws: number of words to draw, each with R outputs, where not all are summed.
        seed: seed of these draws; a measurement protects nothing.
        progress: called with (stage, done, all).

    Raises:
        EpsilonError: ε is not admissible.
        ParameterError: there is no such stranger, the mechanism has no such law, or a number is
            out of range.
    """
    check_mechanism(mechanism)
    value = mechanism.check_epsilon(epsilon)
    releases = a_whole(releases, "releases", 1, MAX_GUESSED_RELEASES)
    seed = check_seed(seed)
    if draws is not None:
        draws = a_whole(draws, "draws", 2, MAX_ATTACK_OUTPUTS)
    name, prior = stranger_of(mechanism.lexicon, stranger)
    if name == READS:
        raise ParameterError("repeated releases are of one word: take a stranger who does not read")
    way = way_of(mechanism, prior)
    if way == TRIED:
        raise ParameterError(
            f"{mechanism.short} has no law that can be weighed over all its words, so the best "
            "attacker on repeated releases is not known: take tem or k-ary"
        )
    law = mechanism.sparse_law(value)
    response = None if law is None else law.response
    word_draws = 0
    if response is not None:
        stay, other = response
        gain = min(math.log(stay) - math.log(other), 700.0) if other > 0 else 700.0
        rows = [
            (share, 0.0, *_rounded(share, releases), True)
            for share in response_success(prior.probability, stay, gain, releases).tolist()
        ]
    else:
        word_draws = draws or _DRAWS
        channel = channel_for(mechanism, prior, progress)
        rows, own = _drawn_success(channel, prior, value, releases, word_draws, seed, progress)
        if way == SUMMED:
            one = leak(mechanism, value, prior, progress=progress)
            rows[0] = (one.after, 0.0, one.low, one.high, True)
    agreement, doubt = 0.0, 0.0
    if law is not None:
        agreement = _sparse_agreement(law, prior.probability)
    elif way == SUMMED:
        agreement = _agreement(channel, prior, value, progress)
    else:  # P(y | w) of drawn outputs has the right mean
        agreement = float(own.mean())
        doubt = float(own.mean(axis=1).std(ddof=1)) / math.sqrt(word_draws)
    return RepeatedLeak(
        mechanism=mechanism.short,
        epsilon=value,
        stranger=name,
        before=float(prior.probability.max()),
        draws=word_draws,
        rows=tuple(
            Released(
                r,
                *row,
                total=composed.total,
                epsilon=composed.epsilon if composed.epsilon < math.inf else None,
                guaranteed=guaranteed,
            )
            for r, (row, (composed, guaranteed)) in enumerate(
                zip(rows, _permitted(mechanism, value, prior, releases), strict=True), start=1
            )
        ),
        agreement=agreement,
        agreement_error=doubt,
    )


_Row = tuple[float, float, float, float, bool]


def _rounded(share: float, releases: int) -> tuple[float, float]:
    """Return the ends of an exact share: sums and products of positive numbers were rounded."""
    off = share * 1e-13 * (releases + 10) ** 2
    return share - off, min(share + off, 1.0)


def response_success(prior: FloatArray, kept: float, gain: float, releases: int) -> FloatArray:
    """Sum S(r) of k-ary response exactly.

    Given the outputs, ln of the posterior of a word v is ln π(v) + gain·(times that v came out), up
    to a constant. If w went in and came out m of r times, the other r − m outputs are balls thrown
    uniformly into n − 1 boxes, and w is guessed if no box v has more than c_v balls, the number
    that would put v first. The chance of that is

        k!/(n − 1)^k · [x^k] Π_v (1 + x + x²/2! + … + x^c_v/c_v!),    k = r − m,

    and S(r) its mean over w and m. All terms are positive.

    Args:
        prior: π, shape (n,), n ≥ 2.
        kept: P(w | w).
        gain: ln of the ratio of `kept` to the probability of any other output, ≥ 0.
        releases: R.

    Returns:
        S(1), …, S(R), shape (R,).
    """
    n = prior.size
    order = np.argsort(-prior, kind="stable")
    chances = prior[order][: np.count_nonzero(prior)]
    falling = -np.log(chances)  # ascending
    places, many = np.arange(chances.size), chances.size
    success = np.zeros(releases + 1)
    for m in range(releases + 1):
        rest = releases - m
        # For each w and j = 0, …, rest: the number of other possible words v that may come out j
        # times, those with ln π(v) < ln π(w) + gain·(m − j); if equal, those behind w.
        aims = falling[:, None] - gain * (m - np.arange(rest + 1))
        first = np.searchsorted(falling, aims - _TIED, side="left")
        last = np.searchsorted(falling, aims + _TIED, side="right")
        start = np.minimum(np.maximum(first, places[:, None] + 1), last)
        may = many - start - ((np.arange(rest + 1) < m) & (last <= places[:, None]))
        winning = np.flatnonzero(may[:, 0] == many - 1)
        may = may[winning]
        exactly = may[:, :-1] - may[:, 1:]  # words of which j is the most
        k = np.arange(rest + 1)
        factorials = np.array([math.factorial(i) for i in k.tolist()], dtype=np.float64)
        free = (may[:, -1] + n - many) / (n - 1)
        series = free[:, None] ** k / factorials
        for j in range(rest):
            _times_powers(
                series, (1.0 / (n - 1)) ** k[: j + 1] / factorials[: j + 1], exactly[:, j]
            )
        chance = chances[winning] @ series * factorials
        binomial = np.array([math.comb(m + i, m) for i in k.tolist()], dtype=np.float64)
        success[m:] += binomial * kept**m * (1.0 - kept) ** k * chance
    return np.minimum(success[1:], 1.0)


def _times_powers(series: FloatArray, factor: FloatArray, powers: FloatArray) -> None:
    """Multiply each truncated power series, a row, by a power of one polynomial, in place."""
    left, size = powers.astype(np.int64), series.shape[1]
    if not left.any():
        return
    product = np.zeros((size, size))  # row times this matrix is series times polynomial
    for shift, coefficient in enumerate(factor[:size].tolist()):
        product += np.diag(np.full(size - shift, coefficient), shift)
    while left.any():
        odd = np.flatnonzero(left & 1)
        if odd.size:
            series[odd] = series[odd] @ product
        left >>= 1
        product = product @ product


def _drawn_success(
    channel: Channel,
    prior: Prior,
    epsilon: float,
    releases: int,
    draws: int,
    seed: int,
    progress: Progress,
) -> tuple[list[_Row], FloatArray]:
    """Draw words, each with R outputs, and take the mean of the exact success given the outputs.

    Returns:
        One row for each r, and P(y | w) of the drawn outputs, shape (draws, R).
    """
    mechanism = channel.mechanism
    rng = generator(seed, "repeated releases", mechanism.key)
    words = prior.draw(rng, draws)
    outputs = outputs_at(mechanism, rng, np.repeat(words, releases), np.array([epsilon]))
    belief = Belief(channel, prior, Gain.of(mechanism.lexicon, "word", progress))
    places = np.searchsorted(channel.words, words)
    each, own = np.empty((3, draws, releases)), np.empty((draws, releases))
    channel.prepare([epsilon])
    group = max(1, _TOGETHER // releases)
    for start in range(0, draws, group):
        some = np.arange(start, min(start + group, draws))
        columns = channel.columns(outputs[start * releases : (some[-1] + 1) * releases, 0])
        for i, draw in enumerate(some.tolist()):
            logs, errors = columns(epsilon, slice(i * releases, (i + 1) * releases))
            own[draw] = np.exp(logs[:, places[draw]])
            # Independent outputs: their logarithms add up.
            np.cumsum(logs, axis=0, out=logs)
            doubt = releases * float(errors) if np.ndim(errors) == 0 else np.cumsum(errors, axis=0)
            each[:, draw] = belief.after(logs, doubt)
        progress(f"releases by {mechanism.short}", int(some[-1]) + 1, draws)
    rows: list[_Row] = []
    for r in range(releases):
        mean, margin = bernstein(each[0, :, r])
        error = float(each[0, :, r].std(ddof=1)) / math.sqrt(draws)
        low, high = each[1, :, r].mean() - margin, each[2, :, r].mean() + margin
        rows.append((mean, error, max(float(low), 0.0), min(float(high), 1.0), False))
    return rows, own


def _agreement(channel: Channel, prior: Prior, epsilon: float, progress: Progress) -> float:
    """Sum Σ_w π(w)·Σ_y P(y | w)² over all outputs."""
    belief = prior.probability[channel.words]
    squares = channel.agreeing(epsilon)
    if squares is not None:
        total = float(belief @ squares)
    else:
        columns = all_columns(channel, np.array([epsilon]), progress)
        total = math.fsum(float((np.exp(2.0 * logs) @ belief).sum()) for _, _, logs, _ in columns)
    return min(a_number(total, "the agreement of two outputs"), 1.0)


def _sparse_agreement(law: SparseLaw, belief: FloatArray) -> float:
    """Sum the same from the few pairs of each word."""
    base, excess = law.base[law.words], law.excess
    pairs = belief[law.words] @ (excess * (2.0 * base + excess))
    return min(float(belief.size * (belief @ law.base**2) + pairs), 1.0)


def _permitted(
    mechanism: Mechanism, epsilon: float, prior: Prior, releases: int
) -> list[tuple[Composition, float]]:
    """Compose 1 to R releases, and bound the share that each permits any attacker to guess.

    Of the bounds that hold the least is taken: losses added up, as a loss between any two words
    and, of a metric guarantee, per distance; and the composed ε at δ = `TEXT_DELTA`.
    """
    guarantee = mechanism.guarantee(epsilon)
    composed = [
        composition(mechanism, epsilon, r, guarantee=guarantee) for r in range(1, releases + 1)
    ]
    bounds = [1.0] * releases
    if guarantee.status is not Status.REFUTED:
        lexicon = mechanism.lexicon
        for i, one in enumerate(composed):
            summed = 0.0
            if isinstance(guarantee, ApproximateLocalPrivacy):
                summed = (i + 1) * math.exp(guarantee.log_delta) * (1.0 + 1e-9)
            for loss, delta in ((one.total, summed), (one.epsilon, TEXT_DELTA)):
                if loss < math.inf and delta < 1.0:
                    reading = meter(lexicon, max(loss, 1e-9), prior, local=True, delta=delta)
                    bounds[i] = min(bounds[i], reading.rows[0].high)
        if isinstance(guarantee, MetricPrivacy) and guarantee.metric in set(Metric):
            totals = [r * guarantee.epsilon for r in range(1, releases + 1)]
            readings = meter(lexicon, totals, prior, metric=guarantee.metric, compute=False)
            bounds = [min(a, row.high) for a, row in zip(bounds, readings.rows, strict=True)]
    return list(zip(composed, bounds, strict=True))
