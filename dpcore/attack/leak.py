"""Leakage: how often a stranger guesses a word, before and after they see its output.

With the stranger's prior π, a gain g(v, w) in [0, 1] for the guess v where the word is w, and a
mechanism P(y | w) (Alvim, Chatzikokolakis, McIver, Morgan, Palamidessi, Smith 2020, *The Science of
Quantitative Information Flow*, chapters 3 and 5):

    before = max_v Σ_w π(w)·g(v, w)
    after  = Σ_y max_v Σ_w π(w)·P(y | w)·g(v, w)

Strangers are `STRANGERS`, or any prior. Gains are `GAINS`: the very word (1 if v = w), a near word
(1 if v is w or one of the nine words nearest to w), the kind of w in WordNet, or one of two words.

Where a column P(y | ·) is a closed form, all outputs are summed, at once if a law is a base and a
few pairs; where it takes an integral, outputs are drawn, and given each of them the best guess is
exact. For a mechanism without a law `after` is the success of an attacker: a lower bound of what
the best one guesses. The stranger `reads` reads whole texts (`dpcore.attack.language.context`), so
right guesses are counted.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, NamedTuple, overload

import numpy as np

from dpcore.arguments import a_kind, a_name, a_whole
from dpcore.arrays import FloatArray, IntArray
from dpcore.attack.language.context import BIGRAM, context_attack, places_of
from dpcore.attack.language.recovered import share_of
from dpcore.attack.output.channel import Channel, open_channel
from dpcore.attack.output.prior import (
    Gain,
    Prior,
    content_words,
    pair_of,
    parse_prior,
)
from dpcore.attack.output.success import bernstein, sparse_success
from dpcore.attack.trade.ground import BAYES
from dpcore.errors import ParameterError
from dpcore.learn.corpus import teaching_corpus
from dpcore.lexicon.cache import CacheEntry, keep, recall
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import (
    MAX_ATTACK_OUTPUTS,
    MAX_ATTACK_PRIOR_WORDS,
    MAX_ATTACK_WORDS,
    MAX_TEXT_TOKENS,
)
from dpcore.measure.probability_intervals import Tally
from dpcore.mechanisms.bulk import outputs_at
from dpcore.mechanisms.distances import near_distances
from dpcore.mechanisms.mechanism import (
    ColumnForm,
    Mechanism,
    NoisyNearestForm,
    check_mechanism,
)
from dpcore.noise.samplers import Radial
from dpcore.noise.streams import check_seed, generator
from dpcore.outwards import at_least, at_most
from dpcore.rewrite.sentence import draw, prepare

COUNTS: str = "counts"
EQUAL: str = "equal"
READS: str = "reads"
STRANGERS = (COUNTS, "counts-all", EQUAL, READS)

_WHO = {  # guesses which words
    COUNTS: ("someone who knows how common words are", "content words"),
    "counts-all": ("someone who knows how common words are", "words, function words included"),
    EQUAL: ("someone who takes all words for equally likely", "words of the vocabulary"),
    READS: ("someone who reads on through the text", "content words"),
}
_GUESSES = {
    "word": "guesses {after} of 100 {words}",
    "near": "guesses the word or a near one for {after} of 100 {words}",
    "kind": "guesses the kind of {after} of 100 {words}",
}

_TOGETHER = 512  # outputs whose distances are computed together: 100 MB over 25,000 words
_BLOCK = 32  # outputs whose columns are weighed together, in the processor's cache
_DRAWN = 400  # outputs that are drawn where a column takes an integral
_PAIRS = 10_000  # words and outputs that are drawn where there is no law
_TEXTS = 60  # texts of the teaching corpus that are rewritten for the stranger who reads
_VERSION = 3  # of the sums here: another one makes what is in the cache unknown


@dataclass(frozen=True)
class Leak:
    """Success of a stranger at one ε.

    Attributes:
        mechanism: short name.
        epsilon: ε, with the mechanism's meaning of it.
        stranger: of `STRANGERS`, or the name of the given prior.
        gain: of `GAINS`, or the pair of words.
        before: share of the words that they guess without an output.
        after: share that they guess when they see the output; if not `exact`, its estimate.
        low: lower end of its interval of level 95 %; if exact, less the error of the computation.
        high: upper end.
        exact: True if all words and all outputs are summed.
        attacker: "bayes", the best possible; or the name of an attacker whose success is a lower
            bound of what the best possible one guesses: the reader of whole texts, or the best of
            those that were tried.
    """

    mechanism: str
    epsilon: float
    stranger: str
    gain: str
    before: float
    after: float
    low: float
    high: float
    exact: bool
    attacker: str = BAYES

    @property
    def factor(self) -> float:
        """Ratio of the words that are guessed after to those before.

        For the very word and all words equally likely this is the capacity of the mechanism, the
        largest factor under any prior and any gain (Braun, Chatzikokolakis, Palamidessi 2009).
        """
        return self.after / self.before

    @property
    def sentence(self) -> str:
        """Words of a hundred that are guessed, rounded outwards; it names stranger and gain."""
        words = scored_words(self.stranger)
        before, high = (at_most(share, times=100, places=1) for share in (self.before, self.high))
        low = at_least(self.low, times=100, places=1)
        if self.exact:
            after = high
        elif self.attacker == BAYES or self.stranger == READS:
            after = f"{low} to {high}"
        else:
            after = f"at least {low}"
        who = describe_stranger(self.stranger)
        act = _GUESSES.get(self.gain, "tells which of two words it was in {after} of 100 cases")
        return f"{who} {act.format(after=after, words=words)} ({before} before)"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        return asdict(self)


@overload
def leak(
    mechanism: Mechanism,
    epsilon: float,
    stranger: str | Prior = ...,
    gain: str = ...,
    *,
    reader: str = ...,
    draws: int | None = ...,
    seed: int = ...,
    progress: Progress = ...,
) -> Leak: ...
@overload
def leak(
    mechanism: Mechanism,
    epsilon: Sequence[float] | FloatArray,
    stranger: str | Prior = ...,
    gain: str = ...,
    *,
    reader: str = ...,
    draws: int | None = ...,
    seed: int = ...,
    progress: Progress = ...,
) -> list[Leak]: ...
def leak(
    mechanism: Mechanism,
    epsilon: float | Sequence[float] | FloatArray,
    stranger: str | Prior = COUNTS,
    gain: str = "word",
    *,
    reader: str = BIGRAM,
    draws: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Leak | list[Leak]:
    """Compute how often a stranger guesses a word, before and after they see its output.

    What was computed for a mechanism of this package is kept in the cache folder.

    Args:
        mechanism: over any lexicon.
        epsilon: one ε or several; all are computed in one pass over the outputs.
        stranger: of `STRANGERS`, a prior as `parse_prior` reads it, or a `Prior`.
        gain: of `GAINS`, or "pair=a,b": which of two words it was, each as likely as the stranger
            thinks, compared with the other.
        reader: of the stranger "reads": one of `dpcore.attack.language.context.READERS`.
        draws: number of outputs to draw where not all are summed; of texts for "reads".
        seed: seed of these draws; a measurement protects nothing.
        progress: called with (stage, done, all).

    Returns:
        One `Leak`, or for several ε a list of them in the same order.

    Raises:
        EpsilonError: an ε is not admissible.
        ParameterError: there is no such stranger or gain, or a number is out of range.
    """
    check_mechanism(mechanism)
    values = mechanism.check_epsilons(epsilon)
    single = np.ndim(epsilon) == 0
    gain, reader = a_name(gain, "gain"), a_name(reader, "reader")
    seed = check_seed(seed)
    lexicon = mechanism.lexicon
    name, prior = stranger_of(lexicon, stranger)
    if draws is not None:
        least = 2 if name == READS else 100
        draws = a_whole(draws, "draws", least, 10 * MAX_ATTACK_OUTPUTS)
    if pair := pair_of(gain):
        prior = _between(prior, lexicon, pair)
    scoring = Gain.of(lexicon, gain, progress)
    before = float(scoring.best(prior.probability[None])[0])

    def compute(absent: FloatArray) -> list[Share]:
        if name != READS:
            return _shares(mechanism, absent, prior, scoring, draws, seed, progress)
        if pair:
            raise ParameterError("one of two words is guessed from one output: take another gain")
        return _read(mechanism, absent, scoring, draws or _TEXTS, reader, seed, progress)

    law = [prior.probability, gain, name == READS and reader, draws, seed]
    shares = _cached(mechanism, values, law, compute)
    leaks = [
        Leak(mechanism.short, value, name, gain, before, *share)
        for value, share in zip(values.tolist(), shares, strict=True)
    ]
    return leaks[0] if single else leaks


def describe_stranger(stranger: str) -> str:
    """Name the person who guesses, for a sentence."""
    return _WHO.get(stranger, ("someone with the given prior", ""))[0]


def scored_words(stranger: str) -> str:
    """Name the words of which a share is guessed, for a sentence."""
    return _WHO.get(stranger, ("", "words"))[1]


def stranger_of(lexicon: Lexicon, stranger: str | Prior) -> tuple[str, Prior]:
    """Return the name of a stranger, of `STRANGERS` or that of the given prior, and their prior.

    Raises:
        ParameterError: there is no such stranger, or the prior cannot be read.
    """
    if not isinstance(stranger, str):
        prior = a_kind(stranger, Prior, "a stranger is given by a name, or by a prior")
        return prior.name, prior
    name = stranger.strip().lower()
    # What is read on is scored on content words, as `counts` is.
    prior = content_words(lexicon) if name == READS else parse_prior(lexicon, stranger)
    return name if name in STRANGERS else prior.name, prior


def _between(prior: Prior, lexicon: Lexicon, pair: tuple[str, str]) -> Prior:
    """Restrict a prior to two words."""
    places = lexicon.indices(list(pair))
    share = prior.probability[places]
    if not share.sum() > 0:
        raise ParameterError(
            "neither of the two words is possible under this prior: take the stranger equal"
        )
    probability = np.zeros(len(lexicon))
    probability[places] = share / share.sum()
    return Prior(prior.name, probability, f"one of two words; {prior.sentence}")


class Share(NamedTuple):
    """Share guessed at one ε: the fields of a `Leak` that take computing."""

    after: float
    low: float
    high: float
    exact: bool
    attacker: str


def _cached(
    mechanism: Mechanism,
    epsilons: FloatArray,
    law: Sequence[Any],
    compute: Callable[[FloatArray], list[Share]],
) -> list[Share]:
    """Compute what the cache does not hold.

    Args:
        mechanism: the mechanism.
        epsilons: admissible ε, shape (E,).
        law: what the shares depend on besides; arrays and what JSON can hold.
        compute: returns the shares at some ε.
    """
    # The key of a mechanism names its law; code of other people may change under the same key.
    if not type(mechanism).__module__.startswith("dpcore."):
        return compute(epsilons)
    digest = hashlib.sha256()
    for part in (_VERSION, mechanism.key, mechanism.settings(), *law):
        plain = part.tobytes() if isinstance(part, np.ndarray) else json.dumps(part).encode()
        digest.update(hashlib.sha256(plain).digest())
    fingerprint, kind = mechanism.lexicon.fingerprint, f"leak-{digest.hexdigest()[:20]}"
    entry = recall(fingerprint, kind)
    shares: dict[float, Share] = {}
    if entry is not None:
        rows = zip(entry.arrays["shares"].tolist(), entry.facts["how"], strict=True)
        shares = {epsilon: Share(*numbers, *how) for (epsilon, *numbers), how in rows}
    absent = np.array(sorted(set(epsilons.tolist()) - shares.keys()))
    if absent.size:
        shares.update(zip(absent.tolist(), compute(absent), strict=True))
        numbers = np.array([(epsilon, *share[:3]) for epsilon, share in shares.items()])
        how = [share[3:] for share in shares.values()]
        keep(fingerprint, kind, CacheEntry({"shares": numbers}, {"how": how}))
    return [shares[epsilon] for epsilon in epsilons.tolist()]


def _shares(
    mechanism: Mechanism,
    epsilons: FloatArray,
    prior: Prior,
    gain: Gain,
    draws: int | None,
    seed: int,
    progress: Progress,
) -> list[Share]:
    """Sum over all outputs, draw some, or count the guesses of attackers who have no law."""
    way = way_of(mechanism, prior)
    if way == TRIED:
        return _tried(mechanism, epsilons, prior, gain, draws or _PAIRS, seed, progress)
    form = mechanism.column_form
    if isinstance(form, ColumnForm) and mechanism.sparse_law(float(epsilons[0])) is not None:
        return _sparse(mechanism, epsilons, prior, gain, form.error, progress)
    belief = Belief(channel_for(mechanism, prior, progress), prior, gain)
    if way == DRAWN:
        return _drawn(belief, epsilons, draws or _DRAWN, seed, progress)
    return _summed(belief, epsilons, progress)


SUMMED, DRAWN, TRIED = "summed", "drawn", "tried"
"""Ways to a share: over all outputs, over some, or by attackers on a mechanism without columns."""


def way_of(mechanism: Mechanism, prior: Prior) -> str:
    """Return the way in which the share that a stranger guesses can be computed."""
    form = mechanism.column_form
    if not mechanism.exact_law:
        return TRIED
    if prior.support.size <= MAX_ATTACK_PRIOR_WORDS:
        return SUMMED
    if len(mechanism.lexicon) > MAX_ATTACK_WORDS or form is None:
        return TRIED
    return DRAWN if isinstance(form, NoisyNearestForm) else SUMMED


def channel_for(mechanism: Mechanism, prior: Prior, progress: Progress) -> Channel:
    """Open the channel of the words that a stranger holds possible, or of the whole lexicon."""
    few = prior.support.size <= MAX_ATTACK_PRIOR_WORDS
    return open_channel(mechanism, prior.support if few else None, progress)


class Belief:
    """Prior and gain over the words of a channel, and the attacker's sums with its columns."""

    def __init__(self, channel: Channel, prior: Prior, gain: Gain) -> None:
        self.channel, self.prior = channel, prior
        self._logs = prior.logs[channel.words]
        table = gain.table
        self._gain = Gain(gain.name, None if table is None else table[:, channel.words])

    def success(
        self, logs: FloatArray, errors: FloatArray | float
    ) -> tuple[FloatArray, FloatArray]:
        """Return max_v Σ_w π(w)·P(y | w)·g(v, w) from columns of logarithms, with bounds of errors.

        Args:
            logs: ln P(y | w), shape (outputs, m); overwritten.
            errors: bounds on their errors, as of `Columns`.

        Returns:
            Shape (outputs,) each.
        """
        logs += self._logs
        if np.ndim(errors) == 0 and self._gain.table is None:
            value = np.exp(logs.max(axis=1))
            return value, value * math.expm1(float(errors))
        wrong = self._wrong(logs, errors)
        value = self._gain.best(np.exp(logs, out=logs))
        return value, value * math.expm1(float(errors)) if wrong is None else wrong

    def after(
        self, logs: FloatArray, errors: FloatArray | float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the same divided by Σ_w π(w)·P(y | w): given an output, the share guessed.

        Returns:
            Shares, and their least and largest possible values, shape (outputs,) each.
        """
        logs += self._logs
        logs -= logs.max(axis=1, keepdims=True)
        wrong = self._wrong(logs, errors)
        beliefs = np.exp(logs, out=logs)
        total = beliefs.sum(axis=1)
        share = np.minimum(self._gain.best(beliefs) / total, 1.0)
        off = np.full(share.size, math.expm1(float(errors))) if wrong is None else wrong / total
        moved = share * off if wrong is None else off
        low = np.clip((share - moved) / (1.0 + off), 0.0, 1.0)
        high = np.ones(share.size)  # a total that may be 0 leaves the share open
        bounded = off < 1.0
        high[bounded] = np.minimum((share + moved)[bounded] / (1.0 - off[bounded]), 1.0)
        return share, low, high

    @staticmethod
    def _wrong(logs: FloatArray, errors: FloatArray | float) -> FloatArray | None:
        """Sum what each probability may be off by; None if one relative error holds for all."""
        if np.ndim(errors) == 0:
            return None
        return np.asarray((np.exp(logs + errors) - np.exp(logs)).sum(axis=1))


def all_columns(
    channel: Channel, epsilons: FloatArray, progress: Progress
) -> Iterator[tuple[int, IntArray, FloatArray, FloatArray | float]]:
    """Yield the number of an ε, some outputs, ln P(y | w) of them, and bounds on its errors."""
    n = len(channel.mechanism.lexicon)
    channel.prepare(epsilons.tolist())
    for start in range(0, n, _TOGETHER):
        outputs = np.arange(start, min(start + _TOGETHER, n))
        columns = channel.columns(outputs)
        for first in range(0, outputs.size, _BLOCK):
            some = slice(first, first + _BLOCK)
            for e, epsilon in enumerate(epsilons.tolist()):
                yield e, outputs[some], *columns(epsilon, some)
        progress(f"leakage of {channel.mechanism.short}", int(outputs[-1]) + 1, n)


def _summed(belief: Belief, epsilons: FloatArray, progress: Progress) -> list[Share]:
    """Sum over all outputs: exact up to the error of the columns."""
    after, off = np.zeros(epsilons.size), np.zeros(epsilons.size)
    for e, _, logs, errors in all_columns(belief.channel, epsilons, progress):
        value, wrong = belief.success(logs, errors)
        after[e] += value.sum()
        off[e] += wrong.sum()
    off += after * len(belief.channel.mechanism.lexicon) * 2.0**-52  # rounding of the sums
    ends = np.clip((after - off, after + off), 0.0, 1.0).tolist()
    return [
        Share(min(value, 1.0), low, high, True, BAYES)
        for value, low, high in zip(after.tolist(), *ends, strict=True)
    ]


def _sparse(
    mechanism: Mechanism,
    epsilons: FloatArray,
    prior: Prior,
    gain: Gain,
    error: float,
    progress: Progress,
) -> list[Share]:
    """Sum over all outputs from the few pairs of each."""
    shares = []
    # A mechanism has such a law at every ε, or at none.
    for e, law in enumerate(filter(None, map(mechanism.sparse_law, epsilons.tolist()))):
        value = sparse_success(law, prior.probability, gain.table)
        # The error is relative to a logarithm: no probability that counts is below e^−745.
        off = value * (math.expm1(745.0 * error) + len(mechanism.lexicon) * 2.0**-51)
        low, high = max(value - off, 0.0), min(value + off, 1.0)
        shares.append(Share(min(value, 1.0), low, high, True, BAYES))
        progress(f"leakage of {mechanism.short}", e + 1, epsilons.size)
    return shares


def _drawn(
    belief: Belief, epsilons: FloatArray, draws: int, seed: int, progress: Progress
) -> list[Share]:
    """Draw words and outputs, and take the mean of the exact success given each output.

    It is an unbiased estimate, of less variance than the share of right guesses, whose mean it is.
    """
    channel = belief.channel
    mechanism = channel.mechanism
    rng = generator(seed, "leakage", mechanism.key)
    outputs = outputs_at(mechanism, rng, belief.prior.draw(rng, draws), epsilons)
    shares: list[Share] = []
    for e, epsilon in enumerate(epsilons.tolist()):
        distinct, which = np.unique(outputs[:, e], return_inverse=True)
        each = np.empty((3, distinct.size))
        columns = channel.columns(distinct)
        for first in range(0, distinct.size, _BLOCK):
            some = slice(first, first + _BLOCK)
            each[:, some] = belief.after(*columns(epsilon, some))
            progress(f"leakage of {mechanism.short}", e * draws + first, epsilons.size * draws)
        mean, margin = bernstein(each[0][which])
        least, most = (float(bound[which].mean()) for bound in each[1:])
        ends = max(least - margin, 0.0), min(most + margin, 1.0)
        shares.append(Share(mean, *ends, False, BAYES))
    return shares


# Attackers on a mechanism without a computed law. Each has a rule that names a guess for an output:
# the guess that is best without an output, the output itself, or the best guess if P(y | w) were
# proportional to a power of the density of the noise that leads from w to y. (It is not: the
# density is integrated over all points whose nearest word is y, which flattens it, so that a power
# below 1 serves better.) The rule that is best on the first fifth of the pairs is counted on the
# others, so that the choice does not flatter it.

CONSTANT, REPEATS, DENSITY = "constant", "repeats", "density"
_POWERS = (0.1, 0.2, 0.4, 0.7, 1.0)


def _tried(
    mechanism: Mechanism,
    epsilons: FloatArray,
    prior: Prior,
    gain: Gain,
    draws: int,
    seed: int,
    progress: Progress,
) -> list[Share]:
    """Count the right guesses of the best of some attackers."""
    rng = generator(seed, "leakage", mechanism.key)
    words = prior.draw(rng, draws)
    outputs = outputs_at(mechanism, rng, words, epsilons, progress)
    trial = draws // 5
    before = float(gain.best(prior.probability[None])[0])
    shares: list[Share] = []
    for e, epsilon in enumerate(epsilons.tolist()):
        column = outputs[:, e]
        best, rule = best_rule(mechanism, epsilon, prior, gain, column[:trial], words[:trial])
        attacker = best.partition(" ")[0]
        if attacker == CONSTANT:
            shares.append(Share(before, before, before, False, attacker))
        else:
            hits = gain.reached(rule(column[trial:]), words[trial:])
            (low,), (high,) = Tally.counted(np.array([hits.sum()]), hits.size).interval()
            # An attacker who ignores the output is right as often as before.
            after, low, high = np.maximum((hits.mean(), low, high), before).tolist()
            shares.append(Share(after, low, high, False, attacker))
        progress(f"leakage of {mechanism.short}", e + 1, epsilons.size)
    return shares


def best_rule(
    mechanism: Mechanism,
    epsilon: float,
    prior: Prior,
    gain: Gain,
    outputs: IntArray,
    words: IntArray,
) -> tuple[str, Callable[[IntArray], IntArray]]:
    """Return the rule that gains most on some pairs of outputs and words, and its name."""
    rules = _rules(mechanism, epsilon, prior, gain)
    right = {name: gain.reached(rule(outputs), words).sum() for name, rule in rules.items()}
    best = max(right, key=right.__getitem__)
    return best, rules[best]


def _rules(
    mechanism: Mechanism, epsilon: float, prior: Prior, gain: Gain
) -> dict[str, Callable[[IntArray], IntArray]]:
    """Return the rules by name: functions of outputs, shape (k,), to guesses, shape (k,)."""
    constant = int(gain.guess(prior.probability[None])[0])
    rules: dict[str, Callable[[IntArray], IntArray]] = {
        CONSTANT: lambda outputs: np.full(outputs.size, constant),
        REPEATS: gain.repeated,
    }
    noise = mechanism.vector_noise(epsilon)
    if noise is None:
        return rules
    origins = noise.origins.astype(np.float64)
    squared = noise.family is Radial.GAUSSIAN
    # A vector of p independent coordinates has a sum of sizes of about √p times its length.
    rate = noise.rate * (noise.dimension**0.5 if noise.independent else 1.0)

    def by_density(power: float, outputs: IntArray) -> IntArray:
        distinct, which = np.unique(outputs, return_inverse=True)
        guesses = np.empty(distinct.size, dtype=np.int64)
        for start in range(0, distinct.size, _TOGETHER):
            away = near_distances(
                origins[distinct[start : start + _TOGETHER]], origins, Metric.EUCLIDEAN
            )
            away *= rate
            logs = prior.logs - power * (0.5 * away**2 if squared else away)
            logs -= logs.max(axis=1, keepdims=True)
            guesses[start : start + _TOGETHER] = gain.guess(np.exp(logs, out=logs))
        return guesses[which]

    return rules | {f"{DENSITY} {power:g}": partial(by_density, power) for power in _POWERS}


# The stranger who reads on: right guesses are counted, because no model of a language is its law.


def _read(
    mechanism: Mechanism,
    epsilons: FloatArray,
    gain: Gain,
    texts: int,
    reader: str,
    seed: int,
    progress: Progress,
) -> list[Share]:
    """Rewrite texts that the models never saw, and count the content words that a reader guesses.

    The best guess under the reader's belief is counted, so if the belief is wrong the share is less
    than an attacker with the same model could reach.
    """
    channel = open_channel(mechanism, progress=progress)
    lexicon = mechanism.lexicon
    content = content_words(lexicon).probability > 0
    prepared = (prepare(text, lexicon) for text in teaching_corpus().part("test").texts)
    sentences = [
        sentence
        for sentence in prepared
        if sentence.protected <= MAX_TEXT_TOKENS
        and content[sentence.words[sentence.words >= 0]].any()
    ][:texts]
    if len(sentences) < texts:
        raise ParameterError(
            f"there are {len(sentences):,} texts for the stranger who reads, got {texts:,} to draw"
        )
    right, total = np.zeros((epsilons.size, texts)), np.zeros(texts)
    for i, sentence in enumerate(sentences):
        words = sentence.words[sentence.words >= 0]
        scored = content[words]
        total[i] = scored.sum()
        outputs = draw(sentence, mechanism, seed, i, epsilons=epsilons).paths.at(epsilons)
        for e, epsilon in enumerate(epsilons.tolist()):
            places = places_of(sentence, outputs[:, e])
            belief = context_attack(channel, places, epsilon, reader=reader).context
            right[e, i] = gain.reached(gain.guess(belief), words)[scored].sum()
        progress(f"texts read for {mechanism.short}", i + 1, texts)
    shares = [share_of(row, total) for row in right]
    return [Share(row["share"], row["low"], row["high"], False, reader) for row in shares]
