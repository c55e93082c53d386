"""Products of 8-bit whole numbers for Madlib's search, against those of float32.

    python tests/benchmarks/eight_bits.py [rows]

Madlib looks for the word nearest to a noisy vector: one product of the noisy vectors with all words
decides nearly all of the time. Rounded to 8 bits the product is a screen: what each score may be
off by follows from the lengths of the two vectors and of their roundings (Cauchy and Schwarz), and
the words within twice that of the best are compared exactly. Printed are seconds of one thread for
the product alone and for the whole search, the ratio to float32 in the same run, how many words are
left to compare, and whether the answers agree. NumPy has no such product; torch has one, under a
private name (`torch._int_mm`).

On two cores with AVX-512 VNNI, 512 rows: the product takes half to two thirds of the time and 3 to
39 of 25,000 words are left, but with rounding, scaling and the screen the search takes ×1.05 to
×1.1 of the time of float32. So `privatize` keeps float32.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

EPSILONS = (6.0, 10.0, 20.0)


def best(work: Callable[[], Any]) -> tuple[float, Any]:
    """The least seconds of five calls, and what the last one gave."""
    times = []
    for _ in range(6):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times[1:]), result


def main(rows: int) -> None:
    """Print one line for each ε."""
    import numpy as np
    import torch

    from dpcore.lexicon.catalogue import load
    from dpcore.noise.streams import generator

    torch.set_num_threads(1)
    lexicon = load(None)
    vectors = lexicon.vectors
    n, d = vectors.shape
    columns = 8 * -(-d // 8)  # torch wants a multiple of eight
    unit = float(np.abs(vectors).max()) / 127
    small = np.zeros((columns, n), dtype=np.int8)
    small[:d] = np.rint(vectors.T / unit)
    off = np.linalg.norm(vectors - small[:d].T * unit, axis=1).max()
    longest = np.linalg.norm(vectors, axis=1).max()
    half = 0.5 * (vectors.astype(np.float64) ** 2).sum(axis=1)
    table = torch.from_numpy(small)
    half32 = half.astype(np.float32)
    zeros = torch.zeros((rows, columns), dtype=torch.int8)
    rng = generator(1, "eight bits")
    words = rng.integers(n, size=rows)
    for epsilon in EPSILONS:
        # Madlib's noise: a direction, and a length of the gamma distribution (d, 1/ε).
        direction = rng.normal(size=(rows, d))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        length = rng.gamma(d, 1 / epsilon, size=rows)
        noisy = (vectors[words] + direction * length[:, None]).astype(np.float32)

        def plain(noisy: Any = noisy) -> Any:
            return (noisy @ vectors.T - half32).argmax(axis=1)

        def screened(noisy: Any = noisy) -> Any:
            units = np.abs(noisy).max(axis=1, keepdims=True) / 127
            rounded = np.zeros((rows, columns), dtype=np.int8)
            rounded[:, :d] = np.rint(noisy / units)
            product = torch._int_mm(torch.from_numpy(rounded), table).numpy()
            scores = product * (units * unit).astype(np.float32) - half32
            lost = np.linalg.norm(noisy - rounded[:, :d] * units, axis=1)
            error = np.linalg.norm(noisy, axis=1) * off + lost * (longest + off)
            open_words = scores >= (scores.max(axis=1) - 2 * error)[:, None]
            answers, left = np.empty(rows, dtype=np.int64), 0
            for row in range(rows):
                some = np.flatnonzero(open_words[row])
                left += some.size
                exact = vectors[some].astype(np.float64) @ noisy[row] - half[some]
                answers[row] = some[exact.argmax()]
            return answers, left / rows

        product32, _ = best(partial(np.matmul, noisy, vectors.T))
        product8, _ = best(partial(torch._int_mm, zeros, table))
        whole32, answers = best(plain)
        whole8, (others, left) = best(screened)
        print(
            f"ε = {epsilon:g}: product {product32:.3f} s and {product8:.3f} s "
            f"(×{product32 / product8:.2f}), search {whole32:.3f} s and {whole8:.3f} s "
            f"(×{whole32 / whole8:.2f}), {left:,.0f} words left of {n:,}, "
            f"{(answers == others).mean():.2%} of answers alike"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1024)
