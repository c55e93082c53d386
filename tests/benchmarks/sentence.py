"""A sentence of twelve words under six mechanisms: start, first answer, and every answer after it.

    python tests/benchmarks/sentence.py [lexicon]

Times are of this machine; each part is set against a float32 search of the same words at one ε
(`product`), which is what any implementation has to do at least once for each noisy vector.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

TEXT = "the doctor told the patient about a cheap hotel near the river"
NAMES = ("madlib", "mahalanobis", "vickrey", "tem", "truncated-gumbel", "l2-laplace")
REPEATS = 9

START = """
from time import perf_counter
a = perf_counter()
import dpcore
b = perf_counter()
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import generator
from dpcore.rewrite.sentence import prepare, release
lexicon = load({lexicon!r})
c = perf_counter()
mechanism = create("madlib", lexicon, {{}})
text = release(prepare({text!r}, lexicon), mechanism, {epsilon}, generator(None)).text
print(b - a, c - b, perf_counter() - c)
"""


def timed(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Median of several runs, in milliseconds."""
    taken = []
    for _ in range(repeats):
        start = perf_counter()
        work()
        taken.append(perf_counter() - start)
    return 1e3 * median(taken)


def started(lexicon: str | None) -> None:
    """Print the parts of a fresh process, from the interpreter to the rewritten sentence."""
    code = START.format(lexicon=lexicon, text=TEXT, epsilon=10.0)
    wholes, parts = [], []
    for _ in range(5):
        start = perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
        )
        wholes.append(perf_counter() - start)
        parts.append([float(x) for x in done.stdout.split()])
    first, second, third = (1e3 * x for x in np.median(parts, axis=0))
    print(f"import dpcore                {first:8.1f} ms")
    print(f"load the lexicon             {second:8.1f} ms")
    print(f"first sentence released      {third:8.1f} ms")
    print(f"whole process                {1e3 * median(wholes):8.1f} ms")


def main(name: str | None) -> None:
    """Print every part."""
    from dpcore.lexicon.catalogue import load
    from dpcore.mechanisms.registry import create
    from dpcore.rewrite.sentence import draw, prepare

    started(name)
    lexicon = load(name)
    vectors = lexicon.vectors
    sentence = prepare(TEXT, lexicon)
    words = sentence.inputs(0)
    noisy = vectors[words] + np.float32(0.1)
    half = np.einsum("ij,ij->i", vectors, vectors) / 2
    product = timed(lambda: (half - noisy @ vectors.T).argmin(axis=1))
    print(f"{len(lexicon):,} words × {lexicon.dimension}, {words.size} of them in the sentence")
    print(f"product                      {product:8.1f} ms  × 1.0")

    mechanisms = {short: create(short, lexicon, {}) for short in NAMES}

    def everything() -> None:
        fresh = prepare(TEXT, lexicon)
        for mechanism in mechanisms.values():
            draw(fresh, mechanism, 0)

    everything()  # what belongs to the lexicon alone is computed once, at the start
    total = timed(everything)
    print(f"neighbours and six mechanisms{total:8.1f} ms  ×{total / product:4.1f}")
    ranked = timed(lambda: list(prepare(TEXT, lexicon).rankings(words)))
    print(f"  neighbours                 {ranked:8.1f} ms  ×{ranked / product:4.1f}")
    for short, mechanism in mechanisms.items():
        taken = timed(partial(draw, sentence, mechanism, 0))
        print(f"  {short:27s}{taken:8.1f} ms  ×{taken / product:4.1f}")
    drawn = draw(sentence, mechanisms["madlib"], 0)
    moved = timed(lambda: drawn.at(10.0))
    print(f"another ε                    {moved:8.3f} ms  ×{moved / product:6.3f}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
