"""The two studies that are recorded, and the same on a lexicon of one's own."""

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
        mechanisms: short name or key, with settings; all of the registry if there is none.
        encoder: whether texts are compared by their meaning.
        command: that makes it again, if not `study run`.
    """
    data = ("", *(file for file, *_ in files))
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


_COLUMNS, _LAWS, _DRAWS = (getattr(WHOLE.outputs[1], name) for name in ("columns", "laws", "draws"))
_SIZES = (
    f"In each of {WHOLE.trials} trials {round(1008 * WHOLE.part)} training and "
    f"{round(432 * WHOLE.part)} test texts of the teaching corpus, drawn anew; the meaning of "
    f"{WHOLE.compared} test texts a trial; words guessed from {_COLUMNS} outputs where columns of "
    f"the law are closed forms, elsewhere from {3 * _DRAWS // 2:,} pairs of word and output, "
    f"{3 * _LAWS // 2:,} where laws are computed word by word."
)
REAL = (
    _corpus("sst2.parquet", "SST-2", 800, 400),
    _corpus("agnews.parquet", "AG News", 300, 200),
)
STUDIES = (
    study(
        "benchmark",
        "All mechanisms at equal leakage: the benchmark",
        f"The bundled lexicon. {_SIZES}",
        BUNDLED,
    ),
    study(
        "benchmark-glove",
        "All mechanisms at equal leakage, with GloVe vectors",
        f"The 5,000 most frequent words of GloVe 840B. {_SIZES}",
        GLOVE_HEAD,
        command="python -m dpcore study run benchmark-glove --data ../shared/data",
    ),
)
