"""The command `privatize`: a private copy of a corpus."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dpcore.cli.mechanisms import build, mechanism_options, print_json, seed_option
from dpcore.cli.rewrite import rewriting_options
from dpcore.errors import ParameterError

if TYPE_CHECKING:
    import argparse

    from dpcore.cli.mechanisms import Commands
    from dpcore.privatize.order import Order

_INTERRUPTED = 130


def register(commands: Commands) -> None:
    """Add the command; its handler takes the parsed arguments and returns an exit code."""
    command = commands.add_parser(
        "privatize",
        help="rewrite a corpus of any size: text lines, CSV, JSON lines or parquet",
        description="Rewrite every document of a file with fresh noise. A run that is "
        "interrupted goes on when the same command is given again.",
    )
    command.add_argument("source", type=Path, metavar="IN", help="*.txt, .csv, .tsv, .jsonl, …")
    command.add_argument(
        "--out", type=Path, required=True, help="the private copy, of the same format"
    )
    mechanism_options(command, epsilon=True)
    command.add_argument(
        "--text-column", default="text", metavar="NAME", help="what is rewritten (default text)"
    )
    command.add_argument(
        "--keep",
        default="",
        metavar="NAMES",
        help="columns that are released unchanged, with commas between; others are left out",
    )
    rewriting_options(command)
    workers_options(command)
    command.add_argument(
        "--experiment",
        action="store_true",
        help="put the original texts beside the private ones; never release that",
    )
    seed_option(command, "with --experiment, makes the run repeatable")
    command.set_defaults(handler=_privatize)


def workers_options(command: argparse.ArgumentParser) -> None:
    """Who does the work."""
    who = command.add_mutually_exclusive_group()
    who.add_argument(
        "--workers", type=int, default=1, metavar="N", help="processes of this machine (default 1)"
    )
    who.add_argument(
        "--scheduler", metavar="URL", help="a Dask scheduler, such as tcp://127.0.0.1:8786"
    )


def _privatize(options: argparse.Namespace) -> int:
    from dpcore.cli.terminal import progress_bars
    from dpcore.jobs import executors
    from dpcore.privatize.run import privatize

    if options.seed is not None and not options.experiment:
        msg = "--seed needs --experiment: a release takes its noise from the operating system"
        raise ParameterError(msg)
    executor = executors.of(options.workers, options.scheduler)
    order = _order(options)
    try:
        with executor, progress_bars() as progress:
            record = privatize(order, executor=executor, progress=progress)
    except KeyboardInterrupt:
        kept = (
            f"what is finished is kept in {order.folder}: give the same command again to go on, or "
            "delete that folder"
        )
        print(f"stopped; {kept if order.folder.exists() else 'nothing is kept'}", file=sys.stderr)
        return _INTERRUPTED
    if options.json:
        print_json(record)
        return 0
    print(f"{order.out}: {record['documents']:,} documents, {record['protected_words']:,} words")
    print(f"{order.record}: how it was made")
    guarantee = record["guarantee"]
    print(f"{guarantee['status']}: {guarantee['statement']}", file=sys.stderr)
    print(record["longest_document"], file=sys.stderr)
    if order.experiment:
        print("an experiment: never release this file", file=sys.stderr)
    return 0


def _order(options: argparse.Namespace) -> Order:
    """What the options ask for."""
    from dpcore.noise.streams import check_seed
    from dpcore.privatize.files import Columns
    from dpcore.privatize.folder import alone_with
    from dpcore.privatize.order import Order, check_files
    from dpcore.rewrite.casing import CasePolicy
    from dpcore.rewrite.policy import UnknownWordPolicy

    keep = tuple(dict.fromkeys(name.strip() for name in options.keep.split(",") if name.strip()))
    columns = Columns(options.text_column, keep, options.experiment)
    with alone_with(options.out):  # before a large lexicon is read
        check_files(options.source, options.out, columns)
    mechanism = build(options)
    return Order(
        source=options.source,
        out=options.out,
        mechanism=mechanism,
        epsilon=mechanism.check_epsilon(options.epsilon),
        columns=columns,
        unknown_words=UnknownWordPolicy(options.unknown),
        keep_stop_words=options.keep_stop_words,
        case=CasePolicy(options.case),
        seed=None if options.seed is None else check_seed(options.seed),
    )
