"""A table as every page shows it: no numbers of rows, three digits, and what it holds in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from dpcore.plots.layout import number
from pages.shared.language import say

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamlit.delta_generator import DeltaGenerator

DIGITS, PERCENT = "%.3g", "%.3g %%"
"""How numbers stand in a column: three digits, or shares as percentages."""

_LEAST = 1e-6  # a browser writes what is nearer to 0 with an e


def show_table(table: Any, alt: str, *, place: DeltaGenerator | None = None, **more: Any) -> None:
    """Draw a table whose cells are plain text and numbers.

    Args:
        table: a DataFrame or the like.
        alt: its text alternative.
        place: where it is drawn; None for where the page is.
        more: for `st.dataframe`.
    """
    config = dict(more.pop("column_config", {}))
    if isinstance(table, pd.DataFrame):
        table = _legible(table, config)
        _translate(table, config)
    # An empty placeholder: Streamlit would write "None" into cells without a number.
    (place or st).dataframe(
        table, hide_index=True, placeholder="", alt=alt, column_config=config, **more
    )


def _translate(table: pd.DataFrame, config: dict[str, Any]) -> None:
    """Give columns their headings in this language; in a file they have the English ones."""
    for name in table.columns:
        heading = say(name) if isinstance(name, str) else name
        if heading != name:
            column = dict(config.get(name, {}))
            config[name] = column | {"label": column.get("label") or heading}


def numbers(names: Iterable[str], form: str = DIGITS) -> dict[str, Any]:
    """Configuration of columns of numbers, for `column_config`."""
    return dict.fromkeys(names, st.column_config.NumberColumn(format=form))


def _legible(table: pd.DataFrame, config: dict[str, Any]) -> pd.DataFrame:
    """The table with numbers for people; columns without a form get one in `config`."""
    changed: dict[str, Any] = {}
    for name in table.columns[[dtype.kind == "f" for dtype in table.dtypes]]:
        column = table[name]
        form = config.setdefault(name, st.column_config.NumberColumn(format=DIGITS))
        kind = form.get("type_config", {})
        if kind.get("format") == PERCENT:
            changed[name] = column = 100 * column
        worded = kind.get("type") == "text"
        if worded or ((column.abs() < _LEAST) & (column != 0)).any():
            changed[name] = [number(value) if value == value else "" for value in column.tolist()]
            config[name] = form if worded else st.column_config.TextColumn()
    return table.assign(**changed) if changed else table
