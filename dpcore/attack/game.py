"""Game of guessing a released word, by a person against the Bayes attacker.

One word of a short list is drawn, each with the same probability, and the mechanism releases it
once or several times, each time with fresh noise. Person and attacker know the list, the mechanism
and ε, and see the outputs y₁, …, y_r. By Bayes' rule the attacker's posterior is proportional to
P(y₁|w)·…·P(y_r|w), and naming its largest entry is right most often. If the law of a mechanism
cannot be computed, the attacker names the word that is nearest to the outputs instead; a better
attacker may exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.attack.output.channel import Rows
from dpcore.errors import ParameterError
from dpcore.lexicon.metric import Metric, distances
from dpcore.limits import MAX_GAME_RELEASES, MAX_GAME_WORDS
from dpcore.mechanisms.mechanism import Mechanism


@dataclass(frozen=True)
class Round:
    """A secret and its releases.

    Attributes:
        secret: index in the list of candidates.
        outputs: indices of the released words.
    """

    secret: int
    outputs: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Judgement:
    """Attacker's conclusion from the outputs.

    Attributes:
        guess: index in the list of candidates, the first of equal ones.
        posterior: of each candidate, shape (k,); None for the attacker who goes by distance.
        distance: mean Euclidean distance of the outputs from each candidate, shape (k,).
    """

    guess: int
    posterior: FloatArray | None
    distance: FloatArray


@dataclass(frozen=True, eq=False)
class Game:
    """Rules of a round.

    Attributes:
        mechanism: known to all.
        epsilon: ε of every release.
        candidates: indices of the words that the secret is drawn from, distinct.
        releases: r, number of outputs of the one secret.
    """

    mechanism: Mechanism
    epsilon: float
    candidates: tuple[int, ...]
    releases: int = 1

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

    def deal(self, rng: np.random.Generator) -> Round:
        """Draw a secret and release it."""
        secret = int(rng.integers(len(self.candidates)))
        entries = np.full(self.releases, self.candidates[secret], dtype=np.int64)
        outputs = self.mechanism.sample(rng, entries, self.epsilon)
        return Round(secret, tuple(outputs.tolist()))

    def judge(self, outputs: tuple[int, ...]) -> Judgement:
        """Return the attacker's answer to these outputs.

        Raises:
            ParameterError: there are none, or one is not a word of the lexicon.
        """
        seen = self.mechanism.check_words(outputs)
        if not seen.size:
            raise ParameterError("the attacker needs at least one output")
        vectors = self.mechanism.lexicon.vectors
        listed = vectors[list(self.candidates)]
        away = distances(listed, vectors[seen], Metric.EUCLIDEAN).mean(axis=0)
        if not self.mechanism.exact_law:
            return Judgement(int(away.argmin()), None, away)
        posterior = _normalised(self._log_laws[:, seen].sum(axis=1))
        return Judgement(int(posterior.argmax()), posterior, away)

    def long_run(self) -> float | None:
        """Return the success probability of the Bayes attacker: (1/k) Σ_y max_w P(y|w).

        None if there are several releases, or no law that can be computed.
        """
        if self.releases > 1 or not self.mechanism.exact_law:
            return None
        return float(np.exp(self._log_laws.max(axis=0)).sum() / len(self.candidates))

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
