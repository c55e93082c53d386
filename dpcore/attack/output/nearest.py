"""The nearest-neighbour attacker: for mechanisms whose law cannot be computed.

It guesses the released word itself or, if it knows that only some words are possible, the one of
them that is nearest to it. Bayes' attacker does at least as well, so its success is a lower bound
of what leaks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.lexicon.metric import distances
from dpcore.lexicon.progress import Progress, silent
from dpcore.lexicon.ranking import rank
from dpcore.limits import MAX_ATTACK_PRIOR_WORDS
from dpcore.measure.outputs import outputs_of
from dpcore.measure.probability_intervals import MeanTally, Tally
from dpcore.measure.reaching import output_blocks
from dpcore.measure.summary import STANDARD_ERRORS
from dpcore.mechanisms.additive.shared import SharedDirections
from dpcore.mechanisms.law import Effort
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from dpcore.attack.output.prior import Prior
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.mechanism import Mechanism


_DIRECTIONS = 200


@dataclass(frozen=True, eq=False)
class NearestSuccess:
    """How often the nearest-neighbour attacker is right; arrays of shape (E,).

    Attributes:
        epsilons: shape (E,).
        value: the mean over words, estimated unless `exact`.
        error: its standard error: of the noise, and of the drawing of words where they are drawn.
        low: lower end of an interval of level 95 % for that mean, and the drawing of words.
        high: upper end.
        words: words that were tried.
        drawn: whether they were drawn from the prior; else every possible word was tried.
        exact: whether the laws are exact (then an error is of the drawing alone).
        detail: how laws were found.
    """

    epsilons: FloatArray
    value: FloatArray
    error: FloatArray
    low: FloatArray
    high: FloatArray
    words: int
    drawn: bool
    exact: bool
    detail: str


def nearest_guess(lexicon: Lexicon, output: int, candidates: Sequence[int] | IntArray) -> int:
    """The candidate nearest to a released word, of equally near ones the lowest index."""
    words = np.unique(np.asarray(candidates, dtype=np.int64))
    if not words.size:
        raise ParameterError("the attacker needs at least one possible word")
    far = distances(lexicon.vectors[words], lexicon.vectors[[output]])[0]
    return int(words[far.argmin()])


def nearest_success(
    mechanism: Mechanism,
    prior: Prior,
    epsilons: FloatArray | Sequence[float],
    *,
    words: int = 40,
    seed: int = 0,
    progress: Progress = silent,
) -> NearestSuccess:
    """Try the attacker on words of the prior.

    With at most `limits.MAX_ATTACK_PRIOR_WORDS` possible words all are tried, and the attacker
    guesses among them; else `words` are drawn and the attacker guesses what was released.

    Args:
        mechanism: any.
        prior: of the words; the attacker knows which are possible, not how likely.
        epsilons: admissible, shape (E,).
        words: to draw, at least 2.
        seed: of the drawing.
        progress: called with ("attacks", done, all).

    Raises:
        ParameterError: `words` is out of range.
        EpsilonError: an ε is not admissible.
    """
    values = mechanism.check_epsilons(epsilons)
    lexicon = mechanism.lexicon
    listed = prior.support.size <= MAX_ATTACK_PRIOR_WORDS
    if not 2 <= words <= MAX_ATTACK_PRIOR_WORDS:
        raise ParameterError(f"words to draw must be 2 to {MAX_ATTACK_PRIOR_WORDS}, got {words}")
    if listed:
        tried, weights = prior.support, prior.probability[prior.support]
    else:
        drawn = prior.draw(generator(seed, "nearest attack"), words)
        tried, counts = np.unique(drawn, return_counts=True)
        weights = counts / words
    shared = SharedDirections(Effort(_DIRECTIONS))
    right = np.empty((tried.size, values.size))
    counted: MeanTally | None = None
    detail = ""
    for i, (word, ranking) in enumerate(
        zip(tried.tolist(), rank(lexicon.vectors, lexicon.vectors[tried]), strict=True)
    ):
        if mechanism.exact_law or listed:
            outputs = outputs_of(mechanism, word, values, ranking, shared)
            guess = _guesses(lexicon, outputs.output, tried) if listed else outputs.output
            hits = outputs.each(guess == word).T
            blocks = np.ones(outputs.rays)
            detail = outputs.detail
        else:
            hits, blocks = output_blocks(mechanism, word, word, values, ranking, shared)
            detail = f"{len(blocks):,} directions or draws, and others towards each word"
        if mechanism.exact_law:
            right[i] = hits[0]
        else:
            tally = Tally.of(hits, blocks)
            right[i] = tally.value
            counted = counted or MeanTally(blocks.size, values.size)
            counted.add(float(weights[i]), hits, blocks, tally)
        progress("attacks", i + 1, tried.size)
    mean = weights @ right
    error, low, high = np.zeros(mean.shape), mean, mean
    if counted is not None:
        noise, unseen = counted.tally()
        error, (low, high) = noise.error, noise.interval(unseen)
    if not listed:
        # Of the mean of `words` independent words. Noise and drawing are independent of each
        # other, so their squares add up.
        spread = np.sqrt((weights @ np.square(right - mean)) / max(words - 1, 1))
        error = np.hypot(error, spread)
        low = np.maximum(mean - np.hypot(mean - low, STANDARD_ERRORS * spread), 0.0)
        high = np.minimum(mean + np.hypot(high - mean, STANDARD_ERRORS * spread), 1.0)
    exact = mechanism.exact_law
    return NearestSuccess(
        values, mean, error, low, high, int(tried.size), not listed, exact, detail
    )  # fmt: skip


def _guesses(lexicon: Lexicon, outputs: IntArray, candidates: IntArray) -> IntArray:
    """`nearest_guess` for many outputs."""
    distinct, places = np.unique(outputs, return_inverse=True)
    best = np.empty(distinct.size, dtype=np.int64)
    step = max(1, math.floor(2**22 / candidates.size))
    for start in range(0, distinct.size, step):
        part = distinct[start : start + step]
        far = distances(lexicon.vectors[candidates], lexicon.vectors[part])
        best[start : start + step] = candidates[far.argmin(axis=1)]
    return best[places]
