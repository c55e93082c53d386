"""The command `privatize` on whole reviews against a plain loop and the package mldp-text.

    python tests/benchmarks/privatize_against_mldp_text.py [reviews] [lexicon]

The same reviews of IMDb and the same vectors for all three. `ours` is the command from its start to
the written file, which it reads, rewrites and writes; `rewriting` is that without what the command
costs on a file of one word; `plain` hands one word after the other to `Mechanism.sample`; the
package rewrites one known word a call (`replace_word`), as it comes (with its approximate index
where it has one), and neither reads nor writes. Times are of the processor: other work on the
machine does not count. The package goes into an environment of its own, in a temporary folder.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.benchmarks.against_mldp_text import LOADED, NAMES, environment  # noqa: E402
from tests.benchmarks.privatize_speed import EPSILONS, plain, reviews  # noqa: E402

SHOWN = ("madlib", "tem", "truncated-gumbel")

THEIRS = (
    LOADED
    + """
for name, epsilon in given["epsilons"].items():
    more = given["distances"] if name == "truncated_gumbel" else {}
    mechanism = mldp_text.get_mechanism(
        name, epsilon=epsilon, embedding_matrix=table, dim=vectors.shape[1],
        vocab=set(given["vocabulary"]), **more
    )
    mechanism.replace_word(given["words"][0])
    start = process_time()
    for word in given["words"]:
        mechanism.replace_word(word)
    found[name] = process_time() - start
print(json.dumps(found))
"""
)


def command(short: str, epsilon: float, texts: list[str], folder: Path) -> float:
    """Seconds of the whole command for a file of these lines."""
    source, out = folder / "in.txt", folder / f"{short}-{len(texts)}.txt"
    source.write_text("\n".join(" ".join(text.split()) for text in texts) + "\n", encoding="utf-8")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    chosen = ("--mechanism", short, "--epsilon", f"{epsilon:g}")
    subprocess.run(
        [sys.executable, "-m", "dpcore", "privatize", source, "--out", out, *chosen],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(count: int, name: str | None) -> None:
    """Print milliseconds a word and ratios, one line a mechanism."""
    import numpy as np

    from dpcore.lexicon.catalogue import load
    from dpcore.mechanisms.registry import create
    from dpcore.rewrite.documents import encode_all

    lexicon, texts = load(name), reviews(count)
    words = encode_all(texts, lexicon, for_text=False).words
    known = words[words >= 0]
    with tempfile.TemporaryDirectory() as kept:
        folder = Path(kept)
        mine = {}
        for short in SHOWN:
            start = command(short, EPSILONS[short], ["word"], folder)
            whole = command(short, EPSILONS[short], texts, folder)
            single = plain(create(short, lexicon), EPSILONS[short], known)
            mine[short] = (whole, whole - start, single * words.size)
        given = {
            "vocabulary": list(lexicon.words),
            "words": [lexicon.words[i] for i in known],
            "epsilons": {NAMES[short]: EPSILONS[short] for short in SHOWN},
            "distances": {
                "max_inter_dist": lexicon.extent.diameter,
                "min_inter_dist": lexicon.extent.separation,
            },
        }
        (folder / "given.json").write_text(json.dumps(given), encoding="utf-8")
        np.save(folder / "vectors.npy", lexicon.vectors)
        python, variables = environment(folder)
        done = subprocess.run(
            [python, "-c", THEIRS, folder / "given.json", folder / "vectors.npy"],
            env=variables,
            capture_output=True,
            text=True,
            check=True,
        )
        other = json.loads(done.stdout.splitlines()[-1])
    print(
        f"{len(texts)} reviews, {words.size:,} words, of which {known.size:,} are among the "
        f"{len(lexicon):,} × {lexicon.dimension}; milliseconds a word, of the processor"
    )
    print(f"{'':18s}{'mldp-text':>10s}{'plain':>8s}{'ours':>8s}{'rewriting':>10s}")
    for short in SHOWN:
        theirs = 1e3 * other[NAMES[short]] / known.size
        whole, rewriting, single = (1e3 * x / words.size for x in mine[short])
        print(
            f"{short:18s}{theirs:10.2f}{single:8.3f}{whole:8.3f}{rewriting:10.3f}   "
            f"mldp-text takes ×{theirs / whole:.0f} the time of the command, "
            f"×{theirs / rewriting:.0f} of its "
            f"rewriting; plain ×{single / whole:.1f} and ×{single / rewriting:.1f}"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20, sys.argv[2] if len(sys.argv) > 2 else None)
