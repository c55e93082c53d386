"""Loss of one word of a text through all outputs of the text (Pufferfish privacy).

The guarantee of a mechanism bounds what the output of a word tells about that word. The outputs of
its neighbours tell about it too, because words of a language depend on each other.

Let the words w₁ … w_L be a first-order Markov chain that the attacker knows, and y_j the output of
w_j under noise that is independent at every position. For the secrets w_i = a and w_i = b (in the
framework of Kifer and Machanavajjhala 2014, ACM TODS 39(1), one pair of secrets and one data
distribution)

    ln P(y₁ … y_L | w_i = a)/P(y₁ … y_L | w_i = b) = own + left + right,
    own = ln P(y_i | a)/P(y_i | b),   left = ln P(y_<i | a)/P(y_<i | b),   right likewise,

since y_i and the outputs of both sides are independent given w_i. The messages f, β of the
forward–backward recursion, and those without any output, f⁰ and β⁰, give left and right exactly:

    P(y_<i | w_i = w) ∝ f(w)/f⁰(w),   P(y_>i | w_i = w) ∝ β(w)/β⁰(w).

The chain is the bigram model between two boundaries, given the number of words: that number and the
ends of sentences are not hidden. Positions outside the vocabulary tell nothing. A word that is
released unchanged is an output like any other.

Theorem. Let R_w be the law of the neighbour on one side given w_i = w, m the number of words that
this side releases up to the end of the sentence, ε̄ the largest loss of the mechanism between any
two words, and s = m·ε̄. Then for all outputs of the side

    ln P(y_side | a)/P(y_side | b) ≤ φ(s) = max_S ln (1 + (e^s − 1)·R_a(S))/(1 + (e^s − 1)·R_b(S)),

S a set of words.

Proof. P(y_side | w_i = w) = Σ_v R_w(v)·g(v), where g(v) is the mean, over the other words of the
side given that the neighbour is v, of a product of m likelihoods. Two such products differ by a
factor of e^s at most, so all g(v) lie in some [c, c·e^s]. A quotient of two positive linear
functions of g is quasi-convex, hence largest at a vertex of that box: c·e^s on a set S, and c
elsewhere. With λ the largest quotient, S = {v: R_a(v) > λ·R_b(v)}, so that only the sets count in
which the ratio R_a/R_b is largest. ∎

φ grows with s up to ln max_v R_a(v)/R_b(v), the loss if the neighbour were released unchanged: no
ε and no number of outputs exceeds it. That limit is a bound without any guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.attack.language.context import Place, evidence_of
from dpcore.attack.language.language import (
    Bigram,
    Messages,
    Seen,
    draw_chains,
    language,
    messages,
)
from dpcore.attack.output.channel import Channel
from dpcore.attack.output.operators import operator_of
from dpcore.attack.output.posterior import promised_loss
from dpcore.errors import ParameterError
from dpcore.guarantee import ApproximateLocalPrivacy, Guarantee, Status
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import distances
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_TEXT_TOKENS
from dpcore.measure.deniability import finite
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.streams import generator
from dpcore.outwards import at_most
from dpcore.written import Filled, Numeral

NEAREST, POSTERIOR = AGAINST = ("nearest", "posterior")
"""Other word of a pair: the nearest one, or another one drawn from the attacker's posterior."""
LENGTH = 11
"""Words of a text in `worst_losses` and `mean_loss`, unless given; the sixth has both sides."""
LEFT, RIGHT = -1, 1
_ROUNDING = 1e-9  # of a loss: by less it exceeds no bound
_TOGETHER = 64  # words whose distances from all words are held: 13 MB over 25,000 words


# What one side can tell.


def largest_log_ratio(first: FloatArray, second: FloatArray, span: float) -> float:
    """Compute φ, the most that outputs of one side tell for one law of the neighbour.

    Args:
        first: R_a, a positive law, shape (n,).
        second: R_b, a positive law, shape (n,).
        span: s ≥ 0; ∞ for a neighbour that is released unchanged.
    """
    order = np.argsort(second / first)
    low, high = math.exp(-span), -math.expm1(-span)
    # Divided by e^s above and below, which a large s does not overflow.
    above = np.log(low + high * np.cumsum(first[order]))
    below = np.log(low + high * np.cumsum(second[order]))
    return max(float((above - below).max()), 0.0)


class _Chain:
    """Chain of a text without outputs.

    Args:
        model: bigram model.
        evidence: evidence at each position, of which only the structure counts.
    """

    def __init__(self, model: Bigram, evidence: Sequence[Seen]) -> None:
        self.model, n = model, model.boundary
        # Noisy and unchanged words are hidden; ends of sentences and unknown words stay.
        self.blank: list[Seen] = [
            np.ones(n) if isinstance(seen, np.ndarray) or 0 <= seen < n else seen
            for seen in evidence
        ]
        self.messages = messages(model, self.blank)
        self._clear = [not isinstance(seen, np.ndarray) for seen in evidence]

    def released(self, position: int, side: int) -> float:
        """Return m of one side; ∞ if one of its words is released unchanged."""
        count, at = 0, position + side
        while 0 <= at < len(self.blank) and isinstance(self.blank[at], np.ndarray):
            if self._clear[at]:
                return math.inf
            count, at = count + 1, at + side
        return count

    def neighbour(self, position: int, side: int, word: int) -> FloatArray:
        """Return R_w of the neighbour on one side, which is a word, shape (n,)."""
        near = self.messages[position + side]
        if side == LEFT:
            weights = near.state * self.model.before(word)
        else:
            weights = self.model.after(word) * near.right
        return np.asarray(weights[:-1] / weights[:-1].sum())

    def bound(self, position: int, side: int, first: int, second: int, loss: float) -> float:
        """Return φ(m·ε̄) of one side, for the word `first` against `second`."""
        count = self.released(position, side)
        if count == 0 or first == second:
            return 0.0
        laws = [self.neighbour(position, side, word) for word in (first, second)]
        return largest_log_ratio(laws[0], laws[1], count * loss)


def _own_bound(lexicon: Lexicon, guarantee: Guarantee, first: int, second: int) -> float:
    """Return the loss that the guarantee allows one output; ∞ where it excludes none."""
    if not _bounds(guarantee):
        return math.inf
    return promised_loss(lexicon, guarantee, first, second)


def _widest(mechanism: Mechanism, guarantee: Guarantee) -> float:
    """Return ε̄, the largest loss between any two words; ∞ where none is excluded."""
    return mechanism.loss_bounds(guarantee).largest if _bounds(guarantee) else math.inf


def _bounds(guarantee: Guarantee) -> bool:
    """Return True if no output has a larger loss than the guarantee says, unconditionally."""
    sure = guarantee.status in (Status.PROVED, Status.CERTIFIED)
    return sure and not isinstance(guarantee, ApproximateLocalPrivacy)


def _statement(
    pair: tuple[str, str],
    outputs: int,
    own: float,
    neighbours: float,
    unchanged: int = 0,
) -> str:
    if unchanged == 1:
        noise = Filled("every word gets independent noise except 1 that is released unchanged")
    elif unchanged:
        noise = Filled(
            "every word gets independent noise except {count} that are released unchanged",
            count=unchanged,
        )
    else:
        noise = Filled("every word gets independent noise")
    if not own < math.inf:
        return Filled(
            "If texts follow the bigram model and {noise}, the outputs of its neighbours tell a "
            "word “{first}” from “{second}” by at most {neighbours} nats; the guarantee sets no "
            "limit to what its own output tells.",
            noise=noise,
            first=pair[0],
            second=pair[1],
            neighbours=Numeral(at_most(neighbours)),
        )
    return Filled(
        "If texts follow the bigram model and {noise}, the {outputs} outputs of a text together "
        "tell “{first}” from “{second}” by at most {total} nats: at most {own} by the word's own "
        "output, and {neighbours} by its neighbours.",
        noise=noise,
        outputs=outputs,
        first=pair[0],
        second=pair[1],
        total=Numeral(at_most(own + neighbours)),
        own=Numeral(at_most(own)),
        neighbours=Numeral(at_most(neighbours)),
    )


# One text and its outputs.


@dataclass(frozen=True, eq=False)
class SentenceLoss:
    """Loss of each of L protected words against another one, in nats; all arrays of shape (L,).

    Attributes:
        lexicon: the words.
        words: a.
        others: b.
        own: loss of the word's own output; ∞ if that is impossible under b.
        left: loss of the outputs on its left.
        right: loss of the outputs on its right.
        own_bound: the most that the guarantee allows `own`; ∞ where it excludes nothing.
        left_bound: the most that any outputs on the left could tell, φ of this chain.
        right_bound: the same of the right.
        unchanged: number of words of the text that are released unchanged.
    """

    lexicon: Lexicon
    words: IntArray
    others: IntArray
    own: FloatArray
    left: FloatArray
    right: FloatArray
    own_bound: FloatArray
    left_bound: FloatArray
    right_bound: FloatArray
    unchanged: int = 0

    @property
    def neighbours(self) -> FloatArray:
        """Loss of all other outputs together, shape (L,)."""
        return self.left + self.right

    @property
    def total(self) -> FloatArray:
        """Pufferfish loss of all outputs of the text, shape (L,)."""
        return self.own + self.neighbours

    @property
    def total_bound(self) -> FloatArray:
        """Bound on `total` for any outputs, under this chain, shape (L,)."""
        return self.own_bound + self.left_bound + self.right_bound

    @property
    def factor(self) -> FloatArray:
        """Ratio of `total_bound` to `own_bound`, a factor on ε, shape (L,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.total_bound / self.own_bound)

    def statement(self, position: int) -> str:
        """Return the bound of one position as a sentence that names its assumptions."""
        words = self.lexicon.words
        return _statement(
            (words[int(self.words[position])], words[int(self.others[position])]),
            self.words.size + self.unchanged,
            float(self.own_bound[position]),
            float(self.left_bound[position] + self.right_bound[position]),
            self.unchanged,
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return one row a word; what is not finite is None."""
        words = self.lexicon.words
        columns = {
            "own": self.own,
            "left": self.left,
            "right": self.right,
            "total": self.total,
            "own_bound": self.own_bound,
            "left_bound": self.left_bound,
            "right_bound": self.right_bound,
            "total_bound": self.total_bound,
            "factor": self.factor,
        }
        return [
            {"written": words[int(word)], "other": words[int(other)]}
            | {name: finite(float(column[i])) for name, column in columns.items()}
            for i, (word, other) in enumerate(zip(self.words, self.others, strict=True))
        ]


def nearest_others(lexicon: Lexicon, words: IntArray) -> IntArray:
    """Return the nearest other word of each word, by Euclidean distance, in the same shape."""
    distinct, place = np.unique(words, return_inverse=True)
    nearest = np.empty_like(distinct)
    for start in range(0, distinct.size, _TOGETHER):
        some = distinct[start : start + _TOGETHER]
        apart = distances(lexicon.vectors, lexicon.vectors[some])
        apart[np.arange(some.size), some] = math.inf
        nearest[start : start + _TOGETHER] = apart.argmin(axis=1)
    return np.asarray(nearest[place].reshape(np.shape(words)))


def sentence_loss(
    channel: Channel,
    places: Sequence[Place],
    words: IntArray,
    others: IntArray,
    epsilon: float,
    *,
    model: Bigram | None = None,
    progress: Progress = silent,
) -> SentenceLoss:
    """Compute what all outputs of a text tell about each of its words; exact for this chain.

    Args:
        channel: of the mechanism, over the whole lexicon.
        places: positions of the released text, in order; the text begins and ends a sentence.
        words: word a at each protected position of the vocabulary, shape (L,).
        others: word b at each of them, shape (L,).
        epsilon: ε of every word.
        model: the bigram model; the bundled one if not given.
        progress: called with ("words", done, all).

    Raises:
        ParameterError: there are not as many words as protected positions, or the text is empty or
            too long, or the channel is of a few words only.
        EpsilonError: ε is not admissible.
    """
    mechanism = channel.mechanism
    protected, evidence = evidence_of(channel, places, epsilon, progress)
    words, others = (mechanism.check_words(each) for each in (words, others))
    if not words.size == others.size == len(protected):
        raise ParameterError(
            f"{len(protected)} words of the vocabulary are protected, got {words.size} and "
            f"{others.size} to compare"
        )
    model = model or language(mechanism.lexicon)
    chain, guarantee = _Chain(model, evidence), mechanism.guarantee(epsilon)
    pairs = list(zip(words.tolist(), others.tolist(), strict=True))
    widest = _widest(mechanism, guarantee)
    own, left, right = _losses(chain, evidence, messages(model, evidence), protected, pairs)
    left_bound, right_bound = (
        np.array(
            [chain.bound(i, side, *pair, widest) for i, pair in zip(protected, pairs, strict=True)]
        )
        for side in (LEFT, RIGHT)
    )
    return SentenceLoss(
        lexicon=mechanism.lexicon,
        words=words,
        others=others,
        own=own,
        left=left,
        right=right,
        own_bound=np.array([_own_bound(mechanism.lexicon, guarantee, *pair) for pair in pairs]),
        left_bound=left_bound,
        right_bound=right_bound,
        unchanged=sum(place.released and 0 <= place.output < model.boundary for place in places),
    )


def _losses(
    chain: _Chain,
    evidence: Sequence[Seen],
    seen: Sequence[Messages],
    positions: Sequence[int],
    pairs: Sequence[tuple[int, int]],
) -> FloatArray:
    """Compute own, left and right of pairs of words at some positions, shape (3, L)."""
    losses = np.empty((3, len(positions)))
    for column, (i, pair) in enumerate(zip(positions, pairs, strict=True)):
        at, blank, both = seen[i], chain.messages[i], list(pair)
        likelihoods = (
            np.asarray(evidence[i])[both],
            at.left[both] / blank.left[both],
            at.right[both] / blank.right[both],
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(likelihoods)
            losses[:, column] = logs[:, 0] - logs[:, 1]
    return losses


# Means over texts of the chain and their outputs.


@dataclass(frozen=True)
class Estimate:
    """Mean over texts, with its standard error."""

    value: float
    error: float

    @classmethod
    def of(cls, values: FloatArray) -> Estimate:
        """Return the mean of one number a text, shape (texts,); an infinite one has no error."""
        with np.errstate(invalid="ignore"):
            return cls(float(values.mean()), float(values.std(ddof=1) / math.sqrt(values.size)))


@dataclass(frozen=True)
class MeanLoss:
    """Mean losses of the words of texts that are drawn from the chain, in nats.

    Against the nearest word a mean is a relative entropy, never negative. Against a word from the
    posterior it says little, because either word of such a pair may be the true one; there the
    sizes say how far the two are told apart.

    Attributes:
        mechanism: short name.
        epsilon: ε.
        against: of `AGAINST`.
        length: L, the number of words of a text.
        texts: number of drawn texts.
        means: mean of `own`, `left`, `right`, `neighbours` and `total`; `own` and `total` are ∞ if
            an output excludes the other word.
        sizes: mean of their absolute values.
        promised: mean of the largest own loss that the guarantee allows; ∞ if it excludes nothing.
        above: share of words whose total loss is above that in size.
        largest: the largest total loss that was drawn, as a multiple of it; 0 without a bound.
    """

    mechanism: str
    epsilon: float
    against: str
    length: int
    texts: int
    means: dict[str, Estimate]
    sizes: dict[str, Estimate]
    promised: float
    above: Estimate
    largest: float

    @property
    def factor(self) -> float:
        """Mean size of the total loss by that of the own loss."""
        return self.sizes["total"].value / self.sizes["own"].value


def mean_loss(
    channel: Channel,
    epsilon: float,
    *,
    against: str = NEAREST,
    length: int = LENGTH,
    texts: int = 100,
    seed: int = 0,
    model: Bigram | None = None,
    progress: Progress = silent,
) -> MeanLoss:
    """Estimate the mean losses of true words against other words, over texts and outputs.

    Texts are drawn from the chain, outputs from the mechanism; given both, losses are exact.

    Args:
        channel: of the mechanism, over the whole lexicon.
        epsilon: ε of every word.
        against: of `AGAINST`; a word from the posterior given all outputs is not the true word.
        length: L, 1 to `limits.MAX_TEXT_TOKENS`.
        texts: number of texts, 2 or more.
        seed: seed of all draws.
        model: the bigram model; the bundled one if not given.
        progress: called with ("texts", done, all).

    Raises:
        ParameterError: a setting is out of range.
        EpsilonError: ε is not admissible.
    """
    if against not in AGAINST:
        raise ParameterError(f"words are compared with {' or '.join(AGAINST)}, got {against[:40]}")
    if texts < 2:
        raise ParameterError(f"a standard error takes 2 texts or more, got {texts}")
    mechanism = channel.mechanism
    lexicon, guarantee = mechanism.lexicon, mechanism.guarantee(epsilon)
    model = model or language(lexicon)
    chain = _Chain(model, _hidden(model, length))
    rng = generator(seed, "losses of neighbours", mechanism.key)
    chains = draw_chains(model, chain.blank, texts, rng)
    losses, promised = np.empty((5, texts, length)), np.empty((texts, length))
    nearest = nearest_others(lexicon, chains) if against == NEAREST else None
    for t, words in enumerate(chains):
        outputs = mechanism.sample(rng, words, epsilon)
        _, evidence = evidence_of(channel, [Place(int(y)) for y in outputs], epsilon)
        posterior_messages = messages(model, evidence)
        if nearest is not None:
            others = nearest[t]
        else:
            others = np.array(
                [_drawn(at, int(w), rng) for at, w in zip(posterior_messages, words, strict=True)]
            )
        pairs = list(zip(words.tolist(), others.tolist(), strict=True))
        own, left, right = _losses(chain, evidence, posterior_messages, range(length), pairs)
        losses[:, t] = own, left, right, left + right, own + left + right
        promised[t] = [_own_bound(lexicon, guarantee, *pair) for pair in pairs]
        progress("texts", t + 1, texts)
    ratios = np.zeros_like(promised)
    np.divide(np.abs(losses[4]), promised, out=ratios, where=np.isfinite(promised))
    # Words of one text depend on each other; texts do not.
    names = ("own", "left", "right", "neighbours", "total")
    return MeanLoss(
        mechanism.short,
        float(epsilon),
        against,
        length,
        texts,
        {name: Estimate.of(row.mean(axis=1)) for name, row in zip(names, losses, strict=True)},
        {
            name: Estimate.of(row.mean(axis=1))
            for name, row in zip(names, np.abs(losses), strict=True)
        },
        float(promised.mean()),
        Estimate.of((ratios > 1.0 + _ROUNDING).mean(axis=1)),
        float(ratios.max()),
    )


def _hidden(model: Bigram, length: int) -> list[Seen]:
    """Return the evidence of a text of which only the length is known."""
    if not 1 <= length <= MAX_TEXT_TOKENS:
        raise ParameterError(f"a text has 1 to {MAX_TEXT_TOKENS} words, got {length}")
    return [np.ones(model.boundary) for _ in range(length)]


def _drawn(at: Messages, word: int, rng: np.random.Generator) -> int:
    """Draw another word than this from the posterior at one position."""
    weights = (at.state * at.right)[:-1]
    weights[word] = 0.0
    if not weights.any():
        raise ParameterError("the outputs leave one word alone: no other has a posterior")
    return int(rng.choice(weights.size, p=weights / weights.sum()))


# Worst cases of a pair of words, over all outputs.


@dataclass(frozen=True)
class WorstNeighbours:
    """Worst cases of a pair of words inside a text, in nats, whichever of the two is the true one.

    Attributes:
        lexicon: the words.
        first: a.
        second: b.
        length: L, the number of words of the text.
        own: the most that the guarantee allows the word's own output; ∞ if it excludes nothing.
        adjacent: the most that the outputs of the two adjacent words tell together: exact, the
            largest over all outputs.
        all: bound on what the outputs of all other words tell: φ of both sides.
        unchanged: what the two adjacent words tell if both are released unchanged, the limit of
            `all` for large ε or long texts.
    """

    lexicon: Lexicon
    first: int
    second: int
    length: int
    own: float
    adjacent: float
    all: float
    unchanged: float

    @property
    def factor_adjacent(self) -> float:
        """Factor on ε with the two adjacent words: (own + adjacent)/own."""
        return (self.own + self.adjacent) / self.own

    @property
    def factor(self) -> float:
        """Bound on the factor on ε with all words of the text: (own + all)/own."""
        return (self.own + self.all) / self.own

    @property
    def statement(self) -> str:
        """The bound as a sentence that names its assumptions."""
        pair = self.lexicon.words[self.first], self.lexicon.words[self.second]
        return _statement(pair, self.length, self.own, self.all)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; what is not finite is None."""
        return {
            "first": self.lexicon.words[self.first],
            "second": self.lexicon.words[self.second],
            "length": self.length,
            "own": finite(self.own),
            "adjacent": self.adjacent,
            "all": self.all,
            "unchanged": self.unchanged,
            "factor_adjacent": finite(self.factor_adjacent),
            "factor": finite(self.factor),
            "statement": self.statement,
        }


def worst_losses(
    mechanism: Mechanism,
    epsilon: float,
    pairs: Sequence[tuple[int, int]],
    *,
    length: int = LENGTH,
    model: Bigram | None = None,
    progress: Progress = silent,
) -> list[WorstNeighbours]:
    """Compute the worst cases of pairs of words in the middle of a text, over all outputs.

    Args:
        mechanism: with an exact law.
        epsilon: ε of every word.
        pairs: a and b of each pair, two different words.
        length: L, 3 to `limits.MAX_TEXT_TOKENS`; the pair is at position ⌈L/2⌉ from 1.
        model: the bigram model; the bundled one if not given.
        progress: called with (stage, done, all).

    Raises:
        ParameterError: a pair or the length is out of range, or the law is not exact or too large,
            or the guarantee is refuted.
        EpsilonError: ε is not admissible.
    """
    for first, second in pairs:
        if first == second:
            raise ParameterError("a pair of secrets is two different words")
    mechanism.check_words([word for pair in pairs for word in pair])
    if length < 3:
        raise ParameterError(f"a word with two neighbours is in a text of 3 or more, got {length}")
    if not mechanism.exact_law:
        raise ParameterError(
            f"the worst case over all outputs needs an exact law, which {mechanism.short} has not: "
            "take a mechanism such as tem or k-ary"
        )
    lexicon = mechanism.lexicon
    model = model or language(lexicon)
    chain, guarantee = _Chain(model, _hidden(model, length)), mechanism.guarantee(epsilon)
    middle, widest = (length - 1) // 2, _widest(mechanism, guarantee)
    operator = operator_of(mechanism, epsilon, progress)
    laws = np.stack(
        [
            chain.neighbour(middle, side, word)
            for pair in pairs
            for side in (LEFT, RIGHT)
            for word in pair
        ],
        axis=1,
    )
    outputs = operator.transposed(laws, progress).reshape(-1, len(pairs), 2, 2)
    laws = laws.reshape(-1, len(pairs), 2, 2)
    counts = [chain.released(middle, side) for side in (LEFT, RIGHT)]
    worst = []
    for p, (first, second) in enumerate(pairs):
        # No word is impossible in the chain: an output is possible for all of them, or for none.
        possible = outputs[:, p].min(axis=(1, 2)) > 0
        logs = np.log(outputs[possible, p])
        apart = logs[:, :, 0] - logs[:, :, 1]
        adjacent = max(float((sign * apart).max(axis=0).sum()) for sign in (1, -1))
        bounds = [
            max(
                sum(
                    largest_log_ratio(laws[:, p, s, a], laws[:, p, s, 1 - a], span)
                    for s, span in enumerate(spans)
                )
                for a in (0, 1)
            )
            for spans in ([count * widest for count in counts], [math.inf, math.inf])
        ]
        own = _own_bound(lexicon, guarantee, first, second)
        worst.append(WorstNeighbours(lexicon, first, second, length, own, adjacent, *bounds))
    return worst
