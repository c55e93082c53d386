"""The command `study`: list what is recorded, and record it again."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from click import argument, option

from dpcore.cli import shared
from dpcore.cli.printer import Answer, table
from dpcore.cli.shell import Options, command, group
from dpcore.errors import StudyError
from dpcore.outwards import at_least
from dpcore.papers.ours.equal_leakage_comparison import Compared, compared, without_privacy
from dpcore.papers.studies import EXPERIMENTS, STUDIES, study_of
from dpcore.study.definition import Study
from dpcore.study.reading import Figures, Reading
from dpcore.study.recorded import (
    FOLDER,
    Entry,
    check_writable,
    read_bundled,
    read_recorded,
    write_recorded,
)
from dpcore.study.recording import Options as Choice
from dpcore.study.recording import record

study_command = group("study", "Studies whose results come with the laboratory.")


@command("list", study_command)
def _list(_: Options) -> Answer:
    """The studies, and what is recorded of them."""
    try:
        entries = {entry.name: entry for entry in read_bundled()}
    except StudyError:
        entries = {}
    studies, experiments = (
        [_facts(study, entries.get(study.name)) for study in studies_of_a_kind.values()]
        for studies_of_a_kind in (STUDIES, EXPERIMENTS)
    )
    result = {"studies": studies, "experiments": experiments}
    return Answer(result, _lines([*studies, *experiments]))


def _facts(study: Study, entry: Entry | None) -> dict[str, Any]:
    """What a study is, and what is recorded of it."""
    extent: dict[str, Any] = {"sizes": study.sizes, "cells": len(study.plan.cells())}
    if study.choice:
        extent = {
            "vocabulary": study.plan.lexicons[0],
            "words": study.choice.count,
            "runs": dict(study.plan.options)["runs"],
            "series": [arm.name for arm in study.plan.arms],
        }
    return {
        **shared.fields(study, "name title source"),
        **extent,
        "recorded": entry and entry.date,
        "version": entry and entry.version,
        "command": entry and entry.command,
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
@shared.seed_option("of the choice of words and of the noise (not experiments)  [default: 0]", None)
@shared.number("--workers", 1, "processes")
@shared.file("--work", "keep finished parts, to go on after a stop", metavar="DIR")
def _run(options: Options) -> Answer:
    """Record the study NAME, one of `study list`."""
    study = study_of(options.name)
    folder = options.out if study.choice else options.out / FOLDER
    check_writable(folder)
    choice, more = Choice(options.words, options.seed), shared.fields(options, "workers work")
    entry, table = record(study, options.data, choice, options.progress, **more)
    written = write_recorded(entry, table, folder)
    size = f"{written.file}: {len(table):,} rows in {folder}"
    if study.choice is None:
        return Answer(written.to_json(), [f"{size}, cells of {entry.seconds:g} s"])
    known = entry.vocabulary["words"]
    return Answer(
        written.to_json(),
        [
            f"{size}, measured in {entry.seconds:g} s",
            f"{known:,} words, of which {entry.words:,} measured; seed {entry.seed}",
        ],
    )


_COMPARED = (
    "{level:>7|level} {curve:<26|mechanism} {epsilon:>8|ε} {guessed:>9} {kept:>6|Nw} "
    "{accuracy:>22} {gain:>26|minus optimal} {auc:>22|AUC} {attack:>26|minus optimal}"
)


@command("compare", study_command)
@argument("name")
@option("--learner", default="tf-idf", metavar="NAME", help="whose accuracy")
def _compare(options: Options) -> Answer:
    """Mechanisms at equal leakage, as the study NAME recorded them."""
    figures = Figures(read_recorded(options.name))
    points = compared(figures, learner=options.learner)
    corpora = list(dict.fromkeys(point.data for point in points))
    without = {data: without_privacy(figures, data, options.learner) for data in corpora}
    result = {
        "name": figures.name,
        "learner": options.learner,
        "without": [
            {"data": data, "accuracy": _ends(both[0]), "auc": _ends(both[1])}
            for data, both in without.items()
        ],
        "rows": [
            shared.fields(point, "data level curve epsilon at_least")
            | {name: _ends(getattr(point, name)) for name in _READINGS}
            for point in points
        ],
    }
    return Answer(result, _compared_lines(points, without))


_READINGS = ("guessed", "kept", "accuracy", "auc", "gain", "attack")


def _ends(reading: Reading | None) -> list[float | None] | None:
    """Mean and both ends; an end that there is none of (one trial) is null."""
    if reading is None:
        return None
    return [None if math.isnan(value) else value for value in reading]


def _compared_lines(
    points: Sequence[Compared], without: dict[str, tuple[Reading, Reading]]
) -> Iterator[str]:
    for data, (accuracy, auc) in without.items():
        yield f"{data}, without privacy: accuracy {accuracy}, AUC {auc}"
        yield from table(_COMPARED, (_shown(point) for point in points if point.data == data))
    yield "≥: of an attacker who need not be the best one. Differences: intervals that hold for all"
    yield "of a corpus together; * where 0 lies outside. All other intervals: 95 %."


def _shown(point: Compared) -> dict[str, str]:
    """The cells of one line."""
    mean = point.guessed.mean
    guessed = f"≥ {at_least(mean, places=4)}" if point.at_least else f"{mean:.4f}"
    both = {"gain": point.gain, "attack": point.attack}
    return {
        "level": f"{point.level:g}",
        "curve": point.curve,
        "epsilon": f"{point.epsilon:g}",
        "guessed": guessed,
        "kept": f"{point.kept.mean:.3f}",
        "accuracy": str(point.accuracy),
        "auc": str(point.auc),
    } | {
        name: ""
        if reading is None
        else f"{reading}{' *' if reading.low * reading.high > 0 else ''}"
        for name, reading in both.items()
    }
