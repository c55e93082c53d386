"""The outputs of one word with their masses, kept apart by independent noise direction or draw.

What is estimated from directions or draws is a mean over independent ones. Kept apart, they give a
standard error to any expectation over the output, and may be divided into independent halves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dpcore.noise.radial import radius_cdf
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcore.arrays import FloatArray, IntArray
    from dpcore.lexicon.ranking import Ranking
    from dpcore.mechanisms.additive.additive import RadialMechanism
    from dpcore.mechanisms.additive.envelope import Steps
    from dpcore.mechanisms.additive.shared import SharedDirections
    from dpcore.mechanisms.mechanism import Mechanism

_PUBLIC_SEED = 0  # of randomness that estimates a law: it protects nothing


@dataclass(frozen=True, eq=False)
class Outputs:
    """Masses of the outputs of one word, P entries ordered by ray.

    Attributes:
        word: index of the input.
        epsilons: shape (E,).
        rays: N, how many independent directions or draws; 1 if exact.
        ray: of each entry, 0..N−1, ascending, shape (P,).
        output: index of the output of each entry, shape (P,).
        mass: its probability given the ray, shape (E, P); over the entries of a ray it sums to 1.
        exact: whether the one ray is the law itself.
        detail: closed form, quadrature, directions, draws.
    """

    word: int
    epsilons: FloatArray
    rays: int
    ray: IntArray
    output: IntArray
    mass: FloatArray
    exact: bool
    detail: str

    @cached_property
    def _starts(self) -> IntArray:
        """The first entry of each ray; every ray has at least one."""
        return np.searchsorted(self.ray, np.arange(self.rays))

    def each(self, values: FloatArray | NDArray[np.bool_]) -> FloatArray:
        """Expectation given each ray of a function of the output, shape (E, N).

        Args:
            values: of each entry, shape (P,) or (E, P).
        """
        return np.asarray(np.add.reduceat(self.mass * values, self._starts, axis=1))

    def mean(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Expectation of a function of the output and its standard error, shape (E,) each.

        Args:
            values: of each entry, shape (P,).
        """
        if self.exact:
            return self.mass @ values, np.zeros(self.epsilons.size)
        return mean_of(self.each(values))

    def columns(self, outputs: IntArray) -> IntArray:
        """The column of each entry in a table of ascending outputs that holds all of them."""
        return np.searchsorted(outputs, self.output)


def mean_of(each: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean over independent rays and its standard error, (E, N) to (E,) each."""
    count = each.shape[1]
    return each.mean(axis=1), each.std(axis=1, ddof=1) / np.sqrt(count)


def outputs_of(
    mechanism: Mechanism,
    word: int,
    epsilons: FloatArray,
    ranking: Ranking,
    shared: SharedDirections,
) -> Outputs:
    """The outputs of one word: exact, else along shared directions, else from draws.

    Every word gets the same directions (the same draws of the same stream), so that what is due
    to the noise cancels where two words are compared.

    Args:
        mechanism: over the lexicon of the ranking.
        word: index.
        epsilons: admissible, shape (E,).
        ranking: the lexicon by Euclidean distance from the word.
        shared: public directions, and how many.

    Raises:
        EpsilonError: an ε is not admissible.
    """
    values = mechanism.check_epsilons(epsilons)
    if mechanism.exact_law:
        law = mechanism.law(word, values, ranking=ranking)
        ray = np.zeros(law.outputs.size, dtype=np.int64)
        return Outputs(word, values, 1, ray, law.outputs, law.probabilities, True, law.method)
    rng = generator(_PUBLIC_SEED, "law", mechanism.key)
    if (radial := mechanism.rays) is not None:
        bundle = shared.bundle(radial)
        known = radial.rankings(radial.check_words([word]), [ranking])[0]
        steps = radial.steps(rng, bundle.from_word(known, keep=radial.keep), bundle.unit)
        return _along(radial, word, values, steps)
    return _drawn(mechanism, word, values, shared.effort.directions, rng)


def _along(mechanism: RadialMechanism, word: int, epsilons: FloatArray, steps: Steps) -> Outputs:
    """The radius integrated out along each direction (Rao–Blackwell)."""
    count, width = steps.targets.shape
    edges = np.concatenate((steps.thresholds, np.full((count, 1), np.inf)), axis=1)
    lower = np.concatenate((np.zeros((count, 1)), steps.thresholds), axis=1)
    ray, place = np.nonzero(lower < edges)  # the rest is padding, or holds for no length
    # below[…, j] is P(length < edge j), so an output has the mass between its two edges.
    below = np.empty((epsilons.size, count, width + 1))
    below[:, :, 0], below[:, :, -1] = 0.0, 1.0
    for e, epsilon in enumerate(epsilons.tolist()):
        scaled = steps.thresholds / mechanism.scale(epsilon)
        below[e, :, 1:-1] = radius_cdf(mechanism.family, scaled, mechanism.dimension)
    mass = below[:, ray, place + 1] - below[:, ray, place]
    detail = f"Rao–Blackwell over {count:,} directions"
    return Outputs(word, epsilons, count, ray, steps.targets[ray, place], mass, False, detail)


def _drawn(
    mechanism: Mechanism, word: int, epsilons: FloatArray, draws: int, rng: np.random.Generator
) -> Outputs:
    """One output a draw and ε, the same draws at every ε."""
    order = np.argsort(epsilons, kind="stable")
    words = np.full(draws, word, dtype=np.int64)
    # Paths are followed along ascending ε; the columns go back to the order asked for.
    drawn = np.empty((draws, epsilons.size), dtype=np.int64)
    paths = mechanism.paths(rng, words, epsilons=epsilons[order])
    drawn[:, order] = paths.at(epsilons[order])
    size = len(mechanism.lexicon)
    # One number a pair of draw and output, in the order of the draws.
    key = np.arange(draws)[:, None] * np.int64(size) + drawn
    entries, column = np.unique(key, return_inverse=True)
    mass = np.zeros((epsilons.size, entries.size))
    mass[np.arange(epsilons.size), column.reshape(drawn.shape)] = 1.0
    ray, output = np.divmod(entries, size)
    return Outputs(word, epsilons, draws, ray, output, mass, False, f"{draws:,} draws")
