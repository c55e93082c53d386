"""A noise layer, and a classifier that is trained on what it releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import CorpusError, ParameterError
from dpcore.learn.packages import one_thread, quiet, sklearn
from dpcore.learn.pixeldp.noise_layer import Accounting, NoiseLayer

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcore.arrays import FloatArray, IntArray


_COPIES = 4  # noisy copies of an input that are trained on


@dataclass(frozen=True, eq=False)
class NoisyClassifier:
    """A noise layer, and logistic regression on its outputs.

    Attributes:
        layer: the noise.
        rectified: whether negative outputs become 0 before the regression.
        classes: the labels that were trained on, ascending, shape (m,).
    """

    layer: NoiseLayer
    rectified: bool
    classes: IntArray
    _model: Any

    def scores(self, outputs: FloatArray) -> FloatArray:
        """Probability of each class for outputs of the layer: shape (k, width) to (k, m)."""
        return np.asarray(self._model.predict_proba(_after(self.rectified, outputs)))

    def places(self, labels: ArrayLike) -> IntArray:
        """Labels as places in `classes`, which are the columns of `scores`.

        Raises:
            CorpusError: a label is of a class that was not trained on.
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
    """A noise layer whose scale is in units of its own sensitivity.

    An attack of p-norm `scale` then moves the input of the noise by at most one b or σ, wherever
    the noise stands and however the first layer is scaled.

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
    # Made once with scale 1 to learn its sensitivity, which does not depend on the scale.
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
    """Logistic regression on noisy outputs of the layer, several of each input.

    Args:
        layer: the noise.
        inputs: shape (k, d).
        labels: whole numbers, shape (k,).
        rng: of the noise.
        rectified: whether negative outputs become 0 before the regression.

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
