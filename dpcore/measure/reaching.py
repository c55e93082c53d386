"""How likely one output is, estimated along rays of which some are drawn towards it.

`dpcore.measure.outputs` gives all outputs at once, along rays that favour none: right for sums
over many outputs, blind to one that is rare.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.measure.outputs import outputs_of
from dpcore.measure.probability_intervals import Tally
from dpcore.mechanisms.additive.towards import rays_towards
from dpcore.noise.radial import radius_cdf
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray
    from dpcore.lexicon.ranking import Ranking
    from dpcore.mechanisms.additive.additive import RadialMechanism
    from dpcore.mechanisms.additive.envelope import Steps
    from dpcore.mechanisms.additive.rays import Bundle
    from dpcore.mechanisms.additive.shared import SharedDirections
    from dpcore.mechanisms.mechanism import Mechanism

_PUBLIC_SEED = 0  # of randomness that estimates a law: it protects nothing


def output_mass(
    mechanism: RadialMechanism, steps: Steps, output: int, scales: FloatArray
) -> FloatArray:
    """Probability of an output along each ray, its length integrated out, shape (R, E).

    Args:
        mechanism: whose noise the rays are of.
        steps: the output along each of R rays.
        output: index.
        scales: s(ε), shape (E,).
    """
    count = steps.targets.shape[0]
    edges = np.concatenate(
        (np.zeros((count, 1)), steps.thresholds, np.full((count, 1), np.inf)), axis=1
    )
    # A piece whose edges are equal holds for no length.
    row, column = np.nonzero((steps.targets == output) & (edges[:, :-1] < edges[:, 1:]))
    low, high = edges[row, column], edges[row, column + 1]

    def below(length: FloatArray) -> FloatArray:
        return radius_cdf(mechanism.family, length[:, None] / scales, mechanism.dimension)

    mass = below(high)
    inner = low > 0
    mass[inner] -= below(low[inner])
    total = np.zeros((count, scales.size))
    np.add.at(total, row, mass)  # a ray may meet the output more than once
    return total


def weighed_mass(
    mechanism: RadialMechanism,
    bundle: Bundle,
    steps: Steps,
    ranking: Ranking,
    output: int,
    scales: FloatArray,
    rng: np.random.Generator,
    *,
    kept: bool = True,
) -> tuple[FloatArray, FloatArray]:
    """The mass of an output along plain rays and along rays towards it, as `Tally.of` counts them.

    A block of observations is one plain ray and, if there are as many, one towards the output.

    Args:
        mechanism: whose noise the bundle is of.
        bundle: R plain rays.
        steps: the output along each of them.
        ranking: the targets by distance from the origin of the rays.
        output: index.
        scales: s(ε), shape (E,).
        rng: source of the other rays.
        kept: as for `rays_towards`.

    Returns:
        Weighted mass, shape (R, E), and weights, shape (R,).
    """
    hits = output_mass(mechanism, steps, output, scales)
    # Weighed together by the balance heuristic: each ray by how likely the mixture of plain and
    # aimed rays is to give it (`dpcore.mechanisms.additive.towards`).
    aimed = rays_towards(mechanism, bundle, ranking, output, rng, kept=kept)
    if aimed is None:
        return hits, np.ones(len(hits))
    hits, weights, count = aimed.plain[:, None] * hits, aimed.plain.copy(), aimed.weights.size
    hits[:count] += aimed.weights[:, None] * output_mass(mechanism, aimed.steps, output, scales)
    weights[:count] += aimed.weights
    return hits, weights


def output_tally(
    mechanism: Mechanism,
    word: int,
    output: int,
    epsilons: FloatArray,
    ranking: Ranking,
    shared: SharedDirections,
) -> Tally:
    """P(output | word) at each ε, estimated, with an interval; as `output_blocks`."""
    return Tally.of(*output_blocks(mechanism, word, output, epsilons, ranking, shared))


def output_blocks(
    mechanism: Mechanism,
    word: int,
    output: int,
    epsilons: FloatArray,
    ranking: Ranking,
    shared: SharedDirections,
) -> tuple[FloatArray, FloatArray]:
    """What observations of one output show under a mechanism whose law is estimated.

    The arguments are those of `dpcore.measure.outputs.outputs_of`, and the index of an output.

    Returns:
        Hits and weights of the directions or draws, for `Tally.of`.

    Raises:
        EpsilonError: an ε is not admissible.
    """
    values = mechanism.check_epsilons(epsilons)
    rng = generator(_PUBLIC_SEED, "one output", mechanism.key, word, output)
    if (radial := mechanism.rays) is None:
        # The same draws for every word, as `outputs_of` has them.
        drawn = outputs_of(mechanism, word, values, ranking, shared)
        return drawn.each(drawn.output == output).T, np.ones(drawn.rays)
    bundle = shared.bundle(radial)
    known = radial.rankings(radial.check_words([word]), [ranking])[0]
    steps = radial.steps(rng, bundle.from_word(known, keep=radial.keep), bundle.unit)
    scales = np.array([radial.scale(float(value)) for value in values])
    return weighed_mass(radial, bundle, steps, known, output, scales, rng)
