"""The command and the Python cell that make a private copy without this page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pages.shared.reproducing import command_line, mechanism_words, python_beginning
from pages.shared.taking import Takeaway

if TYPE_CHECKING:
    from dpcore.privatize.order import Order


def takeaway(order: Order, lexicon: str) -> Takeaway:
    """What there is to take along.

    Args:
        order: what is asked for.
        lexicon: name in the catalogue.
    """
    return Takeaway(
        python_cell(order, lexicon),
        order.mechanism.cited,
        command=command(order, lexicon),
        prints="It writes the private copy, its record and its label, with fresh noise. The file "
        "may be of any size.",
        typed=True,
    )


def command(order: Order, lexicon: str) -> str:
    """One line for a file of any size."""
    words = ["privatize", str(order.source), "--out", str(order.out)]
    words += mechanism_words(order.mechanism, order.epsilon)
    words += ["--text-column", order.columns.text]
    if order.columns.keep:
        # The option cuts at commas: such a column must be renamed first.
        named = not any("," in name for name in order.columns.keep)
        words += ["--keep", ",".join(order.columns.keep) if named else "COLUMNS"]
    words += ["--label", "LABEL.html"]
    return command_line(*words, *(["--lexicon", lexicon] if lexicon != "default" else []))


def python_cell(order: Order, lexicon: str) -> str:
    """A cell that writes the private copy of a CSV file."""
    text, released = order.columns.text, [order.columns.text, *order.columns.keep]
    return "\n".join(
        (
            "import pandas as pd",
            *python_beginning(order.mechanism, lexicon),
            f"table = pd.read_csv({str(order.source)!r}, dtype=str, keep_default_na=False)",
            f"table[{text!r}] = dp.privatize_column(table[{text!r}], mechanism, {order.epsilon!r})",
            f"table[{released!r}].to_csv({str(order.out)!r}, index=False)",
            f"print(mechanism.guarantee({order.epsilon!r}).statement)",
        )
    )
