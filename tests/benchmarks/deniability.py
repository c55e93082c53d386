"""Nw and Sw on the whole axis of ε against searching again for every ε.

    python tests/benchmarks/deniability.py [words of the vocabulary] [dimension]

100 words, 1,000 runs, 40 values of ε. The baselines search as one would with NumPy in float32,
with the same draws: a matrix product for each word and ε; and one product for each word, with a
pass over its entries for each ε. They are timed on few words and multiplied up, which is said.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.deniability import measure
from dpcore.measure.density import neighbourhood
from dpcore.measure.summary import summarise
from dpcore.measure.words import sample
from dpcore.mechanisms.registry import create
from dpcore.noise.samplers import directions, radii

WORDS, RUNS, POINTS, TIMED = 100, 1_000, 40, 2


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Median of several runs."""
    taken = []
    for _ in range(repeats):
        start = perf_counter()
        work()
        taken.append(perf_counter() - start)
    return median(taken)


def figures(outputs: np.ndarray, word: int) -> tuple[float, int]:
    """Nw and Sw of R outputs."""
    return float((outputs == word).mean()), int(np.unique(outputs).size)


def search_each(lexicon: Lexicon, word: int, noise: np.ndarray, epsilons: np.ndarray) -> np.ndarray:
    """Nw and Sw by a product of (R, d) and (d, n) at every ε."""
    vectors = lexicon.vectors
    half = np.einsum("ij,ij->i", vectors, vectors) / 2
    return np.array(
        [
            figures((half - (vectors[word] + noise / np.float32(e)) @ vectors.T).argmin(1), word)
            for e in epsilons
        ]
    )


def search_once(lexicon: Lexicon, word: int, noise: np.ndarray, epsilons: np.ndarray) -> np.ndarray:
    """Nw and Sw by one product and a pass over it for every ε."""
    difference = lexicon.vectors - lexicon.vectors[word]
    half = np.einsum("ij,ij->i", difference, difference) / 2
    reach = noise @ difference.T
    buffer = np.empty_like(reach)
    return np.array(
        [
            figures(np.subtract(half * np.float32(e), reach, out=buffer).argmin(1), word)
            for e in epsilons
        ]
    )


def main(n: int, d: int) -> None:
    """Print times and ratios."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((n, d), dtype=np.float32)
    vectors *= rng.uniform(0.6, 1.4, (n, 1)).astype(np.float32) * np.float32(6 / np.sqrt(d))
    lexicon = Lexicon("benchmark", tuple(f"w{i}" for i in range(n)), vectors)
    chosen = sample(lexicon, WORDS, rng)
    madlib: Any = create("madlib", lexicon)
    epsilons = np.geomspace(0.02 * d, 0.4 * d, POINTS)
    print(f"n = {n:,}, d = {d}, {WORDS} words, {RUNS:,} runs, {POINTS} values of ε")

    here = seconds(lambda: measure(madlib, chosen, epsilons, runs=RUNS))
    print(f"  madlib, one set of directions        {here:8.2f} s")
    unit = directions(rng, madlib.family, RUNS, d)
    noise = (unit * radii(rng, madlib.family, RUNS, d)[:, None]).astype(np.float32)
    few = chosen.words[:TIMED].tolist()
    for name, search in (
        ("a product for each ε", search_each),
        ("one product a word", search_once),
    ):

        def searched(search: Callable[..., Any] = search) -> object:
            return [search(lexicon, w, noise, epsilons) for w in few]

        taken = seconds(searched, 1)
        taken *= WORDS / TIMED
        print(f"  {name:36s} {taken:8.2f} s  ×{taken / here:.0f}  (from {TIMED} words)")
    mine = measure(madlib, chosen, epsilons, runs=RUNS).figures
    plain = search_once(lexicon, few[0], noise, epsilons)
    gap = np.abs(plain[:, 0] - mine.nw[0]).max()
    print(f"  largest difference of Nw of one word  {gap:.3f} (two sets of noise)")

    for key in ("tem", "truncated-gumbel"):
        mechanism = create(key, lexicon)
        low = mechanism.admissible.low
        grid = np.geomspace(max(1.01 * low, 0.1), max(1e6 * low, 50.0), POINTS)
        taken = seconds(partial(measure, mechanism, chosen, grid, runs=RUNS), 1)
        curve = summarise(measure(mechanism, chosen, grid[[0, -1]], runs=RUNS), "nw").mean
        once = seconds(
            partial(measure, mechanism, chosen, grid[[POINTS // 2]], runs=RUNS, method="protocol"),
            1,
        )
        print(
            f"  {key}, exact: {taken:.2f} s (mean Nw {curve[0]:.3f} to {curve[1]:.3f}); the "
            f"protocol {once * POINTS:.1f} s, ×{once * POINTS / taken:.0f} (from one ε)"
        )
    single = seconds(lambda: neighbourhood(lexicon, 0, 20))
    print(f"  the 20 neighbours of one word, without a table: {1e3 * single:.1f} ms")


if __name__ == "__main__":
    given = [int(x) for x in sys.argv[1:]] + [20_000, 300][len(sys.argv) - 1 :]
    main(*given)
