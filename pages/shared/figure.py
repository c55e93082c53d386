"""Figure with caption, text alternative, numbers and downloads, as every page shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.plots.style import Caption, enlarged
from dpcore.rewrite.sentence import SentenceDraw
from pages.shared.aids import LARGE
from pages.shared.fragments import remember, remembered
from pages.shared.language import ENGLISH, later, say, speaking, spoken
from pages.shared.table import show_table

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


# Downloads: a table as CSV, made when the button is pressed; a figure as SVG and PNG.


_HERE = Path(__file__).parent
_FORMATS = {
    "svg": later("Saves this figure as a vector graphic, for print and for editing."),
    "png": later("Saves this figure as an image with its finding and address, for slides."),
}
SVG_FILES = _HERE / "captioned.js", _HERE / "svg_files.js"
"""Scripts that save a drawing of a component; they are put before its own."""


@cache
def _files() -> Callable[..., Any]:
    css = (_HERE / "figure_files.css").read_text(encoding="utf-8")
    scripts = "captioned.js", "svg_files.js", "figure_files.js"
    js = "\n".join((_HERE / name).read_text(encoding="utf-8") for name in scripts)
    return st.components.v2.component("word_privacy_lab.figure_files", css=css, js=js)


def figure_buttons(name: str, choice: str = "", sentences: Mapping[str, str] | None = None) -> None:
    """Draw buttons that save a figure in the browser, without a request to the server.

    Plotly's own menu cannot be used: it appears under a pointer only, offers one format, and leaves
    out the marks that are laid over a figure.

    Args:
        name: name of the file, without its ending; the figure has the key `figure_<name>`, and the
            block of the figure with its marks, if it has any, `still_<name>`.
        choice: key of the field that the figure is chosen in, if it is.
        sentences: names of the figures by what that field shows.
    """
    _files()(
        # One element for all figures of a choice: a button that is replaced when another figure is
        # drawn misses a click or a key of that moment, and loses the focus.
        key="files" if choice else f"files_{name}",
        data=_files_data(name) | {"choice": choice, "sentences": sentences or {}},
        width="content",
    )


@dataclass(frozen=True)
class Sheet:
    """All panels of a paper's figure, to be saved as one picture.

    Attributes:
        name: name of the file, without its ending.
        panels: titles by the names of the figures on the page.
        text: paragraphs below the panels.
    """

    name: str
    panels: Mapping[str, str]
    text: Sequence[str]


def sheet_buttons(sheet: Sheet) -> None:
    """Draw buttons that save all panels as one picture with its text, in the browser alone."""
    labels = {"svg": say("All panels as SVG"), "png": say("All panels as PNG")}
    explained = say("Saves all panels as one picture, with how it was made below them.")
    _files()(
        key=f"files_{sheet.name}",
        data={
            "name": sheet.name,
            "formats": [(form, label, explained) for form, label in labels.items()],
            "panels": list(sheet.panels.items()),
            "text": list(sheet.text),
        },
        width="content",
    )


def _files_data(name: str) -> dict[str, Any]:
    """Return the data of both kinds of buttons: name, label and help of each format."""
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


@cache
def svg_board(name: str, folder: Path) -> Callable[..., Any]:
    """Return the component of a board that draws SVG and can save it.

    Args:
        name: of the page.
        folder: with its `board.js` and `board.css`, which come after the shared ones.
    """
    scripts = SCRIPT, *SVG_FILES, folder / "board.js"
    styles = _HERE / "svg_board.css", folder / "board.css"
    js, css = ("\n".join(path.read_text(encoding="utf-8") for path in paths)
               for paths in (scripts, styles))  # fmt: skip
    return st.components.v2.component(f"word_privacy_lab.{name}", css=css, js=js)


def drawing_buttons(name: str) -> None:
    """Draw buttons that save a drawing of our own component, in the browser alone.

    Args:
        name: name of the file, without its ending, and of the drawing.
    """
    _drawing_files()(
        key=f"files_{name}",
        data=_files_data(name),
        width="content",
    )


def csv_button(label: str, name: str, table: Callable[[], pd.DataFrame], *, key: str) -> None:
    """Draw a button that downloads a table, built when pressed; it is the same in every language.

    Args:
        label: label of the button.
        name: name of the file, without its ending.
        table: builds the table; it must not call Streamlit.
        key: key of the button.
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
        help=say("Saves the numbers behind this view as a table for a spreadsheet."),
    )


@dataclass(frozen=True)
class Figure:
    """A figure on the page, for the drawer "Save and cite".

    Attributes:
        caption: finding and method.
        table: the numbers that are shown.
        csv: builds the numbers of the file; it must not call Streamlit.
        plotly: True for a figure of Plotly, which the drawer can save as a picture; a drawing of
            our own component has its own buttons.
        title: on the page, translated; empty if it has none.
    """

    caption: Caption
    table: pd.DataFrame
    csv: Callable[[], pd.DataFrame]
    plotly: bool
    title: str = ""

    @property
    def named(self) -> str:
        """The figure in a list: its title if it has one, and its finding."""
        finding = say(self.caption.finding)
        return f"{self.title}. {finding}" if self.title else finding


def show_figure(
    figure: go.Figure,
    caption: Caption,
    table: pd.DataFrame,
    name: str,
    on_click: Callable[[], None] | None = None,
    *,
    files: bool = True,
    title: str = "",
) -> None:
    """Draw a figure with its finding; the drawer of the page has its numbers, files and method.

    Args:
        figure: from `dpcore.plots`.
        caption: the finding, computed from the same numbers; also the text alternative.
        table: the numbers.
        name: name of the files and of the elements' keys.
        on_click: called when a point was clicked; `st.session_state["figure_<name>"]` has the
            point.
        files: False for a figure that must not leave the page as a file.
        title: of the figure on the page, by which the drawer lists it; empty for its finding.
    """
    _chart(figure, name, caption.alternative, on_click)
    _finding(caption, name)
    if files:
        remember(name, Figure(caption, table, table.copy, plotly=True, title=title))


def _finding(caption: Caption, name: str) -> None:
    with st.container(key=f"finding_{name}"):
        # st.text: it may contain names from a lexicon that the user added.
        st.text(say(caption.finding))


def show_caption(
    caption: Caption, name: str, table: pd.DataFrame, csv: Callable[[], pd.DataFrame]
) -> None:
    """Write the finding below a drawing of our own; the drawer of the page has the rest.

    Args:
        caption: caption of the drawing.
        name: name of the file and of the elements' keys.
        table: the numbers.
        csv: builds the numbers of the file; it must not call Streamlit.
    """
    _finding(caption, name)
    remember(name, Figure(caption, table, csv, plotly=False))


def show_numbers() -> None:
    """Draw, in the drawer of the page, a choice of its figures, and the chosen one's numbers.

    Figures of the last run are listed: the drawer is drawn after them.
    """
    figures: dict[str, Figure] = remembered()
    if not figures:
        return
    name = next(iter(figures))
    if len(figures) > 1:
        name = st.selectbox(
            say("Figure"),
            list(figures),
            format_func=lambda each: figures[each].named,
            key="figure_to_take",
            help=say("The figure whose method, numbers and files are below."),
        )
    figure = figures[name]
    st.text(say(figure.caption.how))
    with st.container(horizontal=True):
        csv_button(say("Numbers as CSV"), name, figure.csv, key=f"csv_{name}")
        if figure.plotly:
            names = {each.named: key for key, each in figures.items() if each.plotly}
            figure_buttons(name, "figure_to_take", names)
    show_table(figure.table, say(figure.caption.finding))


@dataclass(frozen=True)
class Still:
    """Places around a static figure for the parts that change with ε."""

    _mark: DeltaGenerator
    _caption: DeltaGenerator
    _name: str
    _table: pd.DataFrame

    def show(self, caption: Caption, mark: str) -> None:
        """Draw the changing parts; called each time that their fragment runs.

        Args:
            caption: finding at the current ε.
            mark: HTML from `dpcore.plots.traces` that is laid over the figure.
        """
        self._mark.html(mark)
        with self._caption:
            _finding(caption, self._name)
        remember(self._name, Figure(caption, self._table, self._table.copy, plotly=True))


def still_figure(figure: go.Figure, alt: str, table: pd.DataFrame, name: str) -> Still:
    """Draw a figure that is the same at every ε, outside the fragment of the changing parts.

    Args:
        figure: from `dpcore.plots`.
        alt: its text alternative, without anything that changes.
        table: the numbers.
        name: name of the files and of the elements' keys.

    Returns:
        Places for its mark and its caption.
    """
    with st.container(gap=None, key=f"still_{name}"):
        _chart(figure, name, alt, None)
        mark = st.container()
    return Still(mark, st.container(), name, table)


def _chart(figure: go.Figure, name: str, alt: str, on_click: Callable[[], None] | None) -> None:
    figure = spoken(figure)
    st.plotly_chart(
        enlarged(figure) if st.session_state.get(LARGE) else figure,
        key=f"figure_{name}",
        config={"displayModeBar": False, "scrollZoom": False},
        alt=say(alt),
        on_select=on_click or "ignore",
        selection_mode="points",
    )


# Rewritten texts at the steps of a dial, in the form that our own components read.


SCRIPT = Path(__file__).with_name("marked_words.js")
"""Script that shows them; it is put before the script of the component."""


def marked_words(drawn: SentenceDraw, epsilon: float, texts: dict[str, int]) -> list[list[Any]]:
    """Return the tokens at one ε, each as [index of its text, changed or not, the gap before it].

    Args:
        drawn: the draw.
        epsilon: ε.
        texts: the distinct texts so far and their indices; new ones are added.
    """
    return [
        [texts.setdefault(token.output, len(texts)), int(token.changed), token.before]
        for token in drawn.at(epsilon).tokens
        if token.output
    ]
