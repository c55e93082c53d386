"""PixelDP for texts: noise on the mean word vector, and its certificate counted in words.

What an attack of length L on the mean vector cannot do, the replacement of few words cannot do:
of ℓ known words, B that are each replaced by one at distance D or less move the mean by at most
B·D/ℓ. With D the diameter of the vocabulary the new words may be any.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import ParameterError
from dpcore.learn.classifiers import averaged
from dpcore.learn.pixeldp.noise_layer import Accounting
from dpcore.learn.pixeldp.noisy_classifier import NoisyClassifier, layer_of, train_noisy

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from dpcore.learn.bags import Bags

    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]


def train_text(
    accounting: Accounting,
    scale: float,
    bags: Bags,
    labels: ArrayLike,
    vectors: NDArray[np.float32],
    rng: np.random.Generator,
) -> NoisyClassifier:
    """A classifier of mean vectors with noise, certified against Euclidean attacks on them.

    Its inputs are `dpcore.learn.classifiers.averaged(bags.counts(), vectors)`.

    Args:
        accounting: the noise.
        scale: b or σ in units of the sensitivity: of a shift of the mean vector.
        bags: k documents.
        labels: whole numbers, shape (k,).
        vectors: public word vectors, shape (n, d).
        rng: of the noise that is trained on.

    Raises:
        CorpusError: only one class occurs.
        ParameterError: the scale is outside its range.
    """
    layer = layer_of(accounting, scale, 2.0, vectors.shape[1])
    return train_noisy(layer, averaged(bags.counts(), vectors), labels, rng)


def words_within(sizes: ArrayLike, lengths: ArrayLike, distance: float) -> IntArray:
    """How many words of each text may be replaced without leaving its certificate.

    Args:
        sizes: certified L of each mean vector in the Euclidean norm, shape (k,).
        lengths: known words of each text, shape (k,); unknown words do not count.
        distance: D, the largest distance of a word from what may replace it.

    Returns:
        Shape (k,), at most the length; 0 for a text without known words.

    Raises:
        ParameterError: the distance is not a finite number above 0, or a size is not ≥ 0.
    """
    reach, known = np.asarray(sizes, dtype=np.float64), np.asarray(lengths, dtype=np.int64)
    if not 0 < distance < math.inf:
        raise ParameterError(f"a distance must be a finite number > 0, got {distance}")
    if not bool((reach >= 0).all()):
        raise ParameterError("the size of an attack must be a number >= 0")
    # Rounding must not give a word too many.
    words = np.minimum(reach / distance, 2.0) * known * (1 - 1e-12)
    return np.asarray(np.minimum(np.floor(words).astype(np.int64), known))
