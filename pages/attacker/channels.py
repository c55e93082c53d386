"""What the attacker reads off a mechanism, prepared once for everybody, in the background.

A whole lexicon takes a quarter of a minute to prepare, so that this is done in a thread whose
progress any session can show. Nothing that a person typed is in it; a list of words that a person
typed gets a channel of its own in the session.
"""

from __future__ import annotations

import threading
import time

import streamlit as st

from dpcore.attack.output.channel import Channel, open_channel
from dpcore.errors import DpcoreError
from dpcore.mechanisms.mechanism import Mechanism
from pages.shared.fragments import fragment
from pages.shared.language import say
from pages.shared.messages import refuse
from pages.shared.once import WORK, once, waiting_text
from pages.shared.process import leave_with_the_process
from pages.shared.session import identity

_PULSE_SECONDS = 0.5
_PATIENCE_SECONDS = 1.0  # what is done by then needs no progress
_OPENINGS = 8  # mechanisms with their settings; a channel of a whole lexicon is large


class Opening:
    """A channel on its way."""

    def __init__(self, mechanism: Mechanism) -> None:
        """Begin."""
        self.channel: Channel | None = None
        self.error: DpcoreError | None = None
        self._share = 0.0
        self._start = time.monotonic()
        self._turn = WORK.join()
        self.thread = threading.Thread(target=self._run, args=(mechanism,))
        self.thread.start()

    @property
    def done(self) -> bool:
        """Whether it has come, or failed."""
        return not self.thread.is_alive()

    def progress(self) -> tuple[float, str]:
        """How far it is, from 0 to 1, and in words with the time left."""
        if self._turn.before:
            return 0.0, waiting_text(self._turn.before)
        spent = time.monotonic() - self._start
        if not self._share > 0:
            return self._share, say("Preparing the attacker, once for this lexicon")
        left = max(1, round(spent / self._share * (1 - self._share)))
        return self._share, say(
            "Preparing the attacker, once for this lexicon: about {left} s left", left=left
        )

    def _run(self, mechanism: Mechanism) -> None:
        def report(stage: str, done: int, total: int) -> None:  # noqa: ARG001 - engine's signature
            leave_with_the_process()
            if total:
                self._share = min(done / total, 1.0)

        try:
            with self._turn:
                while not self._turn.wait(_PULSE_SECONDS):
                    leave_with_the_process()
                self._start = time.monotonic()
                self.channel = open_channel(mechanism, progress=report)
        except DpcoreError as error:
            self.error = error


def opening(mechanism: Mechanism) -> Opening:
    """The channel of a mechanism over its whole lexicon, begun at the first call."""
    return once("attackers", identity(mechanism), lambda: Opening(mechanism), _OPENINGS)


def channel_or_progress(mechanism: Mechanism) -> Channel | None:
    """The channel; until it is there its progress is drawn, and the page runs again then."""
    begun = opening(mechanism)
    begun.thread.join(_PATIENCE_SECONDS)
    if not begun.done:
        fragment(_watch, mechanism, every=_PULSE_SECONDS)
        return None
    if begun.error is not None:
        refuse(say("The attacker cannot weigh all words of this lexicon."), begun.error)
    return begun.channel


def _watch(mechanism: Mechanism) -> None:
    begun = opening(mechanism)
    if begun.done:
        st.rerun()
    share, text = begun.progress()
    st.progress(share, text=text)
