"""Time and memory of a large vocabulary: reading, adding, searching, and each kind of work.

Run `python tests/benchmarks/lexicon_scale.py --words 400000 --dimension 300`, with `--steps meter`
for the slowest alone (the packing bound at two ε, by parts). Each step runs in a
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

from dpcore.lexicon.lexicon import Lexicon

ROOT = Path(__file__).resolve().parents[2]
STEPS = (
    *("read text", "read text.gz", "read binary", "add", "load", "nearest", "exact", "bounds"),
    *("sentence tem", "sentence madlib", "sentence neighbour-response"),
    *("deniability tem", "deniability madlib", "privatize tem", "privatize neighbour-response"),
    *("privatize madlib", "meter"),
)
WORDS_OF_A_TEXT, TEXTS = 12, 100
EPSILON = {"tem": 5.0, "madlib": 20.0, "neighbour-response": 12.0}


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
    from dpcore.lexicon.extent import bound_extent
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
        elif step.startswith(("sentence", "deniability", "privatize", "meter")):
            what, _, mechanism = step.partition(" ")
            note += work(what, mechanism, lexicon, folder)
        elif step == "bounds":
            bounds = bound_extent(lexicon.vectors, lexicon.metric)
            note += f", {bounds}"
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"{seconds:.3f} {peak} {note}")


def work(what: str, name: str, lexicon: Lexicon, folder: Path) -> str:
    """Use the vocabulary as a person would; return a note."""
    import dpcore as dp

    if what == "meter":
        return f", {dp.meter(lexicon, [1.0, 2.0]).rows}"
    mechanism = dp.mechanism(name, lexicon)
    epsilon = EPSILON[name]
    words = np.random.default_rng(2).integers(len(lexicon), size=(TEXTS, WORDS_OF_A_TEXT))
    texts = [" ".join(lexicon.words[i] for i in row) for row in words.tolist()]
    if what == "sentence":
        began = time.perf_counter()
        dp.release(dp.read(texts[0], lexicon), mechanism, epsilon=epsilon)
        dp.release(dp.read(texts[1], lexicon), mechanism, epsilon=epsilon)
        return f", two texts of {WORDS_OF_A_TEXT} words {time.perf_counter() - began:.2f} s"
    if what == "deniability":
        dp.deniability(mechanism, texts[0].split()[:3], [0.5 * epsilon, epsilon])
        return ", 3 words at two epsilon"
    source = folder / "texts.txt"
    source.write_text("\n".join(texts), encoding="utf-8")
    out = folder / f"{name}.txt"
    options = ["--mechanism", name, "--epsilon", str(epsilon), "--lexicon", "scale"]
    command = [sys.executable, "-m", "dpcore", "privatize", str(source), "--out", str(out)]
    subprocess.run([*command, *options], check=True, stdout=2)
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return f", {words.size:,} words; the command's own peak {children / 1e6:,.0f} MB"


def main() -> None:
    """Make the files and run every step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=400_000)
    parser.add_argument("--dimension", type=int, default=300)
    parser.add_argument("--steps", nargs="*", choices=STEPS, default=STEPS)
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
        for step in dict.fromkeys(("add", *arguments.steps)):
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
