"""The command `utility`: what private text still teaches, on our texts or a table of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore import __version__
from dpcore.cli.mechanisms import common_options, print_json
from dpcore.errors import CorpusError, ParameterError
from dpcore.learn.classifiers import LEARNERS
from dpcore.learn.corpus import LABELLINGS
from dpcore.limits import LIVE_SEEDS, LIVE_TEXTS, MAX_LABELLED_BYTES

if TYPE_CHECKING:
    import argparse

    import pandas as pd

    from dpcore.cli.mechanisms import Commands
    from dpcore.learn.labelled import LabelledTexts
    from dpcore.study.live import Live
    from dpcore.study.rows import Row


def register(commands: Commands) -> None:
    """Add the command; its handler takes the parsed arguments and returns an exit code."""
    command = commands.add_parser(
        "utility", help="accuracy and membership inference of a classifier of private text"
    )
    source = command.add_mutually_exclusive_group()
    source.add_argument(
        "--labels", choices=tuple(LABELLINGS), default="sentiment", help="of the teaching corpus"
    )
    source.add_argument("--file", type=Path, metavar="CSV", help="a table of your own")
    command.add_argument("--text-column", default="text", metavar="NAME", help="of --file")
    command.add_argument("--label-column", default="label", metavar="NAME", help="of --file")
    command.add_argument(
        "--mechanism", action="append", required=True, help="a name from `mechanisms`; may repeat"
    )
    command.add_argument(
        "--epsilon",
        action="append",
        required=True,
        metavar="[M=]VALUES",
        help="1,2,4 or LOW:HIGH:COUNT, of all mechanisms or of M alone; may repeat",
    )
    command.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    command.add_argument("--texts", type=int, default=300, metavar="N", help="used (default 300)")
    command.add_argument(
        "--trials", type=int, default=2, metavar="N", help=f"1 to {LIVE_SEEDS} (default 2)"
    )
    command.add_argument("--classifier", choices=tuple(LEARNERS), default="averaged")
    command.add_argument("--attack", action="store_true", help="infer membership too")
    command.add_argument(
        "--workers", type=int, default=1, metavar="N", help="processes (default 1)"
    )
    common_options(command)
    command.set_defaults(handler=_utility)


def _utility(options: argparse.Namespace) -> int:
    from dpcore.cli.terminal import progress_bars
    from dpcore.cli.word_options import parse_epsilons, parse_settings
    from dpcore.lexicon.catalogue import DEFAULT_NAME, load
    from dpcore.mechanisms.registry import create
    from dpcore.study.live import Live
    from dpcore.study.plan import Arm
    from dpcore.study.tables import tidy

    texts = _texts(options)
    names = list(dict.fromkeys(options.mechanism))
    settings = parse_settings(options.set, names)
    lexicon = load(options.lexicon)
    mechanisms = [create(name, lexicon, settings[name]) for name in names]
    found = parse_epsilons(options.epsilon, mechanisms)
    arms = tuple(
        Arm(one.short, tuple(epsilons), tuple(sorted(settings[name].items())))
        for name, one, epsilons in zip(names, mechanisms, found, strict=True)
    )
    labelling = "uploaded" if options.file else options.labels
    live = Live(
        texts,
        labelling,
        arms,
        options.lexicon or DEFAULT_NAME,
        options.trials,
        options.classifier,
        options.attack,
    )
    with progress_bars() as progress:
        rows = _run(live, options.workers, progress)
    if options.json:
        print_json(
            {
                "labels": labelling,
                "texts": len(texts),
                "classes": list(texts.classes),
                "trials": live.seeds,
                "classifier": live.learner,
                "lexicon": lexicon.name,
                "fingerprint": lexicon.fingerprint,
                "version": __version__,
                "rows": rows,
            }
        )
        return 0
    print(f"{len(texts):,} texts of {len(texts.classes)} classes, {live.seeds} trials")
    for line in _lines(tidy(rows)):
        print(line)
    return 0


def _texts(options: argparse.Namespace) -> LabelledTexts:
    from dpcore.learn.table import read_table
    from dpcore.study.live import shortened, table_texts, teaching_texts

    if not 1 <= options.texts <= LIVE_TEXTS:
        raise ParameterError(f"--texts must be from 1 to {LIVE_TEXTS:,}, got {options.texts}")
    if options.file is None:
        return shortened(teaching_texts(options.labels, options.texts))
    try:
        with options.file.open("rb") as file:
            data = file.read(MAX_LABELLED_BYTES + 1)
    except OSError as error:
        raise CorpusError(f"{options.file} cannot be read ({error.strerror})") from None
    table = read_table(data)
    return table_texts(table, options.text_column, options.label_column, options.texts).texts


def _run(live: Live, workers: int, progress: Any) -> list[Row]:
    """The rows of all cells, in the order of the plan."""
    from dpcore.jobs.executors import of
    from dpcore.study.live import JOB
    from dpcore.study.plan import canonical

    jobs = live.jobs()
    found: dict[str, list[Row]] = {}
    with of(workers) as executor:
        progress("parts", 0, len(jobs))
        for job, result in executor.run(JOB, jobs):
            found[canonical(job["cell"])] = result["rows"]
            progress("parts", len(found), len(jobs))
    return [row for job in jobs for row in found[canonical(job["cell"])]]


def _lines(table: pd.DataFrame) -> list[str]:
    """A table for people: one line a mechanism and ε, means over the trials."""
    from dpcore.study.membership_trial import STRONGER

    columns = {
        "accuracy": ("accuracy", {"tested_on": "private"}),
        "on clean": ("accuracy", {"tested_on": "clean"}),
        "AUC": ("auc", {"variant": STRONGER}),
        "Nw": ("nw", {}),
        "ROUGE-1": ("rouge1", {}),
    }
    lines = [f"{'mechanism':26} {'ε':>10} " + " ".join(f"{name:>9}" for name in columns)]
    pairs = table[["label", "epsilon"]].drop_duplicates()
    for label, epsilon in pairs.itertuples(index=False):
        same = table["epsilon"].isna() if epsilon != epsilon else table["epsilon"] == epsilon
        rows = table[(table["label"] == label) & same]
        values = []
        for quantity, where in columns.values():
            some = rows[rows["quantity"] == quantity]
            for name, value in where.items():
                some = some[some[name] == value]
            values.append(f"{some['value'].mean():9.3f}" if len(some) else f"{'':9}")
        shown = "" if epsilon != epsilon else f"{epsilon:.4g}"
        lines.append(f"{label:26} {shown:>10} " + " ".join(values))
    return lines
