"""The whole command `privatize` on the reviews of IMDb, here and in another checkout.

    python tests/benchmarks/privatize_whole.py REVIEWS WORKERS BASELINE [MECHANISM ...]

BASELINE is the folder of an older version, or `-` for none. Each review is a line of a text file,
repeated from the first one on where more are asked for than there are (50,000). `start` is the
same command on a file of one word: interpreter, libraries, vectors, neighbours from the cache.
Wall-clock seconds, so other work on the machine counts; the two versions take turns, and the best
of `RUNS` is printed of each. Outputs of both must be equal: the same seed, byte by byte.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from itertools import cycle, islice
from pathlib import Path
from time import perf_counter

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.needs import real_data  # noqa: E402

RUNS = 2
EPSILONS = {
    "neighbour-response": 9.0,
    "k-ary": 9.0,
    "tem": 5.0,
    "optimal": 5.0,
    "tem-calibrated": 5.0,
    "truncated-gumbel": 60.0,
    "madlib": 20.0,
}
SHOWN = ("neighbour-response", "tem", "optimal")


def command(root: Path, source: Path, out: Path, short: str, workers: int) -> tuple[float, str]:
    """Seconds of the command in a checkout, and the fingerprint of what it wrote."""
    asked = ["privatize", str(source), "--out", str(out), "--experiment", "--seed", "7"]
    asked += ["--mechanism", short, "--epsilon", f"{EPSILONS[short]:g}", "--workers", str(workers)]
    start = perf_counter()
    subprocess.run(
        [sys.executable, "-m", "dpcore", *asked], cwd=root, check=True, capture_output=True
    )
    taken = perf_counter() - start
    digest = hashlib.sha256(out.read_bytes()).hexdigest()
    out.unlink()
    return taken, digest


def words_of(record: Path) -> int:
    """Count the words that a run has protected, and delete its record."""
    words = json.loads(record.read_text(encoding="utf-8"))["protected_words"]
    record.unlink()
    return int(words)


def main(count: int, workers: int, baseline: Path | None, names: tuple[str, ...]) -> None:
    """Print a line a mechanism and version."""
    import pandas as pd

    frame = pd.read_parquet(real_data() / "imdb.parquet", columns=["text"])
    texts = [" ".join(str(text).replace("<br />", " ").split()) for text in frame["text"]]
    roots = {"here": ROOT} | ({"baseline": baseline} if baseline else {})
    with tempfile.TemporaryDirectory() as folder:
        source, tiny, out = (Path(folder, name) for name in ("in.txt", "word.txt", "out.txt"))
        source.write_text("".join(f"{text}\n" for text in islice(cycle(texts), count)), "utf-8")
        tiny.write_text("word\n", "utf-8")
        record = out.with_name(f"{out.name}.run.json")
        size = source.stat().st_size / 1e6
        print(f"{count:,} reviews, {size:.1f} MB, {workers} worker(s); {os.cpu_count()} cores")
        for short in names:
            taken: dict[str, list[float]] = {name: [] for name in roots}
            starts: dict[str, list[float]] = {name: [] for name in roots}
            digests = set()
            for _ in range(RUNS):
                for name, root in roots.items():
                    starts[name].append(command(root, tiny, out, short, workers)[0])
                    record.unlink()
                    seconds, digest = command(root, source, out, short, workers)
                    taken[name].append(seconds)
                    digests.add(digest)
                    words = words_of(record)
            for name in roots:
                whole, start = min(taken[name]), min(starts[name])
                print(
                    f"{short:20s}{name:10s}{words:>12,} words {whole:8.1f} s, of which start "
                    f"{start:5.1f} s; {words / whole:10,.0f} words a second, "
                    f"{words / (whole - start):10,.0f} after the start",
                    flush=True,
                )
            if baseline:
                ratio = min(taken["baseline"]) / min(taken["here"])
                print(f"{short:20s}×{ratio:.1f} of the baseline; equal: {len(digests) == 1}")


if __name__ == "__main__":
    given = sys.argv[1:]
    if len(given) < 3:
        sys.exit(__doc__)
    main(
        int(given[0]),
        int(given[1]),
        None if given[2] == "-" else Path(given[2]).resolve(),
        tuple(given[3:]) or SHOWN,
    )
