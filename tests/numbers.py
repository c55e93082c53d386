"""Write down the numbers of the laboratory, to see that moving walls changes none.

    python -m tests.numbers before.json      # at one commit
    python -m tests.numbers after.json       # at another, on the same machine
    python -m tests.numbers before.json after.json

The first two write what commands, laws, noise and figures give under seeds; the last names what
differs and ends with 1 where anything does. Numbers are compared to the last bit, so both files
have to be made on one machine: another BLAS adds in another order.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import numpy as np

ROOT = Path(__file__).parents[1]
WORDS = ("doctor", "garage", "the")
TEXT = "My doctor in Berlin didn't say much, but the weather was terrible."
EPSILONS: dict[str, tuple[float, ...]] = {
    "truncated-gumbel": (403.0, 22_026.0),
    "truncated-gumbel-repaired": (6.0, 20.0, 40.0),
    "hyperbolic": (300.0, 800.0),
}
USUAL = (2.0, 8.0, 40.0)

COMMANDS = """
mechanisms --json
distribution --mechanism tem --epsilon 5 --word doctor --json
distribution --mechanism madlib --epsilon 5 --word doctor --draws 300 --seed 3 --json
distribution --mechanism truncated-gumbel --epsilon 20000 --word doctor --json
distribution --mechanism trlaplace --epsilon 5 --word doctor --draws 50 --seed 3
path --mechanism madlib --word doctor --seed 5 --json
path --mechanism tem --word doctor --seed 5
calibrate --mechanism tem-calibrated --json
rewrite --mechanism tem --epsilon 8 --text {text} --seed 4 --json
rewrite --mechanism madlib --epsilon 20 --text {text} --seed 4 --unknown mask --keep-stop-words
rewrite --mechanism gaussian --epsilon 500 --text {text} --seed 4 --case sentence --json
deniability --words doctor,garage --mechanism madlib --epsilon 1:100:5 --runs 200 --seed 2 --json
deniability --sample 6 --stratify density --mechanism tem --epsilon 2,8 --seed 2 --json
deniability --words doctor --mechanism madlib --epsilon 5 --method protocol --runs 100 --seed 2
solve --words doctor,garage --mechanism madlib --nw-at-most .5 --runs 200 --seed 2 --json
solve --words doctor,garage --mechanism tem --as madlib=20 --runs 200 --seed 2 --json
neighbours --word doctor --k 5 --radius 3 --json
density --word doctor --word garage --json
density --top 5
appendix-c --runs 200 --seed 2 --json
map list
audit --mechanism tem --epsilon 5 --words 60 --json
audit --mechanism madlib --epsilon 5 --words 20 --seed 1 --json
audit --mechanism trlaplace --epsilon 5 --words 20 --seed 1 --json
audit --mechanism gaussian --epsilon 5 --words 20 --seed 1 --json
audit --claim adept-published --json
audit --claim xu-lemma-1 --json
audit --claim huang-theorem-3
audit --claim huang-theorem-4 --json
audit --claim pixeldp-slides --json
audit --claim carvalho-theorem-3 --words 50 --json
attack --words doctor,nurse --mechanism tem --epsilon 5 --json
attack --words doctor,nurse --mechanism madlib --epsilon 20 --runs 200 --seed 1 --json
attack --output nurse --mechanism tem --epsilon 5 --top 5 --json
attack --output nurse --mechanism truncated-gumbel --epsilon 20000 --top 5 --json
attack --output nurse --mechanism tem --epsilon 5 --prior frequency --top 5
language info --json
robust certify --json
robust attack --json --seed 1
robust digits --json --seed 1
utility --mechanism tem --epsilon 2,8 --texts 120 --trials 2 --attack --workers 1 --json
study list --json
lexicon list
lexicon info --json
attack --words doctor,xyzzyq --mechanism tem --epsilon 5
rewrite --mechanism nothing --epsilon 5 --text {text}
audit --claim nothing
"""

PRIVATIZE = (
    ("texts.txt", (), "madlib", "20"),
    ("texts.csv", ("--keep", "stars"), "tem", "8"),
    ("texts.jsonl", ("--keep", "stars", "--unknown", "mask"), "truncated-gumbel-repaired", "20"),
)

VIEWS = {
    "rewrite": ("view=word", "view=100+draws", "view=protection"),
    "words": ("drawn_as=densMAP", "more=Whole+vocabulary"),
}
"""Of pages by their titles: views beside the first."""


def numbers() -> dict[str, Any]:
    """Everything, by name: plain JSON values, long arrays as their SHA-256."""
    written: dict[str, Any] = {}
    parts = (commands, laws, releases, corpora, papers, figures)
    for part in parts:
        for name, value in part():
            assert name not in written, name
            written[name] = value
            print(f"{len(written):>5} {name}"[:100], file=sys.stderr)
    return written


def commands() -> Iterator[tuple[str, Any]]:
    """Output and end of each command; times of day and durations taken out."""
    for line in COMMANDS.strip().splitlines():
        words = [TEXT if word == "{text}" else word for word in line.split()]
        yield f"command {line}", _run(words)


def _run(words: list[str]) -> dict[str, Any]:
    from dpcore.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code: object = main(words)
        except SystemExit as end:
            code = end.code
    printed = re.sub(
        r"\d+(\.\d+)? (s|ms|seconds?|minutes?)\b|\"seconds\": [\d.]+", "…", out.getvalue()
    )
    return {"code": code, "out": printed.splitlines(), "err": err.getvalue()}


def _digest(values: Any) -> str:
    array = np.ascontiguousarray(values)
    return f"{array.dtype}{array.shape} {hashlib.sha256(array.tobytes()).hexdigest()}"


def laws() -> Iterator[tuple[str, Any]]:
    """Guarantees, laws, paths and fresh draws of every mechanism of the registry."""
    from dpcore.lexicon.catalogue import load
    from dpcore.mechanisms.registry import MECHANISMS, create
    from dpcore.noise.streams import generator

    lexicon = load()
    words = np.array([lexicon.index(word) for word in WORDS])
    for kind in MECHANISMS.values():
        mechanism = create(kind.short, lexicon)
        admissible = mechanism.admissible
        epsilons = [e for e in EPSILONS.get(kind.short, USUAL) if e in admissible]
        yield f"{kind.short}: guarantee", [mechanism.guarantee(e).to_dict() for e in epsilons]
        yield f"{kind.short}: caution", mechanism.caution
        for word in words:
            law = mechanism.law(int(word), epsilons, rng=generator(1, "numbers"))
            yield (
                f"{kind.short}: law of {lexicon.words[word]}",
                {
                    "exact": law.exact,
                    "error": law.error,
                    "method": law.method,
                    "stay": law.stay().tolist(),
                    "dense": [_digest(law.dense(len(lexicon))[i]) for i in range(len(epsilons))],
                },
            )
        grid = np.array(sorted(epsilons))
        paths = mechanism.paths(generator(2, "numbers"), words.repeat(5), epsilons=grid)
        yield f"{kind.short}: paths", paths.at(grid).tolist()
        yield (
            f"{kind.short}: sample",
            [mechanism.sample(generator(3, "n"), words.repeat(5), e).tolist() for e in epsilons],
        )


def releases() -> Iterator[tuple[str, Any]]:
    """Many documents at once, under a secret."""
    from dpcore.lexicon.catalogue import load
    from dpcore.mechanisms.registry import MECHANISMS, create
    from dpcore.rewrite.documents import encode_all, release_all

    lexicon = load()
    documents = encode_all([TEXT, "Zürich!", "", "the garage of a doctor"] * 3, lexicon)
    for kind in MECHANISMS.values():
        epsilon = EPSILONS.get(kind.short, USUAL)[-1]
        mechanism = create(kind.short, lexicon)
        if epsilon in mechanism.admissible:
            outputs = release_all(documents, mechanism, epsilon, b"numbers" * 5)
            yield f"{kind.short}: documents", documents.texts(outputs)


def corpora() -> Iterator[tuple[str, Any]]:
    """Private copies of small files."""
    texts = [TEXT, "The garage, again; and a river.", "Zürich 42", "old violins"] * 5
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "texts.txt").write_text("\n".join(texts) + "\n", "utf-8")
        rows = [f'"{text}",{i}' for i, text in enumerate(texts)]
        (folder / "texts.csv").write_text("\n".join(["text,stars", *rows]) + "\n", "utf-8")
        lines = [json.dumps({"text": text, "stars": i}) for i, text in enumerate(texts)]
        (folder / "texts.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
        for file, more, mechanism, epsilon in PRIVATIZE:
            target = folder / f"out-{file}"
            asked = ["privatize", str(folder / file), "--out", str(target), *more]
            asked += ["--mechanism", mechanism, "--epsilon", epsilon, "--seed", "7", "--experiment"]
            ended = _run(asked)["code"]
            rewritten = {
                path.name: path.read_text("utf-8").splitlines()
                for path in sorted(target.rglob("*") if target.is_dir() else [target])
                if path.suffix == Path(file).suffix and path.is_file()
            }
            yield f"privatize {file}", {"code": ended, "files": rewritten}


def papers() -> Iterator[tuple[str, Any]]:
    """Papers compared with our records, and the verdicts and tables that are bundled."""
    from dpcore.papers.comparison import comparison_rows
    from dpcore.study.recorded import read_bundled, read_recorded
    from dpcore.study.recording import provenance

    for entry in read_bundled():
        recorded = read_recorded(entry.name)
        name = f"{'study' if entry.of_words else 'experiment'} {entry.name}"
        yield f"{name}: compared", [asdict(row) for row in comparison_rows(recorded)]
        yield f"{name}: made", provenance(entry)
        yield f"{name}: table", _table(recorded.table)
    for path in sorted((ROOT / "data").rglob("*")):
        if path.is_file():
            name = path.relative_to(ROOT).as_posix()
            yield f"file {name}", hashlib.sha256(path.read_bytes()).hexdigest()


def _table(table: Any) -> str:
    return hashlib.sha256(table.to_csv(index=False).encode()).hexdigest()


def figures() -> Iterator[tuple[str, Any]]:
    """Every figure of every page at its first view and at some others, as it is drawn."""
    from streamlit.testing.v1 import AppTest

    from pages.shared.contents import CONTENTS

    for content in CONTENTS:
        for query in ("", *VIEWS.get(content.title.lower(), ())):
            test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300)
            for key, values in parse_qs(query).items():
                test.query_params[key] = values
            test.run()
            test.switch_page(content.file).run()
            assert not test.exception, (content.file, query, test.exception)
            charts = [json.loads(chart.proto.spec) for chart in test.get("plotly_chart")]
            for i, chart in enumerate(charts):
                yield (
                    f"figure {content.title} {query} {i}",
                    {
                        "traces": len(chart["data"]),
                        "data": _hash(chart["data"]),
                        "layout": _hash(chart["layout"]),
                    },
                )


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """The names under which two records do not hold the same."""
    names = [*before, *(name for name in after if name not in before)]
    missing = object()
    return [name for name in names if before.get(name, missing) != after.get(name, missing)]


def main(arguments: list[str]) -> int:
    """Write a record, or compare two."""
    files = [Path(argument) for argument in arguments]
    if len(files) == 1:
        files[0].write_text(json.dumps(numbers(), indent=1, ensure_ascii=False), "utf-8")
        return 0
    before, after = (json.loads(file.read_text("utf-8")) for file in files)
    differing = differences(before, after)
    print("\n".join(differing) or f"{len(before)} entries, all the same")
    return bool(differing)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main(sys.argv[1:]))
