"""Where verdicts come from: the recorded ones, and those that this session has computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dpcore.audit.settings import AuditSettings
from dpcore.errors import DpcoreError
from dpcore.papers.claims import CLAIMS, verdict
from dpcore.papers.verdicts import RecordedVerdicts, read_recorded
from pages.shared.messages import refuse
from pages.shared.progress import Reporter, timed

if TYPE_CHECKING:
    from dpcore.audit.verdict import Verdict
    from dpcore.lexicon.lexicon import Lexicon

_HELD = "audit_held"
_MOST = 200  # verdicts that a session keeps


@st.cache_resource(max_entries=1, show_spinner=False)
def recorded_verdicts() -> RecordedVerdicts:
    """The verdicts that come with the laboratory.

    Raises:
        ParameterError: they cannot be read.
    """
    return read_recorded()


def known(
    key: str, words: Lexicon, settings: AuditSettings, recorded: RecordedVerdicts | None
) -> Verdict | None:
    """The verdict on a claim at these settings, if it was recorded or computed before."""
    mine: Verdict | None = _held().get((words.fingerprint, key, settings))
    if mine is not None:
        return mine
    if recorded is None or (recorded.fingerprint, recorded.settings) != (
        words.fingerprint,
        settings,
    ):
        return None
    return recorded.of(key)


def compute(key: str, words: Lexicon, settings: AuditSettings) -> Verdict | None:
    """Compute one verdict now and keep it for this session; None, with the reason, if refused."""
    reporter = Reporter("Computing this claim", stop="audit_stop")
    try:
        with st.spinner("Computing this claim; most take less than two seconds", show_time=True):
            found = verdict(key, words, settings, reporter.progress)
    except DpcoreError as error:
        refuse("This claim cannot be computed at these settings.", error)
        return None
    finally:
        reporter.close()
    _keep(key, words, settings, found)
    return found


def compute_all(words: Lexicon) -> None:
    """Compute every claim on a lexicon at the usual settings, one after the other."""
    settings = AuditSettings()
    reporter = Reporter("This claim", stop="audit_stop_all")
    for key in timed("Auditing", list(CLAIMS)):
        if (words.fingerprint, key, settings) not in _held():
            try:
                _keep(key, words, settings, verdict(key, words, settings, reporter.progress))
            except DpcoreError as error:
                refuse("A claim could not be computed on this lexicon.", error)
    reporter.close()


def _keep(key: str, words: Lexicon, settings: AuditSettings, found: Verdict) -> None:
    held = _held()
    held[words.fingerprint, key, settings] = found
    while len(held) > _MOST:
        del held[next(iter(held))]


def _held() -> dict[tuple[str, str, AuditSettings], Verdict]:
    found: dict[tuple[str, str, AuditSettings], Verdict] = st.session_state.setdefault(_HELD, {})
    return found
