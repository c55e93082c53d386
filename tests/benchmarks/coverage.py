"""Coverage of the intervals of Nw: python -m tests.benchmarks.coverage [options]

Every word is measured with several seeds at ε of ten magnitudes under every mechanism that adds
noise along rays. Each interval is compared with the mean of the estimates of all other seeds: a
run that is longer by as many times, of rays that the interval has not seen. For every mechanism it
prints the share of intervals that hold the long run, all together and at the worst ε; how many of
them ended at the long run's wrong side, below or above; and the median width, the ratio of the two
ends. The level of the intervals is 95 %.

With `--limit 2500 --words 200 --seeds 10` (the first words of the bundled lexicon; 20,000 intervals
a mechanism) 95.6 % (vickrey) to 97.5 % (laplace) of them held, and 94.3 % at the worst ε of any.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from dpcore.lexicon.catalogue import load
from dpcore.measure.deniability import measure
from dpcore.measure.words import sample
from dpcore.mechanisms.additive.additive import RadialMechanism
from dpcore.mechanisms.registry import MECHANISMS, create
from dpcore.noise.streams import generator


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--lexicon", help="a name or a path (default: ours)")
    options.add_argument("--limit", type=int, help="its first words only")
    options.add_argument("--words", type=int, default=200)
    options.add_argument("--seeds", type=int, default=20)
    options.add_argument("--runs", type=int, default=1000)
    options.add_argument("--mechanisms", help="names, divided by commas (default: all)")
    given = options.parse_args()
    lexicon = load(given.lexicon, limit=given.limit)
    chosen = sample(lexicon, given.words, generator(0, "coverage"))
    names = [kind.short for kind in MECHANISMS.values() if issubclass(kind, RadialMechanism)]
    for name in given.mechanisms.split(",") if given.mechanisms else names:
        mechanism = create(name, lexicon)
        assert isinstance(mechanism, RadialMechanism)
        # From noise a thousand times as long as the largest norm to a tenth of it.
        lengths = mechanism.norm * np.geomspace(1000.0, 0.1, 10)
        epsilons = np.sort(mechanism.epsilon_of(lengths / _length(mechanism)))
        epsilons = epsilons[epsilons > 1e-9]
        started = time.perf_counter()
        shares = [
            measure(mechanism, chosen, epsilons, runs=given.runs, seed=seed).figures
            for seed in range(given.seeds)
        ]
        took = time.perf_counter() - started
        nw, low, high, error = (
            np.stack([getattr(f, field) for f in shares])
            for field in ("nw", "nw_low", "nw_high", "nw_error")
        )
        longer = (nw.sum(axis=0) - nw) / (given.seeds - 1)
        slack = 1e-12
        under, over = longer < low - slack, longer > high + slack
        holds = ~(under | over)
        by_epsilon = holds.mean(axis=(0, 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            width = np.median(high / low, axis=(0, 1))
            sided = (low < 0.01 * high).mean(axis=(0, 1))
            plain = (np.abs(longer - nw) <= 2 * error + slack).mean(axis=(0, 1))
        print(
            f"{name:<20} holds {holds.mean():.4f}  below {over.mean():.4f} above {under.mean():.4f}"
            f"  ({took:.0f} s)"
        )
        for e, epsilon in enumerate(epsilons.tolist()):
            print(
                f"    ε {epsilon:9.3g}  Nw {longer[0, :, e].min():.1e} to "
                f"{longer[0, :, e].max():.1e}  holds {by_epsilon[e]:.3f} (too low "
                f"{over[..., e].mean():.3f}, too high {under[..., e].mean():.3f})  high/low "
                f"{width[e]:.2g}  one-sided {sided[e]:.2f}  ± 2 errors hold {plain[e]:.3f}",
                flush=True,
            )


def _length(mechanism: RadialMechanism) -> float:
    """Median Euclidean length of the noise at scale 1."""
    from dpcore.noise.samplers import radii

    rng = generator(0, "length")
    unit = mechanism.directions(rng, 200)
    return float(
        np.median(
            np.linalg.norm(unit, axis=1) * radii(rng, mechanism.family, 200, mechanism.dimension)
        )
    )


if __name__ == "__main__":
    main()
