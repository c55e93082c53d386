"""One row of paper against measurement, as every page shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

if TYPE_CHECKING:
    from dpcore.papers.row import Row


def show_compared(row: Row) -> None:
    """Draw numbers, and beside them (on a phone below them) the reason.

    No table: its columns would be too narrow for the reasons.
    """
    numbers = [f"The paper: {row.said}", f"Measured here: {row.ours}"]
    if row.difference:
        numbers.append(f"Difference: {row.difference}")
    with st.container(border=True, gap="xsmall"):
        st.markdown(f"**{row.quantity}** ({row.figure})")
        left, right = st.columns([2, 3])
        left.text("\n".join(numbers))
        right.text(row.reason)
