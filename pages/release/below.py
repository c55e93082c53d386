"""Sections below the table of offers: private copy, run on the texts, method, export."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import streamlit as st

from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.study.live import Live
from pages.release.board import (
    Goal,
    Row,
    best_of,
    chosen_row,
    in_vocabulary,
    step_of,
    was_chosen,
)
from pages.release.copying import end_of, preview, private_copy
from pages.release.counted import say_expected
from pages.release.keeping import CopyChoices, choose_kept, say_author
from pages.release.running import Run, choose_run, run_views
from pages.release.uploading import Source
from pages.shared.fragments import fragment
from pages.shared.guessed import explained
from pages.shared.language import later, say
from pages.shared.messages import inform, note
from pages.shared.promised import promised_epsilon
from pages.shared.session import Settings
from pages.shared.taking import (
    Takeaway,
    command_line,
    mechanism_words,
    python_beginning,
    take_it_with_you,
)

# The same release from a shell and from Python.


def takeaway(
    source: Source,
    mechanism: Mechanism,
    epsilon: float | None,
    keep: CopyChoices,
    lexicon: str,
    run: Run | None,
    table: Callable[[], pd.DataFrame],
) -> Takeaway:
    """Collect the link, commands and tables of the drawer.

    Args:
        source: the texts.
        mechanism: the chosen mechanism.
        epsilon: ε at the step of the dial; None where the goal is not met.
        keep: columns that are copied unchanged.
        lexicon: name in the catalogue.
        run: run on these texts, if there is one.
        table: builds the table of the offers.
    """
    lines = []
    if epsilon is not None:
        lines.append(privatize_line(source, mechanism, epsilon, keep, lexicon))
    if run is not None:
        lines.append(utility_line(run.live, source))
    tables = {later("Offers at the dial"): table}
    # The teaching corpus goes along as a file, or the command would name one that nobody has.
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
        drawing="offers",
    )


def _prints(source: Source, run: Run | None) -> str:
    """Describe the commands, and say where the file is that they read."""
    sentences = [
        say("Run it in the folder of your file.")
        if source.own
        else say("Save *Teaching as CSV* above first: the command reads that file."),
        say("`privatize` writes the private copy of a file of any size, its record and its label."),
        say("`pip install .` in a copy of the repository installs `dpcore`."),
    ]
    if run is not None:
        sentences.append(say("`utility` prints the numbers of the test."))
    return " ".join(sentences)


def privatize_line(
    source: Source, mechanism: Mechanism, epsilon: float, keep: CopyChoices, lexicon: str
) -> str:
    """Return the command of the private copy; names of files and columns are quoted."""
    name = Path(source.name).name
    # Names of our own for what is given away: that of the file may be private.
    out = f"private{end_of(source)}"
    if out == name:
        out = f"copy.{out}"
    shape = source.table.written(line_breaks=keep.line_breaks, neutralise=keep.neutralise).shape
    # With "./": a name that begins with a dash would be read as an option.
    words = [f"./{name}", "--out", f"./{out}"]
    words += [*shape.options(name), *_text_column(source), *mechanism_words(mechanism, epsilon)]
    words += [word for column in keep.columns for word in ("--keep", column)]
    if keep.risky:
        words.append("--keep-anyway")
    if lexicon != "default":
        words += ["--lexicon", lexicon]
    return command_line("privatize", *words, "--label", "./label.html")


def _text_column(source: Source) -> list[str]:
    # A file of lines has no columns to name.
    if source.table.shape.format == "text":
        return []
    return ["--text-column", source.released(source.text)]


def utility_line(live: Live, source: Source) -> str:
    """Return the command of a run."""
    words = ["utility"]
    if source.own:
        words += ["--file", f"./{source.name}", *source.table.shape.options(source.name)]
        words += ["--text-column", source.released(source.text)]
        # A run has labels, or it could not be started; the type checker cannot know.
        words += ["--label-column", source.released(source.label or source.text)]
    else:
        words += ["--labels", source.corpus]
    for arm in live.arms:
        values = ",".join(f"{epsilon:.6g}" for epsilon in arm.epsilons)
        words += ["--mechanism", arm.mechanism, "--epsilon", f"{arm.mechanism}={values}"]
    # The command applies a setting to every mechanism that has it, so each is given once.
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
    """Return a Python cell that releases the texts; for the teaching corpus it runs unchanged."""
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


BELOW = "release_below"
"""Fragment that runs when the dial rests."""


@dataclass(frozen=True, eq=False)
class ReleaseScene:
    """State of the page.

    Attributes:
        source: the texts; None where a table was refused.
        run: run of this session on these texts, as the table shows it.
        rows: rows of the table.
        goal: goal that they should meet.
        words: the lexicon.
        lexicon: its name in the catalogue.
        settings: settings of the mechanisms, by their keys.
    """

    source: Source | None
    run: Run | None
    rows: list[Row]
    goal: Goal
    words: Lexicon
    lexicon: str
    settings: dict[str, Settings]


def below(scene: ReleaseScene) -> None:
    """Draw everything below the table, for the mechanism chosen at the step of the dial.

    A step of the dial moves the table in the browser; on the server only this part runs for it.
    """
    fragment(_below, scene, key=BELOW)


def _below(scene: ReleaseScene) -> None:
    source, rows, step = scene.source, scene.rows, step_of(scene.goal)
    # Step and row are read here and not handed on: this fragment runs alone when the dial rests.
    row = chosen_row(rows)
    offer = row.offers[step]
    st.header(say("3 Preview and copy"), anchor=False)
    if source is None:
        inform(say("Choose another file: this one cannot be used. Step 1 says why."))
        return
    say_source(source, scene.words)
    keep = CopyChoices()
    if offer.epsilon is None:
        measured = not source.own or (scene.run is not None and scene.run.rows is not None)
        st.text(
            say(
                "{label}: {why}. Choose another row, or another goal.",
                label=row.label,
                why=say(offer.why),
            )
            if scene.goal.quantity or measured
            else say("This goal needs accuracy on your texts: start the test, or change the goal.")
        )
    else:
        st.text(
            say(
                "Chosen: {label}, {promise}.",
                label=row.label,
                promise=promised_epsilon(row.mechanism, offer.epsilon),
            )
        )
        _say_other(scene, row, step)
        texts, words = _size(source, scene.words)
        say_expected(row.mechanism, offer.epsilon, texts, words)
        # Chosen before the copy is offered: an open question about a column disables its button.
        keep = choose_kept(source)
        # Below the columns: drawn above, it would move their open list and close it.
        preview(source, row.mechanism, offer.epsilon, keep)
        authors = say_author(source, row.mechanism, offer.epsilon, scene.words)
        private_copy(source, row.mechanism, offer.epsilon, keep, scene.lexicon, authors)
    st.header(say("Measure accuracy on these texts"), anchor=False)
    run = scene.run
    epsilons = {each.mechanism.short: each.offers[step].epsilon for each in rows}
    # The run measures the ε of the goal too, so that the table can say what it costs on this file.
    wanted = {short: epsilon for short, epsilon in epsilons.items() if epsilon is not None}
    members = [each.mechanism for each in rows]
    choose_run(source, run, members, scene.settings, scene.lexicon, wanted)
    if run is not None and run.rows is not None:
        run_views(run, run.rows)
    with st.expander(say("How is this computed?")):
        explain(source, run)
    take_it_with_you(
        lambda: takeaway(
            source,
            row.mechanism,
            offer.epsilon,
            keep,
            scene.lexicon,
            run,
            lambda: offers_at(rows, step),
        )
    )


def _say_other(scene: ReleaseScene, row: Row, step: int) -> None:
    """Say why the row that the page starts with is not the one that its table names."""
    offers = {each.label: each.offers[step] for each in scene.rows}
    best = best_of(list(offers.items()), scene.goal)
    if was_chosen() or best in (None, row.label):
        return
    sentences = [
        say("{label} is only the row that the page starts with: choose another.", label=row.label)
    ]
    if offers[best].at_least and not offers[row.label].at_least:
        sentences.append(
            say(
                "How many words are guessed is known for {label}; for {best} a better attacker may "
                "guess more.",
                label=row.label,
                best=best,
            )
        )
    st.text(" ".join(sentences))


def say_source(source: Source, words: Lexicon) -> None:
    """Draw the source of the texts, and how many of their words are in the vocabulary."""
    known, count, _ = in_vocabulary(source, words)
    share = f"{known / count:.0%}" if count else say("none")
    empty = len(source.table.rows) - _filled(source)
    # st.text: a file's name is user input and not Markdown.
    st.text(
        say(
            "{name}: {texts:,} texts{empty}; {share} of their first {count:,} words are in the "
            "vocabulary. The others are swapped for random words first, and never appear in "
            "the copy.",
            name=source.name,
            texts=len(source.table.rows),
            empty=say(", {count:,} of them empty", count=empty) if empty else "",
            share=share,
            count=count,
        )
    )
    if 2 * known < count:
        st.warning(
            say(
                "**Most words of this file are not in the vocabulary**, so most of the copy would "
                "be random words. Choose a lexicon of its language in the sidebar."
            ),
            icon=":material/warning:",
        )


def _filled(source: Source) -> int:
    """Return the number of texts that are not empty."""
    return sum(bool(text.strip()) for text in source.texts)


def _size(source: Source, words: Lexicon) -> tuple[int, int]:
    """Return the number of texts that are not empty, and of their words, from the first ones."""
    _, count, read = in_vocabulary(source, words)
    texts = _filled(source)
    return texts, round(count / read * texts) if read else 0


def offers_at(rows: list[Row], step: int) -> pd.DataFrame:
    """Return the offers at one step, one row per mechanism."""
    lines = []
    for row in rows:
        offer = row.offers[step]
        line: dict[str, object] = {
            "mechanism": row.label,
            "epsilon": offer.epsilon,
            "remark": offer.why,
            "status": offer.status,
            "at least": offer.at_least,
        }
        for name in ("guessed", "near", "accuracy", "auc"):
            # Empty cells where nothing was measured; a 0 would be read as a result.
            ends = getattr(offer, name) or (None, None, None)
            line |= dict(zip((name, f"{name} low", f"{name} high"), ends, strict=True))
        lines.append(line)
    return pd.DataFrame(lines)


def explain(source: Source, run: Run | None) -> None:
    """Draw an explanation of how the numbers of the table were computed."""
    note(
        say(
            "**Content words guessed**: {explained} Measured on the bundled lexicon. Where the "
            "best guess has no closed form, the best of several attackers counts, and a better "
            "one may guess more (“at least”). Between two measurements, log odds are interpolated "
            "linearly in ln ε. ε is rounded to the safe side, and the 95 % interval, interpolated "
            "like its value, meets the goal as a whole. The label of a copy interpolates the value "
            "alone: its ends are those at the measured ε below and above, so the upper one may lie "
            "beyond the goal.",
            explained=explained(),
        )
    )
    if not source.own:
        note(
            say(
                "**Accuracy, and who was in it**: measured on the teaching corpus, in five trials "
                "with fresh noise, by a linear classifier that is trained and tested on private "
                "texts. The attacker decides whether a text was in the training set; 0.5 is a coin "
                "toss, and less is no gain."
            )
        )
    elif run is None:
        note(
            say("**Accuracy, and who was in it**: unknown for your file until you start the test.")
        )
    else:
        note(
            say(
                "**Accuracy, and who was in it**: from the test above, in {seeds} trials, "
                "interpolated linearly between two measured ε. 0.5 is a coin toss, and less is no "
                "gain.",
                seeds=run.live.seeds,
            )
        )
    note(
        say(
            "**ε is not comparable between mechanisms**: it is per distance in some, and between "
            "any two words in others. The shares of guessed words are comparable. Neighbour "
            "response hides the word and reveals its neighbourhood, so look at both shares."
        )
    )
    note(
        say(
            "**Preview**: drawn with fresh noise from the operating system that serves nothing "
            "else. A mechanism or ε that you choose by looking at your texts depends on them, and "
            "no ε counts that."
        )
    )
