"""What one draw a word makes of many words at several ε: for experiments, never for release.

An experiment needs each document at every ε of a grid. Its outputs at different ε may share their
noise, since each alone has the mechanism's law; so the costly part (a matrix product, or the law
of a distinct word) is paid once and not once for each ε. Two columns of the result together give
the words away (`dpcore.mechanisms.path`), and the float32 search may decide a near tie otherwise
than `Mechanism.sample` does: what is released comes from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import Progress, silent
from dpcore.lexicon.ranking import rank
from dpcore.mechanisms.additive.additive import RadialMechanism
from dpcore.mechanisms.bulk.sweep_tem import outputs_by_distance
from dpcore.mechanisms.clipped.trlaplace import TruncatedLaplaceMechanism
from dpcore.mechanisms.exponential.tem import TruncatedExponential
from dpcore.mechanisms.mechanism import BATCH
from dpcore.noise.radial import radii
from dpcore.noise.truncated_laplace import quantile, uniforms

if TYPE_CHECKING:
    from dpcore.mechanisms.law import FloatArray, IntArray
    from dpcore.mechanisms.mechanism import Mechanism

_TOGETHER = 64  # distinct words whose distances are computed at a time


def outputs_at(
    mechanism: Mechanism,
    rng: np.random.Generator,
    words: IntArray | Sequence[int],
    epsilons: FloatArray | Sequence[float],
    progress: Progress = silent,
) -> IntArray:
    """One draw per entry of `words` and its output at each ε.

    Each column has the law of `Mechanism.sample` at its ε, independently over the entries; the
    columns of an entry share their noise.

    Args:
        mechanism: any of the registry.
        rng: source of randomness.
        words: word indices, shape (k,).
        epsilons: in any order, shape (E,).
        progress: called with (stage, done, total).

    Returns:
        Word indices, shape (k, E).

    Raises:
        EpsilonError: an ε is not admissible.
        ParameterError: an index is not of the vocabulary.
    """
    entries, values = mechanism.check_words(words), mechanism.check_epsilons(epsilons)
    if not entries.size:
        return np.empty((0, values.size), dtype=np.int64)
    if isinstance(mechanism, TruncatedExponential) and mechanism.metric == Metric.EUCLIDEAN:
        return outputs_by_distance(mechanism, rng, entries, values, progress)
    if mechanism.exact_law:
        return _by_law(mechanism, rng, entries, values, progress)
    if isinstance(mechanism, RadialMechanism) and _plain_nearest(mechanism):
        return _by_product(mechanism, rng, entries, values, progress)
    if isinstance(mechanism, TruncatedLaplaceMechanism):
        return _by_noise(mechanism, rng, entries, values, progress)
    order = np.argsort(values, kind="stable")
    found = np.empty((entries.size, values.size), dtype=np.int64)
    for start in range(0, entries.size, BATCH):
        part = slice(start, start + BATCH)
        paths = mechanism.paths(rng, entries[part], epsilons=values[order])
        found[part, order] = paths.at(values[order])
        progress(mechanism.short, min(start + BATCH, entries.size), entries.size)
    return found


def _plain_nearest(mechanism: RadialMechanism) -> bool:
    """Whether the output is the nearest target and nothing else."""
    kind = type(mechanism)
    return (
        kind.keep == 1
        and kind.steps is RadialMechanism.steps
        and kind.choose is RadialMechanism.choose
    )


def _by_law(
    mechanism: Mechanism,
    rng: np.random.Generator,
    entries: IntArray,
    epsilons: FloatArray,
    progress: Progress,
) -> IntArray:
    """Inversion of the exact law, one uniform number an entry, one law a distinct word."""
    uniform = rng.random(entries.size)
    found = np.empty((entries.size, epsilons.size), dtype=np.int64)
    distinct, inverse, counts = np.unique(entries, return_inverse=True, return_counts=True)
    places = np.split(np.argsort(inverse, kind="stable"), np.cumsum(counts)[:-1])
    vectors = mechanism.lexicon.vectors
    for start in range(0, distinct.size, _TOGETHER):
        part = slice(start, start + _TOGETHER)
        rankings = rank(vectors, vectors[distinct[part]])
        for word, members, ranking in zip(
            distinct[part].tolist(), places[part], rankings, strict=True
        ):
            law = mechanism.law(word, epsilons, ranking=ranking)
            for e, probabilities in enumerate(law.probabilities):
                ladder = np.cumsum(probabilities)
                # A product that rounds up to the last step must not leave the vocabulary.
                rung = np.searchsorted(ladder, uniform[members] * ladder[-1], side="right")
                found[members, e] = law.outputs[np.minimum(rung, ladder.size - 1)]
        progress(mechanism.short, min(start + _TOGETHER, distinct.size), distinct.size)
    return found


def _by_product(
    mechanism: RadialMechanism,
    rng: np.random.Generator,
    entries: IntArray,
    epsilons: FloatArray,
    progress: Progress,
) -> IntArray:
    """argmin_y ‖τ_y‖²/2 − ⟨o_w, τ_y⟩ − s(ε)·r·⟨u, τ_y⟩ with both products shared by all ε."""
    targets, origins = mechanism.targets, mechanism.origins
    half = 0.5 * np.einsum("ij,ij->i", targets, targets)
    scales = np.array([mechanism.scale(float(value)) for value in epsilons])
    found = np.empty((entries.size, epsilons.size), dtype=np.int64)
    lines = np.empty((2, len(targets)), dtype=np.float32)  # what stays, and what the noise moves
    scores = np.empty((epsilons.size, len(targets)), dtype=np.float32)
    order = np.argsort(entries, kind="stable")  # equal words together share a product
    for start in range(0, entries.size, BATCH):
        places = order[start : start + BATCH]
        part = entries[places]
        unit = mechanism.directions(rng, part.size).astype(np.float32)
        sizes = radii(rng, mechanism.family, part.size, mechanism.dimension)[:, None] * scales
        reach = unit @ targets.T
        distinct, back = np.unique(part, return_inverse=True)
        still = half - origins[distinct] @ targets.T
        # A common factor keeps the numbers in the range of float32 at the smallest ε.
        factors = np.stack((1.0 / np.maximum(sizes, 1.0), -np.minimum(sizes, 1.0)), axis=2)
        factors32, last = factors.astype(np.float32), -1
        for i, row in enumerate(back.tolist()):
            if row != last:
                lines[0], last = still[row], row
            lines[1] = reach[i]
            np.matmul(factors32[i], lines, out=scores)
            found[places[i]] = scores.argmin(axis=1)
        progress(mechanism.short, min(start + BATCH, entries.size), entries.size)
    return found


def _by_noise(
    mechanism: TruncatedLaplaceMechanism,
    rng: np.random.Generator,
    entries: IntArray,
    epsilons: FloatArray,
    progress: Progress,
) -> IntArray:
    """The noise at each ε from the same uniforms: its rate and cut move with ε."""
    targets, origins = mechanism.targets, mechanism.origins
    half = 0.5 * np.einsum("ij,ij->i", targets, targets)
    noises = [mechanism.truncation(float(value)) for value in epsilons]
    found = np.empty((entries.size, epsilons.size), dtype=np.int64)
    for start in range(0, entries.size, BATCH):
        part = entries[start : start + BATCH]
        u = uniforms(rng, part.size, mechanism.dimension)
        for e, noise in enumerate(noises):
            noisy = (origins[part] + quantile(u, noise.alpha, noise.mass)).astype(np.float32)
            found[start : start + part.size, e] = (half - noisy @ targets.T).argmin(axis=1)
        progress(mechanism.short, min(start + BATCH, entries.size), entries.size)
    return found
