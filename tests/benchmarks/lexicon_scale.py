"""Time and memory of a large vocabulary: reading, adding, loading, searching, bounding.

Run `python tests/benchmarks/lexicon_scale.py --words 400000 --dimension 300`. Each step runs in a
process of its own, so that the peak of its memory is its own; "x vectors" is that peak divided by
the size of the vectors alone (the baseline that no step can beat).
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
STEPS = ("read text", "read text.gz", "read binary", "add", "load", "nearest", "exact", "bounds")


def make_files(folder: Path, words: int, dimension: int) -> None:
    """Write the same vectors as GloVe text, gzip text and word2vec binary."""
    rng = np.random.default_rng(0)
    scale = np.linspace(2, 0.2, dimension)
    with (
        (folder / "vectors.txt").open("wb") as text,
        (folder / "vectors.bin").open("wb") as binary,
    ):
        binary.write(b"%d %d\n" % (words, dimension))
        for start in range(0, words, 2000):
            count = min(2000, words - start)
            block = (rng.standard_normal((count, dimension)) * scale).round(5)
            line = "w%d " + " ".join(["%.5f"] * dimension) + "\n"
            text.write("".join(line % (start + i, *row) for i, row in enumerate(block)).encode())
            single = block.astype("<f4")
            binary.writelines(
                b"w%d " % (start + i) + row.tobytes() + b"\n" for i, row in enumerate(single)
            )
    subprocess.run(["gzip", "-1", "-k", folder / "vectors.txt"], check=True)


def run_step(step: str, folder: Path) -> None:
    """One step, in this process; prints what it measured."""
    from dpcore.lexicon.catalogue import load
    from dpcore.lexicon.extent.bounds import bound_extent
    from dpcore.lexicon.fetch import add
    from dpcore.lexicon.neighbours import ExactIndex

    name = {"read text": "vectors.txt", "read text.gz": "vectors.txt.gz"}.get(step, "vectors.bin")
    began = time.perf_counter()
    note = ""
    if step == "add":
        add(str(folder / name), name="scale", replace=True)
    elif step.startswith("read"):
        load(folder / name)
    else:
        lexicon = load("scale")
        loaded = time.perf_counter() - began
        queries = np.random.default_rng(1).standard_normal((200, lexicon.dimension))
        note = f"of which loading {loaded:.1f} s"
        if step == "nearest":
            lexicon.nearest(queries)
        elif step == "exact":
            began_search = time.perf_counter()
            index = ExactIndex(lexicon.vectors)
            built = time.perf_counter() - began_search
            index.search(queries, 128)
            searched = time.perf_counter() - began_search - built
            note += f", flat index {built:.2f} s, 200 queries for 128 {searched:.2f} s"
        elif step == "bounds":
            bounds = bound_extent(lexicon.vectors, lexicon.metric)
            note += f", {bounds}"
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"{seconds:.3f} {peak} {note}")


def main() -> None:
    """Make the files and run every step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=400_000)
    parser.add_argument("--dimension", type=int, default=300)
    parser.add_argument("--step")
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    if arguments.step:
        run_step(arguments.step, arguments.folder)
        return
    size = 4 * arguments.words * arguments.dimension
    print(f"{arguments.words:,} x {arguments.dimension}: vectors {size / 1e6:,.0f} MB")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_files(folder, arguments.words, arguments.dimension)
        environment = {**os.environ, "DPCORE_CACHE": str(folder / "cache"), "PYTHONPATH": str(ROOT)}
        for step in STEPS:
            command = [sys.executable, __file__, "--step", step, "--folder", name]
            answer = subprocess.run(
                command, env=environment, check=True, capture_output=True, text=True
            )
            seconds, peak, note = answer.stdout.strip().split(" ", 2) + [""] * (
                2 - answer.stdout.strip().count(" ")
            )
            print(
                f"{step:14} {float(seconds):7.1f} s  peak {int(peak) / 1e6:7,.0f} MB "
                f"({int(peak) / size:.2f} x vectors)  {note}",
                flush=True,
            )


if __name__ == "__main__":
    main()
