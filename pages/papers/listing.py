"""The table of the page: one row a claim, experiment or audit, by source; a row chooses one.

A table of Streamlit's is drawn on a canvas: its words are not read out, break nowhere, and no phone
shows five columns of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from dpcore.papers.overview import PAPERS
from pages.shared.language import say

_HERE = Path(__file__).parent
_PAPERS = {key: source.title for key, source in PAPERS.items()}
_KEY = "word_privacy_lab.listing"


@dataclass(frozen=True)
class Row:
    """One row, all of it words for people.

    Attributes:
        key: what is chosen with it.
        paper: key of its source: in `dpcore.papers.overview.PAPERS`, unless other groups are given.
        sign: of the finding, and `word` the finding itself: colour says nothing alone.
        word: see `sign`.
        says: what is said.
        name: of the claim, or where it stands.
        figure: what was computed.
        more: whether there is more to see, such as a repair.
        refuted: whether it is marked.
    """

    key: str
    paper: str
    sign: str
    word: str
    says: str
    name: str
    figure: str
    more: str = ""
    refuted: bool = False


@cache
def _component() -> Callable[..., Any]:
    css, js = ((_HERE / f"listing.{end}").read_text(encoding="utf-8") for end in ("css", "js"))
    return st.components.v2.component(_KEY, css=css, js=js)


def listing(
    rows: Sequence[Row],
    chosen: str,
    on_choice: Callable[[str], None],
    *,
    label: str,
    columns: tuple[str, ...],
    groups: Mapping[str, str] = _PAPERS,
) -> None:
    """Draw the table.

    Args:
        rows: in any order; they are shown by source.
        chosen: key of the row that is chosen.
        on_choice: called with the key when another one is.
        label: of the table, in English, and key of the element.
        columns: English titles of verdict, saying, figure, and of what more there is, if anything.
        groups: titles of sources by their keys, in the order in which they are shown.
    """
    key = f"listing_{label.lower()}"
    keys = {row.key for row in rows}

    def hear() -> None:
        heard = st.session_state.get(key, {}).get("chosen")
        if heard is not None and heard["key"] in keys:
            on_choice(str(heard["key"]))

    parts = []
    for source, title in groups.items():
        members = [asdict(row) for row in rows if row.paper == source]
        if members:
            parts.append({"title": say(title), "rows": members})
    data = {
        "label": say(label),
        "columns": [say(column) for column in columns],
        "groups": parts,
        "chosen": chosen,
    }
    _component()(key=key, data=data, on_chosen_change=hear)
