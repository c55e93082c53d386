"""Random projection (Feyisetan and Kasiviswanathan 2021): noise in fewer dimensions.

A public Gaussian matrix maps the vectors to R^m, where multivariate Laplace noise is added; a
smaller dimension needs less noise. The loss is ε per unit of *projected* distance, so what it is
per unit of true distance depends on how much the matrix stretches the vocabulary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpcore.arrays import Float32Array, FloatArray
from dpcore.guarantee import Guarantee, MetricPrivacy, Status
from dpcore.lexicon.extent.stretch import image_separation, largest_stretch
from dpcore.lexicon.rounding import gamma
from dpcore.mechanisms.additive.multivariate import MultivariateLaplace
from dpcore.mechanisms.additive.points import Points, derived
from dpcore.mechanisms.settings import parameter


def projection_matrix(dimension: int, onto: int, seed: int) -> FloatArray:
    """The public matrix, shape (d, m), entries N(0, 1/m), float64; a function of its seed."""
    rng = np.random.default_rng([seed, dimension, onto])
    return np.asarray(rng.standard_normal((dimension, onto)) / math.sqrt(onto))


def stretch_quantile(vocabulary: int, onto: int, delta: float) -> float:
    """1 + β: no pair of n words is stretched by more, with probability ≥ 1 − δ over the matrix.

    ‖Φx‖²/‖x‖² is χ²_m/m for one pair; the union is over the n(n−1)/2 pairs.
    """
    from scipy.stats import chi2

    pairs = vocabulary * (vocabulary - 1) / 2
    return math.sqrt(float(chi2.isf(delta / pairs, onto)) / onto)


@dataclass(frozen=True, eq=False, kw_only=True)
class RandomProjection(MultivariateLaplace):
    """Multivariate Laplace noise on randomly projected vectors.

    `form` "exact": noise at ε/L, L the exact largest stretch of the vocabulary under this matrix:
    pure ε·d₂ on the vocabulary, no δ. `form` "paper": noise at ε; (1+β)·ε·d₂ holds for matrices
    that stretch no pair by more than 1 + β, a 1 − δ share of all.
    """

    key = "random-projection.v1"
    short = "random-projection"
    title = "Random projection"
    summary = "Madlib in a space of fewer dimensions, where noise is smaller"
    source = "Feyisetan and Kasiviswanathan 2021"
    cited: ClassVar[tuple[str, ...]] = ("feyisetan2021projection",)

    dimensions: int = parameter(
        50, low=1, high=4096, help="m: dimension that the vectors are projected to"
    )
    matrix_seed: int = parameter(
        0, low=0, high=2**53 - 1, help="seed of the public projection matrix"
    )
    form: str = parameter(
        "exact",
        choices=("exact", "paper"),
        help="exact: scaled by this matrix's largest stretch; paper: (1+β)ε with probability 1−δ",
    )
    delta: float = parameter(
        1e-6, low=1e-300, high=0.5, help="δ of the paper's form: share of matrices that fail"
    )

    @property
    def points(self) -> Points:
        """The projected vocabulary, with what is computed of it once."""
        return derived(
            self.lexicon, ("projected", self.dimensions, self.matrix_seed), self._project
        )

    def _project(self) -> Float32Array:
        matrix = projection_matrix(self.lexicon.dimension, self.dimensions, self.matrix_seed)
        # Rounded to a public grid, far finer than any distance and far coarser than the rounding
        # of the product, so that every machine has the same points and the same stretch.
        grid = 2.0 ** (math.floor(math.log2(self.lexicon.largest_norm)) - 16)
        projected = (np.rint(self.lexicon.vectors @ matrix / grid) * grid).astype(np.float32)
        projected.setflags(write=False)
        return projected

    @property
    def origins(self) -> Float32Array:
        """The projected vocabulary, shape (n, m)."""
        return self.targets

    @cached_property
    def stretch(self) -> float:
        """L = max ‖Φ(φ_w − φ_w′)‖/‖φ_w − φ_w′‖ over all pairs of the vocabulary, rounded up."""
        # Two sums of squares, the differences in them, two roots, a quotient.
        terms = self.lexicon.dimension + self.dimensions + 8.0
        return largest_stretch(self.lexicon, self.targets, self._label) * (1.0 + gamma(terms))

    @cached_property
    def separation(self) -> float | None:
        """Least distance above 0 of two projected words, from all pairs, as the stretch."""
        return image_separation(self.lexicon, self.targets, self._label)

    @property
    def _label(self) -> str:
        return f"projection-{self.dimensions}-{self.matrix_seed}"

    @property
    def sensitivity(self) -> float:
        """L, or 1 in the paper's form."""
        return self.stretch if self.form == "exact" else 1.0

    def guarantee(self, epsilon: float) -> Guarantee:
        """Exact form: metric privacy, proved. Paper's form: (1+β)ε under a condition."""
        value = self.check_epsilon(epsilon)
        if self.form == "exact":
            return MetricPrivacy(
                epsilon=value,
                status=Status.PROVED,
                reason=(
                    "The noise is scaled by the largest stretch of this public matrix over all "
                    f"pairs of words, {self.stretch:.4g}."
                ),
                source=f"{self.source}; stretch computed",
                rounding=self.rounding(value),
            )
        bound = stretch_quantile(len(self.lexicon), self.dimensions, self.delta)
        return MetricPrivacy(
            epsilon=value * bound,
            status=Status.CONDITIONAL,
            reason=(
                f"Holds if the matrix stretches no pair by more than 1 + β = {bound:.4g}, which "
                f"fails for a share of at most {self.delta:.3g} of all matrices."
            ),
            source=f"{self.source}, with β from the exact law of one stretch",
            rounding=self.rounding(value),
        )
