"""Deniability of an additive mechanism at every ε from one set of noise directions.

The output along a direction is a step function of the length of the noise. Its steps do not
depend on ε, and the product of directions and vocabulary does not depend on the word; both are
computed once. Then

* Nw is averaged over the directions with the radius integrated out (Rao–Blackwell): for a
  direction u it is the mass that the law of the radius puts on the lengths at which the word
  stays, a smooth function of ε, with less variance than counting. At small ε hardly any direction
  lets a word stay; so others are drawn towards each word, and all are weighed together
  (`dpcore.mechanisms.additive.towards`);
* for Sw and the effective number one radius a direction is drawn, which gives R independent runs
  at every ε (the same noise at all of them), and these are counted. To put the Rao–Blackwell
  estimate of the *law* into Σ 1 − (1 − p)^R would be wrong: a word that none of the directions
  reaches has estimated probability 0, so that the sum can never exceed the number of outputs on
  the directions' paths, and is biased downwards wherever Sw is large.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.lexicon.progress import Progress, silent
from dpcore.measure.counting import Counts, inverse
from dpcore.measure.figures import Figures, ranked, shared_mean_error
from dpcore.measure.probability_intervals import MeanTally, Tally
from dpcore.measure.reaching import weighed_mass
from dpcore.mechanisms.additive import rays
from dpcore.noise.radial import radii
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from dpcore.lexicon.ranking import Ranking
    from dpcore.mechanisms.additive.additive import RadialMechanism
    from dpcore.mechanisms.additive.envelope import Steps

_BUNDLE_ENTRIES = 64_000_000  # of the kept product of directions and vocabulary: 256 MB
_COMPARISONS = 16_000_000  # of thresholds and scales at a time: 16 MB


def outputs_at(steps: Steps, radius: FloatArray, scales: FloatArray) -> IntArray:
    """Output of each direction with its radius drawn, at each scale: shape (R, E)."""
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
    """Whether the product of directions and vocabulary is small enough to be kept."""
    return int(bundle.unit.shape[0] * bundle.targets.shape[0]) <= _BUNDLE_ENTRIES


def _steps(
    mechanism: RadialMechanism, bundle: rays.Bundle, ranking: Ranking, rng: np.random.Generator
) -> Steps:
    """Steps from one word along all directions, through the kept product if it is small enough."""
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
    """Figures of words (k,) at all ε (E,) from R directions that the words share.

    Standard errors: of Nw from the spread over directions; of Sw from Efron–Stein (see
    `Counts.sw`), divided by √repetitions. The error of the mean Nw over words takes into account
    that the words share directions; that of the mean Sw is the upper bound for full correlation.

    The arguments are those of `dpcore.measure.protocol.protocol_figures`; R counts directions as
    well, all is repeated `repetitions` times and averaged, and progress is told of every word.
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
            # Drawn after the steps, which may need noise of their own (Vickrey's coin, for one).
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
    # A ray of one repetition weighs in the mean of all of them only this much.
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
