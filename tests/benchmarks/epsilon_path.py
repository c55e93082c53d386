"""The ε-path of many draws of one word against searching once for each ε.

    python tests/benchmarks/epsilon_path.py [words] [draws] [values of ε]

Both baselines are float32 searches as one would write them with NumPy: a matrix product for each
ε, and one product that all ε share with a pass over its n·draws entries for each. The ε-path is
timed without and with the ranking of the vocabulary (which a page computes once a word).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.neighbours import rank
from dpcore.mechanisms.additive.euclidean import MultivariateLaplace
from dpcore.noise.samplers import directions, radii

REPEATS = 15


def seconds(work: Callable[[], object]) -> float:
    """One run."""
    start = perf_counter()
    work()
    return perf_counter() - start


def product_for_each(lexicon: Lexicon, noise: np.ndarray, epsilons: np.ndarray) -> np.ndarray:
    """argmin_y ‖φ_y‖²/2 − ⟨φ_y, z⟩ with a product of (draws, d) and (d, n) at every ε."""
    vectors = lexicon.vectors
    half = np.einsum("ij,ij->i", vectors, vectors) / 2
    nearest = [
        (half - (vectors[0] + noise / np.float32(e)) @ vectors.T).argmin(axis=1) for e in epsilons
    ]
    return np.stack(nearest, axis=1)


def product_for_all(lexicon: Lexicon, noise: np.ndarray, epsilons: np.ndarray) -> np.ndarray:
    """argmin_y ε·D_y²/2 − a_y from one product; one pass over it for each ε."""
    difference = lexicon.vectors - lexicon.vectors[0]
    half = np.einsum("ij,ij->i", difference, difference) / 2
    reach = noise @ difference.T
    buffer = np.empty_like(reach)
    nearest = [
        np.subtract(half * np.float32(e), reach, out=buffer).argmin(axis=1) for e in epsilons
    ]
    return np.stack(nearest, axis=1)


def compare(n: int, d: int, draws: int, epsilons: np.ndarray) -> None:
    """Print the times of one size, their ratios, and how many outputs differ."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((n, d), dtype=np.float32)
    vectors *= rng.uniform(0.6, 1.4, (n, 1)).astype(np.float32) * np.float32(6 / np.sqrt(d))
    lexicon = Lexicon("benchmark", tuple(f"w{i}" for i in range(n)), vectors)
    mechanism = MultivariateLaplace(lexicon=lexicon)
    words = np.zeros(draws, dtype=np.int64)
    known = rank(vectors, vectors[:1])

    def path() -> np.ndarray:
        paths = mechanism.paths(np.random.default_rng(1), words, rankings=known * draws)
        return paths.at(epsilons)

    def path_and_ranking() -> np.ndarray:
        return mechanism.paths(np.random.default_rng(1), words).at(epsilons)

    def noise() -> np.ndarray:
        again = np.random.default_rng(1)
        unit = directions(again, mechanism.family, draws, d)
        return (unit * radii(again, mechanism.family, draws, d)[:, None]).astype(np.float32)

    work: dict[str, Callable[[], np.ndarray]] = {  # each draws its noise
        "ε-path": path,
        "ε-path with ranking": path_and_ranking,
        "product for each ε": lambda: product_for_each(lexicon, noise(), epsilons),
        "one product, a pass for each ε": lambda: product_for_all(lexicon, noise(), epsilons),
    }
    answers = {name: run() for name, run in work.items()}  # also warms up
    times: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(REPEATS):
        for name, run in work.items():
            times[name].append(seconds(run))
    print(f"n = {n:,}, d = {d}, {draws:,} draws, {epsilons.size} values of ε")
    for name, taken in times.items():
        differ = int((answers[name] != answers["ε-path"]).sum())
        ratio = median(t / p for t, p in zip(taken, times["ε-path"], strict=True))
        print(
            f"  {name:32s} {1e3 * median(taken):8.1f} ms  ×{ratio:5.1f}   "
            f"{differ} of {answers[name].size} outputs differ"
        )


if __name__ == "__main__":
    given = [int(x) for x in sys.argv[1:]] + [20_000, 1_000, 20][len(sys.argv) - 1 :]
    for dimension in (100, 300):
        scale = dimension / 3.0
        compare(given[0], dimension, given[1], np.geomspace(0.3 * scale, 3 * scale, given[2]))
