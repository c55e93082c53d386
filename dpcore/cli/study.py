"""The command `study`: list what is recorded, and record it again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore.cli.mechanisms import print_json, seed_option
from dpcore.errors import StudyError

if TYPE_CHECKING:
    import argparse

    from dpcore.cli.mechanisms import Commands
    from dpcore.study.definition import Study
    from dpcore.study.recorded import Entry

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
    from dpcore.papers.studies import EXPERIMENTS, STUDIES
    from dpcore.study.recorded import read_bundled

    try:
        entries = {entry.name: entry for entry in read_bundled()}
    except StudyError:
        entries = {}
    studies, experiments = (
        [_facts(study, entries.get(study.name)) for study in group.values()]
        for group in (STUDIES, EXPERIMENTS)
    )
    if options.json:
        print_json({"studies": studies, "experiments": experiments})
        return 0
    for facts in (*studies, *experiments):
        print(f"{facts['name']:28} {facts['title']}")
        sizes = f"{facts['words']:,} words" if "words" in facts else facts["sizes"]
        print(f"{'':28} {facts['source'] or 'no paper'}; {sizes}")
        state = f"recorded {facts['recorded']}: {facts['command']}"
        print(f"{'':28} {state if facts['recorded'] else 'not recorded'}")
    return 0


def _facts(study: Study, entry: Entry | None) -> dict[str, Any]:
    """What a study is, and what is recorded of it."""
    own: dict[str, Any] = {"sizes": study.sizes, "cells": len(study.plan.cells())}
    if study.choice:
        own = {
            "vocabulary": study.plan.lexicons[0],
            "words": study.choice.count,
            "runs": dict(study.plan.options)["runs"],
            "series": [arm.name for arm in study.plan.arms],
        }
    return {
        "name": study.name,
        "title": study.title,
        "source": study.source,
        **own,
        "recorded": entry.date if entry else None,
        "version": entry.version if entry else None,
        "command": entry.command if entry else None,
    }


def _run(options: argparse.Namespace) -> int:
    from dpcore.cli.terminal import progress_bars
    from dpcore.papers.studies import study_of
    from dpcore.study.recorded import FOLDER, check_writable, write_recorded
    from dpcore.study.recording import Options, record

    study = study_of(options.name)
    folder = options.out if study.choice else options.out / FOLDER
    check_writable(folder)
    chosen = Options(options.words, options.seed)
    with progress_bars() as progress:
        entry, table = record(
            study, options.data, chosen, progress, workers=options.workers, work=options.work
        )
    written = write_recorded(entry, table, folder)
    if options.json:
        print_json(written.to_json())
        return 0
    if study.choice is None:
        print(f"{written.file}: {len(table):,} rows in {folder}, cells of {entry.seconds:g} s")
        return 0
    print(f"{written.file}: {len(table):,} rows in {folder}, measured in {entry.seconds:g} s")
    words = entry.vocabulary["words"]
    print(f"{words:,} words, of which {entry.words:,} measured; seed {entry.seed}")
    return 0
