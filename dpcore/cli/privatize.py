"""The command `privatize`: a private copy of a corpus."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from click import argument, option

from dpcore.cli import shared
from dpcore.cli.printer import Answer
from dpcore.cli.shell import Options, command, one_of
from dpcore.errors import ParameterError
from dpcore.jobs import executors
from dpcore.noise.streams import check_seed
from dpcore.papers.ours.tradeoff import recorded_curve
from dpcore.privatize.files import Columns
from dpcore.privatize.folder import alone_with
from dpcore.privatize.label import SUFFIXES, check_label, privacy_label, write_label
from dpcore.privatize.order import Order, check_files
from dpcore.privatize.run import privatize
from dpcore.rewrite.policy import Treatment

if TYPE_CHECKING:
    from dpcore.jobs.worker import Json
    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.privatize.label import Label


@command("privatize")
@argument("source", type=Path)
@shared.file("--out", "the private copy, of the same format", required=True)
@shared.mechanism_options
@shared.epsilon_option
@option("--text-column", default="text", metavar="NAME", help="what is rewritten")
@option(
    "--keep",
    default="",
    metavar="NAMES",
    help="columns that are released unchanged, with commas between; others are left out",
)
@shared.rewriting_options
@one_of(
    {
        "--workers": {
            "type": int, "default": 1, "metavar": "N", "help": "processes of this machine",
        },
        "--scheduler": {"metavar": "URL", "help": "a Dask scheduler, tcp://127.0.0.1:8786"},
    },
    needed=False,
)  # fmt: skip
@shared.file(
    "--label", f"write the privacy label too, to {' or '.join(f'*{end}' for end in SUFFIXES)}"
)
@option(
    "--experiment",
    is_flag=True,
    help="put the original texts beside the private ones; never release that",
)
@shared.seed_option("with --experiment, makes the run repeatable", None)
def privatize_command(options: Options) -> Answer:
    """Rewrite a corpus of any size: text lines, CSV, JSON lines or parquet.

    Every document of SOURCE gets fresh noise. A run that is interrupted goes on when the same
    command is given again.
    """
    if options.seed is not None and not options.experiment:
        raise ParameterError(
            "--seed needs --experiment: a release takes its noise from the operating system"
        )
    if options.label is not None:
        check_label(options.label)
    executor = executors.of(options.workers, options.scheduler)
    order = _order(options)
    try:
        with executor:
            record = privatize(order, executor=executor, progress=options.progress)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"what is finished is kept in {order.folder}: give the same command again to go on, or "
            "delete that folder"
            if order.folder.exists()
            else "nothing is kept"
        ) from None
    label = _label(record, order.mechanism)
    lines = [
        f"{order.out}: {record['documents']:,} documents, {record['protected_words']:,} words",
        f"{order.record}: how it was made",
    ]
    if options.label is not None:
        write_label(label, options.label)
        lines.append(f"{options.label}: the privacy label")
    guarantee = record["guarantee"]
    notes = [
        f"{guarantee['status']}: {guarantee['statement']}",
        label.guesses,
        record["longest_document"],
        record["composed"]["statement"],
    ]
    return Answer(
        record,
        lines,
        [*notes, "an experiment: never release this file"] if order.experiment else notes,
    )


def _label(record: Json, mechanism: Mechanism) -> Label:
    """The label of today."""
    return privacy_label(record, mechanism, recorded_curve(mechanism), datetime.now(UTC).date())


def _order(options: Options) -> Order:
    """What the options ask for."""
    keep = tuple(dict.fromkeys(name.strip() for name in options.keep.split(",") if name.strip()))
    columns = Columns(options.text_column, keep, options.experiment)
    with alone_with(options.out):  # before a large lexicon is read
        check_files(options.source, options.out, columns)
    mechanism = shared.build(options)
    return Order(
        source=options.source,
        out=options.out,
        mechanism=mechanism,
        epsilon=mechanism.check_epsilon(options.epsilon),
        columns=columns,
        treatment=Treatment(options.unknown, options.keep_stop_words, options.case),
        seed=None if options.seed is None else check_seed(options.seed),
    )
