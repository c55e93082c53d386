"""Footer: provenance of the numbers, and data that does not leave the page."""

from __future__ import annotations

import streamlit as st

import dpcore
from dpcore.lexicon.lexicon import Lexicon
from pages.shared.language import ENGLISH, language, say
from pages.shared.messages import note


def footer(words: Lexicon, seed: int, draws: str) -> None:
    """Draw the footer.

    Args:
        words: the lexicon of the page.
        seed: seed of the shown numbers.
        draws: number of draws behind the shown numbers, in words.
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
    """Draw the footer of a view without its own lexicon.

    Args:
        origin: source, method and date; as plain text.
    """
    st.divider()
    # st.text: the name of an added lexicon is user input and not Markdown.
    st.text(f"{origin} · dpcore {dpcore.__version__}")
    note_english()
    note(say("No telemetry, no third-party request, nothing typed is stored."))


def note_english() -> None:
    """Note what stays in English on a page in another language."""
    if language() != ENGLISH:
        note(say("Findings, promises and proofs are in English, as they are computed."))
