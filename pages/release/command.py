"""The same from a shell and from Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from pages.shared.language import later, say
from pages.shared.reproducing import command_line, mechanism_words, python_beginning
from pages.shared.taking import Takeaway

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.study.live import Live
    from pages.release.running import Run
    from pages.release.uploading import Source

_SAVE_FIRST = later(
    "It knows `*.csv` with commas and `*.tsv` with tabs: save the file as one of these first."
)


def takeaway(
    source: Source,
    mechanism: Mechanism,
    epsilon: float | None,
    keep: tuple[str, ...],
    lexicon: str,
    run: Run | None,
    table: Callable[[], pd.DataFrame],
) -> Takeaway:
    """What there is to take along.

    Args:
        source: the texts.
        mechanism: that is chosen.
        epsilon: at the step of the dial; None where the goal is not met.
        keep: columns that go along.
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
        _prints(source, run),
        typed=source.own,
        tables=tables,
    )


def _prints(source: Source, run: Run | None) -> str:
    """What the commands do, and what the file needs for them."""
    copy = say(
        "`privatize` writes the private copy of a file of any size, its record and its label."
    )
    if run is not None:
        copy = say(
            "`privatize` writes the private copy of a file of any size, its record and its label; "
            "`utility` prints the numbers of the run."
        )
    return copy if _as_named(source) else f"{copy} {say(_SAVE_FIRST)}"


def privatize_line(
    source: Source, mechanism: Mechanism, epsilon: float, keep: tuple[str, ...], lexicon: str
) -> str:
    """The command of the private copy; every name of a file or a column is quoted."""
    stem, end = Path(source.name).stem, _end(source)
    words = [f"./{stem}{end}", "--out", f"./{stem}.private{end}"]
    words += ["--text-column", source.text, *mechanism_words(mechanism, epsilon)]
    if keep:
        words += ["--keep", ",".join(keep)]
    if lexicon != "default":
        words += ["--lexicon", lexicon]
    return command_line("privatize", *words, "--label", f"./{stem}.label.html")


def _end(source: Source) -> str:
    """End of the name of a file that the command reads as this table."""
    return ".tsv" if source.table.separator == "\t" else ".csv"


def _as_named(source: Source) -> bool:
    """Whether the command reads the file as it is: text lines, for one, have no columns."""
    return source.table.separator != ";" and Path(source.name).suffix.lower() == _end(source)


def utility_line(live: Live, source: Source) -> str:
    """The command of a run."""
    words = ["utility"]
    if source.own:
        words += ["--file", f"./{source.name}", "--text-column", source.text]
        words += ["--label-column", source.label or ""]
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
        given = {} if source.table.separator == "," else {"delimiter": source.table.separator}
        options = "".join(f", {name}={value!r}" for name, value in given.items())
        module = "import csv"
        read = [
            f"with open({source.name!r}, encoding='utf-8-sig', newline='') as file:",
            f"    texts = [row[{source.text!r}] for row in csv.DictReader(file{options})]",
        ]
    else:
        module = "from dpcore.learn.corpus import teaching_corpus"
        read = ["texts = list(teaching_corpus().texts)"]
    first, *rest = python_beginning(mechanism, lexicon)
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
