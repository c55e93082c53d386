"""The command `study`: list what is recorded, and record it again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click import argument

from dpcore.cli import shared
from dpcore.cli.printer import Answer
from dpcore.cli.shell import Options, command, group
from dpcore.cli.terminal import progress_bars
from dpcore.errors import StudyError

if TYPE_CHECKING:
    from dpcore.study.experiment_results import ExperimentEntry
    from dpcore.study.results import Entry

study_command = group("study", "Studies whose results come with the laboratory.")


@command("list", study_command)
def _list(_: Options) -> Answer:
    """The studies, and what is recorded of them."""
    from dpcore.papers.experiments import EXPERIMENTS
    from dpcore.papers.studies import STUDIES
    from dpcore.study.experiment_results import FOLDER, read_experiments
    from dpcore.study.results import bundled_results, read_manifest

    folder = bundled_results()
    try:
        study_entries = {entry.name: entry for entry in read_manifest(folder)}
    except StudyError:
        study_entries = {}
    try:
        experiment_entries = {entry.name: entry for entry in read_experiments(folder / FOLDER)}
    except StudyError:
        experiment_entries = {}
    studies = [
        {
            "name": study.name,
            "title": study.title,
            "source": study.source,
            "vocabulary": study.vocabulary,
            "words": study.words,
            "runs": study.runs,
            "series": [series.name for series in study.series],
            **_recorded(study_entries.get(study.name)),
        }
        for study in STUDIES.values()
    ]
    experiments = [
        {
            "name": experiment.name,
            "title": experiment.title,
            "source": experiment.source,
            "sizes": experiment.sizes,
            "cells": len(experiment.plan.cells()),
            **_recorded(experiment_entries.get(experiment.name)),
        }
        for experiment in EXPERIMENTS.values()
    ]
    result = {"studies": studies, "experiments": experiments}
    return Answer(result, _lines([*studies, *experiments]))


def _recorded(entry: Entry | ExperimentEntry | None) -> dict[str, Any]:
    return {
        "recorded": entry.date if entry else None,
        "version": entry.version if entry else None,
        "command": entry.command if entry else None,
    }


def _lines(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        size = row["sizes"] if "sizes" in row else f"{row['words']:,} words"
        recorded = f"recorded {row['recorded']}: {row['command']}"
        yield f"{row['name']:28} {row['title']}"
        yield f"{'':28} {row['source'] or 'no paper'}; {size}"
        yield f"{'':28} {recorded if row['recorded'] else 'not recorded'}"


@command("run", study_command)
@argument("name")
@shared.file("--data", "folder of corpora and vectors", metavar="DIR")
@shared.file("--out", "folder to write", metavar="DIR", default=Path("results"))
@shared.number("--words", None, "measure N words (not experiments)")
@shared.seed_option("of the choice of words and of the noise (not experiments)  [default: 0]")
@shared.number("--workers", 1, "processes")
@shared.file("--work", "keep finished parts, to go on after a stop", metavar="DIR")
def _run(options: Options) -> Answer:
    """Record the study NAME, one of `study list`."""
    from dpcore.papers.studies import STUDIES, study_of
    from dpcore.study.manifest import check_writable
    from dpcore.study.recording import Options as Choice
    from dpcore.study.recording import record
    from dpcore.study.results import write_recorded
    from dpcore.study.vocabularies import load_vocabulary

    if options.name not in STUDIES:
        return _run_experiment(options)
    study = study_of(options.name)
    check_writable(options.out)
    with progress_bars() as progress:
        counted = load_vocabulary(study.vocabulary, options.data, progress)
        choice = Choice(options.words, options.seed or 0)
        entry, table = record(
            study, counted, choice, progress, workers=options.workers, work=options.work
        )
    written = write_recorded(entry, table, options.out)
    known, rows = len(counted.lexicon), len(table)
    return Answer(
        asdict(written),
        [
            f"{written.file}: {rows:,} rows in {options.out}, measured in {entry.seconds:g} s",
            f"{known:,} words, of which {entry.words:,} measured; seed {entry.seed}",
        ],
    )


def _run_experiment(options: Options) -> Answer:
    from dpcore.papers.experimenting import record_experiment
    from dpcore.papers.experiments import experiment_of
    from dpcore.study.experiment_results import FOLDER, write_experiment
    from dpcore.study.manifest import check_writable

    experiment = experiment_of(options.name)
    if options.words is not None or options.seed is not None:
        raise StudyError("an experiment has its own sizes and seeds: leave out --words and --seed")
    if options.data is None and experiment.reads_data:
        raise StudyError("an experiment reads corpora and vectors: give their folder with --data")
    folder = options.out / FOLDER
    check_writable(folder)
    with progress_bars() as progress:
        entry, table = record_experiment(
            experiment, options.data, options.workers, options.work, progress
        )
    written = write_experiment(entry, table, folder)
    return Answer(
        asdict(written),
        [f"{written.file}: {len(table):,} rows in {folder}, cells of {entry.seconds:g} s"],
    )
