"""Table without row numbers, with three digits and a text alternative, as on every page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.plots.style import number
from dpcore.written import Filled
from pages.shared.language import ENGLISH, language, numeral, say

DIGITS, PERCENT = "%.3g", "%.3g %%"
"""Formats of a column: three digits, or shares as percentages."""

_LEAST = 1e-6  # a browser writes numbers nearer to 0 with an e


def show_table(
    table: Any,
    alt: str,
    *,
    place: DeltaGenerator | None = None,
    spoken: Iterable[str] = (),
    **more: Any,
) -> None:
    """Draw a table whose cells are plain text and numbers.

    Args:
        table: a DataFrame or one of Arrow; a list of user rows is shown unchanged.
        alt: its text alternative.
        place: where it is drawn; None for where the page is.
        spoken: columns whose cells are sentences of ours; those that know their gaps are translated
            anyway.
        more: further arguments of `st.dataframe`.
    """
    config = dict(more.pop("column_config", {}))
    foreign = language() != ENGLISH
    if foreign and hasattr(table, "to_pandas"):
        table = table.to_pandas()  # of Arrow, which is sent as it is where nothing is translated
    if isinstance(table, pd.DataFrame):
        table = _legible(table, config)
        if foreign:
            table = _written(_translated(table, config, spoken), config)
    # An empty placeholder: Streamlit would write "None" into cells without a number.
    (place or st).dataframe(
        table, hide_index=True, placeholder="", alt=alt, column_config=config, **more
    )


def _translated(table: pd.DataFrame, config: dict[str, Any], spoken: Iterable[str]) -> pd.DataFrame:
    """Return the table in this language; in a file it is in English."""
    _name(table.columns, config)
    changed: dict[str, Any] = {name: [say(cell) for cell in table[name]] for name in spoken}
    for name in table.columns[[dtype.kind == "O" for dtype in table.dtypes]]:
        changed.setdefault(name, [_told(cell) for cell in table[name]])
    return table.assign(**changed)


def _written(table: pd.DataFrame, config: dict[str, Any]) -> Any:
    """Return the table with numbers written as this language does; they still sort as numbers."""
    if table.size > pd.get_option("styler.render.max_elements"):
        return table
    forms: dict[Any, str | Callable[[object], str] | None] = {}
    for name in table.columns[[dtype.kind == "f" for dtype in table.dtypes]]:
        given = config.get(name, {})
        kind = given.get("type_config", {})
        form = kind.get("format")
        if kind.get("type") == "number" and form is not None and form.startswith("%"):
            # Streamlit's format would override the text that is written here.
            config[name] = {**given, "type_config": {**kind, "format": None}}
            forms[name] = partial(_number, form)
    return table.style.format(forms, na_rep="") if forms else table


def _number(form: str, value: object) -> str:
    return numeral(form % value)


def _name(columns: Iterable[Any], config: dict[str, Any]) -> None:
    """Give columns without a heading of their own one in this language."""
    for name in columns:
        given = config.get(name, {})
        if isinstance(name, str) and not (isinstance(given, str) or given.get("label")):
            heading = say(name)
            if heading != name:
                config[name] = {**given, "label": heading}


def _told(cell: object) -> object:
    return say(cell) if isinstance(cell, Filled) else cell


def numbers(names: Iterable[str], form: str = DIGITS) -> dict[str, Any]:
    """Return the configuration of columns of numbers, for `column_config`."""
    return dict.fromkeys(names, st.column_config.NumberColumn(format=form))


def _legible(table: pd.DataFrame, config: dict[str, Any]) -> pd.DataFrame:
    """Return the table with readable numbers; columns without a format get one in `config`."""
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
