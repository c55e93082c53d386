"""Words a second of every mechanism on the reviews of IMDb, against one word at a time.

    python tests/benchmarks/privatize_speed.py [reviews] [seconds] [mechanism ...]

One thread (a worker has one). `plain` hands one word at a time to the mechanism. `first` and `last`
are of the first and the last thousand reviews: where laws or neighbours are computed once a word,
the cost falls with the size of the corpus. A mechanism stops after so many seconds, and the line
says after how many words. Reading and writing of texts (`text`) is the same for all and not in the
others. Times are of the processor, so that other work on the machine does not count.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpcore.mechanisms.mechanism import Mechanism

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

PART = 1_000  # reviews
PLAIN = 150  # words
EPSILONS = {
    "madlib": 20.0,
    "mahalanobis": 20.0,
    "vickrey": 20.0,
    "random-projection": 20.0,
    "tem": 5.0,
    "tem-calibrated": 5.0,
    "optimal": 5.0,
    "truncated-gumbel": 60.0,
    "truncated-gumbel-repaired": 15.0,
    "trlaplace": 4.0,
    "hyperbolic": 400.0,
    "vmf": 75.0,
    "purkayastha": 75.0,
    "santext": 5.0,
    "santext-plus": 5.0,
    "custext": 10.0,
    "diffractor": 1.0,
    "rantext": 12.0,
    "wbb": 5.0,
    "syntf": 25.0,
}


def reviews(count: int) -> list[str]:
    """The first texts of the train split, without the line breaks of HTML."""
    import pandas as pd

    from tests.needs import real_data

    frame = pd.read_parquet(real_data() / "imdb.parquet", columns=["text", "split"])
    texts = frame.loc[frame["split"] == "train", "text"].head(count)
    return [str(text).replace("<br />", " ") for text in texts]


def measured(
    mechanism: Mechanism, epsilon: float, parts: Any, seconds: float
) -> list[tuple[int, float]]:
    """Words and seconds of each part, as long as there is time."""
    from dpcore.mechanisms.bulk import bulk
    from dpcore.rewrite.documents import release_seconds

    sampler, rates = bulk(mechanism, epsilon), []
    for number, documents in enumerate(parts):
        ids = range(number * PART, number * PART + len(documents))
        taken = release_seconds(documents, mechanism, epsilon, ids, sampler=sampler)
        rates.append((documents.words.size, taken))
        if sum(taken for _, taken in rates) > seconds:
            break
    return rates


def plain(mechanism: Mechanism, epsilon: float, words: Any) -> float:
    """Seconds a word, one at a time."""
    import numpy as np

    rng = np.random.default_rng(0)
    mechanism.sample(rng, words[:1], epsilon)
    start = process_time()
    for word in words:
        mechanism.sample(rng, np.array([word]), epsilon)
    return (process_time() - start) / words.size


def main(count: int, seconds: float, names: list[str]) -> None:
    """Print a line a mechanism."""
    import numpy as np

    from dpcore.lexicon.catalogue import load
    from dpcore.mechanisms.registry import MECHANISMS, create
    from dpcore.rewrite.documents import encode_all

    lexicon, texts = load(), reviews(count)
    start = process_time()
    encoded = encode_all(texts[:PART], lexicon)
    read = (process_time() - start) / encoded.words.size
    start = process_time()
    encoded.texts(np.zeros(encoded.words.size, dtype=np.int64))
    wrote = (process_time() - start) / encoded.words.size
    parts = [
        encode_all(texts[i : i + PART], lexicon, for_text=False) for i in range(0, count, PART)
    ]
    total = sum(documents.words.size for documents in parts)
    print(f"{len(lexicon):,} words × {lexicon.dimension}; {len(texts):,} reviews, {total:,} words")
    print(f"text: {1e6 * read:.1f} µs a word to read, {1e6 * wrote:.1f} to write; microseconds:")
    print(f"{'':26s}{'ε':>6s}{'plain':>9s}{'first':>9s}{'last':>9s}{'mean':>9s}   words a second")
    drawn = np.random.default_rng(1).choice(parts[0].words[parts[0].words >= 0], PLAIN)
    for kind in MECHANISMS.values():
        if names and kind.short not in names:
            continue
        mechanism = create(kind.short, lexicon)
        epsilon = EPSILONS.get(kind.short, 100.0)
        rates = measured(mechanism, epsilon, parts, seconds)
        single = plain(mechanism, epsilon, drawn)
        words, taken = (sum(column) for column in zip(*rates, strict=True))
        first, last = (rates[i][1] / rates[i][0] for i in (0, -1))
        mean = taken / words
        print(
            f"{kind.short:26s}{epsilon:6.4g}{1e6 * single:9.1f}{1e6 * first:9.1f}{1e6 * last:9.1f}"
            f"{1e6 * mean:9.1f}   {1 / mean:9,.0f} in {words:,} words, plain {1 / single:,.0f}: "
            f"×{single / mean:.1f}; with the text {1 / (mean + read + wrote):,.0f}",
            flush=True,
        )


if __name__ == "__main__":
    given = sys.argv[1:]
    main(
        int(given[0]) if given else 25_000,
        float(given[1]) if len(given) > 1 else 120.0,
        given[2:],
    )
