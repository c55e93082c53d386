"""Take it with you: link, figure, tables, command, Python cell and BibTeX of a view."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import streamlit as st

from dpcore.papers.citing import bibtex
from pages.shared import link
from pages.shared.downloads import csv_button, drawing_buttons, figure_buttons
from pages.shared.language import later, say
from pages.shared.messages import note
from pages.shared.reproducing import show_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd

TITLE = later("Take it with you")
_KEY = "taking"


@dataclass(frozen=True)
class Takeaway:
    """What a view can be taken along as.

    Attributes:
        cell: Python that computes the same on its own, as it stands; None where there is nothing
            to compute.
        cited: keys of BibTeX entries; that of the laboratory is always added.
        command: lines of a shell; None for a view without one.
        prints: what the command prints, in one sentence.
        typed: whether the view shows what a person typed: the link leaves it out.
        text: what was typed, where the link can hold it if its maker asks for that; else None.
        tables: by title, what builds a table; it must not call Streamlit.
        drawing: name of the drawing of a component of ours; None for a view without one.
        figure: name of a figure that has no files beside it.
        address: the link, where typed text is wished for in it; None for the usual one.
    """

    cell: str | None
    cited: tuple[str, ...]
    command: str | None = None
    prints: str = ""
    typed: bool = False
    text: str | None = None
    tables: Mapping[str, Callable[[], pd.DataFrame]] = field(default_factory=dict)
    drawing: str | None = None
    figure: str | None = None
    address: str | None = None


def take_it_with_you(make: Callable[[], Takeaway]) -> None:
    """Draw the drawer, the last thing of a page above its footer; closed, nothing is computed.

    Args:
        make: says what there is to take along.
    """
    drawer = st.expander(say(TITLE), icon=":material/download:", key=_KEY, on_change="rerun")
    if not drawer.open:
        return
    with drawer:
        takeaway = make()
        st.markdown(f"**{say('Link')}**")
        with_text = takeaway.text is not None and _with_text()
        show_line(takeaway.address or link.permalink(takeaway.text if with_text else None))
        if takeaway.typed and takeaway.address is None:
            note(
                say(
                    "What you typed is not in the link: whoever opens it sees what a fresh "
                    "visit begins with in its place."
                )
            )
        if takeaway.drawing or takeaway.figure or takeaway.tables:
            st.markdown(f"**{say('Figure and numbers')}**")
            with st.container(horizontal=True):
                if takeaway.drawing is not None:
                    drawing_buttons(takeaway.drawing)
                if takeaway.figure is not None:
                    figure_buttons(takeaway.figure)
                for place, (title, table) in enumerate(takeaway.tables.items()):
                    name = title.lower().replace(" ", "_")
                    csv_button(
                        say("{title} as CSV", title=say(title)),
                        name,
                        table,
                        key=f"csv_taking_{place}",
                    )
        if takeaway.command is not None:
            st.markdown(f"**{say('Command')}**")
            show_line(takeaway.command)
            note(takeaway.prints)
        if takeaway.cell is not None:
            st.markdown("**Python**")
            st.code(takeaway.cell, language="python", wrap_lines=True)
        st.markdown(f"**{say('To cite')}**")
        st.code(bibtex(*takeaway.cited), language=None, wrap_lines=True)


def drawer_is_open() -> bool:
    """Whether the link and the commands of this page are in sight, so that they must follow."""
    return bool(st.session_state.get(_KEY))


def _with_text() -> bool:
    """Draw the choice whether what was typed stands in the link."""
    asked = st.toggle(
        say("Put my text into the link"),
        key="link_text",
        help=say(
            "Off: the link opens with the example that is chosen above. On: whoever gets the "
            "link, and every server and history that it passes, can read your text."
        ),
    )
    if asked:
        st.warning(say("This link contains your text."), icon=":material/visibility:")
    return asked
