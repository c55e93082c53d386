"""Commands `study` (list, run, show and compare recorded studies), `utility` and `reproduce`."""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
import shlex
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click import argument, option

from dpcore import __version__
from dpcore.cli import fields, flags
from dpcore.cli.construction import build_mechanisms, epsilons_of_each, settings_of_each
from dpcore.cli.printer import FAILED, Answer, table
from dpcore.cli.reading import read_rows, reading_options
from dpcore.cli.shell import Options, command, group, one_of
from dpcore.errors import DpcoreError, ParameterError, StudyError
from dpcore.jobs import executors
from dpcore.learn.corpus import LabelledTexts
from dpcore.lexicon.catalogue import DEFAULT_NAME, load
from dpcore.limits import LIVE_SEEDS, LIVE_TEXTS, MIN_CLASS_TEXTS
from dpcore.outwards import at_least
from dpcore.papers import read_toml
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
from dpcore.study.utility_summary import cell_means

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


@command("show", study_command)
@argument("name")
@flags.pairs("--where", "rows with this value in a column, such as quantity=accuracy")
def _show(options: Options) -> Answer:
    """Rows of the record NAME, as means over trials, and its comparison with a paper."""
    # Late: it imports every paper.
    from dpcore.papers.comparison import comparison_rows

    recorded = read_recorded(options.name)
    entry, table = recorded.entry, recorded.table
    unknown = [name for name in options.where if name not in table]
    if unknown:
        columns = ", ".join(table.columns)
        raise ParameterError(f"no column {unknown[0][:60]!r}; the record has {columns}")
    for name, value in options.where.items():
        table = table[[equals(cell, value) for cell in table[name]]]
    if entry.of_words:
        table = table.rename(columns={"mean_low": "low", "mean_high": "high"})
        ends = ["mean", "low", "high", "words", "runs"]
        measured = table[["curve", "mechanism", "epsilon", "word", "quantity", "method", *ends]]
        rows = [
            {str(name): None if value != value else value for name, value in row.items()}
            for row in measured.to_dict("records")
        ]
    else:
        rows = cell_means(table)
    compared = [asdict(row) for row in comparison_rows(recorded)]
    result = {
        **fields.some(entry, "name title source command version date seconds data"),
        "rows": rows,
        "comparison": compared,
    }
    return Answer(result, _record_lines(result))


def _record_lines(record: dict[str, Any]) -> Iterator[str]:
    yield f"{record['title']}; recorded {record['date']} in {record['seconds']:g} s"
    names = {
        name for row in record["rows"] for name, value in row.items() if value not in ("", None)
    }
    for row in record["rows"]:
        yield "  ".join(
            f"{name} {value:.6g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in row.items()
            if name in names and value is not None
        )
    for row in record["comparison"]:
        yield f"{row['figure']}, {row['quantity']}: paper {row['in_paper']}; here {row['ours']}"


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


# The command `reproduce`: documented numbers against the commands that compute them.


QUICK = 60.0
"""Seconds of processor time that all entries take together which run when none is named."""
_TABLE_OF_ENTRIES = "reproduce.toml"
_STEP = " > "
_NUMBER = re.compile(r"\{([^{}]*)\}")
_DIGITS = re.compile(r"[−-]?(?:\d[\d,]*)?(?:\.(\d+))?")


@dataclass(frozen=True, kw_only=True)
class Check:
    """A passage of a document, and the places of its numbers in the answer of a command.

    Attributes:
        quote: the passage as it stands there, with each number that is checked in braces.
        at: place of each number: keys and selections of rows, joined by " > ". A selection is an
            index, "*" for all, or "column=value; column=value" for the one row that has them. Each
            name of `over` fills the gap of a place.
        over: names for the gaps of `at`.
        scale: factor from the answer to the document, 100 for a share written as a percentage.
        unit: what the numbers were rounded to; 0 for their last digit.
    """

    quote: str
    at: tuple[str, ...]
    over: tuple[str, ...] = ()
    scale: float = 1.0
    unit: float = 0.0

    @property
    def text(self) -> str:
        """The passage without braces."""
        return _NUMBER.sub(r"\1", self.quote)

    @property
    def expected(self) -> list[str]:
        """The numbers as they are written."""
        return _NUMBER.findall(self.quote)

    def places(self) -> list[str]:
        """Return the places, with the names of `over` in their gaps."""
        return [place.replace("{}", name) for name in self.over or ("",) for place in self.at]


@dataclass(frozen=True, kw_only=True)
class Claimed:
    """A documented statement and the command that reproduces its numbers.

    Attributes:
        name: name of the entry.
        document: the file that states it.
        claim: the statement in one sentence.
        command: arguments of `python -m dpcore`.
        seconds: measured processor time, without the start of Python.
        megabytes: measured largest memory.
        checks: the passages.
        tolerance: "rounded": half a unit of the last digit; "outward": one unit, for a bound that
            was rounded to the safe side; "six digits", for digits that differ between processors;
            else the largest difference.
        reason: why it may differ by a tolerance that is a number.
        study: the record that the command reads, if it computes nothing; empty otherwise.
        seed: of its noise; None where nothing is random, and for a record, which has its own.
    """

    name: str
    document: str
    claim: str
    command: str
    seconds: float
    megabytes: int
    checks: tuple[Check, ...]
    tolerance: str | float = "rounded"
    reason: str = ""
    study: str = ""
    seed: int | None = None


def claimed(text: str | None = None) -> dict[str, Claimed]:
    """Read the entries by name, from TOML; None for those of the laboratory."""
    rows = read_toml(_TABLE_OF_ENTRIES) if text is None else tomllib.loads(text)
    entries = {}
    for name, row in rows.items():
        checks = []
        for check in row["checks"]:
            over = tuple(check.get("over", ()))
            checks.append(Check(**check | {"at": tuple(check["at"]), "over": over}))
        entries[name] = Claimed(**row | {"name": name, "checks": tuple(checks)})
    return entries


def quick(entries: dict[str, Claimed]) -> list[str]:
    """Return the names of the entries that take a minute together, in their order."""
    total, within = 0.0, set()
    for entry in sorted(entries.values(), key=lambda entry: entry.seconds):
        total += entry.seconds
        if total <= QUICK:
            within.add(entry.name)
    return [name for name in entries if name in within]


@command("reproduce")
@argument("names", nargs=-1, metavar="[NAME]...")
@option("--all", "every", is_flag=True, help="also the entries that take longer")
@option("--list", "listed", is_flag=True, help="list the entries, and run none")
def reproduce_command(options: Options) -> Answer:
    """Run the commands behind documented numbers, and compare: exit code 1 if one differs.

    Without a NAME those that take a minute of the processor together.
    """
    entries = claimed()
    unknown = [name for name in options.names if name not in entries]
    if unknown:
        raise ParameterError(
            f"no entry {unknown[0][:60]!r}; `reproduce --list` names {len(entries)} of them"
        )
    names = list(options.names) or (list(entries) if options.every else quick(entries))
    if options.listed:
        listed = list(options.names) or list(entries)
        rows = [
            fields.some(entries[name], "name document claim command seconds megabytes study")
            for name in listed
        ]
        return Answer({"version": __version__, "entries": rows}, table(_ENTRIES, rows))
    root = click.get_current_context().find_root().command
    results, seconds_left = [], sum(entries[name].seconds for name in names)
    total = seconds_left
    for name in names:
        # In seconds of the table, so that the time left is right where one entry takes most of it.
        options.progress("seconds of work", round(total - seconds_left), round(total))
        results.append(_reproduced(entries[name], root))
        seconds_left -= entries[name].seconds
    right = sum(result["reproduced"] for result in results)
    answer = {
        "version": __version__, "reproduced": right, "of": len(results), "entries": results,
    }  # fmt: skip
    lines = [*_reproduced_lines(results), f"{right} of {len(results)} reproduced"]
    return Answer(answer, lines, code=0 if right == len(results) else FAILED)


_ENTRIES = "{name:<32} {document:<22} {seconds:>8.4g|seconds} {megabytes:>6|MB}  {command}"


def _reproduced(entry: Claimed, root: click.Command) -> dict[str, Any]:
    """Run the command of an entry and compare its numbers."""
    begun = time.process_time()
    answer, error = _answer_of(shlex.split(entry.command), root)
    numbers: list[dict[str, Any]] = []
    if answer is not None:
        for check in entry.checks:
            numbers += compared_numbers(check, answer, entry.tolerance)
    return {
        **fields.some(entry, "name document claim command"),
        "reproduced": not error and all(number["agrees"] for number in numbers),
        "error": error,
        "seconds": round(time.process_time() - begun, 3),
        "numbers": numbers,
    }


def _answer_of(arguments: list[str], root: click.Command) -> tuple[dict[str, Any] | None, str]:
    """Run a command in this process; return its JSON, and the reason if there is none."""
    out = io.StringIO()
    try:
        with (
            contextlib.redirect_stdout(out),
            # Its notes and bars would stand between the lines of this command.
            contextlib.redirect_stderr(io.StringIO()),
            root.make_context("python -m dpcore", [*arguments, "--json"]) as context,
        ):
            code = root.invoke(context)
        if code:
            return None, f"the command ended with exit code {code}"
        return json.loads(out.getvalue()), ""
    except click.ClickException as error:
        return None, error.format_message()
    except (DpcoreError, OSError, MemoryError) as error:
        return None, str(error) or type(error).__name__


def compared_numbers(
    check: Check, answer: dict[str, Any], tolerance: str | float = "rounded"
) -> list[dict[str, Any]]:
    """Compare the numbers of a passage with those of an answer.

    Returns:
        One dictionary per number: `expected` as it is written, `got` (None if the answer has
        nothing at that place), `at`, `agrees`.
    """
    rows = []
    places = [place for path in check.places() for place in _values(answer, path)]
    for expected, found in zip_longest(check.expected, places):
        at, got = found or ("", None)
        agrees = expected is not None and _agrees(check, expected, got, tolerance)
        rows.append({"expected": expected, "got": got, "at": at, "agrees": agrees})
    return rows


def _values(answer: Any, path: str) -> list[tuple[str, Any]]:
    """Return the values at a place with the place itself; one None where there is nothing."""
    values = [answer]
    for step in path.split(_STEP):
        values = [value for inner in values for value in _step(inner, step)]
    return [(path, value) for value in values] or [(path, None)]


def _step(held: Any, step: str) -> list[Any]:
    if isinstance(held, dict):
        return [held[step]] if step in held else []
    if not isinstance(held, list):
        return []
    if step == "*":
        return held
    if step.lstrip("-").isdigit():
        return held[int(step) :][:1]
    conditions = [part.strip().partition("=")[::2] for part in step.split(";")]
    rows = [
        row
        for row in held
        if isinstance(row, dict) and all(equals(row.get(name), value) for name, value in conditions)
    ]
    # Of several rows it would be chance which one is compared.
    return rows if len(rows) == 1 else []


def equals(held: Any, written: str) -> bool:
    """Return True if a value is the written one; numbers agree in four digits."""
    if isinstance(held, str):
        return held == written
    if held is None:
        return written == ""
    try:
        return f"{held:.4g}" == f"{float(written):.4g}"
    except (TypeError, ValueError):
        return False


def _agrees(check: Check, expected: str, got: Any, tolerance: str | float) -> bool:
    number = _DIGITS.fullmatch(expected)
    if not (number and expected.strip("−-.,")):
        return str(got) == expected
    if isinstance(got, bool) or not isinstance(got, int | float):
        return False
    value = float(expected.replace("−", "-").replace(",", ""))
    unit = check.unit or 10.0 ** -len(number[1] or "")
    sizes = {"rounded": unit / 2, "outward": unit, "six digits": 1e-6 * abs(value)}
    allowed = sizes[tolerance] if isinstance(tolerance, str) else tolerance
    # A little more: a number that lies half-way may be rounded to either side.
    return abs(check.scale * got - value) <= allowed * (1 + 1e-9) + 1e-12 * abs(value)


def _reproduced_lines(results: Sequence[dict[str, Any]]) -> Iterator[str]:
    for result in results:
        count = len(result["numbers"])
        if result["reproduced"]:
            yield f"{result['name']:<32} reproduced, {count} numbers"
            continue
        yield f"{result['name']:<32} NOT reproduced{': ' * bool(result['error'])}{result['error']}"
        for number in result["numbers"]:
            if not number["agrees"]:
                got = "nothing" if number["got"] is None else number["got"]
                got = f"{got:.6g}" if isinstance(got, float) else got
                yield f"{'':<32} expected {number['expected']}, got {got} at {number['at']}"
