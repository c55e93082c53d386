"""The command `utility`: what private text still teaches, on our texts or a table of one's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click import option

from dpcore.cli import shared
from dpcore.cli.printer import Answer, table
from dpcore.cli.reading import read_rows, reading_options
from dpcore.cli.shell import Options, command, one_of
from dpcore.errors import ParameterError
from dpcore.jobs import executors
from dpcore.learn.labelled import LabelledTexts
from dpcore.lexicon.catalogue import DEFAULT_NAME
from dpcore.limits import LIVE_SEEDS, LIVE_TEXTS
from dpcore.study.live import JOB, Live, shortened, table_texts, teaching_texts
from dpcore.study.membership_trial import STRONGER
from dpcore.study.plan import Arm, canonical
from dpcore.study.rows import Row
from dpcore.study.tables import tidy

if TYPE_CHECKING:
    import pandas as pd

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
@shared.compared_options
@shared.settings_option
@shared.number("--texts", 300, "used", least=1, most=LIVE_TEXTS)
@shared.number("--trials", 2, f"1 to {LIVE_SEEDS}")
@option("--classifier", default="averaged", metavar="NAME", help="that learns")
@option("--attack", is_flag=True, help="infer membership too")
@shared.number("--workers", 1, "processes")
@shared.lexicon_option
def utility_command(options: Options) -> Answer:
    """Accuracy and membership inference of a classifier of private text."""
    if options.language is not None:
        raise ParameterError(
            "here every process reads the lexicon by its name, with the language that it says: "
            "leave out --language, and name it to `lexicon add FILE --language CODE`"
        )
    texts = _texts(options)
    labelling = "uploaded" if options.file else options.labels
    mechanisms = shared.build_each(options, options.mechanism)
    grids = shared.epsilons_of_each(options.epsilon, mechanisms)
    settings = shared.settings_of_each(options, options.mechanism)
    arms = tuple(
        Arm(mechanism.short, tuple(grid), tuple(sorted(given.items())))
        for mechanism, grid, given in zip(mechanisms, grids, settings.values(), strict=True)
    )
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
        **shared.lexicon_fields(mechanisms[0].lexicon),
        "rows": rows,
    }
    heading = f"{len(texts):,} texts of {len(classes)} classes, {trials} trials"
    return Answer(result, [heading, *table(_TABLE, _means(tidy(rows)))])


def _texts(options: Options) -> LabelledTexts:
    if options.file is None:
        return shortened(teaching_texts(options.labels, options.texts))
    rows = read_rows(options.file, options, options.text_column, options.label_column)
    return table_texts(rows, options.text_column, options.label_column, options.texts).texts


def _rows(live: Live, options: Options) -> list[Row]:
    """The rows of all cells, in the order of the plan."""
    jobs = live.jobs()
    finished: dict[str, list[Row]] = {}
    with executors.of(options.workers) as executor:
        options.progress("parts", 0, len(jobs))
        # Cells end in any order, and each says by its plan which one it is.
        for job, result in executor.run(JOB, jobs):
            finished[canonical(job["cell"])] = result["rows"]
            options.progress("parts", len(finished), len(jobs))
    return [row for job in jobs for row in finished[canonical(job["cell"])]]


def _means(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """One row a mechanism and ε: means over the trials; ε is empty for the baseline."""
    columns: dict[str, dict[str, str]] = {
        "accuracy": {"quantity": "accuracy", "tested_on": "private"},
        "clean": {"quantity": "accuracy", "tested_on": "clean"},
        "auc": {"quantity": "auc", "variant": STRONGER},
        "nw": {"quantity": "nw"},
        "rouge1": {"quantity": "rouge1"},
    }
    for (label, epsilon), group in rows.groupby(["label", "epsilon"], sort=False, dropna=False):
        means = {}
        for name, where in columns.items():
            chosen = group
            for column, value in where.items():
                chosen = chosen[chosen[column] == value]
            means[name] = f"{chosen['value'].mean():.3f}" if len(chosen) else ""
        # The baseline has no ε: NaN in the table, which alone differs from itself.
        shown = "" if epsilon != epsilon else f"{epsilon:.4g}"
        yield {"label": label, "epsilon": shown, **means}
