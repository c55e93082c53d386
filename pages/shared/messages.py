"""Short explanations, errors that may repeat typed text, signs of a status, and the footer."""

from __future__ import annotations

import streamlit as st

import dpcore
from dpcore.audit.verdict import Outcome
from dpcore.guarantee import Status
from dpcore.lexicon.lexicon import Lexicon
from pages.shared.language import ENGLISH, language, say

SIGNS: dict[str, str] = {
    Status.PROVED: "✔",
    Status.CERTIFIED: "◉",
    Status.CONDITIONAL: "?",
    Status.REFUTED: "✘",
    Outcome.CHECKED: "◉",
    Outcome.DISAGREES: "⚠",
    Outcome.NOT_REFUTED: "○",
}
"""Status of a guarantee or outcome of an audit -> its sign; both can be proved or refuted."""


def note(text: str) -> None:
    """Draw a short explanation in full contrast (a caption of Streamlit is too pale).

    Args:
        text: our own fixed Markdown with numbers in it; never typed text.
    """
    st.markdown(f":small[{text}]")


def inform(text: str) -> None:
    """Explain why something is missing, and how to get it.

    Args:
        text: our own fixed Markdown, as for `note`.
    """
    st.info(text, icon=":material/info:")


def refuse(what: str, error: Exception) -> None:
    """Say what failed, with the engine's own sentence that says what to do.

    Args:
        what: our own fixed text.
        error: its message may repeat typed words, so it is not rendered as Markdown.
    """
    st.error(what, icon=":material/error:")
    st.text(str(error))


# Footer: provenance of the numbers, and data that does not leave the page.


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


def provenance(origin: str, version: str = dpcore.__version__) -> None:
    """Draw the footer of a view without its own lexicon.

    Args:
        origin: source, method and date; as plain text.
        version: of the engine that computed it.
    """
    st.divider()
    # st.text: the name of an added lexicon is user input and not Markdown.
    st.text(f"{origin} · dpcore {version}")
    note_english()
    note(say("No telemetry, no third-party request, nothing typed is stored."))


def note_english() -> None:
    """Note what stays in English on a page in another language."""
    if language() != ENGLISH:
        note(say("Commands, files and quotations are in English."))
