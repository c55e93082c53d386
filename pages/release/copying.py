"""Private copy of a small table, its record and its label; none of them outlives the session.

Releasing a table twice spends ε twice, so a second copy needs a second, explicit confirmation.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from threading import Lock

import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.guarantee import Status
from dpcore.learn.table import Table
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.papers.ours.tradeoff import recorded_curve
from dpcore.privatize import table as tables
from dpcore.privatize.label import Label, privacy_label
from dpcore.privatize.order import Order
from dpcore.privatize.table import PrivateCopy, TableRelease
from dpcore.privatize.walk import CITED, DISCLAIMER, PARTS, TITLE, TOLD, Row, tally
from dpcore.rewrite.documents import AuthorSizes, release_texts
from dpcore.rewrite.policy import DEFAULT_TREATMENT
from dpcore.tables.detection import format_of
from dpcore.tables.files import Columns
from dpcore.tables.shape import AUTO, Reading
from dpcore.tables.streams import Uploaded
from pages.release.counted import counted_view
from pages.release.keeping import CopyChoices
from pages.release.uploading import Source
from pages.shared.fragments import fragment
from pages.shared.language import later, retold, say
from pages.shared.messages import inform, note, refuse
from pages.shared.once import session_memo
from pages.shared.progress import timed
from pages.shared.promised import promised_epsilon
from pages.shared.session import identity
from pages.shared.table import show_table
from pages.shared.taking import show_line

_WORK, _REFUSED, _TIMES = "release_work", "release_refused", "release_times"
_READ, _AGAIN, _PREVIEW = "release_read", "release_again", "release_previews"
_PULSE_SECONDS = 0.5
_PATIENCE_SECONDS = 2.0
_SHOWN = 3
_ENDS = {"text": ".txt", "csv": ".csv", "jsonl": ".jsonl", "parquet": ".parquet"}
_KINDS = {
    "text": "text/plain",
    "csv": "text/csv",
    "jsonl": "application/jsonl",
    "parquet": "application/vnd.apache.parquet",
}
"""Media types of the formats."""


@dataclass(eq=False)
class _Work:
    """Release of this session.

    Attributes:
        job: running or done.
        order: the request.
        source: source of the texts.
        keep: columns that are copied unchanged.
        table: the same texts, as they are released.
        copy: the result, once it is done.
        label: label of the copy.
        lock: held while the copy is made; a run that was stopped may still be at it.
    """

    job: TableRelease
    order: Order
    source: Source
    keep: CopyChoices
    table: Table
    copy: PrivateCopy | None = None
    label: Label | None = None
    lock: Lock = field(default_factory=Lock)


_PREVIEWED, _PREVIEW_CHARACTERS, _MOST_PREVIEWS = 5, 200, 30


def preview(source: Source, mechanism: Mechanism, epsilon: float, keep: CopyChoices) -> None:
    """Draw the first rows before and after, drawn with noise that no copy ever gets.

    Args:
        source: source of the texts.
        mechanism: the chosen mechanism.
        epsilon: ε at the step of the dial.
        keep: columns that are copied unchanged.
    """
    both = zip(source.texts, source.table.rows, strict=True)
    rows = list(islice(((_beginning(text), row) for text, row in both if text.strip()), _PREVIEWED))

    def draw() -> list[str]:
        # With secrets from the operating system that nothing keeps. All but the first together,
        # since what is computed for a word serves all of its places.
        texts = [text for text, _ in rows]
        parts = [part for part in (texts[:1], texts[1:]) if part]
        return [
            new
            for part in timed(say("Rewriting the first rows"), parts)
            for new in release_texts(part, mechanism, epsilon)
        ]

    with st.container():  # the place of its progress
        # In this session alone; a click elsewhere on the page does not draw again.
        asked = (source.identity, source.text, identity(mechanism), epsilon)
        private = session_memo(_PREVIEW, asked, draw, _MOST_PREVIEWS)
    with st.container(border=True, key="release_preview", gap="small"):
        left, right = st.columns(2)
        left.markdown(say("**As written**"))
        right.markdown(say("**With {mechanism}**", mechanism=mechanism.short))
        names = ", ".join((source.released(source.text), *keep.columns))
        # st.text: names of columns and cells of a file are not Markdown.
        right.text(say("Columns of the copy: {names}", names=names))
        for (text, row), new in zip(rows, private, strict=True):
            left, right = st.columns(2)
            left.text(text)
            right.text(new)
            if keep.places:
                cells = " | ".join(_beginning(row[i]) or say("(empty)") for i in keep.places)
                right.text(say("Unchanged: {cells}", cells=cells))
        note(
            say(
                "The beginnings of the first texts, for your eyes only: the copy gets other noise. "
                "Do not publish this preview: beside the copy it would spend ε a second time."
            )
        )


def _beginning(text: str) -> str:
    """Return the first words of a text on one line."""
    line = " ".join(text[: 2 * _PREVIEW_CHARACTERS].split())
    if len(line) <= _PREVIEW_CHARACTERS:
        return line
    cut = line[:_PREVIEW_CHARACTERS]
    return cut.rpartition(" ")[0] or cut


def private_copy(
    source: Source,
    mechanism: Mechanism,
    epsilon: float,
    keep: CopyChoices,
    lexicon: str,
    authors: AuthorSizes | None,
) -> None:
    """Draw the button, the progress and the result.

    Args:
        source: source of the texts.
        mechanism: the chosen mechanism.
        epsilon: ε at the step of the dial.
        keep: columns that are copied unchanged.
        lexicon: name in the catalogue.
        authors: how much one author wrote; None if no column of authors is chosen.
    """
    work: _Work | None = st.session_state.get(_WORK)
    refused = st.session_state.pop(_REFUSED, None)
    if refused is not None:
        refuse(say("This private copy cannot be made."), DpcoreError(refused))
    if work is not None and not work.job.done:
        fragment(_watch, every=_PULSE_SECONDS)
        st.button(
            say("Stop"),
            key="release_stop",
            icon=":material/stop_circle:",
            on_click=_stop,
            args=(work,),
            help=say("Ends the release; nothing of it is kept, and no ε is spent."),
        )
        return
    if work is not None:
        _take_in(work)  # first, since the button depends on whether it was made
    table = source.table.written(line_breaks=keep.line_breaks, neutralise=keep.neutralise)
    order = Order(
        Path(source.name),
        Path(f"private{end_of(source)}"),  # a file's name can be private, too
        mechanism,
        epsilon,
        Columns(source.released(source.text), keep.columns),
        # The treatment that protects most, whatever is chosen on Rewrite: every word is exchanged.
        DEFAULT_TREATMENT,
        reading=table.shape.reading(),
        keep_anyway=keep.risky,
        authors=authors,
    )
    # & and not `and`: every question is drawn, also where an earlier one is not answered yet.
    allowed = _warned(mechanism, epsilon) & _once_more(source) & (not keep.open)
    st.button(
        say("Make the private copy"),
        key="release_make",
        icon=":material/lock:",
        disabled=not allowed,
        on_click=_start,
        args=(source, keep, table, order, lexicon),
        help=say(
            "Replaces every word with fresh noise from the operating system, in a process of its "
            "own. It takes some seconds and spends ε once."
        ),
    )
    if work is not None:
        _show(work)


_WEAKER = {
    Status.REFUTED: (later("is refuted"), later("why the guarantee is refuted")),
    Status.CONDITIONAL: (
        later("holds under a condition only"),
        later("the condition of the guarantee"),
    ),
}
"""Status of a guarantee in words, and the text to read before a release, by status."""


def _warned(mechanism: Mechanism, epsilon: float) -> bool:
    """Return True if a release may begin; a weaker guarantee must be read first."""
    guarantee = mechanism.guarantee(epsilon)
    if guarantee.status not in _WEAKER:
        return True
    stands, read = map(say, _WEAKER[guarantee.status])
    st.warning(
        say(
            "**The guarantee of this mechanism {stands}.** Its copy may reveal more than ε "
            "allows. Why:",
            stands=stands,
        ),
        icon=":material/warning:",
    )
    st.text(retold(guarantee.reason))
    return st.checkbox(
        say("I have read {read} and want this copy anyway", read=read),
        # By mechanism: what was read about one says nothing about another.
        key=f"{_READ}_{mechanism.short}",
        help=say("The label and the record of the copy say it too."),
    )


def _once_more(source: Source) -> bool:
    """Return True for the first release of these texts, or a confirmed further one."""
    times = _times()[source.identity]
    if not times:
        return True
    inform(
        say(
            "These texts were released {times} in this session. Every further copy spends ε again: "
            "anyone who has both sees two draws of each word. Use the copy that you have.",
            times=say("once") if times == 1 else say("{count} times", count=times),
        )
    )
    return st.checkbox(
        say("Release them once more, and spend ε again"),
        # By number: a confirmation is good for one more copy.
        key=f"{_AGAIN}_{times}",
        help=say("Only if no one has received the first copy, and it is deleted."),
    )


def _times() -> Counter[str]:
    times: Counter[str] = st.session_state.setdefault(_TIMES, Counter())
    return times


def _start(source: Source, keep: CopyChoices, table: Table, order: Order, lexicon: str) -> None:
    old: _Work | None = st.session_state.pop(_WORK, None)
    if old is not None:
        # One release at a time: the old process would go on unseen.
        old.job.stop()
    try:
        job = tables.start(order, table, lexicon)
    except DpcoreError as error:
        st.session_state[_REFUSED] = str(error)
        return
    st.session_state[_WORK] = _Work(job, order, source, keep, table)


def _stop(work: _Work) -> None:
    work.job.stop()
    # The run that follows this click then shows the end, and not a process that is ending.
    work.job.wait(_PATIENCE_SECONDS)


def _watch() -> None:
    work: _Work | None = st.session_state.get(_WORK)
    if work is None:
        return
    if work.job.done:
        # The whole page: the result is not drawn in this fragment.
        st.rerun()
    share, sentence = work.job.progress()
    st.progress(share, text=f"{sentence}.")


def _take_in(work: _Work) -> None:
    """Make the files of a completed release; from then on it counts as made.

    A run may be stopped wherever it looks into its session: never between a copy and its count.
    """
    times = _times()
    with work.lock:
        if work.copy is None:
            work.copy = work.job.copy(work.order, work.table)
            # Counted when a copy exists: a release that was stopped has spent nothing.
            times[work.source.identity] += work.copy is not None
    if work.copy is None:
        return
    if work.label is None:
        mechanism = work.order.mechanism
        work.label = privacy_label(
            work.copy.record, mechanism, recorded_curve(mechanism), datetime.now(UTC).date()
        )


def _show(work: _Work) -> None:
    if work.job.error is not None:
        refuse(say("The private copy was not made."), DpcoreError(work.job.error))
        return
    copy, label, order = work.copy, work.label, work.order
    if copy is None or label is None:
        inform(say("Stopped: nothing was released."))
        return
    st.subheader(say("Made: the copy, its record, its label"), anchor=False)
    record = copy.record
    # st.text: a file's name is user input and not Markdown.
    st.text(
        say(
            "{file} by {mechanism}, {promise}: {texts:,} texts, {words:,} words.",
            file=order.source.name,
            mechanism=order.mechanism.short,
            promise=promised_epsilon(order.mechanism, order.epsilon),
            texts=record["documents"],
            words=record["protected_words"],
        )
    )
    # All four names are ours: that of the file may be private.
    name = order.out.name
    told = json.dumps(record, ensure_ascii=False, indent=1) + "\n"
    files = {
        later("Private copy"): (name, _KINDS[work.table.shape.format], copy.data),
        later("Record as JSON"): (f"{name}.run.json", "application/json", told.encode()),
        later("Label as HTML"): ("label.html", "text/html", label.to_html().encode()),
        later("Label as JSON"): ("label.json", "application/json", label.to_json().encode()),
    }
    with st.container(horizontal=True):
        for number, (title, (file, kind, content)) in enumerate(files.items()):
            st.download_button(
                say(title),
                data=content,
                file_name=file,
                mime=kind,
                key=f"release_file_{number}",
                icon=":material/download:",
                on_click="ignore",
                help=say("Saves it on your device; the server forgets it with this session."),
            )
    counted_view(
        copy,
        order,
        work.source,
        work.keep,
        lambda: [row[order.columns.text] for row in _rows(work, None)],
    )
    note(say("The first {shown} rows of the private copy:", shown=_SHOWN))
    show_table(_rows(work, _SHOWN), say("The first rows of the private copy"))
    st.markdown(say("**To cite with the copy**"))
    show_line(record["guarantee"]["statement"])
    show_label(label)


def _rows(work: _Work, most: int | None) -> list[dict[str, str]]:
    """Return the first rows of the released table; all if `most` is None."""
    if work.copy is None:
        return []
    shape = work.table.shape
    reading = Reading(shape.format, separator=shape.separator or AUTO, header="yes")
    # Read back from the finished bytes: what is shown is what the file holds.
    copy = Uploaded(work.order.out.name, work.copy.data)
    form = format_of(copy, reading)
    rows = islice(form.cells(copy), most)
    return [dict(zip(form.shape.names, row, strict=True)) for row in rows]


def end_of(source: Source) -> str:
    """Return the file extension of a copy; the command reads it as a table of this format."""
    shape = source.table.shape
    return ".tsv" if shape.separator == "tab" else _ENDS[shape.format]


def show_label(label: Label) -> None:
    """Draw a label, with the sentences that its files have."""
    with st.container(border=True, key="release_label"):
        st.subheader(say("Privacy label"), anchor=False)
        if label.warning:
            st.warning(say("Read this first:"), icon=":material/warning:")
            st.text(label.warning)
        for title, sentences in label.sections:
            st.markdown(f"**{title}**")
            # st.text: the sentences contain names of columns.
            st.text("\n".join(f"• {sentence}" for sentence in sentences))
        with st.expander(say(TITLE)):
            _show_walk(label.walk)


def _show_walk(rows: Sequence[Row]) -> None:
    """Draw the questions of NIST SP 800-226 with their answers."""
    note(f"{say(DISCLAIMER)} {say(tally(rows))}")
    for part, title in PARTS.items():
        st.markdown(f"**{say(title)}**")
        # st.text: answers contain names of columns.
        st.text("\n\n".join(_told(row) for row in rows if row.part == part))
    note(CITED)


def _told(row: Row) -> str:
    """Return the lines of a question: its judgement, the answer and its list."""
    head = f"{say(TOLD[row.met])}: {say(row.question)} {row.title}".rstrip()
    # Sentence by sentence: those of a guarantee are known by their words alone.
    answer = " ".join(retold(sentence) for sentence in row.answer)
    return "\n".join(filter(None, (head, answer, *(f"• {retold(each)}" for each in row.points))))
