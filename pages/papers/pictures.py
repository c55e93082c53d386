"""The pictures of a claim: its privacy profile, and for ADePT what its noise does not cover."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.noise.streams import generator
from dpcore.papers.claimed import PROFILED, claimed_profile
from dpcore.papers.habernal2021.pairs import exceeding_pairs, two_dimensions
from dpcore.plots.audit.habernal import (
    exceeding_caption,
    exceeding_figure,
    geometry_caption,
    geometry_figure,
)
from dpcore.plots.audit.profile import profile_caption, profile_figure
from pages.shared.figure import show_figure
from pages.shared.language import say
from pages.shared.messages import note, refuse
from pages.shared.once import once
from pages.shared.progress import Reporter

if TYPE_CHECKING:
    from dpcore.audit.settings import AuditSettings
    from dpcore.lexicon.lexicon import Lexicon

_PAIRS, _SEED = 10_000, 0
_DRAWN = "audit_pairs"


def pictures(key: str, words: Lexicon, settings: AuditSettings) -> None:
    """Draw what there is to see of a claim at these settings."""
    if key in PROFILED:
        st.subheader(say("Claimed against true"), anchor=False)
        try:
            with st.spinner(say("Computing the privacy profile…"), show_time=True):
                table = once(
                    "claimed profiles",
                    (words.fingerprint, key, settings),
                    lambda: claimed_profile(key, words, settings),
                )
        except DpcoreError as error:
            refuse(say("The privacy profile cannot be computed at these settings."), error)
            return
        show_figure(profile_figure(table), profile_caption(table), table, f"profile_{key}")
    if key == "adept-published":
        _habernal()


def _habernal() -> None:
    st.subheader(say("Why: two dimensions"), anchor=False)
    shapes = two_dimensions()
    show_figure(geometry_figure(shapes), geometry_caption(shapes), shapes, "adept_geometry")
    st.subheader(say("How many pairs are not covered"), anchor=False)
    note(
        say(
            "Figure 1 of Habernal (2021): pairs of latent vectors are drawn, clipped to the "
            "norm C, and counted where they lie further apart than the published noise covers."
        )
    )
    if _DRAWN not in st.session_state and st.button(
        say("Draw {pairs:,} pairs for each dimension", pairs=_PAIRS),
        key="draw_pairs",
        icon=":material/scatter_plot:",
        help=say(
            "From 1 to 255 dimensions, for three distributions; some seconds, seed {seed}.",
            seed=_SEED,
        ),
    ):
        _draw()
    if _DRAWN in st.session_state:
        table = st.session_state[_DRAWN]
        show_figure(exceeding_figure(table), exceeding_caption(table), table, "adept_pairs")


def _draw() -> None:
    rng = generator(_SEED, "audit", "habernal")
    with Reporter(say("Drawing pairs"), stop="audit_stop_pairs") as progress:
        st.session_state[_DRAWN] = exceeding_pairs(rng, pairs=_PAIRS, progress=progress)
    st.rerun()
