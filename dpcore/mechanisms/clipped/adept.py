"""ADePT's mechanism on word vectors, as published and with the norm that its noise needs.

ADePT (Krishna, Gupta, Dupuy 2021, Theorem 1) clips a latent vector to *Euclidean* norm C and adds
Laplace noise of scale 2C/ε to every coordinate, as if two clipped vectors were at most 2C apart in
the L1 norm. They are up to 2√d·C apart (Habernal 2021), at ±(C/√d, …, C/√d): the true ε is √d·ε.

Of the three repairs one stands here, clipping by the L1 norm. The other two are mechanisms of their
own: noise of scale 2√d·C/ε is `laplace`, and noise ∝ exp(−ε‖z‖₂/(2C)) is `l2-laplace`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpcore.guarantee import Guarantee, PureLocalPrivacy, Status
from dpcore.lexicon.metric import Metric, distances
from dpcore.mechanisms.clipped.clipped import ClippedLaplace
from dpcore.mechanisms.settings import parameter


@dataclass(frozen=True, eq=False, kw_only=True)
class Adept(ClippedLaplace):
    """Clip to Euclidean norm C, then i.i.d. Laplace noise of scale 2C/ε: as published."""

    key = "adept.v1"
    short = "adept"
    title = "ADePT (as published)"
    summary = (
        "Laplace noise on the clipped vector, smaller than its promise needs by the root of the "
        "dimension; `laplace` and `l2-laplace` have the noise that it needs"
    )
    source = "Krishna, Gupta, Dupuy 2021, Theorem 1"
    cited: ClassVar[tuple[str, ...]] = ("krishna2021adept", "habernal2021detail")

    @property
    def sensitivity(self) -> float:
        """2C, as the paper has it; right for the L2 norm, wrong for the L1 norm of the noise."""
        return 2.0 * self.bound

    def true_epsilon(self, epsilon: float) -> float:
        """√d·ε: what holds for any two vectors, and is attained at ±(C/√d, …, C/√d)."""
        return math.sqrt(self.dimension) * self.check_epsilon(epsilon)

    @cached_property
    def far_pair(self) -> tuple[float, int, int]:
        """Two words far apart in the L1 norm after clipping: ‖x − y‖₁/(2C), and the two.

        From the first word to the farthest, and on from there; the farthest of all may be farther.
        """
        rows, here, best = self.origins, 0, (0.0, 0, 0)
        # Each step goes on to the word that is farthest from this one, until that is a step back.
        for _ in range(6):
            row = distances(rows, rows[[here]], Metric.MANHATTAN)[0]
            there = int(row.argmax())
            if not row[there] > best[0]:
                break
            best = (float(row[there]), here, there)
            here = there
        return best[0] / self.sensitivity, best[1], best[2]

    def guarantee(self, epsilon: float) -> Guarantee:
        """The claim, refuted for d ≥ 2, with the true ε."""
        value = self.check_epsilon(epsilon)
        if self.dimension == 1:
            status, reason = Status.PROVED, "In one dimension the L1 and the L2 norm are the same."
        else:
            status = Status.REFUTED
            reason = (
                f"Clipping bounds the Euclidean norm, the noise needs a bound on the L1 norm: the "
                f"true ε for two vectors is √d·ε = {self.true_epsilon(value):.4g} at the worst"
            )
            here = self.far_pair[0] * value
            if here > value:
                reason += f", and {here:.4g} for two words of this vocabulary"
            reason += ". (For the noisy vector; the nearest word may give away less.)"
        return PureLocalPrivacy(
            epsilon=value,
            status=status,
            reason=reason,
            source=f"{self.source}; Habernal 2021",
            rounding=self.rounding(value),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class AdeptManhattan(ClippedLaplace):
    """Clip to L1 norm C, then i.i.d. Laplace noise of scale 2C/ε: the promise holds."""

    key = "adept-l1.v1"
    short = "adept-l1"
    title = "ADePT, clipped by the L1 norm"
    summary = (
        "ADePT's noise on vectors that were clipped by the norm that it protects; the other two "
        "repairs are `laplace` and `l2-laplace`"
    )
    source = "Habernal 2021; Dwork et al. 2006, Proposition 1"
    cited: ClassVar[tuple[str, ...]] = ("habernal2021detail", "dwork2006calibrating")

    clip_power = 1

    clip_norm: float | None = parameter(
        None,
        low=1e-9,
        high=1e9,
        help="C: vectors are clipped to this L1 norm (default: the largest, so nothing is lost)",
    )

    @cached_property
    def _largest(self) -> float:
        """Largest L1 norm of a word's vector, rounded up."""
        largest = float(np.abs(self.lexicon.vectors).sum(axis=1, dtype=np.float64).max())
        return largest * (1.0 + (self.lexicon.dimension + 4) * 2.0**-51)

    @property
    def bound(self) -> float:
        """C, an L1 norm."""
        return self._largest if self.clip_norm is None else float(self.clip_norm)

    @property
    def sensitivity(self) -> float:
        """2C: the largest L1 distance of two clipped vectors."""
        return 2.0 * self.bound
