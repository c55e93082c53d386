"""Posterior and odds of input words given one output, by Bayes' rule.

    π(w | y) = π(w)·P(y | w) / Σ_v π(v)·P(y | v)

The best guess is right with probability max_w π(w | y), given y. A guarantee bounds a posterior:
with P(y | v) ≥ e^{−L(w, v)}·P(y | w) for all v, L the guaranteed loss,

    π(w | y) ≤ π(w) / Σ_v π(v)·e^{−L(w, v)},

which for one L between any two words is e^L·π/(1 + (e^L − 1)·π).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.attack.output.channel import Likelihood
from dpcore.attack.output.prior import Prior
from dpcore.errors import ParameterError
from dpcore.guarantee import ApproximateLocalPrivacy, Guarantee, MetricPrivacy
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric, distances, paired_distances

_SHOWN = 1e-3


class RareOutputError(ParameterError):
    """An output that no possible word gives with a probability that can be computed.

    Nothing follows from it: every possible word may have been the input.
    """


@dataclass(frozen=True)
class Candidate:
    """One word with its prior and posterior.

    Attributes:
        word: its index.
        prior: its probability before.
        posterior: its probability after the output was seen.
        odds_factor: ln of the factor by which its odds against all other words together changed.
    """

    word: int
    prior: float
    posterior: float
    odds_factor: float


@dataclass(frozen=True, eq=False)
class Posterior:
    """Posterior over input words after one output; read-only.

    Attributes:
        likelihood: ln P(y | w).
        prior: prior over words.
        probability: π(w | y), shape (n,).
        log_evidence: ln P(y) under the prior.
        error: bound on the error of ln π(w | y), for every word above 0.1 % and the best guess.
    """

    likelihood: Likelihood
    prior: Prior
    probability: FloatArray
    log_evidence: float
    error: float

    @cached_property
    def best(self) -> int:
        """Attacker's guess: the likeliest word; of equally likely ones the lowest index."""
        return int(self.probability.argmax())

    @property
    def success(self) -> float:
        """Probability that the best guess is right, given this output."""
        return float(self.probability[self.best])

    @cached_property
    def perplexity(self) -> float:
        """Perplexity e^H, H the entropy: as many equally likely words have the same entropy.

        It is not the effective number 1/Σp² of `dpcore.measure`, which is never larger.
        """
        p = self.probability[self.probability > 0]
        return float(np.exp(-(p * np.log(p)).sum()))

    def candidate(self, word: int) -> Candidate:
        """Return prior, posterior and odds factor of one word."""
        before, after = float(self.prior.probability[word]), float(self.probability[word])
        others = 1.0 - after
        if others < 0.5:  # avoids cancellation where one word is nearly certain
            others = float(np.delete(self.probability, word).sum())
        change = math.nan
        if 0 < before < 1:
            # ln of the odds after, minus ln of the odds before.
            change = _log(after) - _log(others) - math.log(before) + math.log1p(-before)
        return Candidate(word, before, after, change)

    def top(self, count: int) -> list[Candidate]:
        """Return the likeliest words, likeliest first, ties by index; none that is impossible."""
        p = self.probability
        count = min(count, int(np.count_nonzero(p)))
        if count < 1:
            return []
        # All that tie with the last one are sorted too, so that ties are broken by the index.
        limit = np.partition(p, p.size - count)[p.size - count]
        likeliest = np.flatnonzero(p >= limit)
        likeliest = likeliest[np.lexsort((likeliest, -p[likeliest]))][:count]
        return [self.candidate(int(word)) for word in likeliest]

    def rows(self, lexicon: Lexicon, count: int) -> list[dict[str, Any]]:
        """Return `top` as plain rows; the odds factor is None where it is not finite."""
        return [
            {
                "word": lexicon.words[candidate.word],
                "prior": candidate.prior,
                "posterior": candidate.posterior,
                "log_odds_factor": candidate.odds_factor
                if math.isfinite(candidate.odds_factor)
                else None,
            }
            for candidate in self.top(count)
        ]


def posterior(likelihood: Likelihood, prior: Prior) -> Posterior:
    """Apply Bayes' rule, in logarithms.

    Args:
        likelihood: of one output, at least for every word that the prior holds possible.
        prior: prior over words.

    Raises:
        ParameterError: the prior holds other words possible.
        RareOutputError: the output is impossible, or too rare to compute.
    """
    words = likelihood.words
    if words.size < prior.probability.size and not np.isin(prior.support, words).all():
        raise ParameterError(
            f"the prior holds words possible that are not among the {words.size:,} of this "
            "channel: open the channel for the words of the prior"
        )
    logs = prior.logs[words] + likelihood.logs
    top = float(logs.max())
    if not top > -math.inf:
        raise RareOutputError(
            "no word that the prior holds possible can become this output (its probability is 0, "
            "or too small to compute): choose another output, a smaller epsilon or another prior"
        )
    # Relative to the largest, so that one weight is 1 and the sum cannot underflow to 0.
    weights = np.exp(logs - top)
    total = float(weights.sum())
    weights /= total
    probability = np.zeros(prior.probability.size)
    probability[words] = weights
    probability.setflags(write=False)
    # Logarithms that are off by e_w move the evidence by at most ln Σ π(w|y)·e^{e_w}.
    errors = likelihood.errors
    with np.errstate(over="ignore"):
        drift = float(np.log((weights * np.exp(np.minimum(errors, 700.0))).sum()))
    seen = weights >= min(_SHOWN, float(weights.max()))
    error = max(drift, 0.0) + float(errors[seen].max())
    return Posterior(likelihood, prior, probability, top + math.log(total), error)


def promised_distances(lexicon: Lexicon, guarantee: Guarantee, word: int) -> FloatArray:
    """Return distances of all words from one, in the metric of the guarantee, shape (n,)."""
    vectors = lexicon.vectors
    return np.asarray(distances(vectors, vectors[[word]], _metric(guarantee)[0])[0])


def promised_losses(
    lexicon: Lexicon, guarantee: Guarantee, word: int, far: FloatArray | None = None
) -> FloatArray:
    """Return the loss that a guarantee allows between a word and every word, shape (n,).

    Args:
        lexicon: words and vectors.
        guarantee: of a mechanism over the lexicon.
        word: index; its loss against itself is 0.
        far: `promised_distances`, if known: they are the same at every ε.
    """
    if far is None:
        far = promised_distances(lexicon, guarantee, word)
    if _metric(guarantee)[1]:
        return np.asarray(guarantee.epsilon * far)
    return np.array([guarantee.euclidean_loss(float(d)) for d in far.tolist()])


def promised_loss(lexicon: Lexicon, guarantee: Guarantee, first: int, second: int) -> float:
    """Return the loss that a guarantee allows between two words."""
    vectors = lexicon.vectors
    metric, times_epsilon = _metric(guarantee)
    far = float(paired_distances(vectors[[first]], vectors[[second]], metric)[0])
    return float(guarantee.epsilon * far if times_epsilon else guarantee.euclidean_loss(far))


def _metric(guarantee: Guarantee) -> tuple[Metric, bool]:
    """Return the metric of a guarantee, and True if losses are ε times distances in it."""
    if isinstance(guarantee, MetricPrivacy) and guarantee.metric in set(Metric):
        return Metric.parse(guarantee.metric), True
    return Metric.EUCLIDEAN, False


def posterior_bound(
    lexicon: Lexicon, guarantee: Guarantee, prior: Prior, word: int, far: FloatArray | None = None
) -> float:
    """Return the largest posterior of a word that the guarantee allows, for any output.

    It is 1 if the guarantee has a δ: then an output may exist that reveals the word. `far` is as
    for `promised_losses`.
    """
    before = float(prior.probability[word])
    if isinstance(guarantee, ApproximateLocalPrivacy) or not before > 0:
        return 1.0 if before > 0 else 0.0
    # P(y | v) ≥ e^{−L(w, v)}·P(y | w) under every v gives the smallest possible evidence.
    allowed = np.exp(-promised_losses(lexicon, guarantee, word, far))
    return min(1.0, before / float(prior.probability @ allowed))


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


# Likelihood ratio of two words given an output, against the bound of the guarantee.


@dataclass(frozen=True)
class Odds:
    """Change of the odds between two words by one output.

    Attributes:
        first: index of w.
        second: index of w′.
        output: index of y.
        distance: Euclidean distance of w and w′.
        log_ratio: ln P(y | w) − ln P(y | w′): the change of ln of the odds, whatever the prior.
        claimed: the largest |log_ratio| that the guarantee allows (up to its δ, if it has one).
        error: bound on the error of `log_ratio`.
    """

    first: int
    second: int
    output: int
    distance: float
    log_ratio: float
    claimed: float
    error: float

    @property
    def broken(self) -> bool:
        """True if the ratio exceeds the claim by more than the error of the computation."""
        return abs(self.log_ratio) > self.claimed + self.error + 1e-9 * self.claimed

    @property
    def used(self) -> float:
        """Share of the claimed loss that this output uses; above 1 the claim is broken."""
        return abs(self.log_ratio) / self.claimed if self.claimed > 0 else math.inf


def odds(
    lexicon: Lexicon, likelihood: Likelihood, guarantee: Guarantee, first: int, second: int
) -> Odds:
    """Return the likelihood ratio of two words.

    Raises:
        ParameterError: they are one word, or the channel does not know one of them.
    """
    if first == second:
        raise ParameterError("odds are between two different words, got one word twice")
    claimed = promised_loss(lexicon, guarantee, first, second)
    return _odds(lexicon, likelihood, first, second, claimed)


def worst_odds(
    lexicon: Lexicon,
    likelihood: Likelihood,
    guarantee: Guarantee,
    word: int,
    far: FloatArray | None = None,
) -> Odds:
    """Find the word that this output separates from `word` by the largest share of the claim.

    If `word` is the output itself, this is for TEM the worst pair of all for this output: a
    truncated metric obeys the triangle inequality. `far` is as for `promised_losses`.
    """
    allowed = promised_losses(lexicon, guarantee, word, far)[likelihood.words]
    own = int(np.searchsorted(likelihood.words, word))
    impossible = likelihood.impossible
    with np.errstate(invalid="ignore"):  # −∞ minus −∞
        ratio = np.abs(likelihood.of(word) - likelihood.logs)
        resolved = np.maximum(ratio - likelihood.errors, 0.0)
    # An unresolved entry proves nothing; an entry that is known to be 0 proves most.
    ratio = np.where(np.isfinite(ratio), resolved, 0.0)
    ratio[impossible != impossible[own]] = math.inf
    # If no loss is allowed, any loss is too much.
    beyond = np.where(ratio > 0, math.inf, 0.0)
    share = np.divide(ratio, allowed, out=beyond, where=allowed > 0)
    share[likelihood.words == word] = -1.0
    place = int(share.argmax())
    second = int(likelihood.words[place])
    return _odds(lexicon, likelihood, word, second, float(allowed[place]))


def _odds(
    lexicon: Lexicon, likelihood: Likelihood, first: int, second: int, claimed: float
) -> Odds:
    places = np.searchsorted(likelihood.words, [first, second])
    vectors = lexicon.vectors
    far = paired_distances(vectors[[first]], vectors[[second]], Metric.EUCLIDEAN)
    logs = [likelihood.of(word) for word in (first, second)]
    both = logs[0] == logs[1]  # also if both are −∞, whose difference is NaN
    return Odds(
        first=first,
        second=second,
        output=likelihood.output,
        distance=float(far[0]),
        log_ratio=0.0 if both else logs[0] - logs[1],
        claimed=claimed,
        error=float(likelihood.errors[places].sum()),
    )
