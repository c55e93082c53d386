"""Linear maps in torch whose sensitivity is held at 1 or below while they are trained.

Noise of a fixed scale hides nothing if training may enlarge what comes before it. So the weights W
of the first layer stand divided by a bound R ≥ Δ_{p,q}(W) (`reach`) wherever they are used, and the
gradient goes through the division: the map that is trained is W/R, whose Δ_{p,q} is at most 1. R is

    attack norm p = 1, dense or convolution    the largest q-norm of a column: Δ_{1,q} itself;
    p = q = 2, dense                           the largest singular value: Δ_{2,2} itself;
    p = q = 2, convolution                     max over ω of ‖K̂(ω)‖₂, a bound.

The last: with zeros around it the picture lies on a torus that is too large for the kernel to reach
round. The convolution is then an embedding (norm 1), a circular convolution, and a restriction
(norm at most 1); the Fourier transform diagonalises the middle one (for one input channel its norm
is the largest Euclidean norm over frequencies ω of the outputs' transforms). For every column of
the unrolled matrix to be a part of the kernel, and one to be all of it, the picture has to be as
large as the kernel. Other norms need a maximum over signs and are refused
(`dpcore.learn.pixeldp.sensitivity`).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import ParameterError
from dpcore.learn.packages import torch
from dpcore.learn.pixeldp.sensitivity import norm_of
from dpcore.learn.tensors import array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcore.arrays import FloatArray


@dataclass(frozen=True)
class BoundedMap:
    """A dense layer or a convolution of pictures of one channel, without a bias.

    Attributes:
        attack: p, the norm of an attack on its input.
        noise: q, the norm that the noise after it is calibrated to.
        side: pixels of a side of a square picture; 0 for a dense layer.

    Raises:
        ParameterError: the norms are not p = 1, or p = q = 2.
    """

    attack: float
    noise: float
    side: int = 0

    def __post_init__(self) -> None:
        """Check the norms."""
        p, q = norm_of(self.attack), norm_of(self.noise)
        if not (p == 1 or p == q == 2):
            raise ParameterError(
                f"the sensitivity of a trained layer from norm {p:g} to norm {q:g} would be a "
                "maximum over signs in every step; measure the attack in norm 1, use Gaussian "
                "noise against norm 2, or put the noise in the input"
            )

    def reach(self, weight: Any) -> Any:
        """R ≥ Δ_{p,q} as a scalar tensor, differentiable almost everywhere.

        Args:
            weight: shape (m, d) of a dense layer, (o, 1, a, a) of a convolution.
        """
        if self.attack == 1:
            # Every column of an unrolled kernel holds entries of it, and an inner pixel's all.
            columns = weight.flatten() if self.side else weight
            return torch().linalg.vector_norm(columns, ord=self.noise, dim=0).max()
        if not self.side:
            return torch().linalg.matrix_norm(weight, ord=2)
        # ‖K̂(ω)‖² = the squared cosine and sine parts of every output channel, added up at each ω.
        waves = torch().from_numpy(_waves(self.side, weight.shape[-1])).to(weight.dtype)
        transforms = weight.flatten(1) @ waves.to(weight.device)  # real and imaginary parts
        return transforms.square().sum(dim=0).reshape(2, -1).sum(dim=0).max().sqrt()

    def bounded(self, weight: Any) -> Any:
        """W/R; its sensitivity is at most 1."""
        return weight / self.reach(weight)

    def apply(self, weight: Any, inputs: Any) -> Any:
        """The map of the weights as they are, shape (k, d) to (k, m)."""
        if not self.side:
            return inputs @ weight.T
        pictures = inputs.reshape(-1, 1, self.side, self.side)
        return torch().nn.functional.conv2d(pictures, weight, padding="same").flatten(1)

    def matrix(self, weight: Any) -> FloatArray:
        """The weights as a float64 matrix of shape (m, d); a convolution becomes one, unrolled."""
        # A column is what the map makes of one coordinate alone. No sum has a second term that is
        # not 0, so this is the matrix itself and not a rounded one.
        units = torch().eye(self.side**2 or weight.shape[1], dtype=torch().float64)
        columns = self.apply(weight.detach().double(), units.to(weight.device))
        return np.ascontiguousarray(array(columns).T)


@functools.lru_cache(maxsize=8)
def _waves(side: int, kernel: int) -> NDArray[np.float64]:
    """cos and sin at every place of a kernel and frequency of the torus, shape (a², 2·s²)."""
    size = side + kernel - 1  # of the torus: a kernel over one edge does not reach the other
    angles = 2.0 * math.pi * np.outer(np.arange(kernel), np.arange(size)) / size
    both = (angles[:, None, :, None] + angles[None, :, None, :]).reshape(kernel**2, size**2)
    return np.concatenate((np.cos(both), np.sin(both)), axis=1)
