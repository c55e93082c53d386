"""k-ary randomised response: the word is kept, or any other comes out, all others alike.

With n words, the word itself comes out with probability e^ε/(e^ε + n − 1), every other word with
1/(e^ε + n − 1) (Kairouz, Oh, Viswanath 2014; with two words Warner 1965). The ratio of
the two is e^ε for every pair, so that ε is spent to the last bit: pure local privacy, whatever the
vectors are. It is what a mechanism has to beat that knows which words are alike.

One draw as a function of ε takes a uniform number U and one of the other words: the word stays if
and only if U < e^ε/(e^ε + n − 1), which is ε > ln(U(n − 1)/(1 − U)). So a path has one break.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.guarantee import EpsilonMeaning, Guarantee, PureLocalPrivacy, Status
from dpcore.mechanisms.hooks import ColumnForm, LossSearch, WorstLoss
from dpcore.mechanisms.path import EpsilonPaths
from dpcore.mechanisms.response.response import Response
from dpcore.mechanisms.sampled_law import weights_rounding
from dpcore.noise.discrete import Weights

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray, IntArray
    from dpcore.lexicon.progress import Progress
    from dpcore.lexicon.ranking import Ranking

_ERROR = 1e-14  # of a formula with a few roundings; of a logarithm relative, if it is above 1


@lru_cache(maxsize=8)
def _shifts(n: int, epsilon: float) -> Weights:
    """Weights of how far in the vocabulary, taken as a circle, the output lies from the word."""
    weights = np.full(n, math.exp(-epsilon))
    weights[0] = 1.0
    return Weights(weights, lambda place: -epsilon if place else 0.0, np.arange(n))


@dataclass(frozen=True, eq=False, kw_only=True)
class KAryResponse(Response):
    """Keeps a word with probability e^ε/(e^ε + n − 1); it has no parameter but ε."""

    key = "k-ary.v1"
    short = "k-ary"
    title = "k-ary randomised response"
    summary = (
        "Keeps the word, or takes any other, all alike: the yardstick for mechanisms that know "
        "which words are near"
    )
    source = "Kairouz, Oh, Viswanath 2014; Warner 1965 for two words"
    cited: ClassVar[tuple[str, ...]] = ("kairouz2014extremal", "warner1965randomized")
    meaning = EpsilonMeaning.LOCAL
    log_error = _ERROR
    grouped_error = _ERROR

    def guarantee(self, epsilon: float) -> Guarantee:
        """Pure local privacy, proved, and attained by every pair of words."""
        return PureLocalPrivacy(
            epsilon=self.check_epsilon(epsilon),
            status=Status.PROVED,
            reason="A word is e^ε times as likely to come out if it went in as if another did.",
            source=self.source,
            rounding=weights_rounding(),
        )

    def _kept(self, epsilons: FloatArray) -> FloatArray:
        """e^ε/(e^ε + n − 1) in a form that does not overflow."""
        return np.asarray(1.0 / (1.0 + (len(self.lexicon) - 1) * np.exp(-epsilons)))

    # -- the protocol

    def places(self, epsilon: float) -> Weights:
        """How far in the vocabulary, taken as a circle, the output lies from the word."""
        return _shifts(len(self.lexicon), epsilon)

    def width(self, epsilon: float) -> int:
        """1: the word itself."""
        return 1

    def favoured(self, words: IntArray, epsilon: float) -> IntArray:
        """The word itself."""
        return words[:, None]

    def outputs(self, entries: IntArray, places: IntArray, epsilon: float) -> IntArray:
        """So far on from each entry."""
        return (entries + places) % len(self.lexicon)

    def paths(
        self,
        rng: np.random.Generator,
        words: IntArray,
        *,
        rankings: Sequence[Ranking] | None = None,
        epsilons: FloatArray | None = None,
    ) -> EpsilonPaths:
        """One draw per entry with its one break, exactly (see the head of this file)."""
        entries, n = self.check_words(words), len(self.lexicon)
        uniform = rng.random(entries.size)
        others = (entries + 1 + rng.integers(n - 1, size=entries.size)) % n
        with np.errstate(divide="ignore"):
            breaks = np.log(uniform) - np.log1p(-uniform) + np.log(n - 1.0)
        # At 0 it lies below every ε: such a word stays at all of them.
        breaks = np.maximum(breaks, 0.0)
        return EpsilonPaths(entries, breaks[:, None], np.stack((others, entries), axis=1))

    def probabilities(self, word: int, epsilons: FloatArray, ranking: Ranking | None) -> FloatArray:
        """The two numbers of the closed form, shape (E, n)."""
        kept = self._kept(epsilons)
        rows = np.repeat((kept * np.exp(-epsilons))[:, None], len(self.lexicon), axis=1)
        rows[:, word] = kept
        return rows

    # -- hooks

    def log_law(self, word: int, epsilon: float, *, ranking: Ranking | None = None) -> FloatArray:
        """ln P(y | word) of every word y, shape (n,), also where the probability underflows."""
        index, value = int(self.check_words([word])[0]), self.check_epsilon(epsilon)
        kept = -math.log1p((len(self.lexicon) - 1) * math.exp(-value))
        logs = np.full(len(self.lexicon), kept - value)
        logs[index] = kept
        return logs

    def grouped_law(
        self, word: int, epsilons: FloatArray, ranking: Ranking
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The word and, together, all others."""
        kept, n = self._kept(epsilons), len(self.lexicon)
        both = np.stack((kept, kept * np.exp(-epsilons)), axis=1)
        return kept, both, np.tile([1.0, n - 1.0], (epsilons.size, 1))

    @property
    def column_form(self) -> ColumnForm:
        """P(y | w) = P(w | y): a column is a law."""
        return ColumnForm(lambda output, _, epsilon: self.log_law(output, epsilon), _ERROR)

    @property
    def loss_search(self) -> LossSearch:
        """Every pair of words has the loss ε at either of the two; the first two stand for all."""

        def find(epsilon: float, progress: Progress) -> WorstLoss:  # noqa: ARG001 - at once
            stays, leaves = self.log_law(0, epsilon)[:2].tolist()
            return WorstLoss(epsilon, _ERROR * epsilon, 0, 1, 0, 1.0, stays, leaves)

        return LossSearch(self.law_method, find)
