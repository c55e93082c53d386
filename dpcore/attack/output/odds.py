"""The likelihood ratio of two words given an output, against what the guarantee allows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.attack.output.posterior import promised_loss, promised_losses
from dpcore.errors import ParameterError
from dpcore.lexicon.metric import Metric, paired_distances

if TYPE_CHECKING:
    from dpcore.attack.output.likelihood import Likelihood
    from dpcore.guarantee import Guarantee
    from dpcore.lexicon.lexicon import Lexicon


@dataclass(frozen=True)
class Odds:
    """How far one output tilts the odds between two words.

    Attributes:
        first: index of w.
        second: index of w′.
        output: index of y.
        distance: Euclidean distance of w and w′.
        log_ratio: ln P(y | w) − ln P(y | w′): by what ln of the odds changed, whatever the prior.
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
        """Whether the ratio is beyond the claim, and not by an error of the computation."""
        return abs(self.log_ratio) > self.claimed + self.error + 1e-9 * self.claimed

    @property
    def used(self) -> float:
        """Share of the claimed loss that this output takes up; above 1 the claim is broken."""
        return abs(self.log_ratio) / self.claimed if self.claimed > 0 else math.inf


def odds(
    lexicon: Lexicon, likelihood: Likelihood, guarantee: Guarantee, first: int, second: int
) -> Odds:
    """The ratio of two words.

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
    """The word that this output separates from `word` by the largest share of the claim.

    With `word` the output itself this is, for TEM, the worst pair of all for this output: a
    truncated metric obeys the triangle inequality. `far` is as for `promised_losses`.
    """
    allowed = promised_losses(lexicon, guarantee, word, far)[likelihood.words]
    own = int(np.searchsorted(likelihood.words, word))
    impossible = likelihood.impossible
    with np.errstate(invalid="ignore"):  # of two that are not resolved
        ratio = np.abs(likelihood.of(word) - likelihood.logs)
        resolved = np.maximum(ratio - likelihood.errors, 0.0)
    # An entry that is not resolved proves nothing; one that is known to be 0 proves most.
    ratio = np.where(np.isfinite(ratio), resolved, 0.0)
    ratio[impossible != impossible[own]] = math.inf
    # Where nothing is allowed, anything at all is too much.
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
    both = logs[0] == logs[1]  # also of two that are impossible, whose difference is NaN
    return Odds(
        first=first,
        second=second,
        output=likelihood.output,
        distance=float(far[0]),
        log_ratio=0.0 if both else logs[0] - logs[1],
        claimed=claimed,
        error=float(likelihood.errors[places].sum()),
    )
