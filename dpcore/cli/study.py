"""The command `study`: list what is recorded, and record it again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore.cli.mechanisms import print_json, seed_option
from dpcore.errors import StudyError

if TYPE_CHECKING:
    import argparse

    from dpcore.cli.mechanisms import Commands

_OUT = Path("results")


def register(commands: Commands) -> None:
    """Add the command; each handler takes the parsed arguments and returns an exit code."""
    parser = commands.add_parser("study", help="studies whose results come with the laboratory")
    parts = parser.add_subparsers(required=True, metavar="COMMAND")
    listing = parts.add_parser("list", help="the studies, and what is recorded of them")
    listing.set_defaults(handler=_list)
    running = parts.add_parser("run", help="record a study")
    running.add_argument("name", help="a name from `study list`")
    running.add_argument("--data", type=Path, metavar="DIR", help="folder of corpora and vectors")
    running.add_argument(
        "--out", type=Path, default=_OUT, metavar="DIR", help=f"folder to write (default {_OUT})"
    )
    running.add_argument("--words", type=int, metavar="N", help="measure N words (not experiments)")
    seed_option(running, "of the choice of words and of the noise (default 0; not experiments)")
    running.add_argument(
        "--workers", type=int, default=1, metavar="N", help="processes (default 1)"
    )
    running.add_argument(
        "--work", type=Path, metavar="DIR", help="keep finished parts, to go on after a stop"
    )
    running.set_defaults(handler=_run)
    for made in (listing, running):
        made.add_argument("--json", action="store_true", help="print one JSON object")


def _list(options: argparse.Namespace) -> int:
    from dpcore.papers.studies import STUDIES
    from dpcore.study.results import bundled_results, read_manifest

    folder = bundled_results()
    try:
        entries = {entry.name: entry for entry in read_manifest(folder)}
    except StudyError:
        entries = {}
    found: list[dict[str, Any]] = []
    for study in STUDIES.values():
        entry = entries.get(study.name)
        facts = {
            "name": study.name,
            "title": study.title,
            "source": study.source,
            "vocabulary": study.vocabulary,
            "words": study.words,
            "runs": study.runs,
            "series": [series.name for series in study.series],
            "recorded": entry.date if entry else None,
            "version": entry.version if entry else None,
            "command": entry.command if entry else None,
        }
        found.append(facts)
    experiments = _experiments(folder)
    if options.json:
        print_json({"studies": found, "experiments": experiments})
        return 0
    for facts in found:
        print(f"{facts['name']:28} {facts['title']}")
        print(f"{'':28} {facts['source'] or 'no paper'}; {facts['words']:,} words")
        state = f"recorded {facts['recorded']}: {facts['command']}"
        print(f"{'':28} {state if facts['recorded'] else 'not recorded'}")
    for facts in experiments:
        print(f"{facts['name']:28} {facts['title']}")
        print(f"{'':28} {facts['source'] or 'no paper'}; {facts['sizes']}")
        state = f"recorded {facts['recorded']}: {facts['command']}"
        print(f"{'':28} {state if facts['recorded'] else 'not recorded'}")
    return 0


def _experiments(folder: Path) -> list[dict[str, Any]]:
    """The experiments with classifiers, and what is recorded of them."""
    from dpcore.papers.experiments import EXPERIMENTS
    from dpcore.study.experiment_results import FOLDER, read_experiments

    try:
        entries = {entry.name: entry for entry in read_experiments(folder / FOLDER)}
    except StudyError:
        entries = {}
    found: list[dict[str, Any]] = []
    for experiment in EXPERIMENTS.values():
        entry = entries.get(experiment.name)
        facts: dict[str, Any] = {
            "name": experiment.name,
            "title": experiment.title,
            "source": experiment.source,
            "sizes": experiment.sizes,
            "cells": len(experiment.plan.cells()),
            "recorded": entry.date if entry else None,
            "version": entry.version if entry else None,
            "command": entry.command if entry else None,
        }
        found.append(facts)
    return found


def _run(options: argparse.Namespace) -> int:
    from dataclasses import asdict

    from dpcore.cli.terminal import progress_bars
    from dpcore.papers.studies import STUDIES, study_of
    from dpcore.study.manifest import check_writable
    from dpcore.study.recording import Options, record
    from dpcore.study.results import write_recorded
    from dpcore.study.vocabularies import load_vocabulary

    if options.name not in STUDIES:
        return _run_experiment(options)
    study = study_of(options.name)
    check_writable(options.out)
    with progress_bars() as progress:
        counted = load_vocabulary(study.vocabulary, options.data, progress)
        chosen = Options(options.words, options.seed or 0)
        more = {"workers": options.workers, "work": options.work}
        entry, table = record(study, counted, chosen, progress, **more)
    written = write_recorded(entry, table, options.out)
    if options.json:
        print_json(asdict(written))
        return 0
    print(f"{written.file}: {len(table):,} rows in {options.out}, measured in {entry.seconds:g} s")
    print(f"{len(counted.lexicon):,} words, of which {entry.words:,} measured; seed {entry.seed}")
    return 0


def _run_experiment(options: argparse.Namespace) -> int:
    from dataclasses import asdict

    from dpcore.cli.terminal import progress_bars
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
    if options.json:
        print_json(asdict(written))
        return 0
    print(f"{written.file}: {len(table):,} rows in {folder}, cells of {entry.seconds:g} s")
    return 0
