"""Private copies of small tables, made in memory: nothing of them is written to any file.

The texts go to a separate process through a pipe, and the private ones come back. The secret that
keys their noise comes from the operating system and never leaves that process. The result has the
form of that of `dpcore.privatize.run`: the same text, the same columns, the same record.
"""

from __future__ import annotations

import io
import secrets
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import numpy as np

from dpcore.errors import DpcoreError, StudyError
from dpcore.jobs.background import Background, Job
from dpcore.jobs.executors import Executor
from dpcore.jobs.worker import Json, Tell, now_and_then
from dpcore.learn.table import Table
from dpcore.lexicon.cache import only_in_memory
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.progress import silent
from dpcore.limits import (
    MAX_PAGE_RELEASES,
    PAGE_RELEASE_BYTES,
    PAGE_RELEASE_ROWS,
    PAGE_RELEASE_WORDS,
)
from dpcore.mechanisms.bulk import bulk
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import SECRET_BYTES, DocumentGenerators
from dpcore.privatize.kept import KeptCheck, Risk, refuse_risks
from dpcore.privatize.order import Order, record_of, run_state
from dpcore.rewrite.documents import release_all
from dpcore.rewrite.policy import Treatment
from dpcore.rewrite.reader import Reader
from dpcore.tables.detection import format_with
from dpcore.tables.files import SPAN_BYTES, Columns, Documents, Format
from dpcore.tables.streams import Uploaded

JOB = "dpcore.privatize.table:perform"
_AT_ONCE = 100  # texts that are read and released between two reports of progress


@dataclass(frozen=True)
class PrivateCopy:
    """A private copy, ready to be saved.

    Attributes:
        data: content of the file, in the format of the table.
        record: record of the copy.
    """

    data: bytes
    record: Json


class TableRelease(Job):
    """A visitor's release."""

    def copy(self, order: Order, table: Table) -> PrivateCopy | None:
        """Return the private copy; None if it is not done, was stopped or failed.

        Args:
            order: the order that was given to `start`.
            table: the table that was given to `start`.
        """
        if not self.results or self.stopped:
            return None
        (result,) = self.results
        form, columns = format_with(table.shape), order.columns
        # Read again: the job was sent the texts alone; all else stays in this process.
        documents = _read(form, table.file, columns)
        kept = [risk.to_dict() for risk in _risks(form, documents, columns)]
        state = run_state(order, form) | {"run": result["run"], "kept": kept}
        lengths = {int(size): int(count) for size, count in result["lengths"].items()}
        private, parts = iter(result["texts"]), []
        for part in documents:
            out = io.BytesIO()
            texts = [
                # An empty cell stays empty; the job got it as a text without words.
                None if old is None else new
                for old, new in zip(part.texts, islice(private, len(part.texts)), strict=True)
            ]
            form.write(part, texts, columns, out)
            parts.append(Uploaded("part", out.getvalue()))
        whole = io.BytesIO()
        form.join(parts, whole, table.file, columns)
        return PrivateCopy(whole.getvalue(), record_of(order, state, lengths))


_RELEASES = Background(JOB, MAX_PAGE_RELEASES, TableRelease)


def check_table(table: Table, text: str) -> None:
    """Refuse a table that is too large to be released in memory.

    Args:
        table: the table.
        text: name of its text column.

    Raises:
        StudyError: with what to do.
    """
    texts = table.column(text)
    for what, count, most in (
        ("rows", len(texts), PAGE_RELEASE_ROWS),
        ("words", sum(len(each.split()) for each in texts), PAGE_RELEASE_WORDS),
        ("bytes of text", sum(len(each.encode()) for each in texts), PAGE_RELEASE_BYTES),
    ):
        if count > most:
            raise StudyError(
                f"the table has {count:,} {what}, and at most {most:,} are released in memory; "
                "`python -m dpcore privatize` takes a file of any size"
            )


def start(
    order: Order,
    table: Table,
    lexicon: str = "default",
    executor: Callable[[Tell], Executor] | None = None,
) -> TableRelease:
    """Start a release in the background; it waits while others are running.

    Every call draws fresh noise: a table that is released twice spends ε twice.

    Args:
        order: the order; its paths are not opened.
        table: the table to release.
        lexicon: catalogue name of the mechanism's lexicon, for the process that does the work.
        executor: builds the executor from the callback for its progress; by default a separate
            process.

    Raises:
        StudyError: a column is missing, the table is too large, or the lexicon exists in this
            session only.
        InputError: a row is damaged, or a kept column may give people away.
        EpsilonError: ε is not admissible.
    """
    mechanism, form = order.mechanism, format_with(table.shape)
    form.check(table.file, order.columns)
    check_table(table, order.columns.text)
    documents = _read(form, table.file, order.columns)
    if not order.keep_anyway:
        refuse_risks(_risks(form, documents, order.columns), order.source.name)
    if only_in_memory(mechanism.lexicon.fingerprint):
        raise StudyError(
            "vectors of your own are in this session's memory alone: release with "
            "`python -m dpcore privatize FILE --lexicon VECTORS`"
        )
    payload = {
        "texts": [text or "" for part in documents for text in part.texts],
        "lexicon": lexicon,
        "fingerprint": mechanism.lexicon.fingerprint,
        "mechanism": mechanism.key,
        "parameters": mechanism.settings(),
        "epsilon": mechanism.check_epsilon(order.epsilon),
        "treatment": asdict(order.treatment),
    }
    begin = time.monotonic
    return _RELEASES.start(nullcontext([payload]), lambda: _Course(begin()), executor=executor)


def kept_risks(table: Table, keep: Sequence[str]) -> tuple[Risk, ...]:
    """Check what columns would give away if they are kept; findings have counts and no cell.

    Args:
        table: the table.
        keep: names of columns, as in `Table.columns`.
    """
    check = KeptCheck(keep)
    places = [table.place(name) for name in keep]
    check.see([[row[place] for place in places] for row in table.rows])
    return check.risks


def check_copy(table: Table, columns: Columns) -> None:
    """Refuse a table whose copy could not be made.

    Args:
        table: the table.
        columns: columns to rewrite and to copy.

    Raises:
        StudyError: a column is missing, or the table is too large.
        InputError: a row is damaged, or may have swallowed others; no cell is in the message.
    """
    form = format_with(table.shape)
    form.check(table.file, columns)
    check_table(table, columns.text)
    _read(form, table.file, columns)


def _read(form: Format, file: Uploaded, columns: Columns) -> list[Documents]:
    """Read all documents, as a run on a file does."""
    return [form.read(file, span, columns) for span in form.spans(file, SPAN_BYTES)]


def _risks(form: Format, documents: Sequence[Documents], columns: Columns) -> tuple[Risk, ...]:
    check = KeptCheck(columns.keep)
    for part in documents:
        check.see(form.kept(part, columns))
    return check.risks


def perform(payload: Json, tell: Tell | None = None) -> dict[str, Any]:
    """Release the texts of one table; the job of `start`.

    Args:
        payload: the texts and all settings, as `start` sends them.
        tell: called with the progress.

    Returns:
        `texts`, in order; `lengths`, the number of texts by their number of protected words; `run`,
        an id.

    Raises:
        StudyError: the lexicon is not the chosen one, or the work failed; the message holds none of
            the texts.
    """
    try:
        return _released(payload, tell)
    except DpcoreError:
        raise
    except Exception as error:
        # Its message could hold words of the texts.
        raise StudyError(f"the release failed ({type(error).__name__})") from None


def _released(payload: Json, tell: Tell | None) -> dict[str, Any]:
    progress = now_and_then(tell) if tell else silent
    lexicon = load(payload["lexicon"])
    if lexicon.fingerprint != payload["fingerprint"]:
        raise StudyError("the lexicon was changed meanwhile: load the page again")
    mechanism = create(payload["mechanism"], lexicon, payload["parameters"])
    # The secret never leaves this function: nobody can draw the same noise again.
    epsilon, secret = payload["epsilon"], secrets.token_bytes(SECRET_BYTES)
    reader = Reader(lexicon, Treatment(**payload["treatment"]))
    sampler, generators = bulk(mechanism, epsilon), DocumentGenerators()
    texts: Sequence[str] = payload["texts"]
    private: list[str] = []
    lengths: Counter[int] = Counter()
    for first in range(0, len(texts), _AT_ONCE):
        documents = reader.read(texts[first : first + _AT_ONCE], first=first)
        ids = range(first, first + len(documents))
        outputs = release_all(
            documents, mechanism, epsilon, secret, ids, sampler=sampler, generators=generators
        )
        private += documents.texts(outputs)
        lengths.update(np.diff(documents.offsets).tolist())
        progress("texts", len(private), len(texts))
    counts = {str(length): count for length, count in lengths.items()}
    return {"texts": private, "lengths": counts, "run": secrets.token_hex(8)}


class _Course:
    """Progress of a release; times are seconds of one clock."""

    def __init__(self, begun: float) -> None:
        self._begun, self._first = begun, 0.0
        self._done, self._total = 0, 0

    def hear(self, stage: str, done: int, total: int) -> None:
        """Record how many texts are done."""
        del stage
        if not self._total:
            # The time left counts from the first text: reading the lexicon says nothing of it.
            self._first = time.monotonic()
        self._done, self._total = done, total

    def finish_part(self, now: float) -> None:
        """Record that nothing is left to do."""
        del now
        self._done = self._total = max(self._total, 1)

    def progress(self, now: float) -> tuple[float, str]:
        """Return the progress from 0 to 1, and a sentence, with the time left if it is known."""
        if not self._total:
            return 0.0, f"Reading the lexicon: {now - self._begun:.0f} s"
        share = self._done / self._total
        sentence = f"{self._done:,} of {self._total:,} texts"
        spent = now - self._first
        if spent > 1.0 and share < 1.0:
            sentence += f", about {max(1, round(spent / share * (1.0 - share)))} s left"
        return share, sentence
