"""Deniability of an additive mechanism at every ε from one set of noise directions.

The output along a direction is a step function of the length of the noise. Its steps do not depend
on ε, and the product of directions and vocabulary does not depend on the word; both are computed
once. Then

* Nw is averaged over the directions with the radius integrated out (Rao–Blackwell): for a direction
  u it is the mass that the law of the radius puts on the lengths at which the word stays, a smooth
  function of ε, with less variance than counting. At small ε hardly any direction lets a word stay;
  so others are drawn towards each word, and all are weighted together
  (`dpcore.mechanisms.additive.rays`);
* for Sw and the effective number one radius a direction is drawn, which gives R independent runs at
  every ε (the same noise at all of them), and these are counted. To put the Rao–Blackwell estimate
  of the *law* into Σ 1 − (1 − p)^R would be wrong: a word that none of the directions reaches has
  estimated probability 0, so that the sum can never exceed the number of outputs on the directions'
  paths, and is biased downwards wherever Sw is large.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.lexicon.neighbours import Ranking
from dpcore.lexicon.progress import Progress, silent
from dpcore.measure.counting import Counts, inverse
from dpcore.measure.figures import Figures, ranked, shared_mean_error
from dpcore.measure.probability_intervals import MeanTally, Tally
from dpcore.mechanisms.additive import rays
from dpcore.mechanisms.additive.additive import RadialMechanism, SharedDirections
from dpcore.mechanisms.additive.rays import Bundle, Steps, rays_towards
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.samplers import radii, radius_cdf
from dpcore.noise.streams import generator

# Outputs of one word with their masses, kept separately by independent noise direction or draw.
#
# An estimate from directions or draws is a mean over independent ones. Kept separately, they give a
# standard error to any expectation over the output, and may be divided into independent halves.


_PUBLIC_SEED = 0  # seeds estimates of a law, which protect nothing


@dataclass(frozen=True, eq=False)
class Outputs:
    """Masses of the outputs of one word, P entries ordered by ray.

    Attributes:
        word: index of the input.
        epsilons: shape (E,).
        rays: N, number of independent directions or draws; 1 if exact.
        ray: of each entry, 0..N−1, ascending, shape (P,).
        output: index of the output of each entry, shape (P,).
        mass: its probability given the ray, shape (E, P); over the entries of a ray it sums to 1.
        exact: True if the one ray is the law itself.
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
        """First entry of each ray; every ray has at least one."""
        return np.searchsorted(self.ray, np.arange(self.rays))

    def each(self, values: FloatArray | NDArray[np.bool_]) -> FloatArray:
        """Return the expectation given each ray of a function of the output, shape (E, N).

        Args:
            values: of each entry, shape (P,) or (E, P).
        """
        return np.asarray(np.add.reduceat(self.mass * values, self._starts, axis=1))

    def mean(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the expectation of a function of the output and its standard error, (E,) each.

        Args:
            values: of each entry, shape (P,).
        """
        if self.exact:
            return self.mass @ values, np.zeros(self.epsilons.size)
        return mean_of(self.each(values))

    def columns(self, outputs: IntArray) -> IntArray:
        """Return the column of each entry in a table of ascending outputs that contains all."""
        return np.searchsorted(outputs, self.output)


def mean_of(each: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean over independent rays and its standard error, (E, N) to (E,) each."""
    count = each.shape[1]
    return each.mean(axis=1), each.std(axis=1, ddof=1) / np.sqrt(count)


def outputs_of(
    mechanism: Mechanism,
    word: int,
    epsilons: FloatArray,
    ranking: Ranking,
    shared: SharedDirections,
) -> Outputs:
    """Return the outputs of one word: exact, else along shared directions, else from draws.

    Every word gets the same directions (the same draws of the same stream), so that the effect of
    the noise cancels where two words are compared.

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
    """Integrate out the radius along each direction (Rao–Blackwell)."""
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
    """Draw one output a draw and ε, the same draws at every ε."""
    order = np.argsort(epsilons, kind="stable")
    words = np.full(draws, word, dtype=np.int64)
    # Paths are followed along ascending ε; the columns go back to the requested order.
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


# Probability of one output, estimated along rays, some of which are drawn towards it.
#
# `outputs_of` gives all outputs at once, along rays that favour none: suited to sums over many
# outputs, blind to one that is rare.


_PUBLIC_SEED_REACHING = 0  # seeds estimates of a law, which protect nothing


def output_mass(
    mechanism: RadialMechanism, steps: Steps, output: int, scales: FloatArray
) -> FloatArray:
    """Return the probability of an output along each ray, its length integrated out, (R, E).

    Args:
        mechanism: its noise is that of the rays.
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
    """Return the mass of an output along plain rays and rays towards it, for `Tally.of`.

    A block of observations is one plain ray and, if there are as many, one towards the output.

    Args:
        mechanism: its noise is that of the bundle.
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
    # Weighted by the balance heuristic: each ray by its probability under the mixture of plain and
    # aimed rays (`dpcore.mechanisms.additive.rays`).
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
    """Estimate P(output | word) at each ε, with an interval; arguments as `output_blocks`."""
    return Tally.of(*output_blocks(mechanism, word, output, epsilons, ranking, shared))


def output_blocks(
    mechanism: Mechanism,
    word: int,
    output: int,
    epsilons: FloatArray,
    ranking: Ranking,
    shared: SharedDirections,
) -> tuple[FloatArray, FloatArray]:
    """Return observations of one output under a mechanism whose law is estimated.

    The arguments are those of `dpcore.measure.directions.outputs_of`, and the index of an output.

    Returns:
        Hits and weights of the directions or draws, for `Tally.of`.

    Raises:
        EpsilonError: an ε is not admissible.
    """
    values = mechanism.check_epsilons(epsilons)
    rng = generator(_PUBLIC_SEED_REACHING, "one output", mechanism.key, word, output)
    if (radial := mechanism.rays) is None:
        # The same draws for every word, as in `outputs_of`.
        drawn = outputs_of(mechanism, word, values, ranking, shared)
        return drawn.each(drawn.output == output).T, np.ones(drawn.rays)
    bundle = shared.bundle(radial)
    known = radial.rankings(radial.check_words([word]), [ranking])[0]
    steps = radial.steps(rng, bundle.from_word(known, keep=radial.keep), bundle.unit)
    scales = np.array([radial.scale(float(value)) for value in values])
    return weighed_mass(radial, bundle, steps, known, output, scales, rng)


_BUNDLE_ENTRIES = 64_000_000  # entries of the kept product of directions and vocabulary: 256 MB
_COMPARISONS = 16_000_000  # comparisons of thresholds and scales at a time: 16 MB


def outputs_at(steps: Steps, radius: FloatArray, scales: FloatArray) -> IntArray:
    """Return the output of each direction with its radius drawn, at each scale: shape (R, E)."""
    # The output at scale s is that of length s·r; in each direction thresholds ascend, so the
    # number of those not above it is the place of the output.
    limits = steps.thresholds / radius[:, None]
    outputs = np.empty((radius.size, scales.size), dtype=np.int64)
    step = max(1, _COMPARISONS // max(limits.size, 1))
    for start in range(0, scales.size, step):
        part = slice(start, start + step)
        position = (limits[:, :, None] <= scales[part]).sum(axis=1)
        outputs[:, part] = np.take_along_axis(steps.targets, position, axis=1)
    return outputs


def _fits(bundle: rays.Bundle) -> bool:
    """Return True if the product of directions and vocabulary is small enough to keep."""
    return int(bundle.unit.shape[0] * bundle.targets.shape[0]) <= _BUNDLE_ENTRIES


def _steps(
    mechanism: RadialMechanism, bundle: rays.Bundle, ranking: Ranking, rng: np.random.Generator
) -> Steps:
    """Return steps from one word along all directions, by the kept product if it fits."""
    if _fits(bundle):
        known = bundle.from_word(ranking, keep=mechanism.keep)
    else:
        known = rays.from_word(
            bundle.unit, bundle.targets, ranking, keep=mechanism.keep, norm=mechanism.norm
        )
    return mechanism.steps(rng, known, bundle.unit)


def direction_figures(
    mechanism: RadialMechanism,
    words: IntArray,
    weights: FloatArray,
    epsilons: FloatArray,
    runs: int,
    seed: int | None,
    repetitions: int = 1,
    progress: Progress = silent,
) -> Figures:
    """Measure figures of words (k,) at all ε (E,) from R directions that the words share.

    Standard errors: of Nw from the spread over directions; of Sw from Efron–Stein (see
    `Counts.sw`), divided by √repetitions. The error of the mean Nw over words takes into account
    that the words share directions; that of the mean Sw is the upper bound for full correlation.

    The arguments are those of `dpcore.measure.deniability.protocol_figures`; R counts directions as
    well, all is repeated `repetitions` times and averaged, and progress is called for every word.
    """
    scales = np.array([mechanism.scale(float(epsilon)) for epsilon in epsilons])
    shape = (words.size, epsilons.size)
    sw, singletons, pairs, pairs_variance = (np.zeros(shape) for _ in range(4))
    tallies: list[list[Tally]] = [[] for _ in words]
    means: list[tuple[Tally, FloatArray]] = []
    share = weights / weights.sum()
    for repetition in range(repetitions):
        bundle = mechanism.bundle(generator(seed, "directions", repetition), runs)
        mean = MeanTally(runs, epsilons.size)
        origins = ranked(words, len(mechanism.lexicon), mechanism.rankings)
        for i, (word, ranking) in enumerate(origins):
            rng = generator(seed, "radii", mechanism.key, repetition, word)
            steps = _steps(mechanism, bundle, ranking, rng)
            # Drawn after the steps, which may draw other noise (for example Vickrey's coin).
            radius = radii(rng, mechanism.family, runs, mechanism.dimension)
            stays = weighed_mass(
                mechanism, bundle, steps, ranking, word, scales, rng, kept=_fits(bundle)
            )
            tallies[i].append(Tally.of(*stays))
            mean.add(float(share[i]), *stays, tallies[i][-1])
            counts = Counts.of(outputs_at(steps, radius, scales), word)
            sw[i] += counts.distinct
            singletons[i] += counts.singletons
            agreement, variance = counts.agreement()
            pairs[i] += agreement
            pairs_variance[i] += variance
            progress(mechanism.short, repetition * words.size + i + 1, repetitions * words.size)
        means.append(mean.tally())
    nw = Tally.stacked([Tally.pooled(of_word) for of_word in tallies])
    nw_mean = Tally.pooled([tally for tally, _ in means])
    nw_low, nw_high = nw.interval()
    # The weight of a ray of one repetition in the mean of all repetitions.
    unseen = np.max([unseen for _, unseen in means], axis=0) / repetitions
    nw_mean_low, nw_mean_high = nw_mean.interval(unseen)
    # √(Σ of the variances)/repetitions, each variance at most the number of singletons.
    sw_error = np.sqrt(singletons) / repetitions
    effective, effective_error = inverse(pairs / repetitions, pairs_variance / repetitions**2)
    detail = (
        f"Rao–Blackwell over {runs * repetitions:,} shared directions and others towards each "
        f"word; Sw counted in {runs:,} runs"
    )
    return Figures(
        nw=nw.value,
        sw=sw / repetitions,
        effective=effective,
        nw_error=nw.error,
        nw_low=nw_low,
        nw_high=nw_high,
        sw_error=sw_error,
        effective_error=effective_error,
        nw_mean_error=nw_mean.error,
        nw_mean_low=nw_mean_low,
        nw_mean_high=nw_mean_high,
        sw_mean_error=shared_mean_error(sw_error, weights),
        numerical_error=0.0,
        detail=detail + (f", mean of {repetitions} repetitions" if repetitions > 1 else ""),
    )
