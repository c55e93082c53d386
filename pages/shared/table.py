"""A table as every page shows it: no numbers of rows, and what it holds said in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamlit.delta_generator import DeltaGenerator

DIGITS, PERCENT = "%.4g", "percent"
"""How numbers stand in a column: four digits, or shares as percentages."""


def show_table(table: Any, alt: str, *, place: DeltaGenerator | None = None, **more: Any) -> None:
    """Draw a table whose cells are plain text and numbers.

    Args:
        table: a DataFrame or the like.
        alt: its text alternative.
        place: where it is drawn; None for where the page is.
        more: for `st.dataframe`.
    """
    # An empty placeholder: Streamlit would write "None" into cells without a number.
    (place or st).dataframe(table, hide_index=True, placeholder="", alt=alt, **more)


def numbers(names: Iterable[str], form: str = DIGITS) -> dict[str, Any]:
    """Configuration of columns of numbers, for `column_config`."""
    return dict.fromkeys(names, st.column_config.NumberColumn(format=form))
