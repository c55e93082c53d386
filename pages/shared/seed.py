"""The seed of a page: one field, one key, part of the link."""

from __future__ import annotations

import streamlit as st

from dpcore.limits import MAX_SEED
from pages.shared import link


def choose_seed(meaning: str, width: int = 200) -> int:
    """Draw the field of the seed.

    Args:
        meaning: what the seed decides on this page, as help.
        width: of the field in pixels.
    """
    return int(
        st.number_input(
            "Seed",
            0,
            MAX_SEED,
            link.SEED,
            key="seed",
            bind="query-params",
            width=width,
            help=meaning,
        )
    )
