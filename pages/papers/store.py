"""Verdicts: the recorded ones, and those that this session has computed."""

from __future__ import annotations

import streamlit as st

from dpcore.audit.report import AuditSettings
from dpcore.audit.verdict import Verdict
from dpcore.errors import DpcoreError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress
from dpcore.papers import claims as audited
from dpcore.papers.claims import CLAIMS, RecordedVerdicts, read_recorded
from pages.shared.language import say
from pages.shared.messages import refuse
from pages.shared.once import memo
from pages.shared.progress import Reporter, timed

CLAIM = "claim"
"""Name of the chosen claim in links."""

_COMPUTED = "audit_computed"
_MOST = 200  # verdicts kept per session


@st.cache_resource(max_entries=1, show_spinner=False)
def recorded_verdicts() -> RecordedVerdicts:
    """Return the recorded verdicts that come with the package.

    Raises:
        ParameterError: they cannot be read.
    """
    return read_recorded()


def find_verdict(
    key: str, words: Lexicon, settings: AuditSettings, recorded: RecordedVerdicts | None
) -> Verdict | None:
    """Return the verdict on a claim at these settings if it was recorded or computed, else None."""
    mine = _computed().get((words.fingerprint, key, settings))
    if mine is not None:
        return mine
    # A verdict holds for one vocabulary at one setting: elsewhere the record says nothing.
    if recorded is None or (recorded.fingerprint, recorded.settings) != (
        words.fingerprint,
        settings,
    ):
        return None
    return recorded.of(key)


def compute(key: str, words: Lexicon, settings: AuditSettings) -> Verdict | None:
    """Compute one verdict and keep it in this session; if refused, say why and return None."""
    try:
        with (
            Reporter(say("Computing this claim"), stop="audit_stop") as progress,
            st.spinner(
                say("Computing this claim; most take less than two seconds"), show_time=True
            ),
        ):
            return _compute(key, words, settings, progress)
    except DpcoreError as error:
        refuse(say("This claim cannot be computed at these settings."), error)
        return None


def compute_all(words: Lexicon) -> None:
    """Compute every claim on a lexicon at the default settings, one after the other."""
    settings = AuditSettings()
    with Reporter(say("This claim"), stop="audit_stop_all") as progress:
        for key in timed(say("Auditing"), list(CLAIMS)):
            try:
                _compute(key, words, settings, progress)
            except DpcoreError as error:
                # The others go on: some claims need a property that this lexicon lacks.
                refuse(say("A claim could not be computed on this lexicon."), error)


def _compute(key: str, words: Lexicon, settings: AuditSettings, progress: Progress) -> Verdict:
    return memo(
        _computed(),
        (words.fingerprint, key, settings),
        lambda: audited.verdict(key, words, settings, progress),
        _MOST,
    )


def _computed() -> dict[tuple[str, str, AuditSettings], Verdict]:
    computed: dict[tuple[str, str, AuditSettings], Verdict]
    computed = st.session_state.setdefault(_COMPUTED, {})
    return computed
