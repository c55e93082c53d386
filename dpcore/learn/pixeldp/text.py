"""PixelDP for texts: noise on the mean word vector, or on the vector of every word.

**On the mean** (`train_text`): an attack of length L on the mean vector bounds the replacement of
few words. Of ℓ known words, B that are each replaced by one at distance D or less move the mean by
at most B·D/ℓ. With D the diameter of the vocabulary the new words may be any.

**On every word** (`train_text_network`, needs torch): a text is the matrix of the vectors of its
known words, and an attack is measured in the norm of all its numbers: ‖·‖₁ for Laplace noise, ‖·‖₂
for Gaussian noise. B words that are each replaced by one at distance D or less in that norm move it
by at most B·D and √B·D. The number of words and the positions of unknown words are not hidden and
not attacked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import CorpusError, ParameterError
from dpcore.learn.classifiers import averaged
from dpcore.learn.corpus import Bags
from dpcore.learn.pixeldp.certified import Scores, draw_scores
from dpcore.learn.pixeldp.digits import random_weights
from dpcore.learn.pixeldp.noise_layer import (
    Accounting,
    NoiseLayer,
    NoisyClassifier,
    layer_of,
    train_noisy,
)
from dpcore.learn.pixeldp.training import ClassTensors, LossTask, added_noise
from dpcore.learn.tensors import torch_generator
from dpcore.learn.training import Training, fit
from dpcore.optional import torch

_HIDDEN = 32


def train_text(
    accounting: Accounting,
    scale: float,
    bags: Bags,
    labels: ArrayLike,
    vectors: NDArray[np.float32],
    rng: np.random.Generator,
) -> NoisyClassifier:
    """Train a classifier of noisy mean vectors, certified against Euclidean attacks on them.

    Its inputs are `dpcore.learn.classifiers.averaged(bags.counts(), vectors)`.

    Args:
        accounting: the noise.
        scale: b or σ in units of the sensitivity: of a shift of the mean vector.
        bags: k documents.
        labels: whole numbers, shape (k,).
        vectors: public word vectors, shape (n, d).
        rng: of the noise in training.

    Raises:
        CorpusError: only one class occurs.
        ParameterError: the scale is outside its range.
    """
    layer = layer_of(accounting, scale, 2.0, vectors.shape[1])
    return train_noisy(layer, averaged(bags.counts(), vectors), labels, rng)


def words_within(sizes: ArrayLike, lengths: ArrayLike, distance: float) -> IntArray:
    """Return the number of replaceable words of each text within its certificate of the mean.

    Args:
        sizes: certified L of each mean vector in the Euclidean norm, shape (k,).
        lengths: known words of each text, shape (k,); unknown words do not count.
        distance: D, the largest distance of a word from its replacement.

    Returns:
        The largest B with B·D/ℓ ≤ L, at most the length; 0 for a text without known words; (k,).

    Raises:
        ParameterError: the distance is not a finite number above 0, or a size is not ≥ 0.
    """
    ratio, known = _in_distances(sizes, lengths, distance)
    # An infinite L times 0 words would be NaN: a ratio of 2 is as good as any larger one.
    return _whole(np.minimum(ratio, 2.0) * known, known)


def replaced_words(sizes: ArrayLike, lengths: ArrayLike, distance: float, norm: float) -> IntArray:
    """Return the number of replaceable words of each text for noise on every word.

    Args:
        sizes: certified L of each text in the norm of all numbers of its vectors, shape (k,).
        lengths: known words of each text, shape (k,).
        distance: D in the same norm.
        norm: 1 or 2.

    Returns:
        The largest B with B·D ≤ L (norm 1) or √B·D ≤ L (norm 2), at most the length; shape (k,).

    Raises:
        ParameterError: as `words_within`, or the norm is another.
    """
    if norm not in (1, 2):
        raise ParameterError(f"the norm of an attack on words must be 1 or 2, got {norm}")
    ratio, known = _in_distances(sizes, lengths, distance)
    # No text needs more than its length, whose square is finite where that of L/D may not be.
    return _whole(np.minimum(ratio, known + 1.0) ** norm, known)


def _in_distances(
    sizes: ArrayLike, lengths: ArrayLike, distance: float
) -> tuple[FloatArray, IntArray]:
    """Return L/D and the number of known words of each text."""
    reach, known = np.asarray(sizes, dtype=np.float64), np.asarray(lengths, dtype=np.int64)
    if not 0 < distance < math.inf:
        raise ParameterError(f"a distance must be a finite number > 0, got {distance}")
    if not bool((reach >= 0).all()):
        raise ParameterError("the size of an attack must be a number >= 0")
    return reach / distance, known


def _whole(words: FloatArray, known: IntArray) -> IntArray:
    # Rounding must not give a word too many.
    return np.minimum(np.floor(words * (1 - 1e-12)).astype(np.int64), known)


@dataclass(frozen=True, eq=False)
class TextNetwork:
    """Noise on every word vector, a rectified layer of each word, their mean, and a dense layer.

    Attributes:
        accounting: the noise.
        scale: b or σ, in units of a word vector.
        classes: the labels of the training data, ascending.
        vectors: public word vectors, shape (n, d).
    """

    accounting: Accounting
    scale: float
    classes: IntArray
    vectors: NDArray[np.float32]
    _weights: dict[str, Any]

    def layer(self, words: int = 1) -> NoiseLayer:
        """Return the noise of a text of `words` words; its scale and sensitivity are fixed."""
        size = words * self.vectors.shape[1]
        return NoiseLayer(self.accounting, self.scale, self.accounting.norm, size)

    def scores(self, bags: Bags, draws: int, rng: np.random.Generator) -> Scores:
        """Draw scores of each text under independent noise, for `certify` with `layer()`.

        Args:
            bags: k texts; one without known words has the same scores as any other such text.
            draws: of the noise for each text.
            rng: of the noise.

        Raises:
            ParameterError: there is no text, or the draws are out of range.
        """
        if not len(bags):
            raise ParameterError("there is no text to predict")
        texts = _known(bags)
        lengths = np.array([words.size for words in texts])
        means = np.zeros((len(texts), self.classes.size))
        votes = np.zeros(means.shape, dtype=np.int64)
        # Texts of one length are rows of one matrix, whose noise is drawn together.
        for length in np.unique(lengths).tolist():
            rows = np.flatnonzero(lengths == length)
            # A text without known words is one zero vector: no attack moves it.
            words = [self.vectors[texts[i]] if length else self.vectors[:1] * 0 for i in rows]
            inputs = np.stack(words).reshape(rows.size, -1).astype(np.float64)
            scores = draw_scores(self._scorer(), self.layer(max(length, 1)), inputs, draws, rng)
            means[rows], votes[rows] = scores.means, scores.votes
        return Scores(means, votes, draws)

    def _scorer(self) -> Any:
        width = self.vectors.shape[1]

        def logits(outputs: Any) -> Any:
            words = outputs.reshape(len(outputs), -1, width)
            return _logits(self._weights, words, torch().ones(words.shape[:2]))

        return ClassTensors(logits).predict_proba


def train_text_network(
    accounting: Accounting,
    scale: float,
    bags: Bags,
    labels: ArrayLike,
    vectors: NDArray[np.float32],
    rng: np.random.Generator,
    *,
    epochs: int = 15,
) -> TextNetwork:
    """Train a network for texts, with noise on the vector of every word.

    Args:
        accounting: the noise.
        scale: b or σ, in units of a word vector.
        bags: k texts.
        labels: whole numbers, shape (k,).
        vectors: public word vectors, shape (n, d); they are not trained.
        rng: of the initial weights, the order of the texts and the noise.
        epochs: passes over the texts.

    Raises:
        CorpusError: only one class occurs.
        MissingPackageError: torch is not installed.
        ParameterError: the scale is outside its range.
    """
    classes, targets = np.unique(np.asarray(labels, dtype=np.int64), return_inverse=True)
    if not classes.size >= 2:
        raise CorpusError("a classifier needs at least two classes to be trained on")
    noise = NoiseLayer(accounting, scale, Accounting(accounting).norm, vectors.shape[1])
    texts = _known(bags)
    truth = torch().from_numpy(targets.reshape(-1).astype(np.int64))
    shapes = {"word": (_HIDDEN, vectors.shape[1]), "last": (classes.size, _HIDDEN)}
    weights = random_weights(shapes, torch_generator(rng))

    def loss(rows: IntArray, drawn: np.random.Generator) -> Any:
        some = [texts[i] for i in rows]
        most = max(1, max(words.size for words in some))
        inputs = np.zeros((len(some), most, vectors.shape[1]), dtype=np.float32)
        there = np.zeros((len(some), most), dtype=np.float32)
        for i, words in enumerate(some):
            inputs[i, : words.size], there[i, : words.size] = vectors[words], 1.0
        noisy = added_noise(noise, torch().from_numpy(inputs), drawn)
        logits = _logits(weights, noisy, torch().from_numpy(there))
        return torch().nn.functional.cross_entropy(logits, truth[rows])

    seed = int(rng.integers(2**53))
    settings = Training(epochs=epochs, batch=64, rate=2e-3, seed=seed, threads=1)
    fit(LossTask(weights, len(texts), loss), settings)
    return TextNetwork(noise.accounting, noise.scale, classes, vectors, weights)


def _known(bags: Bags) -> list[IntArray]:
    """Return the known words of each text."""
    parts = np.split(bags.words, bags.offsets[1:-1]) if len(bags) else []
    return [words[words >= 0] for words in parts]


def _logits(weights: dict[str, Any], words: Any, there: Any) -> Any:
    """Map shapes (k, ℓ, d) and (k, ℓ) to (k, classes); the mean is over the words present."""
    linear = torch().nn.functional.linear
    hidden = torch().relu(linear(words, weights["word"], weights["word-bias"])) * there[..., None]
    mean = hidden.sum(dim=1) / there.sum(dim=1, keepdim=True).clamp(min=1.0)
    return linear(mean, weights["last"], weights["last-bias"])
