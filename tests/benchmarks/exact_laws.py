"""Exact laws against sampling: ratios within one run, n = 20,000 words in 100 dimensions.

Run from the repository root: python -m tests.benchmarks.exact_laws
"""

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from dpcore.lexicon.neighbours import rank
from dpcore.mechanisms.exponential.tem import TruncatedExponential
from dpcore.mechanisms.gumbel.published import TruncatedGumbel
from dpcore.noise.samplers import standard_gumbel
from tests.mechanisms import lexicons

WORDS, DIMENSION, DRAWS = 20_000, 100, 1_000


def seconds(call: Callable[[], object], repeats: int = 3) -> float:
    """Shortest of several runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Print one line for each measurement."""
    rng = np.random.default_rng(0)
    lexicon = lexicons.cloud(WORDS, DIMENSION)
    rankings = rank(lexicon.vectors, lexicon.vectors[:8])
    tem = TruncatedExponential(lexicon=lexicon)
    epsilons = np.geomspace(0.1, 50.0, 20)
    distance = np.empty(WORDS)
    distance[rankings[0].order] = rankings[0].distances

    law = seconds(lambda: tem.law(0, epsilons, ranking=rankings[0]))
    print(f"TEM law at 20 epsilon: {1e3 * law:.1f} ms")

    def inverse() -> None:
        steps = tem.law(0, epsilons, ranking=rankings[0]).probabilities.cumsum(axis=1)
        for row in steps:
            np.searchsorted(row, row[-1] * rng.random(DRAWS), side="right")

    def gumbel_max() -> None:
        for epsilon in epsilons[:2]:
            scores = np.maximum(-0.5 * epsilon * distance, -tem.cap)
            for _ in range(DRAWS // 100):
                (scores + standard_gumbel(rng, (100, WORDS))).argmax(axis=1)

    fast, plain = seconds(inverse), 10.0 * seconds(gumbel_max, 1)
    print(
        f"TEM {DRAWS} draws at 20 epsilon: inverse CDF {1e3 * fast:.1f} ms, Gumbel-max "
        f"{1e3 * plain:.0f} ms (measured at 2 epsilon, times 10), ratio {plain / fast:.0f}"
    )
    words = np.zeros(100, dtype=np.int64)
    path = seconds(lambda: tem.paths(rng, words, rankings=[rankings[0]] * 100)) / 100
    print(
        f"TEM exact path: {1e3 * path:.2f} ms a draw, against {50 * plain / DRAWS:.2f} ms "
        "for one draw of Gumbel-max at one epsilon"
    )

    gumbel = TruncatedGumbel(lexicon=lexicon)
    low = gumbel.admissible.low
    for factor in (1.001, 2.0, 10.0, 40.0, 100.0, 1e4, 1e7):

        def every(epsilon: float = low * factor) -> object:
            return [gumbel.law(i, [epsilon], ranking=r) for i, r in enumerate(rankings)]

        each = seconds(every, repeats=15) / len(rankings)
        deep = seconds(partial(gumbel.log_law, 0, low * factor, ranking=rankings[0]))
        ratio = lexicon.extent.diameter / gumbel.noise_scale(low * factor)
        print(
            f"truncated Gumbel at {factor:g} times the lowest epsilon (diameter/b = {ratio:.2f}): "
            f"law {1e3 * each:.2f} ms a word, log-law {1e3 * deep:.1f} ms"
        )
    many = rng.integers(0, 20, 500_000)
    took = seconds(lambda: gumbel.sample(rng, many, 2.0 * low))
    print(f"truncated Gumbel: {many.size / took:,.0f} draws a second (500,000 of 20 words)")


if __name__ == "__main__":
    main()
