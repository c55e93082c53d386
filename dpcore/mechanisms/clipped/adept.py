"""ADePT's mechanism on word and latent vectors, as published and repaired.

ADePT (Krishna, Gupta, Dupuy 2021, Theorem 1) clips a latent vector to *Euclidean* norm C and adds
Laplace noise of scale 2C/ε to every coordinate, as if two clipped vectors were at most 2C apart in
the L1 norm. They are up to 2√d·C apart (Habernal 2021), at ±(C/√d, …, C/√d): the true ε is √d·ε.

Of the three repairs one is here, clipping by the L1 norm. The other two are separate mechanisms:
noise of scale 2√d·C/ε is `laplace`, and noise ∝ exp(−ε‖z‖₂/(2C)) is `l2-laplace`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpcore.arrays import FloatArray
from dpcore.errors import EpsilonError, ParameterError
from dpcore.guarantee import Guarantee, PureLocalPrivacy, Status
from dpcore.lexicon.metric import Metric, distances
from dpcore.mechanisms.clipped.clipped import ClippedLaplace
from dpcore.mechanisms.settings import parameter
from dpcore.noise.samplers import Radial, draws
from dpcore.written import Filled


@dataclass(frozen=True, eq=False, kw_only=True)
class Adept(ClippedLaplace):
    """Clipping to Euclidean norm C, then i.i.d. Laplace noise of scale 2C/ε: as published."""

    key = "adept.v1"
    short = "adept"
    title = "ADePT (as published)"
    summary = (
        "Laplace noise on the clipped vector, smaller than its guarantee needs by the root of the "
        "dimension; `laplace` and `l2-laplace` have the noise that it needs"
    )
    source = "Krishna, Gupta, Dupuy 2021, Theorem 1"
    cited: ClassVar[tuple[str, ...]] = ("krishna2021adept", "habernal2021detail")

    @property
    def sensitivity(self) -> float:
        """2C, as in the paper; correct for the L2 norm, wrong for the L1 norm of the noise."""
        return 2.0 * self.bound

    def true_epsilon(self, epsilon: float) -> float:
        """Return √d·ε, which holds for any two vectors and is attained at ±(C/√d, …, C/√d)."""
        return math.sqrt(self.dimension) * self.check_epsilon(epsilon)

    @cached_property
    def far_pair(self) -> tuple[float, int, int]:
        """Two words far apart in the L1 norm after clipping: ‖x − y‖₁/(2C), and the two.

        Found by steps from a word to the farthest one; the farthest pair of all may be farther.
        """
        rows, here, best = self.origins, 0, (0.0, 0, 0)
        # Each step moves to the word farthest from this one, until that is a step back.
        for _ in range(6):
            row = distances(rows, rows[[here]], Metric.MANHATTAN)[0]
            there = int(row.argmax())
            if not row[there] > best[0]:
                break
            best = (float(row[there]), here, there)
            here = there
        return best[0] / self.sensitivity, best[1], best[2]

    def guarantee(self, epsilon: float) -> Guarantee:
        """Return the guarantee: the claim, refuted for d ≥ 2, with the true ε."""
        value = self.check_epsilon(epsilon)
        if self.dimension == 1:
            status = Status.PROVED
            reason = Filled("In one dimension the L1 and the L2 norm are the same.")
        else:
            status = Status.REFUTED
            here = self.far_pair[0] * value
            more = Filled(", and {here:.4g} for two words of this vocabulary", here=here)
            reason = Filled(
                "Clipping bounds the Euclidean norm, the noise needs a bound on the L1 norm: the "
                "true ε for two vectors is √d·ε = {worst:.4g} at the worst{more}. (For the noisy "
                "vector; the nearest word may give away less.)",
                worst=self.true_epsilon(value),
                more=more if here > value else "",
            )
        return PureLocalPrivacy(
            epsilon=value,
            status=status,
            reason=reason,
            source=Filled("{source}; Habernal 2021", source=self.source),
            rounding=self.rounding(value),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class AdeptManhattan(ClippedLaplace):
    """Clipping to L1 norm C, then i.i.d. Laplace noise of scale 2C/ε: the guarantee holds."""

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


# ADePT's mechanism and its repairs on latent vectors; every call returns the true ε.
#
# | form        | clipped by | noise                    | true ε (pure, any two inputs) |
# |-------------|------------|--------------------------|-------------------------------|
# | PUBLISHED   | L2 norm C  | i.i.d. Laplace(2C/ε)     | √d·ε                          |
# | MANHATTAN   | L1 norm C  | i.i.d. Laplace(2C/ε)     | ε                             |
# | WIDE        | L2 norm C  | i.i.d. Laplace(2√d·C/ε)  | ε                             |
# | ROUND       | L2 norm C  | ∝ exp(−ε‖z‖₂/(2C))       | ε                             |
#
# Sources: Krishna, Gupta, Dupuy 2021 (Theorem 1) for the first, Habernal 2021 for its true ε. ROUND
# needs √2 less noise than WIDE for large d. Anything computed from the noisy vector alone, such as
# the text of a decoder, has the same ε; a decoder that also sees the private text (teacher forcing)
# has none.


class LatentForm(StrEnum):
    """Norm of the clipping and amount of noise for a latent vector."""

    PUBLISHED = "published"
    MANHATTAN = "l1-clip"
    WIDE = "wide-laplace"
    ROUND = "l2-laplace"


FORMS = {
    "adept": LatentForm.PUBLISHED,
    "adept-l1": LatentForm.MANHATTAN,
    "laplace": LatentForm.WIDE,
    "l2-laplace": LatentForm.ROUND,
}
"""Form by the short name of the mechanism with the same clipping and noise on word vectors."""


@dataclass(frozen=True, eq=False)
class NoisyLatents:
    """Noisy latent vectors for release, and their privacy cost.

    Attributes:
        vectors: noisy clipped vectors, shape (k, d), float64, read-only.
        epsilon: the true ε of each row, between any two inputs.
        claimed_epsilon: the requested ε.
        scale: of the noise: Laplace scale of a coordinate, or of the radius for ROUND.
        clipped: number of rows that were longer than C.
    """

    vectors: FloatArray
    epsilon: float
    claimed_epsilon: float
    scale: float
    clipped: int


def true_epsilon(form: LatentForm, epsilon: float, dimension: int) -> float:
    """Return the smallest ε that holds for any two vectors of this dimension."""
    return math.sqrt(dimension) * epsilon if form is LatentForm.PUBLISHED else epsilon


def noise_scale(form: LatentForm, epsilon: float, clip_norm: float, dimension: int) -> float:
    """Return the scale of the noise (see the table above)."""
    factor = math.sqrt(dimension) if form is LatentForm.WIDE else 1.0
    return 2.0 * factor * clip_norm / epsilon


def clip_rows(vectors: FloatArray, norm: float, form: LatentForm) -> FloatArray:
    """Return x·min(1, C/‖x‖) in the norm of the form, shape (k, d); never above C by rounding."""
    # The factor is rounded down by more than the error of a norm of d terms and a product.
    order = 1 if form is LatentForm.MANHATTAN else 2
    lengths = np.linalg.norm(vectors, ord=order, axis=1)
    shrink = norm * (1.0 - (vectors.shape[1] + 4) * 2.0**-52) / np.maximum(lengths, norm)
    return np.asarray(vectors * np.where(lengths > norm, shrink, 1.0)[:, None])


@dataclass(frozen=True, eq=False)
class LatentPath:
    """Clipped latent vectors with one noise draw each, to be evaluated at every ε.

    For measurement only: of one draw a single ε may be released, since two noisy vectors with the
    same noise reveal it.

    Attributes:
        clipped: shape (k, d), float64, read-only.
        noise: at scale 1, shape (k, d), read-only.
        form: published, or one of the repairs.
        clip_norm: C.
        changed: number of rows that were longer than C.
    """

    clipped: FloatArray
    noise: FloatArray
    form: LatentForm
    clip_norm: float
    changed: int

    def at(self, epsilon: float) -> NoisyLatents:
        """Return the noisy vectors at one ε.

        Raises:
            EpsilonError: ε is not a finite number > 0.
        """
        if not 0 < epsilon < math.inf:
            raise EpsilonError(f"epsilon must be a finite number > 0, got {epsilon}")
        dimension = self.clipped.shape[1]
        scale = noise_scale(self.form, epsilon, self.clip_norm, dimension)
        noisy = self.clipped + scale * self.noise
        noisy.setflags(write=False)
        return NoisyLatents(
            vectors=noisy,
            epsilon=true_epsilon(self.form, epsilon, dimension),
            claimed_epsilon=float(epsilon),
            scale=scale,
            clipped=self.changed,
        )


def latent_path(
    rng: np.random.Generator,
    latents: ArrayLike,
    clip_norm: float,
    form: LatentForm = LatentForm.ROUND,
) -> LatentPath:
    """Clip latent vectors and draw the noise of each.

    Args:
        rng: source of randomness.
        latents: shape (k, d), finite.
        clip_norm: C, public and fixed before the private text is read; finite, > 0.
        form: published, or one of the repairs.

    Raises:
        ParameterError: C or the vectors are refused.
    """
    if not 0 < clip_norm < math.inf:
        raise ParameterError(f"the clipping norm must be a finite number > 0, got {clip_norm}")
    rows = np.asarray(latents, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] < 1 or not np.isfinite(rows).all():
        raise ParameterError(f"latent vectors must be finite, shape (k, d), got {rows.shape}")
    clipped = clip_rows(rows, clip_norm, form)
    # Noise at scale 1 does not depend on ε: one draw serves all ε of a path.
    family = Radial.L2LAPLACE if form is LatentForm.ROUND else Radial.LAPLACE
    noise = draws(rng, family, rows.shape[0], rows.shape[1], 1.0)
    for array in (clipped, noise):
        array.setflags(write=False)
    changed = int(np.any(clipped != rows, axis=1).sum())
    return LatentPath(clipped, noise, form, float(clip_norm), changed)


def privatise(
    rng: np.random.Generator,
    latents: ArrayLike,
    epsilon: float,
    clip_norm: float,
    form: LatentForm = LatentForm.ROUND,
) -> NoisyLatents:
    """Clip latent vectors and add fresh noise to each, for release; as `latent_path` at one ε.

    Raises:
        EpsilonError: ε is not a finite positive number.
        ParameterError: C or the vectors are refused.
    """
    return latent_path(rng, latents, clip_norm, form).at(epsilon)
