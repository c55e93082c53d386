"""Downloads: a table as CSV, made when the button is pressed; a figure as SVG and PNG."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.shared.language import ENGLISH, later, say, speaking

if TYPE_CHECKING:
    import pandas as pd

_HERE = Path(__file__).parent
_FORMATS = {
    "svg": later(
        "Saves the figure as it stands, with its marks, as lines: for print and for editing."
    ),
    "png": later(
        "Saves the figure as it stands, with its marks, as a picture: for slides and letters."
    ),
}


@cache
def _files() -> Callable[..., Any]:
    css, js = ((_HERE / f"figure_files.{end}").read_text(encoding="utf-8") for end in ("css", "js"))
    return st.components.v2.component("word_privacy_lab.figure_files", css=css, js=js)


def figure_buttons(name: str) -> None:
    """Buttons that save a figure in the browser, without a word to the server.

    Plotly's own menu cannot be used: it appears under a pointer only, knows one format, and
    leaves out the marks that are laid over a figure.

    Args:
        name: of the file, without its ending; the figure has the key `figure_<name>`, and the
            block of the figure with its marks, if it has any, `still_<name>`.
    """
    _files()(
        key=f"files_{name}",
        data=_files_data(name),
        width="content",
    )


def _files_data(name: str) -> dict[str, Any]:
    """Data of both kinds of buttons: of each format its name, its label and its help."""
    formats = [
        (form, say("Figure as {form}", form=form.upper()), say(explained))
        for form, explained in _FORMATS.items()
    ]
    return {"name": name, "formats": formats}


@cache
def _drawing_files() -> Callable[..., Any]:
    names = "figure_files.css", "svg_buttons.js"
    css, js = ((_HERE / name).read_text(encoding="utf-8") for name in names)
    return st.components.v2.component("word_privacy_lab.svg_buttons", css=css, js=js)


def drawing_buttons(name: str) -> None:
    """Buttons that save a drawing of a component of ours, in the browser alone.

    Args:
        name: of the file, without its ending, and of the drawing.
    """
    _drawing_files()(
        key=f"files_{name}",
        data=_files_data(name),
        width="content",
    )


def csv_button(label: str, name: str, table: Callable[[], pd.DataFrame], *, key: str) -> None:
    """A button that downloads a table, the same in every language, built when it is pressed.

    Args:
        label: of the button.
        name: of the file, without its ending.
        table: builds the table; it must not call Streamlit.
        key: of the button.
    """

    def csv() -> bytes:
        with speaking(ENGLISH):
            return table().to_csv(index=False).encode("utf-8-sig")

    st.download_button(
        label,
        data=csv,
        file_name=f"{name}.csv",
        mime="text/csv",
        key=key,
        icon=":material/download:",
        on_click="ignore",
        help=say("Saves the numbers behind this view as a table that a spreadsheet opens."),
    )
