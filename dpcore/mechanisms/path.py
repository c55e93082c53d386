"""ε-paths: the outputs of one noise draw at every ε.

A path is a step function of ε. Paths are for inspection only: from two outputs of one draw at two ε
an observer can solve for the word (additive noise: φ_w = (ε₁z₁ − ε₂z₂)/(ε₁ − ε₂)).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class Piece:
    """Output that holds for from_epsilon ≤ ε < to_epsilon."""

    from_epsilon: float
    to_epsilon: float
    output: int


@dataclass(frozen=True, eq=False)
class EpsilonPaths:
    """Paths of k draws, one for each entry of `words`.

    Attributes:
        words: input word indices, shape (k,).
        breaks: ε at which the output changes, ascending, padded with +inf, shape (k, P).
        outputs: outputs[i, j] holds from breaks[i, j−1] up to breaks[i, j], shape (k, P+1).
        low: the paths are known for ε > low (or ≥ low where low is a grid point).
        high: and for ε < high (≤ for a grid point).
        exact: False if the breaks are known only up to the distance of two grid points; the
            outputs at the grid points themselves are exact.
    """

    words: IntArray
    breaks: FloatArray
    outputs: IntArray
    low: float = 0.0
    high: float = math.inf
    exact: bool = True

    def __len__(self) -> int:
        """Return the number of draws."""
        return int(self.words.size)

    def at(self, epsilons: FloatArray) -> IntArray:
        """Return the outputs at each ε: shape (k, E)."""
        values = np.atleast_1d(np.asarray(epsilons, dtype=np.float64))
        # One comparison per break and ε: there are about five breaks, so this beats a search.
        position = (self.breaks[:, :, None] <= values).sum(axis=1)
        return np.take_along_axis(self.outputs, position, axis=1)

    def pieces(self, i: int) -> list[Piece]:
        """Return the steps of draw `i`; neighbouring steps with the same output are merged."""
        pieces: list[Piece] = []
        start = self.low
        last = int(np.isfinite(self.breaks[i]).sum())
        for j in range(last + 1):
            end = float(self.breaks[i, j]) if j < last else self.high
            output = int(self.outputs[i, j])
            if pieces and pieces[-1].output == output:
                pieces[-1] = Piece(pieces[-1].from_epsilon, end, output)
            elif end > start:
                pieces.append(Piece(start, end, output))
            start = end
        return pieces

    @classmethod
    def none(cls) -> EpsilonPaths:
        """Return empty paths, for no word."""
        empty = np.empty(0, dtype=np.int64)
        return cls(empty, np.empty((0, 0)), np.empty((0, 1), dtype=np.int64))

    @classmethod
    def join(cls, parts: Sequence[EpsilonPaths]) -> EpsilonPaths:
        """Return the draws of several groups as one, over the range that all of them cover."""
        if not parts:
            return cls.none()
        width = max(part.breaks.shape[1] for part in parts)

        def widen(part: EpsilonPaths) -> tuple[FloatArray, IntArray]:
            missing = width - part.breaks.shape[1]
            breaks = np.pad(part.breaks, ((0, 0), (0, missing)), constant_values=math.inf)
            return breaks, np.pad(part.outputs, ((0, 0), (0, missing)), mode="edge")

        wide = [widen(part) for part in parts]
        return cls(
            np.concatenate([part.words for part in parts]),
            np.concatenate([breaks for breaks, _ in wide]),
            np.concatenate([outputs for _, outputs in wide]),
            max(part.low for part in parts),
            min(part.high for part in parts),
            all(part.exact for part in parts),
        )

    @classmethod
    def of_grid(cls, words: IntArray, epsilons: FloatArray, outputs: IntArray) -> EpsilonPaths:
        """Return paths known on an ascending grid of ε (E ≥ 1), from outputs of shape (k, E).

        Between two points with different outputs the break is at their geometric mean.
        """
        between = np.sqrt(epsilons[:-1] * epsilons[1:])
        breaks = np.broadcast_to(between, (words.size, between.size))
        return cls(words, breaks, outputs, float(epsilons[0]), float(epsilons[-1]), exact=False)


def in_epsilon(
    words: IntArray,
    thresholds: FloatArray,
    outputs: IntArray,
    epsilon_of: Callable[[FloatArray], FloatArray],
) -> EpsilonPaths:
    """Return paths from steps in the noise scale t.

    Args:
        words: shape (k,).
        thresholds: ascending in t, padded with +inf, shape (k, P); for t below the first one the
            output is outputs[:, 0].
        outputs: shape (k, P+1), ascending t, padded with the last valid output.
        epsilon_of: decreasing map from a scale t > 0 to the ε with that scale.
    """
    finite = np.isfinite(thresholds)
    breaks = np.where(finite, math.inf, -math.inf)
    positive = finite & (thresholds > 0)  # at t = 0 the break lies at ε = ∞
    # ε falls as t rises: ascending t is descending ε, and is reversed below.
    breaks[positive] = epsilon_of(thresholds[positive])
    # Descending t is ascending ε: the padding comes first and goes to the end. Its outputs
    # repeat the word that holds for the largest t, so a leading −inf break changes nothing.
    flipped = breaks[:, ::-1]
    padding = (~finite).sum(axis=1)
    columns = np.arange(flipped.shape[1])[None, :] + padding[:, None]
    inside = columns < flipped.shape[1]
    moved = np.take_along_axis(flipped, np.minimum(columns, max(flipped.shape[1] - 1, 0)), axis=1)
    moved = np.where(inside, moved, math.inf)
    reversed_outputs = outputs[:, ::-1]
    columns = np.minimum(
        np.arange(reversed_outputs.shape[1])[None, :] + padding[:, None],
        reversed_outputs.shape[1] - 1,
    )
    return EpsilonPaths(words, moved, np.take_along_axis(reversed_outputs, columns, axis=1))
