"""The exact radius of a linear classifier without noise: no attack below it changes the class.

Class y stays ahead of c at x + α as long as (w_y − w_c)·α > −margin_c(x). By Hölder's inequality
an α of ‖α‖_p ≤ L reaches at most L·‖w_y − w_c‖_q with 1/p + 1/q = 1, and some α attains it. So the
smallest attack is min_c margin_c(x)/‖w_y − w_c‖_q: no bound and no estimate.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import ParameterError
from dpcore.learn.packages import one_thread, quiet, sklearn
from dpcore.learn.pixeldp.sensitivity import norm_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcore.arrays import FloatArray
    from dpcore.learn.pixeldp.digits import Digits


_DUAL = {1.0: math.inf, 2.0: 2.0, math.inf: 1.0}


def linear_radii(
    weights: ArrayLike, bias: ArrayLike, inputs: ArrayLike, labels: ArrayLike, attack: float
) -> FloatArray:
    """Size of the smallest attack that takes each input out of its class, shape (k,).

    Attacks may leave the range of the inputs, as those of a noise layer's certificate may.

    Args:
        weights: one row a class, shape (m, d), m ≥ 2.
        bias: shape (m,).
        inputs: shape (k, d).
        labels: true class of each, 0..m−1, shape (k,).
        attack: p, the norm of an attack: 1, 2 or infinity.

    Returns:
        −1 where the class is wrong without any attack; ∞ where no attack helps.

    Raises:
        ParameterError: shapes do not fit, or the norm is another one.
    """
    w, b, x = (np.asarray(values, dtype=np.float64) for values in (weights, bias, inputs))
    truth = np.asarray(labels, dtype=np.int64)
    if not (w.ndim == x.ndim == 2 and b.shape == w.shape[:1] and x.shape[1:] == w.shape[1:]):
        raise ParameterError(
            f"weights of shape {w.shape}, biases of shape {b.shape} and inputs of shape {x.shape} "
            "do not fit"
        )
    if not (truth.shape == x.shape[:1] and ((truth >= 0) & (truth < len(w))).all()):
        raise ParameterError(f"each of {len(x)} inputs needs a label in 0..{len(w) - 1}")
    dual = _DUAL[norm_of(attack)]
    # ‖w_y − w_c‖_q of every pair of classes, then the row of each input's own class.
    reach = np.linalg.norm(w[:, None] - w[None], ord=dual, axis=2)[truth]
    scores = x @ w.T + b
    margins = np.take_along_axis(scores, truth[:, None], axis=1) - scores
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = np.where(reach > 0, margins / reach, np.where(margins < 0, -np.inf, np.inf))
    # 0/0 above: a class is no rival of itself, and one with the same weights is decided by biases.
    sizes[np.arange(len(x)), truth] = np.inf
    nearest = sizes.min(axis=1)
    return np.asarray(np.where(nearest >= 0, nearest, -1.0))


def ordinary_radii(data: Digits, attack: float) -> FloatArray:
    """`linear_radii` of the test pictures for logistic regression on pictures without noise.

    Args:
        data: pictures, divided.
        attack: p.

    Raises:
        MissingPackageError: scikit-learn is not installed.
        ParameterError: the norm is none of those above.
    """
    model = sklearn("linear_model").LogisticRegression(max_iter=200)
    with quiet(), one_thread():
        model.fit(data.train, data.train_labels)
    labels = np.searchsorted(model.classes_, data.test_labels)
    return linear_radii(model.coef_, model.intercept_, data.test, labels, attack)
