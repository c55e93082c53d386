"""The footer: from what the page was computed, and what does not leave it."""

from __future__ import annotations

import streamlit as st

import dpcore
from dpcore.lexicon.lexicon import Lexicon
from pages.shared.language import ENGLISH, language, later, say
from pages.shared.messages import note

IN_ENGLISH = later("Findings, promises and proofs are in English, as they are computed.")
"""What a page in another language says of itself."""


def footer(words: Lexicon, seed: int, draws: str) -> None:
    """Draw the footer.

    Args:
        words: the lexicon of the page.
        seed: of what is shown.
        draws: how many draws the shown numbers come from, in words.
    """
    provenance(
        say(
            "Lexicon {name}: {count:,} words, {dimension} dimensions, fingerprint {fingerprint} "
            "· seed {seed} · {draws}",
            name=words.name,
            count=len(words),
            dimension=words.dimension,
            fingerprint=words.fingerprint[:12],
            seed=seed,
            draws=draws,
        )
    )


def provenance(origin: str) -> None:
    """Draw the footer of a view without a lexicon of its own.

    Args:
        origin: from what, how and when; as plain text.
    """
    st.divider()
    # st.text: a lexicon's name is given by whoever added it and is no Markdown.
    st.text(f"{origin} · dpcore {dpcore.__version__}")
    if language() != ENGLISH:
        note(say(IN_ENGLISH))
    note(say("No telemetry, no third-party request, nothing typed is stored."))
