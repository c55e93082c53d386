"""ADePT's mechanism and its repairs on latent vectors; the true ε comes back with every call.

| form        | clipped by | noise                    | true ε (pure, any two inputs) |
|-------------|------------|--------------------------|-------------------------------|
| PUBLISHED   | L2 norm C  | i.i.d. Laplace(2C/ε)     | √d·ε                          |
| MANHATTAN   | L1 norm C  | i.i.d. Laplace(2C/ε)     | ε                             |
| WIDE        | L2 norm C  | i.i.d. Laplace(2√d·C/ε)  | ε                             |
| ROUND       | L2 norm C  | ∝ exp(−ε‖z‖₂/(2C))       | ε                             |

The sources are Krishna, Gupta, Dupuy 2021 (Theorem 1) for the first, Habernal 2021 for its true ε.
ROUND needs √2 less noise than WIDE for large d. Anything computed from the noisy vector alone, such
as the text that a decoder makes of it, has the same ε; a decoder that also sees the private text
(teacher forcing) has none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import EpsilonError, ParameterError
from dpcore.noise.radial import Radial, draws

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcore.arrays import FloatArray


class LatentForm(StrEnum):
    """How a latent vector is clipped and how much noise it gets."""

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
"""By the short name of the mechanism that clips and adds the same noise to a word vector."""


@dataclass(frozen=True, eq=False)
class NoisyLatents:
    """What may be released, and what it costs.

    Attributes:
        vectors: noisy clipped vectors, shape (k, d), float64, read-only.
        epsilon: the true ε of each row, between any two inputs.
        claimed_epsilon: the ε that was asked for.
        scale: of the noise: Laplace scale of a coordinate, or of the radius for ROUND.
        clipped: how many rows were longer than C.
    """

    vectors: FloatArray
    epsilon: float
    claimed_epsilon: float
    scale: float
    clipped: int


def true_epsilon(form: LatentForm, epsilon: float, dimension: int) -> float:
    """The smallest ε that holds for any two vectors of this dimension."""
    return math.sqrt(dimension) * epsilon if form is LatentForm.PUBLISHED else epsilon


def noise_scale(form: LatentForm, epsilon: float, clip_norm: float, dimension: int) -> float:
    """Scale of the noise (see the table of the module)."""
    factor = math.sqrt(dimension) if form is LatentForm.WIDE else 1.0
    return 2.0 * factor * clip_norm / epsilon


def clip_rows(vectors: FloatArray, norm: float, form: LatentForm) -> FloatArray:
    """x·min(1, C/‖x‖) in the norm of the form, shape (k, d); never above C by rounding."""
    # The factor is rounded down by more than a norm of d terms and a product can be off.
    order = 1 if form is LatentForm.MANHATTAN else 2
    lengths = np.linalg.norm(vectors, ord=order, axis=1)
    shrink = norm * (1.0 - (vectors.shape[1] + 4) * 2.0**-52) / np.maximum(lengths, norm)
    return np.asarray(vectors * np.where(lengths > norm, shrink, 1.0)[:, None])


@dataclass(frozen=True, eq=False)
class LatentPath:
    """Clipped latent vectors with one noise draw each: what they become at every ε.

    For measuring only: of one draw a single ε may be released, since two noisy vectors with the
    same noise give the noise away.

    Attributes:
        clipped: shape (k, d), float64, read-only.
        noise: at scale 1, shape (k, d), read-only.
        form: published, or one of the repairs.
        clip_norm: C.
        changed: how many rows were longer than C.
    """

    clipped: FloatArray
    noise: FloatArray
    form: LatentForm
    clip_norm: float
    changed: int

    def at(self, epsilon: float) -> NoisyLatents:
        """The noisy vectors at one ε.

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
