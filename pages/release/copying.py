"""The private copy of a small table, its record and its label; nothing of it outlives the session.

A table that is released twice spends ε twice, so a second copy takes a second, explicit word.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.guarantee import Status
from dpcore.papers.ours.tradeoff import recorded_curve
from dpcore.privatize import table as tables
from dpcore.privatize.label import privacy_label
from dpcore.privatize.order import Order
from dpcore.rewrite.policy import DEFAULT_TREATMENT
from dpcore.tables.files import Columns
from pages.shared.language import later, say
from pages.shared.messages import inform, note, refuse
from pages.shared.promised import promised_epsilon
from pages.shared.reproducing import show_line
from pages.shared.table import show_table

if TYPE_CHECKING:
    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.privatize.label import Label
    from dpcore.privatize.table import PrivateCopy, TableRelease
    from pages.release.uploading import Source

_WORK, _REFUSED, _TIMES = "release_work", "release_refused", "release_times"
_READ, _AGAIN = "release_read", "release_again"
_PULSE_SECONDS = 0.5
_PATIENCE_SECONDS = 2.0
_SHOWN = 3


@dataclass(eq=False)
class _Work:
    """A release of this session.

    Attributes:
        job: at work, or done.
        order: what was asked for.
        source: whose texts.
        copy: what came out, once it is done.
        label: of it.
    """

    job: TableRelease
    order: Order
    source: Source
    copy: PrivateCopy | None = None
    label: Label | None = None


def choose_kept(source: Source) -> tuple[str, ...]:
    """Draw the choice of the columns that go along as they are; nothing goes along by itself.

    A name with a comma in it cannot stand in `--keep`, so that such a column cannot go along.
    """
    others = [name for name in source.table.columns if name != source.text and "," not in name]
    if not others:
        return ()
    chosen = st.multiselect(
        say("Columns that go along unchanged"),
        others,
        key=f"release_keep_{len(source.table.columns)}",
        placeholder=say("none: the texts alone"),
        help=say(
            "Whatever stands in them is released as it is, with no protection: a name, a place "
            "or a date there undoes what the noise does. Leave out what the copy can do without."
        ),
    )
    if chosen:
        note(say("**Released unchanged, with no protection**: the columns chosen above."))
    return tuple(name for name in others if name in chosen)


def private_copy(
    source: Source, mechanism: Mechanism, epsilon: float, keep: tuple[str, ...], lexicon: str
) -> None:
    """Draw the button, the progress, and what came out.

    Args:
        source: whose texts.
        mechanism: that is chosen.
        epsilon: at the step of the dial.
        keep: columns that go along.
        lexicon: name in the catalogue.
    """
    work: _Work | None = st.session_state.get(_WORK)
    refused = st.session_state.pop(_REFUSED, None)
    if refused is not None:
        refuse(say("This private copy cannot be made."), DpcoreError(refused))
    if work is not None and not work.job.done:
        _watch()
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
        _take_in(work)  # before the button, which must know that it was made
    out = Path("private.csv")
    order = Order(
        Path(source.name), out, mechanism, epsilon, Columns(source.text, keep), DEFAULT_TREATMENT
    )
    allowed = _warned(mechanism, epsilon) & _once_more(source)
    st.button(
        say("Make the private copy"),
        key="release_make",
        icon=":material/lock:",
        disabled=not allowed,
        on_click=_start,
        args=(source, order, lexicon),
        help=say(
            "Exchanges every word with fresh noise from the operating system, in a process of "
            "its own. It takes some seconds, and spends ε once."
        ),
    )
    if work is not None:
        _show(work)


_WEAKER = {
    Status.REFUTED: (later("is refuted"), later("why the promise is refuted")),
    Status.CONDITIONAL: (
        later("holds under a condition only"),
        later("the condition of the promise"),
    ),
}
"""A status to how the promise stands, and what must have been read before a release."""


def _warned(mechanism: Mechanism, epsilon: float) -> bool:
    """Whether nothing stands against a release; a weaker promise must be read first."""
    guarantee = mechanism.guarantee(epsilon)
    if guarantee.status not in _WEAKER:
        return True
    stands, read = map(say, _WEAKER[guarantee.status])
    st.warning(
        say(
            "**The promise of this mechanism {stands}.** A copy that it makes may tell more "
            "than ε allows. Why:",
            stands=stands,
        ),
        icon=":material/warning:",
    )
    st.text(guarantee.reason)
    return st.checkbox(
        say("I have read {read}, and want this copy all the same", read=read),
        key=f"{_READ}_{mechanism.short}",
        help=say("The label and the record of the copy say it too."),
    )


def _once_more(source: Source) -> bool:
    """Whether a release of these texts is allowed: the first is, another needs a word."""
    times = _times()[source.identity]
    if not times:
        return True
    inform(
        say(
            "These texts were released {times} in this session. Every further copy spends ε again: "
            "whoever has both sees two draws of each word. Use the copy that you have.",
            times=say("once") if times == 1 else say("{count} times", count=times),
        )
    )
    return st.checkbox(
        say("Release them once more, and spend ε again"),
        key=f"{_AGAIN}_{times}",
        help=say("Of use only if the first copy was given to nobody, and is deleted."),
    )


def _times() -> Counter[str]:
    times: Counter[str] = st.session_state.setdefault(_TIMES, Counter())
    return times


def _start(source: Source, order: Order, lexicon: str) -> None:
    old: _Work | None = st.session_state.pop(_WORK, None)
    if old is not None:
        old.job.stop()
    try:
        job = tables.start(order, source.table, lexicon)
    except DpcoreError as error:
        st.session_state[_REFUSED] = str(error)
        return
    st.session_state[_WORK] = _Work(job, order, source)


def _stop(work: _Work) -> None:
    work.job.stop()
    work.job.wait(_PATIENCE_SECONDS)


@st.fragment(run_every=_PULSE_SECONDS)
def _watch() -> None:
    work: _Work | None = st.session_state.get(_WORK)
    if work is None:
        return
    if work.job.done:
        st.rerun()
    share, sentence = work.job.progress()
    st.progress(share, text=f"{sentence}.")


def _take_in(work: _Work) -> None:
    """Make the files of a release that is done: from now on it counts as made."""
    if work.copy is not None:
        return
    work.copy = work.job.copy(work.order, work.source.table)
    if work.copy is not None:
        mechanism = work.order.mechanism
        work.label = privacy_label(
            work.copy.record, mechanism, recorded_curve(mechanism), datetime.now(UTC).date()
        )
        _times()[work.source.identity] += 1


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
    # st.text: a file's name is given by a person and is no Markdown.
    st.text(
        say(
            "{file} by {mechanism}, {promise}: {texts:,} texts, {words:,} words. Here the first "
            "{shown}:",
            file=order.source.name,
            mechanism=order.mechanism.short,
            promise=promised_epsilon(order.mechanism, order.epsilon),
            texts=record["documents"],
            words=record["protected_words"],
            shown=_SHOWN,
        )
    )
    show_table(_first(work), say("The first rows of the private copy"))
    name = Path(order.source.name).stem
    files = {
        later("Private copy as CSV"): (f"{name}.private.csv", "text/csv", copy.csv),
        later("Record as JSON"): (
            f"{name}.private.csv.run.json",
            "application/json",
            json.dumps(record, ensure_ascii=False, indent=1) + "\n",
        ),
        later("Label as HTML"): (f"{name}.label.html", "text/html", label.to_html()),
        later("Label as JSON"): (f"{name}.label.json", "application/json", label.to_json()),
    }
    with st.container(horizontal=True):
        for number, (title, (file, kind, content)) in enumerate(files.items()):
            st.download_button(
                say(title),
                data=content.encode(),
                file_name=file,
                mime=kind,
                key=f"release_file_{number}",
                icon=":material/download:",
                on_click="ignore",
                help=say("Saves it on your device; the server forgets it with this session."),
            )
    st.markdown(say("**To cite with the copy**"))
    show_line(record["guarantee"]["statement"])
    show_label(label)


def _first(work: _Work) -> list[dict[str, str]]:
    """The first rows of what is released."""
    if work.copy is None:
        return []
    reader = csv.DictReader(io.StringIO(work.copy.csv, newline=""))
    return [dict(row) for row, _ in zip(reader, range(_SHOWN), strict=False)]


def show_label(label: Label) -> None:
    """Draw a label, with the sentences that its files have."""
    with st.container(border=True, key="release_label"):
        st.subheader(say("Privacy label"), anchor=False)
        if label.warning:
            st.warning(say("Read this first:"), icon=":material/warning:")
            st.text(label.warning)
        for title, sentences in label.sections:
            st.markdown(f"**{title}**")
            # st.text: names of columns stand in them.
            st.text("\n".join(f"• {sentence}" for sentence in sentences))
