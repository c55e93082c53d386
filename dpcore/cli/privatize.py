"""Command `privatize`: a private copy of a corpus."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from click import argument, option

from dpcore.attack.trade.curve import TradeCurve
from dpcore.cli import flags
from dpcore.cli.construction import build_mechanism
from dpcore.cli.printer import UNFINISHED, Answer, note
from dpcore.cli.reading import reading_of, reading_options
from dpcore.cli.shell import Options, command
from dpcore.errors import DpcoreError, ParameterError
from dpcore.jobs import executors
from dpcore.jobs.executors import Executor
from dpcore.jobs.worker import Json
from dpcore.lexicon.progress import Progress
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.streams import check_seed
from dpcore.papers.ours.tradeoff import recorded_curve
from dpcore.privatize.folder import alone_with
from dpcore.privatize.label import SUFFIXES, check_label, privacy_label, write_label
from dpcore.privatize.order import Order, check_files, first_look, is_published, read_published
from dpcore.privatize.run import privatize
from dpcore.rewrite.policy import Treatment
from dpcore.tables.detection import format_of
from dpcore.tables.files import Columns
from dpcore.tables.shape import Reading

_writing_options = flags.several(
    option("--allow-line-breaks", is_flag=True, help="in kept cells, and texts that hold rows"),
    option(
        "--neutralise-formulas", is_flag=True,
        help="put an apostrophe before cells of CSV that a spreadsheet would run",
    ),
)  # fmt: skip


@command("privatize")
@argument("source", type=Path)
@flags.file("--out", "the private copy, of the same format", required=True)
@flags.one_mechanism
@flags.epsilon
@option("--text-column", default="text", metavar="NAME", help="what is rewritten")
@option(
    "--keep",
    multiple=True,
    metavar="NAMES",
    help="columns that are released unchanged, with commas between; repeatable",
)
@option("--keep-anyway", is_flag=True, help="keep them though they may give people away")
@reading_options
@_writing_options
@flags.rewriting
@flags.workers
@flags.file(
    "--label", f"write the privacy label too, to {' or '.join(f'*{end}' for end in SUFFIXES)}"
)
@option(
    "--experiment",
    is_flag=True,
    help="put the original texts beside the private ones; never release that",
)
@flags.seed("with --experiment, makes the run repeatable", None)
def privatize_command(options: Options) -> Answer:
    """Rewrite a corpus of any size: text lines, CSV, JSON lines or parquet.

    Every document of SOURCE gets fresh noise. A run that is interrupted goes on when the same
    command is given again, and a label that is lost is written again from the record. The exit code
    is 3 if the copy is published and something that belongs to it could not be written.
    """
    if options.seed is not None and not options.experiment:
        raise ParameterError(
            "--seed needs --experiment: a release takes its noise from the operating system"
        )
    if options.label is not None:
        check_label(options.label, options.out)
    # Before anything is read: a wrong number of workers or a missing package is refused at once.
    executor = executors.of(options.workers, options.scheduler)
    order, lacks_label = _order(options)
    curve, unknown = _curve(order.mechanism, needed=options.label is not None)
    record = read_published(order) if lacks_label else _published(order, executor, options.progress)
    return _answer(order, record, curve, unknown, options.label, fresh=not lacks_label)


def _order(options: Options) -> tuple[Order, bool]:
    """Read the options; also return True if only the label is missing."""
    reading = _reading(options)
    with alone_with(options.out):  # before a large lexicon is read
        columns = Columns(options.text_column, _keep(options), options.experiment)
        lacks_label = options.label is not None and is_published(options.out)
        # With the copy there, its source may be gone: the label is written from the record alone.
        if not lacks_label:
            check_files(options.source, options.out, columns, reading)
    mechanism = build_mechanism(options)
    order = Order(
        source=options.source,
        out=options.out,
        mechanism=mechanism,
        epsilon=mechanism.check_epsilon(options.epsilon),
        columns=columns,
        treatment=Treatment(options.unknown, options.keep_stop_words, options.case),
        seed=None if options.seed is None else check_seed(options.seed),
        reading=reading,
        keep_anyway=options.keep_anyway,
    )
    return order, lacks_label


def _curve(mechanism: Mechanism, *, needed: bool) -> tuple[TradeCurve | None, str]:
    """Read the record of a mechanism, or return a sentence on why that fails.

    It is read before there is a copy: its package may be missing.
    """
    try:
        return recorded_curve(mechanism), ""
    except DpcoreError as error:
        if needed:
            # Of the same type, since the type decides what a caller makes of it.
            raise type(error)(
                f"the label needs the measurements of this mechanism: {error}; or leave out "
                "--label, and give the command with --label later"
            ) from None
        return None, f"How many words are guessed cannot be said here: {error}."


def _published(order: Order, executor: Executor, progress: Progress) -> Json:
    """Make the copy and return its record."""
    for line in first_look(order):  # in time for Ctrl-C
        note(line)
    try:
        with executor:
            return privatize(order, executor=executor, progress=progress)
    except KeyboardInterrupt:
        if order.folder.exists():
            left = (
                f"what is finished is kept in {order.folder}: give the same command again to go "
                "on, or delete that folder"
            )
        # The interrupt may come after the last step: the copy counts, and ε is spent.
        elif is_published(order.out):
            left = f"{order.out} is published already, with its record {order.record}"
        else:
            left = "nothing is kept"
        raise KeyboardInterrupt(left) from None


def _answer(
    order: Order,
    record: Json,
    curve: TradeCurve | None,
    unknown: str,
    path: Path | None,
    *,
    fresh: bool,
) -> Answer:
    """Write the label of a published copy, and describe the copy. Nothing here is a refusal."""
    label = privacy_label(record, order.mechanism, curve, datetime.now(UTC).date())
    done = f"{order.out} is released and {order.record} holds its record"
    lines = [
        f"{order.out}: {record['documents']:,} documents, {record['protected_words']:,} words",
        f"{order.record}: how it was made",
    ]
    guarantee = record["guarantee"]
    notes = [
        f"{guarantee['status']}: {guarantee['statement']}",
        unknown or label.guesses,
        record["longest_document"],
        record["composed"]["statement"],
    ]
    notes += [risk["statement"] for risk in record.get("kept", ())]
    if order.experiment:
        notes.append("an experiment: never release this file")
    if not fresh:
        notes.append("the copy was there already: nothing was drawn, and no ε was spent")
    code = 0
    if path is not None:
        again = "the same command writes it, from the record, and spends no ε"
        try:
            write_label(label, path)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"{done}; the label is not written: {again}") from None
        except DpcoreError as error:
            note(f"{done}; the label could not be written ({error}): {again}")
            code = UNFINISHED
        else:
            lines.append(f"{path}: the privacy label")
    return Answer(record, lines, notes, code, published=done)


def _reading(options: Options) -> Reading:
    return replace(
        reading_of(options),
        line_breaks=options.allow_line_breaks,
        neutralise=options.neutralise_formulas,
    )


def _keep(options: Options) -> tuple[str, ...]:
    """Return the columns of --keep: a value is one name if the file has it, else a list."""
    names: list[str] = []
    for value in options.keep:
        # A name of a column may hold a comma: the file decides.
        if "," in value and options.source.is_file():
            form = format_of(options.source, _reading(options), (value, options.text_column))
            if value.strip() in form.shape.names:
                names.append(value.strip())
                continue
        names += [name.strip() for name in value.split(",") if name.strip()]
    return tuple(dict.fromkeys(names))
