"""Columns that are copied unchanged: their choice, and the questions that they raise.

Nothing protects the cells of such a column. Where a column may identify people, or where a
quotation mark may have swallowed rows, the user must answer before a copy is made.
"""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from dpcore.audit.composition import composition
from dpcore.errors import DpcoreError, InputError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.privatize import table as tables
from dpcore.privatize.kept import FORMULAS
from dpcore.rewrite.documents import AuthorSizes, author_sizes
from dpcore.tables.files import Columns
from pages.release.uploading import Source
from pages.shared.dial import group_of
from pages.shared.language import retold, say
from pages.shared.messages import note
from pages.shared.once import latest, session_memo
from pages.shared.progress import Reporter

_CHECKED, _MOST_CHECKED = "release_checked", 16


@dataclass(frozen=True)
class CopyChoices:
    """Choices for the columns that are copied unchanged.

    Attributes:
        columns: names, as they are released.
        places: their positions in the table.
        risky: True if some may identify people and the user wants them nevertheless.
        line_breaks: True if line ends in cells are intended.
        neutralise: True if cells that a spreadsheet would run get an apostrophe.
        open: True while a question about them is unanswered; no copy is made then.
    """

    columns: tuple[str, ...] = ()
    places: tuple[int, ...] = ()
    risky: bool = False
    line_breaks: bool = False
    neutralise: bool = False
    open: bool = False


def choose_kept(source: Source) -> CopyChoices:
    """Draw the choice of the columns that are copied unchanged, and the warnings about them."""
    table = source.table
    others = [name for name in table.columns if name != source.text]
    chosen: list[str] = []
    if others:
        chosen = st.multiselect(
            say("Columns to copy unchanged (not protected)"),
            others,
            key=f"release_keep_{len(table.columns)}",
            placeholder=say("none: the texts alone"),
            help=say(
                "Their cells are released as they are, with no protection: a name, a place or a "
                "date there undoes what the noise does. Groups can be compared by a column that "
                "is kept, such as the month; leave out what the copy can do without."
            ),
        )
    if source.asked:
        # Here, beside the columns that it names, and not with the file: a choice of the copy.
        st.toggle(
            say("Use the names of your columns in the private copy"),
            key=source.asked,
            help=say(
                "Off: the copy, its record, its label and the commands call the columns column 1, "
                "column 2 and so on. Names of columns can be private, too: nothing protects them."
            ),
        )
    # In the order of the table and not of the clicks, so that copies have one order.
    keep = tuple(name for name in others if name in chosen)
    if keep:
        note(say("**Released unchanged, with no protection**: your choice above."))
    risks = tables.kept_risks(table, keep)
    dangerous = [risk for risk in risks if risk.dangerous]
    accepted = not dangerous or _accepted(source, keep, [risk.sentence for risk in dangerous])
    neutralise = _neutralised([risk.sentence for risk in risks if risk.kind == FORMULAS])
    released = tuple(map(source.released, keep))
    line_breaks, whole = _line_breaks(source, released)
    return CopyChoices(
        released,
        tuple(map(table.place, keep)),
        bool(dangerous) and accepted,
        line_breaks,
        neutralise,
        not (accepted and whole),
    )


def say_author(
    source: Source, mechanism: Mechanism, epsilon: float, words: Lexicon
) -> AuthorSizes | None:
    """Draw the choice of a column of authors, and the guarantee for all that one of them wrote.

    Returns:
        How much one author wrote, for record and label of a copy; None if no column is chosen.
    """
    table = source.table
    others = [name for name in table.columns if name != source.text]
    # Labels of our own corpus are no authors, and a file of lines has no other column.
    if not (source.own and others):
        return None
    chosen = st.selectbox(
        say("Column of authors"),
        [None, *others],
        format_func=lambda name: (
            say("none: every text has another author") if name is None else name
        ),
        key=f"release_author_{len(table.columns)}",
        help=say(
            "If one person wrote several texts, ε adds up over all of their words. The column is "
            "only counted: record and label say the most texts and words of one author, no name."
        ),
    )
    if chosen is None:
        return None

    def count() -> AuthorSizes:
        with Reporter(say("Counting the words of each author")):
            return author_sizes(source.texts, table.column(chosen), words)

    identity = (source.identity, source.text, chosen, words.fingerprint)
    sizes = latest("release_authors", identity, count)
    composed = composition(mechanism, epsilon, sizes.words)
    st.text(
        say(
            "{authors:,} authors; no one wrote more than {texts:,} texts and {words:,} words. "
            "All texts of one author taken as one text:",
            authors=sizes.authors,
            texts=sizes.texts,
            words=sizes.words,
        )
    )
    st.text(retold(composed.statement))
    note(
        say(
            "Many texts together reveal who wrote them. How many of 100 people were found by that "
            "many words was measured on other texts:"
        )
    )
    group = group_of(mechanism.meaning)
    st.page_link(
        "pages/attacker/page.py",
        label=say("How many of 100 people are found"),
        icon=":material/arrow_forward:",
        query_params={
            "view": "A sentence",
            "about": "People found",
            "attacked": mechanism.short,
            f"eps_{group.name}": group.label(epsilon),
        },
    )
    return sizes


def _accepted(source: Source, keep: tuple[str, ...], sentences: list[str]) -> bool:
    """Ask for confirmation of copied columns that may identify people."""
    st.warning(
        say("**These columns may identify people.** Nothing protects their cells:"),
        icon=":material/warning:",
    )
    # st.text: names of columns are user input and not Markdown.
    st.text("\n".join(sentences))
    return st.checkbox(
        say("I have checked these columns and want them in the copy anyway"),
        # By texts and columns: the answer holds for exactly these.
        key=f"release_risky_{_key(source, keep)}",
        help=say("The record and the label of the copy say it too."),
    )


def _neutralised(sentences: list[str]) -> bool:
    """Ask whether to make formulas in the cells harmless; without formulas there is no question."""
    if not sentences:
        return False
    st.text("\n".join(sentences))
    return st.toggle(
        say("Put an apostrophe before formulas"),
        # On by default: a person who never reads this gets the harmless file.
        value=True,
        key="release_formulas",
        help=say(
            "A spreadsheet that opens the copy may run such a cell: it can fetch or send data. "
            "With an apostrophe it is shown as a text."
        ),
    )


def _line_breaks(source: Source, keep: tuple[str, ...]) -> tuple[bool, bool]:
    """Ask about cells with line ends, where a quotation mark may have swallowed rows.

    Returns:
        Whether they are intended, and whether the copy can be made.
    """
    why = _unreadable(source, keep, line_breaks=False)
    if why is None:
        return False, True
    st.warning(say("**The file may have been misread.**"), icon=":material/warning:")
    st.text(why)  # not Markdown: it names the file
    # It cannot be read either way, so there is nothing to confirm.
    if _unreadable(source, keep, line_breaks=True) is not None:
        return False, False
    meant = st.checkbox(
        say("I have checked this row: its line breaks are intended"),
        key=f"release_breaks_{_key(source, keep)}",
        help=say(
            "Check the rows that follow this one in your file: is each here, with its own text?"
        ),
    )
    return meant, meant


def _unreadable(source: Source, keep: tuple[str, ...], *, line_breaks: bool) -> str | None:
    """Return why rows of a file cannot be copied, or None; cached, since the dial reruns this."""
    if not source.own:
        return None
    table = source.table.written(line_breaks=line_breaks, neutralise=False)
    asked = (source.identity, table.shape, source.text, keep)

    def refusal() -> str | None:
        try:
            tables.check_copy(table, Columns(source.released(source.text), keep))
        except InputError as error:
            return str(error)
        except DpcoreError:
            pass  # the button reports it
        return None

    return session_memo(_CHECKED, asked, refusal, _MOST_CHECKED)


def _key(source: Source, keep: tuple[str, ...]) -> str:
    """Return a key for a question about these texts and columns, without any of their words."""
    places = "_".join(str(source.table.place(name)) for name in keep)
    return f"{source.identity[:16]}_{places}"
