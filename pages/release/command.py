"""The same from a shell and from Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from pages.release.copying import end_of
from pages.shared.language import later, say
from pages.shared.reproducing import command_line, mechanism_words, python_beginning
from pages.shared.taking import Takeaway

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.study.live import Live
    from pages.release.keeping import Kept
    from pages.release.running import Run
    from pages.release.uploading import Source


def takeaway(
    source: Source,
    mechanism: Mechanism,
    epsilon: float | None,
    keep: Kept,
    lexicon: str,
    run: Run | None,
    table: Callable[[], pd.DataFrame],
) -> Takeaway:
    """Collect the link, commands and tables of the drawer.

    Args:
        source: the texts.
        mechanism: that is chosen.
        epsilon: at the step of the dial; None where the goal is not met.
        keep: columns that are copied unchanged.
        lexicon: name in the catalogue.
        run: on these texts, if there is one.
        table: builds the table of the offers.
    """
    lines = []
    if epsilon is not None:
        lines.append(privatize_line(source, mechanism, epsilon, keep, lexicon))
    if run is not None:
        lines.append(utility_line(run.live, source))
    tables = {later("Offers at the dial"): table}
    if not source.own:
        tables[Path(source.name).stem.title()] = lambda: pd.DataFrame(
            source.table.rows, columns=list(source.table.columns)
        )
    return Takeaway(
        None if epsilon is None else python_cell(source, mechanism, epsilon, lexicon),
        mechanism.cited,
        "\n".join(lines) or None,
        _prints(run),
        typed=source.own,
        tables=tables,
    )


def _prints(run: Run | None) -> str:
    """Describe the commands."""
    if run is None:
        return say(
            "`privatize` writes the private copy of a file of any size, its record and its label."
        )
    return say(
        "`privatize` writes the private copy of a file of any size, its record and its label; "
        "`utility` prints the numbers of the run."
    )


def privatize_line(
    source: Source, mechanism: Mechanism, epsilon: float, keep: Kept, lexicon: str
) -> str:
    """The command of the private copy; every name of a file or a column is quoted."""
    name = Path(source.name).name
    stem = Path(name.removesuffix(".gz")).stem
    shape = source.table.written(line_breaks=keep.line_breaks, neutralise=keep.neutralise).shape
    words = [f"./{name}", "--out", f"./{stem}.private{end_of(source)}"]
    words += [*shape.options(name), *_text_column(source), *mechanism_words(mechanism, epsilon)]
    words += [word for column in keep.columns for word in ("--keep", column)]
    if keep.risky:
        words.append("--keep-anyway")
    if lexicon != "default":
        words += ["--lexicon", lexicon]
    return command_line("privatize", *words, "--label", f"./{stem}.label.html")


def _text_column(source: Source) -> list[str]:
    if source.table.shape.format == "text":
        return []
    return ["--text-column", source.released(source.text)]


def utility_line(live: Live, source: Source) -> str:
    """The command of a run."""
    words = ["utility"]
    if source.own:
        words += ["--file", f"./{source.name}", *source.table.shape.options(source.name)]
        words += ["--text-column", source.released(source.text)]
        words += ["--label-column", source.released(source.label or source.text)]
    else:
        words += ["--labels", source.corpus]
    for arm in live.arms:
        values = ",".join(f"{epsilon:.6g}" for epsilon in arm.epsilons)
        words += ["--mechanism", arm.mechanism, "--epsilon", f"{arm.mechanism}={values}"]
    settings = dict.fromkeys(f"{name}={value}" for arm in live.arms for name, value in arm.settings)
    words += [word for setting in settings for word in ("--set", setting)]
    words += ["--texts", str(len(live.texts)), "--trials", str(live.seeds)]
    words += ["--classifier", live.learner]
    if live.attack:
        words.append("--attack")
    if live.lexicon != "default":
        words += ["--lexicon", live.lexicon]
    return command_line(*words)


def python_cell(source: Source, mechanism: Mechanism, epsilon: float, lexicon: str) -> str:
    """A cell that releases the texts; of the teaching corpus it runs as it stands."""
    if source.own:
        module = "from pathlib import Path"
        shape = source.table.shape
        choices = {
            "format": shape.format,
            "encoding": shape.encoding,
            "separator": shape.separator,
            "header": shape.header,
        }
        given = ", ".join(f"{name}={value!r}" for name, value in choices.items() if value)
        read = [
            f"file = Path({source.name!r})",
            f"reading = Reading({given})",
            "table = read_table(file.read_bytes(), 1, name=file.name, reading=reading)",
            f"texts = table.column({source.released(source.text)!r})",
        ]
    else:
        module = "from dpcore.learn.corpus import teaching_corpus"
        read = ["texts = list(teaching_corpus().texts)"]
    first, *rest = python_beginning(mechanism, lexicon)
    if source.own:
        readers = (
            "from dpcore.learn.table import read_table",
            "from dpcore.tables.shape import Reading",
        )
        rest = [*readers, *rest]
    return "\n".join(
        (
            *((module, "", first) if source.own else (first, module)),
            *rest,
            "",
            *read,
            f"private = dp.privatize_column(texts, mechanism, {epsilon!r})",
            "print(len(private), 'texts')",
            f"print(mechanism.guarantee({epsilon!r}).statement)",
        )
    )
