"""Commands `study` (list, run and compare recorded studies) and `utility`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click import argument, option

from dpcore.cli import fields, flags
from dpcore.cli.construction import build_mechanisms, epsilons_of_each, settings_of_each
from dpcore.cli.printer import Answer, table
from dpcore.cli.reading import read_rows, reading_options
from dpcore.cli.shell import Options, command, group, one_of
from dpcore.errors import ParameterError, StudyError
from dpcore.jobs import executors
from dpcore.learn.corpus import LabelledTexts
from dpcore.lexicon.catalogue import DEFAULT_NAME, load
from dpcore.limits import LIVE_SEEDS, LIVE_TEXTS, MIN_CLASS_TEXTS
from dpcore.outwards import at_least
from dpcore.papers.ours.equal_leakage import Compared, compare_mechanisms, without_privacy
from dpcore.papers.studies import EXPERIMENTS, STUDIES, study_of
from dpcore.study.crowds import build_crowds
from dpcore.study.labelled_trial import STRONGER
from dpcore.study.live import JOB, Live, shortened, table_texts, teaching_texts
from dpcore.study.plan import Arm, Row, Study, canonical
from dpcore.study.recorded import (
    FOLDER,
    Entry,
    Figures,
    MeanInterval,
    check_writable,
    read_bundled,
    read_recorded,
    write_recorded,
)
from dpcore.study.recording import Options as Choice
from dpcore.study.recording import record
from dpcore.study.tables import tidy

if TYPE_CHECKING:
    import pandas as pd


study_command = group("study", "Studies whose results come with the laboratory.")


@command("list", study_command)
def _list(_: Options) -> Answer:
    """The studies, and what is recorded of them."""
    try:
        entries = {entry.name: entry for entry in read_bundled()}
    except StudyError:
        # Without a record the studies can still be listed, and run.
        entries = {}
    studies, experiments = (
        [_facts(study, entries.get(study.name)) for study in studies_of_a_kind.values()]
        for studies_of_a_kind in (STUDIES, EXPERIMENTS)
    )
    result = {"studies": studies, "experiments": experiments}
    return Answer(result, _lines([*studies, *experiments]))


def _facts(study: Study, entry: Entry | None) -> dict[str, Any]:
    """Describe a study and its record."""
    extent: dict[str, Any] = {"sizes": study.sizes, "cells": len(study.plan.cells())}
    if study.choice:
        extent = {
            "vocabulary": study.plan.lexicons[0],
            "words": study.choice.count,
            "runs": dict(study.plan.options)["runs"],
            "series": [arm.name for arm in study.plan.arms],
        }
    return {
        **fields.some(study, "name title source"),
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
@flags.file("--data", "folder of corpora and vectors", metavar="DIR")
@flags.file("--out", "folder to write", metavar="DIR", default=Path("results"))
@flags.number("--words", None, "measure N words (not experiments)")
@flags.seed("of the choice of words and of the noise (not experiments)  [default: 0]", None)
@flags.number("--workers", 1, "processes")
@flags.file("--work", "keep finished parts, to go on after a stop", metavar="DIR")
def _run(options: Options) -> Answer:
    """Record the study NAME, one of `study list`."""
    study = study_of(options.name)
    folder = options.out if study.choice else options.out / FOLDER
    # Before hours of work.
    check_writable(folder)
    choice, more = Choice(options.words, options.seed), fields.some(options, "workers work")
    entry, table = record(study, options.data, choice, options.progress, **more)
    written = write_recorded(entry, table, folder)
    size = f"{written.file}: {len(table):,} rows in {folder}"
    # Experiments fix their own sizes; other studies measure as many words as asked.
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


@command("crowds", study_command)
@flags.file("--data", "folder of the corpora", metavar="DIR", required=True)
@flags.file("--out", "folder to write", metavar="DIR", required=True)
def _crowds(options: Options) -> Answer:
    """Count the words of four real corpora by class again, as in data/crowd."""
    manifest = build_crowds(load(), options.data, options.out, options.progress)
    rows = [
        {"corpus": corpus["title"], **group}
        for corpus in manifest["crowds"]
        for group in corpus["groups"]
    ]
    size = sum(written["bytes"] for written in manifest["files"].values())
    return Answer(manifest, [*table(_COUNTED, rows), f"{size:,} bytes written to {options.out}"])


_COUNTED = "{corpus:<16} {name:<24|class} {texts:>8,} {words:>10,} {unknown:>8,} {distinct:>9,}"


_COMPARED = (
    "{level:>7|level} {curve:<26|mechanism} {epsilon:>8|ε} {guessed:>9} {near:>9|or near} "
    "{kept:>6|Nw} {accuracy:>22} {gain:>26|minus optimal} {clean:>9|on clean} "
    "{clean_gain:>26|minus optimal} {auc:>22|AUC} {attack:>26|minus optimal}"
)


@command("compare", study_command)
@argument("name")
@option("--learner", default="tf-idf", metavar="NAME", help="whose accuracy")
def _compare(options: Options) -> Answer:
    """Mechanisms at equal leakage, as the study NAME recorded them."""
    figures = Figures(read_recorded(options.name))
    points = compare_mechanisms(figures, learner=options.learner)
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
            fields.some(point, "data level curve epsilon at_least")
            | {name: _ends(getattr(point, name)) for name in _READINGS}
            for point in points
        ],
    }
    return Answer(result, _compared_lines(points, without))


_DIFFERENCES = ("gain", "clean_gain", "attack")
_READINGS = ("guessed", "near", "equal", "kept", "accuracy", "clean", "auc", *_DIFFERENCES)


def _ends(reading: MeanInterval | None) -> list[float | None] | None:
    """Return mean and both ends; an end that does not exist (one trial) is null."""
    if reading is None:
        return None
    # JSON has no NaN.
    return [None if math.isnan(value) else value for value in reading]


def _compared_lines(
    points: Sequence[Compared], without: dict[str, tuple[MeanInterval, MeanInterval]]
) -> Iterator[str]:
    for data, (accuracy, auc) in without.items():
        yield f"{data}, without privacy: accuracy {accuracy}, AUC {auc}"
        yield from table(_COMPARED, (_shown(point) for point in points if point.data == data))
    yield "guessed: of content words, by someone who knows how common they are; or near: the word"
    yield "or one of its nine nearest. ≥: of an attacker who need not be the best one."
    yield "Accuracy: of a classifier that learned from private texts, on private and on clean ones."
    yield "Differences: intervals that hold for all of a corpus together; * where 0 lies outside."
    yield "All other intervals: 95 %."


def _shown(point: Compared) -> dict[str, str]:
    """Return the cells of one line."""
    guessed, near = (
        f"≥ {at_least(mean, places=4)}" if point.at_least else f"{mean:.4f}"
        for mean in (point.guessed.mean, point.near.mean)
    )
    return {
        "level": f"{point.level:g}",
        "curve": point.curve,
        "epsilon": f"{point.epsilon:g}",
        "guessed": guessed,
        "near": near,
        "kept": f"{point.kept.mean:.3f}",
        "accuracy": str(point.accuracy),
        "clean": f"{point.clean.mean:.3f}",
        "auc": str(point.auc),
    } | {
        name: ""
        if reading is None
        # Both ends on one side of 0.
        else f"{reading}{' *' if reading.low * reading.high > 0 else ''}"
        for name in _DIFFERENCES
        for reading in [getattr(point, name)]
    }


# The command `utility`: what a classifier learns from private text, ours or a table.


_TABLE = (
    "{label:<26|mechanism} {epsilon:>10|ε} {accuracy:>9} {clean:>9|on clean} {auc:>9|AUC} "
    "{nw:>9|Nw} {rouge1:>9|ROUGE-1}"
)


@command("utility")
@one_of(
    {
        "--labels": {"default": "sentiment", "help": "of the teaching corpus; or topic"},
        "--file": {"type": Path, "metavar": "CSV", "help": "a table of your own"},
    },
    needed=False,
)
@option("--text-column", default="text", metavar="NAME", help="of --file")
@option("--label-column", default="label", metavar="NAME", help="of --file")
@reading_options
@flags.compared
@flags.settings
@flags.number("--texts", 300, "used", least=1, most=LIVE_TEXTS)
@flags.number("--trials", 2, f"1 to {LIVE_SEEDS}")
@option("--classifier", default="averaged", metavar="NAME", help="that learns")
@option("--attack", is_flag=True, help="infer membership too")
@flags.number("--workers", 1, "processes")
@flags.lexicon
def utility_command(options: Options) -> Answer:
    """Accuracy and membership inference of a classifier of private text."""
    if options.language is not None:
        raise ParameterError(
            "here every process reads the lexicon by its name, with the language that it says: "
            "leave out --language, and name it to `lexicon add FILE --language CODE`"
        )
    texts, rare = _texts(options)
    labelling = "uploaded" if options.file else options.labels
    mechanisms = build_mechanisms(options, options.mechanism)
    grids = epsilons_of_each(options.epsilon, mechanisms)
    settings = settings_of_each(options, options.mechanism)
    arms = tuple(
        Arm(mechanism.short, tuple(grid), tuple(sorted(given.items())))
        for mechanism, grid, given in zip(mechanisms, grids, settings.values(), strict=True)
    )
    # The name and not the lexicon: the processes of a run load it themselves.
    vocabulary = options.lexicon or DEFAULT_NAME
    live = Live(
        texts, labelling, arms, vocabulary, options.trials, options.classifier, options.attack
    )
    rows = _rows(live, options)
    trials, classes = live.seeds, list(texts.classes)
    result = {
        "labels": labelling,
        "texts": len(texts),
        "classes": classes,
        "trials": trials,
        "classifier": live.learner,
        **fields.of_lexicon(mechanisms[0].lexicon),
        "rows": rows,
    }
    heading = f"{len(texts):,} texts of {len(classes)} classes, {trials} trials"
    if rare:
        least = 2 * MIN_CLASS_TEXTS
        heading += f"; left out: {rare:,} texts of classes with fewer than {least}"
    return Answer(result, [heading, *table(_TABLE, _means(tidy(rows)))])


def _texts(options: Options) -> tuple[LabelledTexts, int]:
    """Return the texts, and the number left out because their class is too small."""
    if options.file is None:
        return shortened(teaching_texts(options.labels, options.texts)), 0
    rows = read_rows(options.file, options, options.text_column, options.label_column)
    found = table_texts(rows, options.text_column, options.label_column, options.texts)
    return found.texts, found.rare


def _rows(live: Live, options: Options) -> list[Row]:
    """Compute the rows of all cells, in the order of the plan."""
    jobs = live.jobs()
    finished: dict[str, list[Row]] = {}
    with executors.of(options.workers) as executor:
        options.progress("parts", 0, len(jobs))
        # Cells end in any order, and each result names its cell by its plan.
        for job, result in executor.run(JOB, jobs):
            finished[canonical(job["cell"])] = result["rows"]
            options.progress("parts", len(finished), len(jobs))
    return [row for job in jobs for row in finished[canonical(job["cell"])]]


def _means(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield one row for each mechanism and ε: means over trials; ε is empty for the baseline."""
    columns: dict[str, dict[str, str]] = {
        "accuracy": {"quantity": "accuracy", "tested_on": "private"},
        "clean": {"quantity": "accuracy", "tested_on": "clean"},
        "auc": {"quantity": "auc", "variant": STRONGER},
        "nw": {"quantity": "nw"},
        "rouge1": {"quantity": "rouge1"},
    }
    for (label, epsilon), some in rows.groupby(["label", "epsilon"], sort=False, dropna=False):
        means = {}
        for name, where in columns.items():
            chosen = some
            for column, value in where.items():
                chosen = chosen[chosen[column] == value]
            means[name] = f"{chosen['value'].mean():.3f}" if len(chosen) else ""
        # The baseline has no ε: NaN in the table, which alone differs from itself.
        shown = "" if epsilon != epsilon else f"{epsilon:.4g}"
        yield {"label": label, "epsilon": shown, **means}
