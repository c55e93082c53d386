"""Drawer "Save and cite": link, figure, tables, command, Python cell and BibTeX of a view."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import streamlit as st

import dpcore
from dpcore.errors import DpcoreError
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.papers.comparison import comparison_rows
from dpcore.papers.overview import bibtex
from dpcore.papers.row import Row
from dpcore.study.recorded import Recorded, read_recorded
from dpcore.study.recording import provenance as how_made
from dpcore.study.recording import seeds
from pages.shared import link
from pages.shared.figure import Sheet, csv_button, drawing_buttons, sheet_buttons, show_numbers
from pages.shared.fragments import remembered
from pages.shared.language import Waiting, later, retold, say
from pages.shared.messages import note, provenance, refuse

if TYPE_CHECKING:
    import pandas as pd


# Link of a view and the command that prints its numbers.


def show_line(line: str) -> None:
    """Draw a line to copy: a link, a command, or a text as it is.

    Args:
        line: shown letter by letter, without interpretation.
    """
    st.code(line, language=None, wrap_lines=True)


def command_line(*words: str) -> str:
    """Return a command of the engine, each word quoted where a shell would split it."""
    return shlex.join(("python", "-m", "dpcore", *words))


def mechanism_words(mechanism: Mechanism, epsilon: float) -> list[str]:
    """Return the options for a mechanism with its non-default settings, and ε."""
    words = ["--mechanism", mechanism.key, "--epsilon", repr(epsilon)]
    declared = mechanism.parameters()
    for name, value in mechanism.settings().items():
        if value != declared[name]["default"]:
            words += ["--set", f"{name}={value}"]
    return words


def python_beginning(mechanism: Mechanism, lexicon: str) -> list[str]:
    """Return the first lines of a Python cell: `lexicon`, and `mechanism` with its settings.

    Args:
        mechanism: the mechanism.
        lexicon: its name in the catalogue.
    """
    words = "dp.lexicon()" if lexicon == "default" else f"dp.lexicon({lexicon!r})"
    declared = mechanism.parameters()
    given = "".join(
        f", {name}={value!r}"
        for name, value in mechanism.settings().items()
        if value != declared[name]["default"]
    )
    return [
        "import dpcore as dp",
        "",
        f"lexicon = {words}",
        f"mechanism = dp.mechanism({mechanism.short!r}, lexicon{given})",
    ]


TITLE = later("Save and cite")
_KEY = "taking"


@dataclass(frozen=True)
class Takeaway:
    """Exports of a view.

    Attributes:
        cell: Python that computes the same by itself, unchanged; None where there is nothing to
            compute.
        cited: keys of BibTeX entries; that of this software is always added.
        command: lines of a shell; None for a view without one.
        prints: description of the command's output, in one sentence.
        typed: True if the view shows typed text: the link leaves it out.
        text: the typed text, where the link can hold it at the user's request; else None.
        tables: by title, a function that builds a table; it must not call Streamlit.
        drawing: name of the drawing of our own component; None for a view without one.
        sheet: panels of one figure, which can be saved together; None for a view without them.
        address: the link with typed text, at the user's request; None for the usual one.
    """

    cell: str | None
    cited: tuple[str, ...]
    command: str | None = None
    prints: str = ""
    typed: bool = False
    text: str | None = None
    tables: Mapping[str, Callable[[], pd.DataFrame]] = field(default_factory=dict)
    drawing: str | None = None
    sheet: Sheet | None = None
    address: str | None = None


def take_it_with_you(make: Callable[[], Takeaway]) -> None:
    """Draw the drawer; closed, it computes nothing.

    Args:
        make: returns the exports.
    """
    drawer = st.expander(say(TITLE), icon=":material/download:", key=_KEY, on_change="rerun")
    if not drawer.open:
        return
    with drawer:
        takeaway = make()
        st.markdown(f"**{say('Link')}**")
        with_text = takeaway.text is not None and _with_text()
        show_line(takeaway.address or link.permalink(takeaway.text if with_text else None))
        if takeaway.typed and takeaway.address is None:
            note(
                say(
                    "Your text is not in the link: anyone who opens it sees the example of a "
                    "fresh visit instead."
                )
            )
        if takeaway.drawing or takeaway.tables or remembered():
            st.markdown(f"**{say('Figures and numbers')}**")
            if takeaway.drawing is not None:
                st.text(say("Main picture"))
            with st.container(horizontal=True):
                if takeaway.drawing is not None:
                    drawing_buttons(takeaway.drawing)
                if takeaway.sheet is not None:
                    sheet_buttons(takeaway.sheet)
                for place, (title, table) in enumerate(takeaway.tables.items()):
                    name = title.lower().replace(" ", "_")
                    csv_button(
                        say("{title} as CSV", title=say(title)),
                        name,
                        table,
                        key=f"csv_taking_{place}",
                    )
            show_numbers()
        if takeaway.command is not None:
            st.markdown(f"**{say('Command')}**")
            show_line(takeaway.command)
            note(takeaway.prints)
        if takeaway.cell is not None:
            st.markdown("**Python**")
            st.code(takeaway.cell, language="python", wrap_lines=True)
        st.markdown(f"**{say('To cite')}**")
        entries = bibtex(*takeaway.cited)
        st.code(entries, language=None, wrap_lines=True)
        st.download_button(
            say("Save as .bib"),
            data=entries,
            file_name="word-privacy-lab.bib",
            mime="application/x-bibtex",
            key="bib_taking",
            icon=":material/download:",
            on_click="ignore",
            help=say("Saves these entries as a file for LaTeX or a reference manager."),
        )


def drawer_is_open() -> bool:
    """Return True if the link and the commands of this page are visible and must be updated."""
    return bool(st.session_state.get(_KEY))


def _with_text() -> bool:
    """Draw the choice to put typed text into the link."""
    asked = st.toggle(
        say("Put my text into the link"),
        key="link_text",
        help=say(
            "Off: the link opens with the example chosen above. On: anyone with the link, and "
            "every server and history that it passes, can read your text."
        ),
    )
    if asked:
        st.warning(say("This link contains your text."), icon=":material/visibility:")
    return asked


# Recorded experiment on a page: read once, its comparison with the paper, its provenance.


@st.cache_resource(max_entries=32, show_spinner=False)
def recorded(name: str) -> Recorded:
    """Return a recorded experiment, read once for all sessions.

    Raises:
        DpcoreError: it is missing, or damaged.
    """
    return read_recorded(name)


@st.cache_resource(max_entries=32, show_spinner=Waiting("Comparing with the paper…"))
def _compared(digest: str, _experiment: Recorded) -> tuple[Row, ...]:  # noqa: ARG001 - a key
    return comparison_rows(_experiment)


def compared_rows(experiment: Recorded) -> tuple[Row, ...]:
    """Compare paper and measurement once for all sessions; empty if there is no paper.

    Raises:
        DpcoreError: a curve that is compared is not in the record.
    """
    return _compared(experiment.entry.sha256, experiment)


def show_compared(row: Row) -> None:
    """Draw numbers, and beside them (on a phone below them) the reason.

    Not a table: its columns would be too narrow for the reasons.
    """
    numbers = [
        say("The paper: {figure}", figure=retold(row.in_paper)),
        say("Measured here: {figure}", figure=retold(row.ours)),
    ]
    if row.difference:
        numbers.append(say("Difference: {difference}", difference=retold(row.difference)))
    with st.container(border=True, gap="xsmall"):
        st.markdown(f"**{retold(row.quantity)}** ({retold(row.figure)})")
        left, right = st.columns([2, 3])
        left.text("\n".join(numbers))
        right.text(retold(row.reason))


def papers_view(experiment: Recorded) -> None:
    """Draw the paper's numbers beside the measurements."""
    try:
        rows = compared_rows(experiment)
    except DpcoreError as error:
        refuse(say("The comparison could not be made."), error)
        return
    if not rows:
        note(say("This experiment is on our own texts: there is no paper to compare it with."))
    for row in rows:
        show_compared(row)


def made_view(experiment: Recorded) -> None:
    """Draw the command that makes the record again, and its provenance."""
    st.header(say("Command"), anchor=False)
    show_line(experiment.entry.command)
    version = experiment.entry.version
    if version != dpcore.__version__:
        note(
            say(
                "Recorded with version {version}; this is {present}, whose draws under the "
                "same seeds may differ: the numbers then agree within their noise.",
                version=version,
                present=dpcore.__version__,
            )
        )
    st.header(say("How it was made"), anchor=False)
    st.text("\n".join(map(retold, how_made(experiment.entry))))


def recorded_footer(experiment: Recorded) -> None:
    """Draw the source of a recorded view, and data that does not leave it."""
    entry = experiment.entry
    parts = [say(entry.title), *(say(lexicon["title"]) for lexicon in entry.lexicons)]
    if not entry.of_words:
        trials = len(seeds(entry))
        parts.append(say("1 trial") if trials == 1 else say("{seeds} trials", seeds=trials))
    provenance(" · ".join((*parts, say("recorded {date}", date=entry.date))), entry.version)
