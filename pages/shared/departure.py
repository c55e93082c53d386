"""Order of events and page changes, so that neither undoes the other.

With every message the browser names the page that it shows, and it shows the previous page until
the next one has begun. Streamlit takes that name for the page to run, whatever the message is
about. So an action just before a link was followed (a glance at a word, a field that was left), or
a message that arrived just after it, was taken for a request to go back:

- An event of a fragment waits until the new page has run. Then "Couldn't find fragment" is logged
  and a run of the previous page is announced; the browser empties the main area for it, for good.
- Any other event stops the new page and runs the previous one: the link had no effect. The run
  finds the fields of that page without the values they had, calls all their callbacks, and so
  replaces the text that was just typed by a preset.
- A link stops a run that has not yet looked at the event that it is for. The typed text is lost. So
  is that of an event of a fragment, which waits for the end of the present run.
- When a part of a page runs again, its messages to the browser that are still queued are removed.
  Messages for elements behind it or in it are still sent, for a place that the browser does not
  have: it shows an empty page, for good.
- An event of a fragment may arrive when the previous run has ended but not all of its output has
  been sent. It begins a run of its own, and the unsent output is dropped. The browser then misses a
  part of the page, or receives a message for a place in it ("Bad delta path").
- A run that was stopped goes on until it next draws something, beside the run that follows it. Each
  takes its own lock for the state of the session, so one counts fields while the other removes
  some. That raises an error, and the page shows it.

Therefore a change of page waits until the previous event has been taken in, a matter of
milliseconds, if need be by a run beside the one that computes, and later events of the page that
was left are dropped; an event waits until all output of the previous run has been sent; all output
of a page that stays is sent, in order; and all runs of a session share one lock. `departure.js`
makes a field that is left by a click on a link send its value before the link.

All this was seen in Streamlit 1.67, whose classes are changed here: `pages.shared.process` lists
the changes, with the test that fails when one of them can go.
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
"""Fault that a browser repaired -> line of the log."""

_LOOK_SECONDS = 0.005
_HEARD_LOOKS = 60
"""Number of looks before an event stops waiting: a run that was ended may compute for long."""
_TAKEN_IN_LOOKS = 1000
"""Number of looks before a link stops waiting: a server may be slow, or a callback compute."""


@dataclass
class _Visit:
    """Last page that a session requested."""

    page: str = ""  # of the last change of page; empty before the first one
    waiting: ClientState | None = None
    unheard: list[ClientState] = field(default_factory=list)


_visits: WeakKeyDictionary[AppSession, _Visit] = WeakKeyDictionary()
_request_rerun = AppSession.request_rerun
_clear_queue = AppSession._clear_queue
_wrap_state = SafeSessionState.__init__
_making_lock = Lock()
_locks: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""Lock of each session state by its identity, as long as some run holds it."""


def keep_order() -> None:
    """Make the sessions of this process keep the order; further calls have no effect.

    - `AppSession.request_rerun` takes the page that an event names for the page to run, ends a run
      that has not read the values of its event, and begins a run although the session has not taken
      in the output of the last one. Tests: `test_streamlit_still_goes_back_for_an_event`,
      `test_streamlit_still_forgets_an_event_before_a_link`,
      `test_streamlit_still_drops_unsent_output_when_an_event_arrives`.
    - `AppSession._clear_queue` removes the unsent messages of a part that runs again, of which
      others may be the children or the next neighbours. Test:
      `test_streamlit_still_removes_messages_that_others_build_on`.
    - `SafeSessionState` has a lock for each run, and two runs of a session may overlap. Test:
      `test_streamlit_still_gives_each_run_of_a_session_a_lock_of_its_own`.
    """
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
    object.__setattr__(safe, "_lock", lock)  # plain assignment would write to the session state


def _clear_for_page(session: AppSession, fragment_ids_this_run: list[str] | None = None) -> None:
    """Clear the queued messages when the whole page runs again, but not when parts of it do."""
    # Messages of fragments that are not in the list stay: an empty list keeps those of all.
    _clear_queue(session, None if fragment_ids_this_run is None else [])


def _in_order(session: AppSession, state: ClientState | None) -> None:
    """Process a message of a browser in its turn; on the event loop, as all functions below."""
    visit = _visits.setdefault(session, _Visit())
    if state is None:  # a file of the program has changed
        _request_rerun(session, state)
    elif _is_event(state):
        if visit.page and state.page_script_hash != session.page_script_hash:
            return  # of a page that was left
        visit.unheard.append(state)
        if len(visit.unheard) == 1:  # otherwise `_hear` is waiting already, and takes this one too
            _hear(session, visit, _HEARD_LOOKS)
    else:
        visit.waiting = state
        _change_page(session, visit, state, _TAKEN_IN_LOOKS)


def _hear(session: AppSession, visit: _Visit, looks: int) -> None:
    """Process the events once all output of a run that has ended is sent."""
    if looks and session._scriptrunner is not None and _has_ended(session._scriptrunner):
        session._event_loop.call_later(_LOOK_SECONDS, _hear, session, visit, looks - 1)
        return
    events, visit.unheard = visit.unheard, []
    for state in events:
        _request_rerun(session, state)


def _has_ended(runner: ScriptRunner) -> bool:
    """Return True if a run accepts no more requests but its session does not know yet."""
    with runner._requests._lock:
        return runner._requests._state is ScriptRequestType.STOP


def _change_page(session: AppSession, visit: _Visit, state: ClientState, looks: int) -> None:
    if visit.waiting is not state:
        return  # another link was followed meanwhile
    if visit.unheard or (looks and _has_news(session)):
        if not visit.unheard:  # waiting events have a limit of their own
            looks -= 1
        session._event_loop.call_later(_LOOK_SECONDS, _change_page, session, visit, state, looks)
        return
    visit.waiting = None
    if state.page_script_hash:
        visit.page = state.page_script_hash
        # Streamlit sets it when the run begins, which is too late for an event before that.
        session._client_state.page_script_hash = state.page_script_hash
    _request_rerun(session, state)


def _is_event(state: ClientState) -> bool:
    """Return True for a message about the page that it names, False for a request for that page."""
    if state.fragment_id:
        return True
    # Both carry a page and values of fields; a link carries those of the frame alone, and the Back
    # button says what it is. An event of a page without other fields counts as a link to that page,
    # which has the same effect.
    fields = (user_key_from_element_id(widget.id) for widget in state.widget_states.widgets)
    return not state.is_history_navigation and not FRAME_FIELDS.issuperset(fields)


def _has_news(session: AppSession) -> bool:
    """Return True if a requested run has not yet taken in the values of the fields.

    A request that would wait for the end of the present run, which may compute for long, becomes
    one for the whole page, whose run begins beside it.
    """
    runner = session._scriptrunner
    if runner is None:
        return False
    context = getattr(runner._script_thread, SCRIPT_RUN_CONTEXT_ATTR_NAME, None)
    started = context is not None and context.has_script_started
    requests = runner._requests
    with requests._lock:
        state, data = requests._state, requests._rerun_data
        asked = state is ScriptRequestType.RERUN
        waits = asked and started and bool(data.fragment_id_queue)
        if waits:  # in the lock, so that the present run, which may end just now, does not take it
            requests._state = ScriptRequestType.STOP
    if waits:
        runner.request_stop()
        whole = replace(data, fragment_id_queue=[], is_fragment_scoped_rerun=False)
        session._create_scriptrunner(whole)
    return asked or not (state is ScriptRequestType.STOP or started)


@cache
def _component() -> Callable[..., object]:
    scripts = Path(__file__).with_name("frame.js"), Path(__file__).with_suffix(".js")
    code = "\n".join(script.read_text(encoding="utf-8") for script in scripts)
    return st.components.v2.component("word_privacy_lab.departure", js=code)


def mind_links(language: str) -> None:
    """Make the browser keep the order too, and request a page again if it is empty or broken.

    Args:
        language: language of the page, for screen readers.
    """
    data = {
        "language": language,
        "broken": say("This page could not be shown."),
        "again": say("Load it again"),
        "menu": say("Skip to the menu"),
        "opener": say("Skip to the button that opens the menu"),
    }
    _component()(key=_KEY, data=data, on_healed_change=_log_healed)


def _log_healed() -> None:
    """Log that a browser requested a page again."""
    told = getattr(st.session_state.get(_KEY), "healed", None)
    _LOGGER.warning(_HEALED.get(str(told), _HEALED["broken"]))
