"""An event of a page, and the link that leads away from it: each does what it is meant to do.

The browser says with every message which page it shows, and shows the page before until the next
one has begun. Streamlit takes that for the page to run, whatever the message is about. So what a
person did just before a link (a glance at a word, a field that was left) and what arrives just
after it was taken for a wish to go back:

- An event of a fragment waits until the new page has run. Then "Couldn't find fragment" is logged
  and a run of the page before is announced; the browser empties the main area for it, for good.
- Any other event stops the new page and runs the one before: the link was in vain. The run finds
  the fields of that page without the values they had, calls all their callbacks, and so puts a
  preset in the place of the text that was just typed.
- A link stops a run that has not yet looked at the event that it is for. What was typed is lost.
- A part of a page that runs again is taken out of what the browser was still to be told. What stood
  behind it or in it is told all the same, of a place that the browser has not: it shows an empty
  page, for good.
- An event of a fragment that arrives when the run before it has come to its end, but not all of
  what it drew has been told yet, begins a run of its own, and what was not yet told is dropped. The
  browser then misses a part of the page, or is told of a place in it ("Bad delta path").
- A run that was stopped goes on until it next draws something, beside the run that follows it. Each
  takes a lock of its own for the state of the session, so one counts fields while the other removes
  some. That raises an error, and the page shows it.

So here a change of page waits until the event before it has been taken in, which is a matter of
milliseconds, and an event of a page that was left after that is dropped; an event waits until all
has been told that the run before it drew; of a page that stays all is told, in order; and all runs
of a session take one lock. `departure.js` has a field that is left by a click on a link speak
before the link. This reaches into Streamlit; `tests/pages/shared/test_departure.py` fails where
that has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from logging import getLogger
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import streamlit as st
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType
from streamlit.runtime.scriptrunner_utils.script_run_context import (  # type: ignore[attr-defined]
    SCRIPT_RUN_CONTEXT_ATTR_NAME,
)
from streamlit.runtime.state import SessionState
from streamlit.runtime.state.common import user_key_from_element_id
from streamlit.runtime.state.safe_session_state import SafeSessionState

from pages.shared.aids import EXPLAIN, LARGE
from pages.shared.language import LANGUAGE, say

FRAME_FIELDS = frozenset({EXPLAIN, LARGE, LANGUAGE})
"""Keys of the fields that every page has: a change of page brings along their values alone."""

_KEY = "departure"
_LOGGER = getLogger(__name__)
_HEALED = {
    what: f"A page was {what} in a browser while nothing ran; it was drawn again."
    for what in ("empty", "broken", "ended")
} | {"vain": "A link led nowhere in a browser; it was followed again."}
"""Fault that a browser mended -> line of the log."""

_LOOK_SECONDS = 0.005
_LOOKS = 60
"""A run that computes cannot take in an event: after 0.3 s the link does not wait for it."""


@dataclass
class _Visit:
    """The last page that a session was asked for."""

    page: str = ""  # of the last change of page; none yet while it is empty
    waiting: ClientState | None = None
    unheard: list[ClientState] = field(default_factory=list)


_visits: WeakKeyDictionary[AppSession, _Visit] = WeakKeyDictionary()
_request_rerun = AppSession.request_rerun
_clear_queue = AppSession._clear_queue
_wrap_state = SafeSessionState.__init__
_making_lock = Lock()
_locks: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""The lock of each state of a session by its identity, as long as some run holds it."""


def keep_order() -> None:
    """Have the sessions of this process keep the order; once is enough."""
    if AppSession.request_rerun is _request_rerun:
        AppSession.request_rerun = _in_order  # type: ignore[assignment, method-assign]
        AppSession._clear_queue = _clear_for_page  # type: ignore[assignment, method-assign]
        SafeSessionState.__init__ = _share_lock  # type: ignore[assignment, method-assign]


def _share_lock(
    safe: SafeSessionState, state: SessionState, yield_callback: Callable[[], None]
) -> None:
    """Give a run the lock that the other runs of its session have for their state."""
    _wrap_state(safe, state, yield_callback)
    with _making_lock:
        lock = _locks.setdefault(id(state), safe._lock)
    object.__setattr__(safe, "_lock", lock)


def _clear_for_page(session: AppSession, fragment_ids_this_run: list[str] | None = None) -> None:
    """Forget what was still to be told when the whole page runs again, not when parts of it do."""
    _clear_queue(session, None if fragment_ids_this_run is None else [])


def _in_order(session: AppSession, state: ClientState | None) -> None:
    visit = _visits.setdefault(session, _Visit())
    if state is None:  # a file of the program has changed
        _request_rerun(session, state)
    elif _is_event(state):
        if visit.page and state.page_script_hash != session.page_script_hash:
            return  # of a page that was left
        visit.unheard.append(state)
        if len(visit.unheard) == 1:
            _hear(session, visit, _LOOKS)
    else:
        visit.waiting = state
        _change_page(session, visit, state, _LOOKS)


def _hear(session: AppSession, visit: _Visit, looks: int) -> None:
    """Take in the events, once all is told that a run drew which has come to its end."""
    if looks and session._scriptrunner is not None and _has_ended(session._scriptrunner):
        session._event_loop.call_later(_LOOK_SECONDS, _hear, session, visit, looks - 1)
        return
    heard, visit.unheard = visit.unheard, []
    for state in heard:
        _request_rerun(session, state)


def _has_ended(runner: ScriptRunner) -> bool:
    """Return True if a run will take nothing in any more, and its session was not told so yet."""
    with runner._requests._lock:
        return runner._requests._state is ScriptRequestType.STOP


def _change_page(session: AppSession, visit: _Visit, state: ClientState, looks: int) -> None:
    if visit.waiting is not state:
        return  # another link was followed meanwhile
    runner = session._scriptrunner
    if visit.unheard or (looks and runner is not None and _has_news(runner)):
        left = looks if visit.unheard else looks - 1
        session._event_loop.call_later(_LOOK_SECONDS, _change_page, session, visit, state, left)
        return
    visit.waiting = None
    if state.page_script_hash:
        visit.page = state.page_script_hash
        # Streamlit says so itself when the run begins, which is too late for an event before that.
        session._client_state.page_script_hash = state.page_script_hash
    _request_rerun(session, state)


def _is_event(state: ClientState) -> bool:
    """Return True for a message about the page that it names; else it asks for that page."""
    if state.fragment_id:
        return True
    fields = (user_key_from_element_id(widget.id) for widget in state.widget_states.widgets)
    return not state.is_history_navigation and not FRAME_FIELDS.issuperset(fields)


def _has_news(runner: ScriptRunner) -> bool:
    """Return True if a run was asked for that has not yet taken in the values of the fields."""
    requests = runner._requests
    with requests._lock:
        asked = requests._state is ScriptRequestType.RERUN
        data = requests._rerun_data
    if asked and data.fragment_id_queue:  # a part of the page, which waits for the present run
        whole = replace(data, fragment_id_queue=[], is_fragment_scoped_rerun=False)
        runner.request_rerun(whole)  # does not
    context = getattr(runner._script_thread, SCRIPT_RUN_CONTEXT_ATTR_NAME, None)
    stopped = requests._state is ScriptRequestType.STOP
    return asked or not (stopped or (context is not None and context.has_script_started))


@cache
def _component() -> Callable[..., object]:
    code = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
    return st.components.v2.component("word_privacy_lab.departure", js=code)


def mind_links(language: str) -> None:
    """Have the browser keep the order too, and ask once more for a page that is empty or broken.

    Args:
        language: of the page, which the browser is told, to read it aloud.
    """
    data = {
        "language": language,
        "broken": say("This page could not be shown."),
        "again": say("Load it again"),
    }
    _component()(key=_KEY, data=data, on_healed_change=_log_healed)


def _log_healed() -> None:
    """Say in the log that a browser asked for a page once more."""
    told = getattr(st.session_state.get(_KEY), "healed", None)
    _LOGGER.warning(_HEALED.get(str(told), _HEALED["broken"]))
