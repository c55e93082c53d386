"""The noise layer of PixelDP: a linear layer, its sensitivity, and noise that hides a small change.

The layer releases Wx + Z. An attack α of ‖α‖_p ≤ L moves Wx by at most Δ_{p,q}·L, so the release,
and everything computed from it, is (e, δ)-private with respect to such attacks for the (e, δ) that
the noise gives at that shift (Lecuyer et al. 2019, Section III.B). The scale is fixed when the
layer is made; (e, δ) and L can be traded against each other afterwards.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import CorpusError, ParameterError
from dpcore.learn.tensors import array
from dpcore.limits import MAX_SIGNS
from dpcore.optional import one_thread, quiet, sklearn, torch

# Sensitivity of a linear layer: the largest move of its output when its input moves by one.
#
# Δ_{p,q} = max ‖Wα‖_q over ‖α‖_p ≤ 1 (Lecuyer et al. 2019, Section III.B): p is the norm that
# measures an attack, q the norm that the noise is calibrated to, 1 for Laplace and 2 for Gaussian.
# A convex function is largest at a corner of the ball, so that
#
#     p = 1    the largest q-norm of a column of W;
#     q = ∞    the largest dual norm of a row;
#     p = q = 2    the largest singular value;
#
# and for (2, 1), (∞, 1) and (∞, 2) a maximum over all vectors of signs. No method is known that
# avoids their number (computing it is NP-hard, Rohn 2000), so long ones are refused and not
# estimated.


NORMS = (1.0, 2.0, math.inf)


def norm_of(value: float) -> float:
    """Check a norm and return it as a float.

    Raises:
        ParameterError: it is not 1, 2 or infinity.
    """
    if value not in NORMS:
        raise ParameterError(f"the norm of an attack must be 1, 2 or infinity, got {value}")
    return float(value)


def sensitivity(matrix: FloatArray, attack: float, noise: float) -> float:
    """Compute Δ_{p,q} of x ↦ Wx, exactly up to rounding, which is upwards.

    Args:
        matrix: W, shape (m, d), finite.
        attack: p, one of `NORMS`.
        noise: q, one of `NORMS`.

    Raises:
        ParameterError: the matrix is not a finite matrix, or a maximum over more than
            `limits.MAX_SIGNS` signs would be needed.
    """
    p, q = norm_of(attack), norm_of(noise)
    w = np.asarray(matrix, dtype=np.float64)
    if not (w.ndim == 2 and w.size and np.isfinite(w).all()):
        raise ParameterError(f"a layer is a finite matrix of shape (m, d), got shape {w.shape}")
    if p == 1:
        lengths = _norms(w.T, q)
    elif q == math.inf:
        lengths = _norms(w, 2.0 if p == 2 else 1.0)
    elif p == q == 2:
        lengths = np.asarray(np.linalg.norm(w, 2), dtype=np.float64)
    elif p == 2:  # ‖Wα‖₁ = max over signs s of ⟨Wᵀs, α⟩
        lengths = _norms(_signs(len(w), p, q) @ w, 2.0)
    elif q == 1 and len(w) < w.shape[1]:  # Δ_{∞,1} of W and of its transpose are equal
        lengths = _norms(_signs(len(w), p, q) @ w, 1.0)
    else:
        lengths = _norms(_signs(w.shape[1], p, q) @ w.T, q)
    # A sum of n terms has a relative error of at most about n·2⁻⁵³: eight times that is added.
    return float(np.max(lengths)) * (1.0 + (sum(w.shape) + 8) * 2.0**-50)


def identity_sensitivity(dimension: int, attack: float, noise: float) -> float:
    """Return Δ_{p,q} of noise in the input itself: 1 for p ≤ q, else d^(1/q − 1/p)."""
    p, q = norm_of(attack), norm_of(noise)
    if not dimension >= 1:
        raise ParameterError(f"an input has at least one coordinate, got {dimension}")
    return 1.0 if p <= q else float(dimension ** (1.0 / q - 1.0 / p))


def _norms(rows: FloatArray, order: float) -> FloatArray:
    return np.asarray(np.linalg.norm(rows, ord=order, axis=1))


def _signs(count: int, p: float, q: float) -> FloatArray:
    """Return all vectors of signs up to a common one, shape (2^(count − 1), count)."""
    if not count <= MAX_SIGNS:
        raise ParameterError(
            f"the exact sensitivity from norm {p:g} to norm {q:g} is a maximum over 2^{count} "
            f"vectors of signs, and up to 2^{MAX_SIGNS} are tried; measure the attack in norm 1, "
            "use Gaussian noise against norm 2, or put the noise in the input"
        )
    # s and −s give the same norm: the last sign stays +, as no number reaches its bit.
    bits = np.arange(2 ** (count - 1))[:, None] >> np.arange(count)
    return np.where(bits & 1, -1.0, 1.0)


class Accounting(StrEnum):
    """Noise, and the theorem that states its guarantee."""

    LAPLACE = "laplace"
    """Laplace noise of scale b: (Δ_{p,1}·L/b, 0)."""
    CLASSICAL = "gaussian-classical"
    """Gaussian noise, σ = Δ_{p,2}·L·√(2 ln(1.25/δ))/e for e ≤ 1 (Dwork and Roth 2014, A.1)."""
    ANALYTIC = "gaussian-analytic"
    """Gaussian noise, with its exact δ at every e (Balle and Wang 2018, Theorem 8)."""

    @property
    def norm(self) -> float:
        """q, the norm in which this noise measures a shift."""
        return 1.0 if self is Accounting.LAPLACE else 2.0


@dataclass(frozen=True, eq=False)
class NoiseLayer:
    """x ↦ Wx + Z, with Z independent noise of one scale in every coordinate.

    Attributes:
        accounting: the noise and its theorem.
        scale: b of Laplace noise or σ of Gaussian noise, in units of Wx.
        attack: p, the norm in which an attack on x is measured.
        dimension: d of x.
        matrix: W, shape (m, d), read-only; None for the identity, noise in the input.
        sensitivity: Δ_{p,q} of W, from the attack's norm p to the noise's norm q; computed.

    Raises:
        ParameterError: the scale is not a finite number above 0, the norm is not 1, 2 or
            infinity, or the sensitivity of W cannot be computed.
    """

    accounting: Accounting
    scale: float
    attack: float
    dimension: int
    matrix: FloatArray | None = None
    sensitivity: float = field(init=False)

    def __post_init__(self) -> None:
        """Check, and compute the sensitivity once."""
        object.__setattr__(self, "accounting", Accounting(self.accounting))
        object.__setattr__(self, "attack", norm_of(self.attack))
        if not 0 < self.scale < math.inf:
            raise ParameterError(
                f"the scale of the noise must be a finite number > 0, got {self.scale}"
            )
        if self.matrix is None:
            largest = identity_sensitivity(self.dimension, self.attack, self.accounting.norm)
        else:
            # A copy: the sensitivity is that of these numbers, and the caller may change theirs.
            matrix = np.array(self.matrix, dtype=np.float64)
            largest = sensitivity(matrix, self.attack, self.accounting.norm)
            if matrix.shape[1] != self.dimension:
                raise ParameterError(
                    f"the layer takes {matrix.shape[1]} coordinates and the input has "
                    f"{self.dimension}"
                )
            matrix.setflags(write=False)
            object.__setattr__(self, "matrix", matrix)
        object.__setattr__(self, "sensitivity", largest)

    def size(self, change: ArrayLike) -> float:
        """Return the size of a change of one input, shape (d,), in the norm of an attack."""
        return float(np.linalg.norm(np.asarray(change, dtype=np.float64), ord=self.attack))

    def clean(self, inputs: ArrayLike) -> FloatArray:
        """Return Wx without noise for k inputs of shape (k, d): shape (k, m).

        Raises:
            ParameterError: the inputs are not finite, or of another dimension.
        """
        x = np.asarray(inputs, dtype=np.float64)
        if not (x.ndim == 2 and x.shape[1] == self.dimension and np.isfinite(x).all()):
            raise ParameterError(
                f"inputs must be finite and of shape (k, {self.dimension}), got shape {x.shape}"
            )
        return x if self.matrix is None else np.asarray(x @ self.matrix.T)

    def noisy(self, clean: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Add fresh noise to outputs of `clean`, of any shape."""
        # Plain float64 noise: nothing is kept secret here, so its rounding reveals nothing.
        if self.accounting is Accounting.LAPLACE:
            return np.asarray(clean + rng.laplace(scale=self.scale, size=clean.shape))
        return np.asarray(clean + self.scale * rng.standard_normal(clean.shape))


# A noise layer, and a classifier that is trained on its outputs.


_COPIES = 4  # noisy copies of an input in training


@dataclass(frozen=True, eq=False)
class NoisyClassifier:
    """A noise layer, and logistic regression on its outputs.

    Attributes:
        layer: the noise.
        rectified: True if negative outputs become 0 before the regression.
        classes: the labels of the training data, ascending, shape (m,).
    """

    layer: NoiseLayer
    rectified: bool
    classes: IntArray
    _model: Any

    def scores(self, outputs: FloatArray) -> FloatArray:
        """Return the probability of each class for outputs of the layer: (k, width) to (k, m)."""
        return np.asarray(self._model.predict_proba(_after(self.rectified, outputs)))

    def places(self, labels: ArrayLike) -> IntArray:
        """Return labels as indices of `classes`, which are the columns of `scores`.

        Raises:
            CorpusError: a label is of a class that was missing in training.
        """
        truth = np.asarray(labels, dtype=np.int64)
        missing = sorted(set(truth.tolist()) - set(self.classes.tolist()))
        if missing:
            raise CorpusError(
                f"the classifier was trained without class {missing[0]}, so it cannot be tested "
                "on it; train on all classes, or leave it out of the test"
            )
        return np.asarray(np.searchsorted(self.classes, truth), dtype=np.int64)


def layer_of(
    accounting: Accounting,
    scale: float,
    attack: float,
    dimension: int,
    matrix: FloatArray | None = None,
) -> NoiseLayer:
    """Make a noise layer whose scale is in units of its own sensitivity.

    An attack of p-norm `scale` then moves the input of the noise by at most one b or σ, at every
    place of the noise and every scale of the first layer.

    Args:
        accounting: the noise.
        scale: b or σ divided by Δ_{p,q}.
        attack: p, the norm of an attack.
        dimension: d of the input.
        matrix: the linear first layer, shape (m, d); None for noise in the input.

    Raises:
        ParameterError: as `NoiseLayer`, or the first layer is zero.
    """
    if not 0 < scale < np.inf:
        raise ParameterError(f"the scale of the noise must be a finite number > 0, got {scale}")
    # Made once with scale 1 to get its sensitivity, which does not depend on the scale.
    unit = NoiseLayer(accounting, 1.0, attack, dimension, matrix)
    return NoiseLayer(accounting, scale * unit.sensitivity, attack, dimension, matrix)


def train_noisy(
    layer: NoiseLayer,
    inputs: ArrayLike,
    labels: ArrayLike,
    rng: np.random.Generator,
    *,
    rectified: bool = False,
) -> NoisyClassifier:
    """Train logistic regression on noisy outputs of the layer, several of each input.

    Args:
        layer: the noise.
        inputs: shape (k, d).
        labels: whole numbers, shape (k,).
        rng: of the noise.
        rectified: True if negative outputs become 0 before the regression.

    Raises:
        CorpusError: only one class occurs.
        MissingPackageError: scikit-learn is not installed.
    """
    truth = np.asarray(labels, dtype=np.int64)
    classes = np.unique(truth)
    if not classes.size >= 2:
        raise CorpusError("a classifier needs at least two classes to be trained on")
    clean = np.repeat(layer.clean(inputs), _COPIES, axis=0)
    model = sklearn("linear_model").LogisticRegression(max_iter=200)
    with quiet(), one_thread():
        model.fit(_after(rectified, layer.noisy(clean, rng)), np.repeat(truth, _COPIES))
    return NoisyClassifier(layer, rectified, classes, model)


def _after(rectified: bool, outputs: FloatArray) -> FloatArray:
    return np.maximum(outputs, 0.0) if rectified else outputs


# Linear maps in torch whose sensitivity is held at 1 or below in training.
#
# Noise of a fixed scale hides nothing if training may enlarge the map before it. So the weights W
# of the first layer are divided by a bound R ≥ Δ_{p,q}(W) (`reach`) wherever they are used, and the
# gradient goes through the division: the trained map is W/R, whose Δ_{p,q} is at most 1. R is
#
#     attack norm p = 1, dense or convolution    the largest q-norm of a column: Δ_{1,q} itself;
#     p = q = 2, dense                           the largest singular value: Δ_{2,2} itself;
#     p = q = 2, convolution                     max over ω of ‖K̂(ω)‖₂, a bound.
#
# The last: with zeros around it the picture lies on a torus that is too large for the kernel to
# reach round. The convolution is then an embedding (norm 1), a circular convolution, and a
# restriction (norm at most 1); the Fourier transform diagonalises the middle one (for one input
# channel its norm is the largest Euclidean norm over frequencies ω of the outputs' transforms). For
# every column of the unrolled matrix to be a part of the kernel, and one to be all of it, the
# picture has to be as large as the kernel. Other norms need a maximum over signs and are refused
# (see the sensitivity above).


@dataclass(frozen=True)
class BoundedMap:
    """A dense layer or a convolution of pictures with one channel, without a bias.

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
        """Return R ≥ Δ_{p,q} as a scalar tensor, differentiable almost everywhere.

        Args:
            weight: shape (m, d) of a dense layer, (o, 1, a, a) of a convolution.
        """
        if self.attack == 1:
            # Every column of an unrolled kernel holds some of its entries, an inner pixel's all.
            columns = weight.flatten() if self.side else weight
            return torch().linalg.vector_norm(columns, ord=self.noise, dim=0).max()
        if not self.side:
            return torch().linalg.matrix_norm(weight, ord=2)
        # ‖K̂(ω)‖² = the squared cosine and sine parts of every output channel, added up at each ω.
        waves = torch().from_numpy(_waves(self.side, weight.shape[-1])).to(weight.dtype)
        transforms = weight.flatten(1) @ waves.to(weight.device)  # real and imaginary parts
        return transforms.square().sum(dim=0).reshape(2, -1).sum(dim=0).max().sqrt()

    def bounded(self, weight: Any) -> Any:
        """Return W/R, whose sensitivity is at most 1."""
        return weight / self.reach(weight)

    def apply(self, weight: Any, inputs: Any) -> Any:
        """Apply the map with the weights unchanged, shape (k, d) to (k, m)."""
        if not self.side:
            return inputs @ weight.T
        pictures = inputs.reshape(-1, 1, self.side, self.side)
        return torch().nn.functional.conv2d(pictures, weight, padding="same").flatten(1)

    def matrix(self, weight: Any) -> FloatArray:
        """Return the weights as a float64 matrix of shape (m, d), with a convolution unrolled."""
        # A column is the map of one coordinate alone. No sum has a second term that is not 0, so
        # this is the matrix itself and not a rounded one.
        units = torch().eye(self.side**2 or weight.shape[1], dtype=torch().float64)
        columns = self.apply(weight.detach().double(), units.to(weight.device))
        return np.ascontiguousarray(array(columns).T)


@functools.lru_cache(maxsize=8)
def _waves(side: int, kernel: int) -> NDArray[np.float64]:
    """Return cos and sin at each kernel position and torus frequency, shape (a², 2·s²)."""
    size = side + kernel - 1  # of the torus: a kernel over one edge does not reach the other
    angles = 2.0 * math.pi * np.outer(np.arange(kernel), np.arange(size)) / size
    both = (angles[:, None, :, None] + angles[None, :, None, :]).reshape(kernel**2, size**2)
    return np.concatenate((np.cos(both), np.sin(both)), axis=1)
