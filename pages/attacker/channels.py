"""Channels of mechanisms, prepared in the background once for all sessions.

Preparing the channel of a whole lexicon takes a quarter of a minute, so a thread does it and any
session can show its progress. These channels hold no typed text; a typed list of words gets a
channel of its own in the session.
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
_PATIENCE_SECONDS = 1.0  # a channel that is ready by then needs no progress bar
_OPENINGS = 8  # mechanisms with their settings; the channel of a whole lexicon is large


class Opening:
    """Channel being prepared in a thread."""

    def __init__(self, mechanism: Mechanism) -> None:
        """Start the thread."""
        self.channel: Channel | None = None
        self.error: DpcoreError | None = None
        self._share = 0.0
        self._start = time.monotonic()
        # Queued here and not in the thread: turns are taken in the order of the requests.
        self._turn = WORK.join()
        # No daemon: see `leave_with_the_process`, which ends it between two steps.
        self.thread = threading.Thread(target=self._run, args=(mechanism,))
        self.thread.start()

    @property
    def done(self) -> bool:
        """True once the channel is ready or has failed."""
        return not self.thread.is_alive()

    def progress(self) -> tuple[float, str]:
        """Return progress from 0 to 1, and a sentence with the time left."""
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
                # Waiting does not count as work: the time left would be far too long.
                self._start = time.monotonic()
                self.channel = open_channel(mechanism, progress=report)
        except DpcoreError as error:
            self.error = error


def opening(mechanism: Mechanism) -> Opening:
    """Return the preparation of a mechanism's channel over its lexicon; start it if needed."""
    return once("attackers", identity(mechanism), lambda: Opening(mechanism), _OPENINGS)


def channel_or_progress(mechanism: Mechanism) -> Channel | None:
    """Return the channel; until it is ready, draw its progress, then run the page again."""
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
        # The whole page, since the view that waits for the channel is not in this fragment.
        st.rerun()
    share, text = begun.progress()
    st.progress(share, text=text)
