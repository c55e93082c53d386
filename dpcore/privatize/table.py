"""The private copy of a small table, in memory: nothing of it is written to any file.

What comes out is what `dpcore.privatize.run` would write: the same text, the same columns, the same
record. The secret that keys the noise comes from the operating system, and goes with the call.
"""

from __future__ import annotations

import secrets
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcore.errors import StudyError
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import PAGE_RELEASE_ROWS, PAGE_RELEASE_WORDS
from dpcore.noise.streams import SECRET_BYTES
from dpcore.privatize.files import Documents
from dpcore.privatize.order import asked, record_of
from dpcore.privatize.text_files import CommaSeparated
from dpcore.privatize.texts import Rewriter

if TYPE_CHECKING:
    from dpcore.jobs.worker import Json
    from dpcore.learn.table import Table
    from dpcore.privatize.order import Order

_AT_ONCE = 50  # texts that are rewritten between two reports


@dataclass(frozen=True)
class PrivateCopy:
    """A private copy, as it is to be saved.

    Attributes:
        csv: the file.
        record: how it was made.
    """

    csv: str
    record: Json


def check_size(table: Table, text: str) -> None:
    """Refuse a table that is too large for the memory and time of a page.

    Args:
        table: the table.
        text: its column of texts.

    Raises:
        StudyError: with what to do.
    """
    place = table.columns.index(text)
    words = sum(len(row[place].split()) for row in table.rows)
    for what, count, most in (
        ("rows", len(table.rows), PAGE_RELEASE_ROWS),
        ("words", words, PAGE_RELEASE_WORDS),
    ):
        if count > most:
            raise StudyError(
                f"the table has {count:,} {what}, and at most {most:,} are released in memory; "
                "`python -m dpcore privatize` takes a file of any size"
            )


def privatize_table(order: Order, table: Table, *, progress: Progress = silent) -> PrivateCopy:
    """Make the private copy of a table.

    Every call draws its noise anew: a table that is released twice spends ε twice.

    Args:
        order: what to do; of its paths only the name of the source is used, in a refusal.
        table: what is released.
        progress: called with the texts done and to do.

    Raises:
        StudyError: a column is missing, the table is too large, or the order is an experiment.
        EpsilonError: as `Mechanism.check_epsilon`.
    """
    columns, form = order.columns, CommaSeparated()
    if order.experiment:
        raise StudyError("what is made in memory is for release: it has no seed and no originals")
    columns.checked(table.columns, order.source)
    check_size(table, columns.text)
    epsilon = order.mechanism.check_epsilon(order.epsilon)
    rewriter = Rewriter.of(order.mechanism, epsilon, order.treatment)
    place = table.columns.index(columns.text)
    texts: list[str | None] = [row[place] for row in table.rows]
    secret, private, lengths = secrets.token_bytes(SECRET_BYTES), [], Counter[int]()
    for first in range(0, len(texts), _AT_ONCE):
        progress("texts", first, len(texts))
        written, sizes = rewriter.rewrite(texts[first : first + _AT_ONCE], secret, first)
        private += written
        lengths.update(sizes)
    kept = [table.columns.index(name) for name in columns.keep]
    rows = Documents(texts, [[row[i] for i in kept] for row in table.rows])
    state = asked(order, form) | {"run": secrets.token_hex(8)}
    return PrivateCopy(form.whole(rows, private, columns), record_of(order, state, lengths))
