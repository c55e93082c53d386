"""Making a recorded result: load the words, measure every series, and write table and manifest."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore import __version__
from dpcore.jobs.executors import of
from dpcore.jobs.machine import machine_facts
from dpcore.lexicon.progress import Progress, silent
from dpcore.measure import words as measured
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import check_seed, generator
from dpcore.study.plan import Arm, Plan
from dpcore.study.results import COLUMNS, NUMBERS, Entry
from dpcore.study.runner import collected, run
from dpcore.study.sources import gather
from dpcore.study.vocabularies import BUNDLED, CORPORA, CountedLexicon

if TYPE_CHECKING:
    import pandas as pd

    from dpcore.measure.words import Selection
    from dpcore.study.parts import Series, Settings, Study
    from dpcore.study.runner import Row

_WORDS = "words of the study"  # the lexicon, in the plan


@dataclass(frozen=True)
class Options:
    """How a study is recorded: number of words (None: the study's own) and seed."""

    words: int | None = None
    seed: int = 0


def record(
    study: Study,
    counted: CountedLexicon,
    options: Options,
    progress: Progress = silent,
    *,
    workers: int = 1,
    work: Path | None = None,
) -> tuple[Entry, pd.DataFrame]:
    """Measure a study on its vocabulary.

    Args:
        study: what to measure.
        counted: its vocabulary (`load_vocabulary`).
        options: number of words and seed.
        progress: called after every series.
        workers: processes, of which each measures a series at a time.
        work: finished series are kept here, and a run that was stopped goes on; a temporary folder
            if None.

    Returns:
        How it was made (`file` and `sha256` are empty until it is written), and the table.

    Raises:
        ParameterError: the number of words is not 1 to that of the vocabulary, or the seed is not
            one.
        LexiconError, UnknownMechanismError: as creating a mechanism.
    """
    import pandas as pd

    if work is None:
        with tempfile.TemporaryDirectory(prefix="dpcore-") as folder:
            own = Path(folder)
            return record(study, counted, options, progress, workers=workers, work=own)
    check_seed(options.seed)
    selection = choose_words(study, counted, options)
    plan = plan_of(study, selection, options)
    sources = gather(plan, work, lexicons={_WORDS: counted.lexicon})
    seconds = 0.0
    with of(workers) as executor:
        for done in run(plan, sources, work, executor=executor, progress=progress):
            seconds += done.seconds
    rows = collected(plan, sources, work)
    series = [
        _facts(one, counted, [r for r in rows if r["label"] == one.name]) for one in study.series
    ]
    table = pd.DataFrame([row for row in rows if row["quantity"]]).reindex(columns=list(COLUMNS))
    table = table.astype(dict.fromkeys(NUMBERS, "float64"))
    entry = Entry(
        name=study.name,
        title=study.title,
        source=study.source,
        command=_command(study, options),
        seed=options.seed,
        version=__version__,
        date=datetime.now(UTC).date().isoformat(),
        seconds=round(seconds, 1),
        runs=study.runs,
        words=len(selection),
        selection=selection.description,
        vocabulary=describe_vocabulary(study.vocabulary, counted),
        data=counted.data,
        series=series,
        machine=machine_facts(),
        file="",
        sha256="",
    )
    return entry, table


def choose_words(study: Study, counted: CountedLexicon, options: Options) -> Selection:
    """The words of a study under a seed.

    Raises:
        ParameterError: the number of words is not 1 to that of the vocabulary.
    """
    lexicon = counted.lexicon
    wanted = options.words if options.words is not None else min(study.words, len(lexicon))
    rng = generator(options.seed, "words of", study.name)
    if not study.by_tokens:
        return measured.sample(lexicon, wanted, rng)
    whole = measured.Selection(
        np.arange(len(lexicon)),
        lexicon.words,
        counted.counts,
        "tokens of the corpus",
        counted.tokens,
        counted.unknown,
    )
    return measured.reduced(whole, wanted, rng)


def describe_vocabulary(key: str, counted: CountedLexicon) -> dict[str, Any]:
    """What a manifest says of a vocabulary."""
    lexicon, extent = counted.lexicon, counted.lexicon.extent
    corpus = CORPORA.get(key)
    return {
        "key": key,
        "title": corpus.title if corpus else f"the bundled lexicon {lexicon.name}",
        "words": len(lexicon),
        "dimension": lexicon.dimension,
        "separation": extent.separation,
        "diameter": extent.diameter,
        "fingerprint": lexicon.fingerprint,
        "tokens": counted.tokens if corpus else None,
        "unknown_tokens": counted.unknown if corpus else None,
        "paper_words": corpus.paper_words if corpus else None,
        "paper_separation": corpus.paper_separation if corpus else None,
    }


def plan_of(study: Study, selection: Selection, options: Options) -> Plan:
    """A study as a plan: one cell a series, which holds all its ε."""
    chosen: Settings = (
        ("chosen", tuple(selection.words.tolist())),
        ("weights", tuple(selection.weights.tolist())),
        ("described", selection.description),
        ("tokens", selection.tokens),
        ("unknown", selection.unknown),
    )
    arms = tuple(
        Arm(
            one.mechanism,
            one.epsilons,
            one.settings,
            one.name,
            (
                ("curve", one.curve or one.name),
                ("method", one.method),
                ("most", one.words),
                ("named", one.named),
            ),
        )
        for one in study.series
    )
    return Plan(
        study.name,
        "dpcore.study.series:measure_series",
        arms,
        lexicons=(_WORDS,),
        seeds=(options.seed,),
        options=(("runs", study.runs), *chosen),
        together=True,
    )


def _facts(one: Series, counted: CountedLexicon, rows: list[Row]) -> dict[str, Any]:
    """What the manifest says of a series."""
    mechanism = create(one.mechanism, counted.lexicon, dict(one.settings))
    facts = next(row for row in rows if not row["quantity"])
    names = ("method", "detail", "words", "numerical_error")
    own = {"name": one.name, "curve": one.curve or one.name, "mechanism": mechanism.key}
    return own | {"parameters": mechanism.settings()} | {name: facts[name] for name in names}


def _command(study: Study, options: Options) -> str:
    """The command line that makes the result again."""
    parts = [f"python -m dpcore study run {study.name}"]
    if study.vocabulary != BUNDLED:
        parts.append("--data ../shared/data")
    if options.words is not None:
        parts.append(f"--words {options.words}")
    return " ".join([*parts, f"--seed {options.seed}"])
