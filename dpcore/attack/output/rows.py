"""The channel of a short list of words: the exact law of each, for any mechanism that has one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.attack.output.likelihood import Channel, Likelihood, Seen
from dpcore.errors import ParameterError
from dpcore.lexicon.ranking import rank
from dpcore.limits import MAX_ATTACK_PRIOR_WORDS

if TYPE_CHECKING:
    from dpcore.attack.output.prior import Prior
    from dpcore.mechanisms.mechanism import Mechanism


class Rows(Channel):
    """Laws of at most `limits.MAX_ATTACK_PRIOR_WORDS` words; those at the last ε are kept."""

    def __init__(self, mechanism: Mechanism, words: IntArray) -> None:
        distinct = np.unique(words)
        if not 1 <= distinct.size <= MAX_ATTACK_PRIOR_WORDS:
            raise ParameterError(
                f"a list of possible words holds 1 to {MAX_ATTACK_PRIOR_WORDS} words, got "
                f"{distinct.size:,}"
            )
        self.mechanism, self.words = mechanism, distinct
        vectors = mechanism.lexicon.vectors
        self._rankings = rank(vectors, vectors[distinct])
        self._last: tuple[float, FloatArray, FloatArray, str] | None = None

    def laws(self, epsilon: float) -> tuple[FloatArray, FloatArray, str]:
        """ln P(y | w) for all outputs, shape (m, n), bounds on its errors, and the method."""
        value = self.mechanism.check_epsilon(epsilon)
        last = self._last
        if last is None or last[0] != value:
            last = self._last = (value, *self._laws(value))
        return last[1:]

    def _laws(self, epsilon: float) -> tuple[FloatArray, FloatArray, str]:
        mechanism = self.mechanism
        logs = np.empty((self.words.size, len(mechanism.lexicon)))
        errors = np.empty_like(logs)
        method = ""
        for i, (word, ranking) in enumerate(zip(self.words.tolist(), self._rankings, strict=True)):
            logs[i], errors[i], how = mechanism.doubted_log_law(word, epsilon, ranking)
            method = f"exact laws of {self.words.size:,} words ({how})"
        return logs, errors, method

    def staying(self, epsilon: float) -> FloatArray:
        """P(w | w) of every word of the list, shape (m,)."""
        logs = self.laws(epsilon)[0]
        return np.asarray(np.exp(logs[np.arange(self.words.size), self.words]))

    def success(self, prior: Prior, epsilon: float) -> tuple[float, float, int]:
        """The sum over all outputs of the largest prior times likelihood."""
        if not np.isin(prior.support, self.words).all():
            raise ParameterError("the prior holds words possible that are not in this channel")
        logs = self.laws(epsilon)[0] + prior.logs[self.words][:, None]
        return float(np.exp(logs.max(axis=0)).sum()), 0.0, logs.shape[1]

    def seen(self, output: int) -> Seen:
        """Prepare for one output."""
        return Seen(partial(self._column, int(self.mechanism.check_words([output])[0])))

    def _column(self, output: int, epsilon: float) -> Likelihood:
        """A column of the laws."""
        logs, errors, method = self.laws(epsilon)
        return Likelihood(
            output,
            float(epsilon),
            self.words,
            logs[:, output].copy(),
            errors[:, output].copy(),
            method,
        )
