"""Downloads: a table as CSV, made when the button is pressed; the figure's own menu."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import streamlit as st

if TYPE_CHECKING:
    import pandas as pd


def figure_menu(name: str) -> dict[str, Any]:
    """Plotly's menu: download as SVG, no other buttons, no mark of the maker.

    Args:
        name: of the downloaded file, without its ending.
    """
    return {
        "displaylogo": False,
        "displayModeBar": True,
        "modeBarButtons": [["toImage"]],
        "toImageButtonOptions": {"format": "svg", "filename": name},
        "scrollZoom": False,
    }


def csv_button(label: str, name: str, table: Callable[[], pd.DataFrame], *, key: str) -> None:
    """A button that downloads a table; the table is built only when it is pressed.

    Args:
        label: of the button.
        name: of the file, without its ending.
        table: builds the table; it must not call Streamlit.
        key: of the button.
    """
    st.download_button(
        label,
        data=lambda: table().to_csv(index=False).encode("utf-8-sig"),
        file_name=f"{name}.csv",
        mime="text/csv",
        key=key,
        icon=":material/download:",
        on_click="ignore",
        help="Saves the numbers behind this view as a table that a spreadsheet opens.",
    )
