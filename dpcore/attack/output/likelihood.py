"""How likely one output is under every word: what a Bayes attacker reads off a mechanism."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import BoolArray, FloatArray, IntArray
from dpcore.errors import ParameterError

if TYPE_CHECKING:
    from dpcore.attack.output.prior import Prior
    from dpcore.mechanisms.mechanism import Mechanism


@dataclass(frozen=True, eq=False)
class Likelihood:
    """ln P(y | w) of one output y and many words w; read-only arrays.

    Attributes:
        output: y.
        epsilon: the privacy parameter.
        words: w, ascending, shape (m,).
        logs: ln P(y | w), shape (m,); −∞ where it is 0 or too small for the computation.
        errors: bound on the absolute error of each entry of `logs`, shape (m,); of an entry of −∞
            0 where the probability is known to be 0.
        method: how they were found, for a person.
    """

    output: int
    epsilon: float
    words: IntArray
    logs: FloatArray
    errors: FloatArray
    method: str

    def __post_init__(self) -> None:
        for array in (self.words, self.logs, self.errors):
            array.setflags(write=False)

    @property
    def impossible(self) -> BoolArray:
        """Of which words y is known never to come out, shape (m,)."""
        return np.asarray(np.isneginf(self.logs) & (self.errors == 0))

    def of(self, word: int) -> float:
        """ln P(y | w) of one word.

        Raises:
            ParameterError: the word is not among those of this channel.
        """
        place = int(np.searchsorted(self.words, word))
        if not (place < self.words.size and self.words[place] == word):
            raise ParameterError(f"word {word} is not among the {self.words.size:,} that are known")
        return float(self.logs[place])


@dataclass(frozen=True)
class Seen:
    """One output, ready to be looked at for any ε.

    Attributes:
        column: its likelihood as a function of ε.
    """

    column: Callable[[float], Likelihood]

    def at(self, epsilon: float) -> Likelihood:
        """How likely it is under every word at ε.

        Raises:
            EpsilonError: ε is not admissible.
        """
        return self.column(epsilon)


class Channel(ABC):
    """A mechanism as the attacker sees it: from words to the likelihood of outputs.

    Attributes:
        mechanism: the mechanism.
        words: whose likelihoods are known, ascending, shape (m,).
    """

    mechanism: Mechanism
    words: IntArray

    @abstractmethod
    def seen(self, output: int) -> Seen:
        """Prepare for one output.

        Raises:
            ParameterError: there is no such word.
        """

    def seen_all(self, outputs: Sequence[int]) -> list[Seen]:
        """Prepare for several outputs, faster than one by one where they can share work."""
        return [self.seen(output) for output in outputs]

    def prepare(self, epsilons: Sequence[float]) -> None:  # noqa: B027 - most share nothing
        """Do together what the next few ε share; what is seen at them is the same without."""

    def staying(self, epsilon: float) -> FloatArray:
        """P(w | w) of every word of the channel, shape (m,).

        Raises:
            ParameterError: the mechanism would need a law for every word of a whole lexicon.
        """
        raise ParameterError(
            f"{self.mechanism.short} needs a law of its own for each of the {self.words.size:,} "
            "words: list the words to compare, or take tem or truncated-gumbel-repaired"
        )

    def success(self, prior: Prior, epsilon: float) -> tuple[float, float, int] | None:
        """S of `dpcore.attack.output.bayes_success` from all outputs, its error, and their number.

        None where outputs have to be drawn.

        Raises:
            ParameterError: the prior holds words possible that are not in this channel.
        """
        return None
