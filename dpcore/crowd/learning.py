"""Learning from a crowd: weights of words from undone counts, for use on clean text.

A classifier that was trained on private text and reads private text knows the noise as it is. One
that reads clean text should know the words: naive Bayes (multinomial), whose counts are undone, and
none below 0. To both sides the standard error of their sum is added, in place of the 1 that is
usual for counts without noise: so a word that cannot be told from one that never occurs has hardly
a weight. And weights are moved by one number for all words, so that the mean words of a class and
of the others lie on two sides of 0, equally far: both means are undone counts too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore.arrays import BoolArray, FloatArray, IntArray
from dpcore.crowd.estimates import OutputCounts
from dpcore.crowd.histogram import all_counts
from dpcore.errors import ParameterError
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.mechanism import Mechanism


@dataclass(frozen=True, eq=False)
class WordWeights:
    """Weights of words for each class.

    Attributes:
        classes: names.
        weights: log ratio of a word's share in a class to that in the others, less the middle of
            their means, shape (G, n).
        intercepts: log odds of each class, shape (G,).
    """

    classes: tuple[str, ...]
    weights: FloatArray
    intercepts: FloatArray

    def scores(self, words: IntArray, offsets: IntArray) -> FloatArray:
        """Return the score of each class for each text, shape (J, G).

        Args:
            words: word indices of all texts; −1 for a word that is not known.
            offsets: text i has words[offsets[i] : offsets[i + 1]].
        """
        text = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
        is_word = words >= 0
        scores = np.tile(self.intercepts, (offsets.size - 1, 1))
        for k, weights in enumerate(self.weights):
            scores[:, k] += np.bincount(
                text[is_word], weights[words[is_word]], minlength=offsets.size - 1
            )
        return scores


def learn_weights(
    mechanism: Mechanism,
    epsilon: float,
    observed: OutputCounts,
    *,
    used: BoolArray | None = None,
    progress: Progress = silent,
) -> WordWeights:
    """Learn which words tell the groups apart.

    Args:
        mechanism: whose noise is undone for all words, such as k-ary or tem.
        epsilon: of the private texts.
        observed: outputs by group: the classes.
        used: as for `dpcore.crowd.undo.undo`.
        progress: called with (stage, done, all).

    Raises:
        ParameterError: there is one group only, or the noise cannot be undone.
        EpsilonError: ε is not admissible.
    """
    groups = len(observed.groups)
    if groups < 2:
        raise ParameterError("a classifier needs two classes at least")
    estimators = all_counts(mechanism, epsilon, observed, used=used, progress=progress)
    words = np.maximum(observed.words.astype(np.float64), 1.0)
    counts = np.maximum(estimators.counts, 0.0)
    weights = np.empty_like(counts)
    for k in range(groups):
        rest = np.arange(groups) != k
        # In proportion to the sizes, so that no word favours a side by it.
        errors = np.hypot(estimators.errors[k], np.sqrt((estimators.errors[rest] ** 2).sum(axis=0)))
        size = float(observed.words[k]) / float(observed.words.sum())
        share = _share(counts[k] + 2.0 * size * errors)
        other = _share(counts[rest].sum(axis=0) + 2.0 * (1.0 - size) * errors)
        weight = np.log(share / other)
        # Halfway between the mean word of the class and that of the others nothing is said.
        inside = estimators.counts[k] @ weight / words[k]
        outside = estimators.counts[rest].sum(axis=0) @ weight / words[rest].sum()
        weights[k] = weight - 0.5 * (inside + outside)
    texts = observed.texts.astype(np.float64)
    intercepts = np.log(texts / (texts.sum() - texts))
    return WordWeights(observed.groups, weights, intercepts)


def _share(counts: FloatArray) -> FloatArray:
    """Return counts divided by their sum; words that never go through have none, and no weight."""
    counts = np.maximum(counts, 1e-9)
    return np.asarray(counts / counts.sum())
