"""The studies that are recorded, and the same on a lexicon of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from dpcore.papers.ours.benchmark.found import complete
from dpcore.papers.ours.benchmark.settings import WHOLE, Size
from dpcore.study.definition import Study
from dpcore.study.plan import Arm, Plan, Settings
from dpcore.study.vocabularies import BUNDLED, GLOVE_HEAD

TASK = "dpcore.papers.ours.benchmark.cells:measure"
_FIRST = 1  # seed of the first trial; levels are found with noise of seed 0


def study(
    name: str,
    title: str,
    sizes: str,
    lexicon: str,
    size: Size = WHOLE,
    *,
    files: Sequence[tuple[str, Settings]] = (),
    own: bool = True,
    mechanisms: Sequence[tuple[str, Settings]] = (),
    encoder: bool = True,
    command: str = "",
) -> Study:
    """The benchmark on one lexicon.

    Args:
        name: of the study.
        title: for people.
        sizes: how much is measured, in a sentence.
        lexicon: its name in the sources.
        size: how much is measured.
        files: real corpora, each with `train` and `test` texts of a trial, `words` of each that
            are read, and `title`.
        own: whether the teaching corpus is learned from, and the lexicon itself measured.
        mechanisms: short name or key, with settings; all of the registry if there is none.
        encoder: whether texts are compared by their meaning.
        command: that makes it again, if not `study run`.
    """
    data = (*([""] if own else []), *(file for file, *_ in files))
    options: Settings = (
        *size.options,
        ("encoder", bool(encoder and size.compared)),
        ("files", tuple(files)),
    )
    plan = Plan(name, TASK, (Arm(""),), (lexicon,), data, (_FIRST,), options, together=True)
    making = partial(complete, mechanisms=tuple(mechanisms), calibrate=size.calibrate)
    return Study(title, "", plan, sizes, complete=making, command=command)


_WORDS = 60


def _corpus(file: str, title: str, training: int, testing: int) -> tuple[str, Settings]:
    sizes = (("train", training), ("test", testing), ("words", _WORDS), ("title", title))
    return file, sizes


REAL = (
    _corpus("sst2.parquet", "SST-2", 800, 400),
    _corpus("agnews.parquet", "AG News", 300, 200),
)
STUDIES = (
    study(
        "benchmark",
        "All mechanisms at equal leakage: the benchmark",
        f"In each of {WHOLE.trials} trials 1,008 training and 432 test texts of the teaching "
        f"corpus, drawn anew and whole; the meaning of {WHOLE.compared} test texts a trial; words "
        "guessed from 400 outputs where columns of the law are closed forms, elsewhere from "
        "15,000 pairs of word and output, 1,500 where laws are computed word by word.",
        BUNDLED,
    ),
    study(
        "benchmark-texts",
        "SST-2 and AG News: all mechanisms at equal leakage",
        f"In each of {WHOLE.trials} trials 800 training and 400 test texts of SST-2, 300 and 200 "
        f"of AG News, drawn anew, of each its first {_WORDS} words; over the bundled lexicon.",
        BUNDLED,
        files=REAL,
        own=False,
    ),
    study(
        "benchmark-glove",
        "All mechanisms at equal leakage, with GloVe vectors",
        f"The 10,000 most frequent words of GloVe 840B; else as the benchmark: {WHOLE.trials} "
        "trials of 1,008 training and 432 test texts of the teaching corpus.",
        GLOVE_HEAD,
    ),
)
