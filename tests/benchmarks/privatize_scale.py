"""A synthetic corpus of many short documents through one and through two Dask workers.

    python tests/benchmarks/privatize_scale.py [documents] [mechanism] [epsilon]

Documents of 4 to 20 words are drawn from Zipf's law over the bundled lexicon, one a line, into a
temporary folder. Each run is the command line's own: a local cluster with so many workers of one
thread, spans of a megabyte. Printed are words a second, the speed-up, and the peak memory of the
largest worker and of this process, for a tenth of the corpus and for all of it: that they do not
grow with the corpus is what "constant memory" means. The outputs of the runs must be equal.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

from dpcore.mechanisms.mechanism import Mechanism

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

BATCH = 20_000
MODULE = "tests.benchmarks.privatize_scale"


def write(path: Path, documents: int, words: tuple[str, ...]) -> None:
    """Documents of 12 words on average, frequent words often."""
    import numpy as np

    rng = np.random.default_rng(0)
    shares = 1.0 / np.arange(1, len(words) + 1)
    steps = np.cumsum(shares / shares.sum())
    with path.open("w", encoding="utf-8") as file:
        for start in range(0, documents, BATCH):
            sizes = rng.integers(4, 21, size=min(BATCH, documents - start))
            drawn = np.searchsorted(steps, rng.random(int(sizes.sum())) * steps[-1]).tolist()
            end = 0
            for size in sizes.tolist():
                line = " ".join(words[i] for i in drawn[end : end + size])
                file.write(f"{line}.\n")
                end += size


def peak(payload: dict[str, Any]) -> dict[str, Any]:
    """Peak resident memory of a worker, in megabytes: a job."""
    import resource

    unit = 2**20 if sys.platform == "darwin" else 2**10
    return {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit}


def timed(
    source: Path, out: Path, mechanism: Mechanism, epsilon: float, workers: int
) -> tuple[float, str]:
    """Print one run; returns its seconds and the fingerprint of its output."""
    from dpcore.jobs.cluster import Cluster
    from dpcore.privatize.order import Order
    from dpcore.privatize.run import privatize
    from dpcore.rewrite.policy import Treatment
    from dpcore.tables.files import Columns

    order = Order(source, out, mechanism, epsilon, Columns(), Treatment(), seed=1)
    with Cluster(workers=workers) as cluster:
        start = perf_counter()
        record = privatize(order, executor=cluster)
        taken = perf_counter() - start
        jobs = ({"number": number} for number in range(8 * workers))
        peaks = [memory["peak"] for _, memory in cluster.run(f"{MODULE}:peak", jobs)]
    words = record["protected_words"]
    print(
        f"{record['documents']:>10,} documents {words:>12,} words  {workers} worker(s) "
        f"{taken:8.1f} s {words / taken:10,.0f} words/s   peak {max(peaks):6.0f} MB a worker, "
        f"{peak({})['peak']:6.0f} MB here",
        flush=True,
    )
    return taken, hashlib.sha256(out.read_bytes()).hexdigest()


def main(documents: int, name: str, epsilon: float) -> None:
    """Print a line a run."""
    from dpcore.lexicon.catalogue import load
    from dpcore.mechanisms.registry import create

    warnings.simplefilter("ignore")  # of Dask about itself
    lexicon = load()
    mechanism = create(name, lexicon)
    print(f"{name}, ε = {epsilon:g}; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        small, whole = Path(folder, "small.txt"), Path(folder, "whole.txt")
        write(small, documents // 10, lexicon.words)
        write(whole, documents, lexicon.words)
        timed(small, Path(folder, "a.txt"), mechanism, epsilon, 2)
        two, first = timed(whole, Path(folder, "b.txt"), mechanism, epsilon, 2)
        single, second = timed(whole, Path(folder, "c.txt"), mechanism, epsilon, 1)
    print(f"two workers ×{single / two:.2f} of one; outputs equal: {first == second}")


if __name__ == "__main__":
    given = sys.argv[1:]
    main(
        int(given[0]) if given else 1_000_000,
        given[1] if len(given) > 1 else "tem",
        float(given[2]) if len(given) > 2 else 5.0,
    )
