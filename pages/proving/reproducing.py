"""How the numbers of a view come about: computed now or recorded, and the command lines."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import streamlit as st

if TYPE_CHECKING:
    from pages.proving.pictures_work import Bounded, Noise


def computed_now() -> None:
    """The mark of a live view."""
    st.badge("computed now", icon=":material/bolt:", color="gray")


def recorded_mark(date: str) -> None:
    """The mark of a recorded view.

    Args:
        date: of the record.
    """
    st.badge(f"recorded {date}", icon=":material/inventory_2:", color="gray")


def digits_command(noise: Noise, how: Bounded) -> str:
    """The command of the view of pictures."""
    return (
        f"python -m dpcore robust digits --noise {noise.accounting} --scale {noise.scale:g} "
        f"--place {noise.place} --draws {noise.draws} --error {how.error:g} --seed {noise.seed}"
    )


def certify_command(labels: str, neighbours: int, share: float, robust: float, lexicon: str) -> str:
    """The command of the view of words."""
    return (
        f"python -m dpcore robust certify --labels {labels} --neighbours {neighbours} "
        f"--share {share:g} --robust {robust:g} --lexicon {shlex.quote(lexicon)}"
    )
