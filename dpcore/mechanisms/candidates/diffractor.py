"""1-Diffractor (Meisenbacher, Chevli, Matthes 2024): a step of geometric length along a tour.

Of L lists, each a greedy tour through the vocabulary, one is drawn at random; the word's place on
it moves by a two-sided geometric number, and stops at an end of the list. With i_l(x) the place of
x on list l, n places, α = e^−ε, and e = i_l(y),

    P(y | x) = (1/L)·Σ_l g_l,  g_l = (1 − α)/(1 + α)·α^|e − i_l(x)| inside,
                               g_l = α^|e − i_l(x)|/(1 + α)        at an end (0 or n − 1).

Implemented after the method "geometric" of github.com/sjmeis/Diffractor, src/diffractor/core.py at
commit 03db149 (five lists, sensitivity 1), for words that are on all lists; there, other words and
stop words are not changed.

ε·d holds for d(x, x′) = max_l |i_l(x) − i_l(x′)|: it holds for each list, stopping at an end
depends on the noisy place only, and a mixture has the worst bound of its parts. d is a metric of
places, not of meaning: words that mean nearly the same may be thousands of places apart. The lists
here are those of `tours`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.guarantee import EpsilonMeaning, Guarantee, MetricPrivacy, Status
from dpcore.lexicon.neighbours import Ranking
from dpcore.mechanisms.candidates.clusters import places
from dpcore.mechanisms.exact import ExactMechanism
from dpcore.mechanisms.law import weights_rounding
from dpcore.mechanisms.mechanism import ColumnForm
from dpcore.mechanisms.settings import parameter
from dpcore.written import Filled

TOUR_DISTANCE = "tour"
"""Name of the metric: places on the lists."""
_ERROR = 1e-13  # relative, of the logarithm of a mixture
_LEAST = 1e-300  # of a distance of two words, where it underflows


@dataclass(frozen=True, eq=False, kw_only=True)
class Diffractor(ExactMechanism):
    """Two-sided geometric noise on the place of a word on one of several tours."""

    key = "diffractor.v1"
    short = "diffractor"
    title = "1-Diffractor"
    summary = (
        "Puts all words on lists in which neighbours are near each other, and moves some places "
        "along one of them"
    )
    source = "Meisenbacher, Chevli, Matthes 2024; code sjmeis/Diffractor at 03db149"
    cited: ClassVar[tuple[str, ...]] = ("meisenbacher2024diffractor",)
    meaning = EpsilonMeaning.METRIC

    lists: int = parameter(5, help="how many tours there are", low=1, high=16)

    @property
    def places(self) -> IntArray:
        """Place of each word on each tour, shape (lists, n)."""
        return places(self.lexicon, self.lists)

    def guarantee(self, epsilon: float) -> Guarantee:
        """Return the guarantee: ε times the largest number of places between two words, proved."""
        extent = self.lexicon.with_metric("euclidean").extent
        most, value = float(len(self.lexicon) - 1), self.check_epsilon(epsilon)
        return MetricPrivacy(
            epsilon=value,
            status=Status.PROVED,
            reason=Filled(
                "On each list the noise keeps ε times the number of places, stopping at an end "
                "sees the noisy place only, and a mixture of lists keeps the largest of their "
                "bounds. The distance is that of places, not of meaning."
            ),
            source=self.source,
            metric=TOUR_DISTANCE,
            # No two words are more than n − 1 places apart, or nearer than the separation.
            euclidean_factor=most / max(extent.separation, _LEAST),
            # The error of ε times a whole number, and of two more logarithms.
            rounding=weights_rounding(2.0**-50 * (value * most + 64.0)),
        )

    def promised_distances(self, words: IntArray, epsilon: float) -> FloatArray:
        """Return max_l |i_l(x) − i_l(x′)|, shape (k, k)."""
        self.check_epsilon(epsilon)
        place = self.places[:, words].astype(np.float64)
        return np.asarray(np.abs(place[:, :, None] - place[:, None, :]).max(axis=0))

    def log_law(self, word: int, epsilon: float, *, ranking: Ranking | None = None) -> FloatArray:
        """Return the mixture of the lists' closed forms, shape (n,), also where it underflows."""
        index, value = int(self.check_words([word])[0]), self.check_epsilon(epsilon)
        return self._mixture(index, self.places, value)

    @property
    def column_form(self) -> ColumnForm:
        """Column form of the law, in which the output's place may be an end of a list."""

        def column(output: int, _: FloatArray | None, epsilon: float) -> FloatArray:
            return self._mixture(output, self.places[:, [output]], epsilon)

        return ColumnForm(column, _ERROR)

    def _mixture(self, word: int, outputs: IntArray, epsilon: float) -> FloatArray:
        """Return ln P, shape (n,), from a word's places relative to all and to the outputs'."""
        place = self.places
        steps = np.abs(place - place[:, [word]])
        least = steps.min(axis=0)
        ends = (outputs == 0) | (outputs == place.shape[1] - 1)
        # Powers relative to the largest one of a word do not all underflow.
        weights = _powers(place.shape[1], epsilon)[steps - least]
        weights *= np.where(ends, 1.0, -math.expm1(-epsilon))
        constant = math.log1p(math.exp(-epsilon)) + math.log(self.lists)
        return np.asarray(np.log(weights.sum(axis=0)) - epsilon * least - constant)

    @property
    def caution(self) -> str:
        """Warning that neighbours in meaning may be far apart on the lists."""
        near = self.lexicon.with_metric("euclidean").neighbours(2).indices[:, 1]
        apart = np.abs(self.places - self.places[:, near]).max(axis=0)
        return Filled(
            "Words that mean nearly the same may be far apart: for a quarter of all words it is "
            "{many:,} places or more to the nearest word on some list, and at most {most:,}: ε is "
            "guaranteed for each place",
            many=int(np.quantile(apart, 0.75)),
            most=int(apart.max()),
        )


@lru_cache(maxsize=32)  # looked up, they take a third of the time of exponentials
def _powers(count: int, epsilon: float) -> FloatArray:
    """Return α^0 to α^(count − 1), read-only."""
    powers: FloatArray = np.exp(-epsilon * np.arange(count))
    powers.setflags(write=False)
    return powers
