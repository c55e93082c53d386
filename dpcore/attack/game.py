"""Game of guessing a released word, by a person against the Bayes attacker.

One word of a short list is drawn, each with the same probability, and the mechanism releases it
once or several times, each time with fresh noise. Person and attacker know the list, the mechanism
and ε, and see the outputs y₁, …, y_r. By Bayes' rule the attacker's posterior is proportional to
P(y₁|w)·…·P(y_r|w), and naming its largest entry is right most often. Where a law cannot be computed
but is integrated along directions of the noise, the P(y|w) are estimated, from plain directions and
from others towards y, and the posterior has a standard error. Any other mechanism is attacked by
naming the word that is nearest to the outputs; a better attacker may exist.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.attack.output.channel import Rows
from dpcore.errors import ParameterError
from dpcore.lexicon.metric import Metric, distances
from dpcore.lexicon.neighbours import Ranking, rank
from dpcore.limits import MAX_GAME_RELEASES, MAX_GAME_WORDS
from dpcore.measure.directions import output_blocks
from dpcore.measure.probability_intervals import Tally
from dpcore.mechanisms.additive.additive import SharedDirections
from dpcore.mechanisms.law import Effort
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.streams import generator

DIRECTIONS = Effort(1000)
"""Directions of the noise behind an estimated posterior.

In 14 rounds of Madlib at ε = 10 with six candidates and three outputs, its standard errors were
up to 0.11.
"""
_GROUPS = 20  # of directions, each left out once: the jackknife
_OPENING_RELEASES = 1200  # outputs drawn in search of a round that opens a game
_RELEASES = 1500  # outputs drawn for the long run


@dataclass(frozen=True)
class Round:
    """A secret and its releases.

    Attributes:
        secret: index in the list of candidates.
        outputs: indices of the released words.
        telling: True if `Game.opening` picked it, because it can be reasoned.
    """

    secret: int
    outputs: tuple[int, ...]
    telling: bool = False


@dataclass(frozen=True, eq=False)
class Judgement:
    """Attacker's conclusion from the outputs.

    Attributes:
        guess: index in the list of candidates, the first of equal ones.
        posterior: of each candidate, shape (k,); None for the attacker who goes by distance.
        error: its standard errors, shape (k,), 0 where the law is exact; None likewise.
        distance: mean Euclidean distance of the outputs from each candidate, shape (k,).
    """

    guess: int
    posterior: FloatArray | None
    error: FloatArray | None
    distance: FloatArray


@dataclass(frozen=True)
class LongRun:
    """Success of an attacker in many rounds, drawn as a game draws them; intervals of level 95 %.

    Attributes:
        rounds: number of rounds.
        right: share in which the attacker is right, with both ends of its interval.
        shown: share in which an output is the secret itself, likewise.
    """

    rounds: int
    right: tuple[float, float, float]
    shown: tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class Game:
    """Rules of a round.

    Attributes:
        mechanism: known to all.
        epsilon: ε of every release.
        candidates: indices of the words that the secret is drawn from, distinct.
        releases: r, number of outputs of the one secret.
        shared: public directions that estimate laws.
    """

    mechanism: Mechanism
    epsilon: float
    candidates: tuple[int, ...]
    releases: int = 1
    shared: SharedDirections = field(default_factory=lambda: SharedDirections(DIRECTIONS))

    def __post_init__(self) -> None:
        """Refuse rules under which there is nothing to guess.

        Raises:
            ParameterError: too few or too many candidates or releases, or one candidate twice.
            EpsilonError: ε is not admissible.
        """
        self.mechanism.check_epsilon(self.epsilon)
        self.mechanism.check_words(self.candidates)
        count = len(self.candidates)
        if not 2 <= count <= MAX_GAME_WORDS:
            msg = f"a list to guess from has 2 to {MAX_GAME_WORDS} different words, got {count}"
            raise ParameterError(msg)
        if len(set(self.candidates)) < count:
            raise ParameterError("a list to guess from names no word twice")
        if not 1 <= self.releases <= MAX_GAME_RELEASES:
            msg = f"a secret is released 1 to {MAX_GAME_RELEASES} times, got {self.releases}"
            raise ParameterError(msg)

    @property
    def by_bayes(self) -> bool:
        """True if `judge` returns a posterior; else it goes by distance."""
        return self.mechanism.exact_law or self.mechanism.rays is not None

    def deal(self, rng: np.random.Generator) -> Round:
        """Draw a secret and release it."""
        secrets, outputs = self._draw(rng, 1)
        return Round(int(secrets[0]), tuple(outputs[0].tolist()))

    def opening(self, rng: np.random.Generator) -> Round:
        """Pick a first round that can be reasoned, out of 1,200 outputs.

        In it no output is the secret, every output is nearer to the secret than to any other
        candidate, and the lead of the secret in mean distance is largest. Without such a round
        the first draw is returned.
        """
        secrets, outputs = self._draw(rng, max(1, _OPENING_RELEASES // self.releases))
        away = self._away(outputs)
        reasoned = (away.argmin(axis=2) == secrets[:, None]).all(axis=1)
        reasoned &= (outputs != np.asarray(self.candidates)[secrets][:, None]).all(axis=1)
        nearest = np.sort(away.mean(axis=1), axis=1)
        lead = np.where(reasoned, nearest[:, 1] - nearest[:, 0], -np.inf)
        place = int(lead.argmax())
        return Round(int(secrets[place]), tuple(outputs[place].tolist()), bool(reasoned[place]))

    def judge(self, outputs: tuple[int, ...]) -> Judgement:
        """Return the attacker's answer to these outputs.

        Raises:
            ParameterError: there are none, or one is not a word of the lexicon.
        """
        seen = self.mechanism.check_words(outputs)
        if not seen.size:
            raise ParameterError("the attacker needs at least one output")
        away = self._away(seen).mean(axis=0)
        if not self.by_bayes:
            return Judgement(int(away.argmin()), None, None, away)
        if self.mechanism.exact_law:
            posterior = _normalised(self._log_laws[:, seen].sum(axis=1))
            error = np.zeros_like(posterior)
        else:
            posterior, error = self._estimated(seen)
        return Judgement(int(posterior.argmax()), posterior, error, away)

    @cached_property
    def long_run(self) -> LongRun:
        """Success over many rounds: of Bayes if the law is exact, else of the nearest word.

        Bayes is right at least as often as the nearest word.
        """
        rounds = max(1, _RELEASES // self.releases)
        # The same rounds for every visitor, and none of those that are played.
        secrets, outputs = self._draw(generator(0, "long run of the game"), rounds)
        if self.mechanism.exact_law:
            guesses = self._log_laws[:, outputs].sum(axis=2).argmax(axis=0)
        else:
            guesses = self._away(outputs).mean(axis=1).argmin(axis=1)
        shown = (outputs == np.asarray(self.candidates)[secrets][:, None]).any(axis=1)
        counts = np.array([(guesses == secrets).sum(), shown.sum()], dtype=np.float64)
        tally = Tally.counted(counts, rounds)
        low, high = tally.interval()
        right, seen = zip(tally.value.tolist(), low.tolist(), high.tolist(), strict=True)
        return LongRun(rounds, right, seen)

    def _draw(self, rng: np.random.Generator, rounds: int) -> tuple[IntArray, IntArray]:
        """Draw secrets (rounds,), as places in the list, and their outputs (rounds, releases)."""
        secrets = rng.integers(len(self.candidates), size=rounds)
        entries = np.repeat(np.asarray(self.candidates, dtype=np.int64)[secrets], self.releases)
        outputs = self.mechanism.sample(rng, entries, self.epsilon)
        return secrets, outputs.reshape(rounds, self.releases)

    def _away(self, outputs: IntArray) -> FloatArray:
        """Return Euclidean distances of outputs from the candidates, shape (..., k)."""
        vectors = self.mechanism.lexicon.vectors
        distinct, places = np.unique(outputs, return_inverse=True)
        away = distances(vectors[list(self.candidates)], vectors[distinct], Metric.EUCLIDEAN)
        return np.asarray(away[places.reshape(outputs.shape)])

    def _estimated(self, outputs: IntArray) -> tuple[FloatArray, FloatArray]:
        """Estimate the posterior, and its standard errors by the jackknife over directions."""
        epsilons = np.array([self.epsilon])
        logs = np.zeros((_GROUPS + 1, len(self.candidates)))
        distinct, times = np.unique(outputs, return_counts=True)
        for place, word in enumerate(self.candidates):
            for output, count in zip(distinct.tolist(), times.tolist(), strict=True):
                hits, weights = output_blocks(
                    self.mechanism, word, output, epsilons, self._rankings[place], self.shared
                )
                # Directions are shared by all candidates: a group is left out of all at once.
                group = np.arange(weights.size) % _GROUPS
                hit = np.bincount(group, hits[:, 0], minlength=_GROUPS)
                weight = np.bincount(group, weights, minlength=_GROUPS)
                left = np.append(hit.sum(), hit.sum() - hit) / np.append(
                    weight.sum(), weight.sum() - weight
                )
                with np.errstate(divide="ignore"):
                    logs[:, place] += count * np.log(np.maximum(left, 0.0))
        each = np.stack([_normalised(row) for row in logs])
        spread = np.square(each[1:] - each[1:].mean(axis=0)).sum(axis=0)
        error = np.sqrt((_GROUPS - 1) / _GROUPS * spread)
        # Where no direction leads to an output the jackknife sees no error. What n directions never
        # showed may have a probability of 3/n (rule of three), here two standard errors.
        return each[0], np.maximum(error, 1.5 / self.shared.effort.directions)

    @cached_property
    def _rankings(self) -> list[Ranking]:
        """The vocabulary by distance from each candidate."""
        vectors = self.mechanism.lexicon.vectors
        return list(rank(vectors, vectors[list(self.candidates)]))

    @cached_property
    def _log_laws(self) -> FloatArray:
        """ln P(y|w) of every candidate, shape (k, n); −∞ where P is 0."""
        rows = Rows(self.mechanism, np.array(self.candidates))
        # Rows are in lexicon order, candidates in the order of the list.
        places = np.searchsorted(rows.words, self.candidates)
        return np.asarray(rows.laws(self.epsilon)[0][places])


def _normalised(log_weights: FloatArray) -> FloatArray:
    """Return weights as probabilities; equal ones if all are 0 within the laws' numerical error."""
    top = log_weights.max()
    if top == -np.inf:
        return np.full(log_weights.size, 1.0 / log_weights.size)
    weights = np.exp(log_weights - top)
    return np.asarray(weights / weights.sum())
