"""Order of the events and page changes of a session.

The tests `test_streamlit_still_…` run Streamlit without the changes of `pages.shared.departure`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from inspect import signature
from threading import Thread
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import app_session
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.script_data import ScriptData
from streamlit.runtime.scriptrunner import ScriptRunner, ScriptRunnerEvent
from streamlit.runtime.scriptrunner_utils import script_run_context
from streamlit.runtime.scriptrunner_utils.script_requests import (
    RerunData,
    ScriptRequests,
    ScriptRequestType,
)
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.state import SessionState
from streamlit.runtime.state.safe_session_state import SafeSessionState

from pages.shared import departure
from tests.needs import ROOT

ATTRIBUTE: str = vars(script_run_context)["SCRIPT_RUN_CONTEXT_ATTR_NAME"]
FIELD, FRAME = "$$ID-0f-text", "$$ID-0f-explain"


class Runner(ScriptRunner):
    """A runner whose thread does only what the test says."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.stopped: Any = False
        RUNNERS.append(self)

    def start(self) -> None:
        self._script_thread = Thread()
        context = SimpleNamespace(has_script_started=False)
        setattr(self._script_thread, ATTRIBUTE, context)

    def request_stop(self) -> None:
        self.stopped = True
        super().request_stop()

    def take(self) -> RerunData:
        """Take the next request, as at the end of a run; its values are not yet taken in."""
        self.context.has_script_started = False
        request = self._requests.on_scriptrunner_ready()
        assert request.type is ScriptRequestType.RERUN
        return request.rerun_data

    def take_in(self) -> None:
        self.context.has_script_started = True

    @property
    def context(self) -> Any:
        return getattr(self._script_thread, ATTRIBUTE)


RUNNERS: list[Runner] = []


def message(page: str, *fields: str, fragment: str = "", back: bool = False) -> ClientState:
    state = ClientState(
        page_script_hash=page, fragment_id=fragment, is_history_navigation=back, query_string="a=1"
    )
    for field in fields:
        state.widget_states.widgets.add(id=field, string_value="typed")
    return state


def seen(data: RerunData) -> tuple[str, list[str], list[str]]:
    """Page, fragments and fields of a request."""
    widgets = data.widget_states.widgets if data.widget_states else []
    return data.page_script_hash, data.fragment_id_queue, [widget.id for widget in widgets]


def on_a_page(
    monkeypatch: pytest.MonkeyPatch, test: Callable[[AppSession], Awaitable[None]]
) -> None:
    """Run a test with a session that shows page A and is at rest."""

    async def run() -> None:
        session = AppSession(
            ScriptData(str(ROOT / "app.py"), is_hello=False), MagicMock(), MagicMock(), None, {}
        )
        session.request_rerun(message(""))
        RUNNERS[-1].take()
        RUNNERS[-1].take_in()
        session._client_state.page_script_hash = "A"
        try:
            await test(session)
        finally:
            session._script_event_loop.close()  # `shutdown` would, which does nothing here

    RUNNERS.clear()
    departure.keep_order()
    monkeypatch.setattr(app_session, "ScriptRunner", Runner)
    monkeypatch.setattr(AppSession, "has_fragment", lambda *_: True)
    monkeypatch.setattr(AppSession, "shutdown", lambda *_: None)
    asyncio.run(run())


@pytest.fixture
def unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit's own functions, also where a test before has changed them."""
    monkeypatch.setattr(departure, "keep_order", lambda: None)
    monkeypatch.setattr(AppSession, "request_rerun", departure._request_rerun)
    monkeypatch.setattr(AppSession, "_clear_queue", departure._clear_queue)
    monkeypatch.setattr(SafeSessionState, "__init__", departure._wrap_state)


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("fragment", ["", "f"])
def test_streamlit_still_goes_back_for_an_event(
    monkeypatch: pytest.MonkeyPatch, fragment: str
) -> None:
    async def test(session: AppSession) -> None:
        session.request_rerun(message("B", FRAME))
        session.request_rerun(message("A", FIELD, fragment=fragment))
        assert RUNNERS[-1].take().page_script_hash == "A", "`departure._in_order` need not drop it"

    on_a_page(monkeypatch, test)


@pytest.mark.usefixtures("unchanged")
def test_streamlit_still_forgets_an_event_before_a_link(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(session: AppSession) -> None:
        session.request_rerun(message("A", FIELD))
        session.request_rerun(message("B", FRAME))
        assert RUNNERS[-2].stopped, "`departure._change_page` need not wait"
        assert seen(RUNNERS[-1].take()) == ("B", [], [FRAME]), "as above"

    on_a_page(monkeypatch, test)


@pytest.mark.usefixtures("unchanged")
def test_streamlit_still_drops_unsent_output_when_an_event_arrives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test(session: AppSession) -> None:
        draw_last(RUNNERS[-1])
        session.request_rerun(message("A", FIELD, fragment="f"))
        await asyncio.sleep(0)  # the event loop takes in what was drawn
        told = [each.delta.new_element.text.body for each in session._browser_queue.flush()]
        assert "drawn last" not in told, "`departure._hear` need not wait"

    on_a_page(monkeypatch, test)


@pytest.mark.usefixtures("unchanged")
def test_streamlit_still_removes_messages_that_others_build_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test(session: AppSession) -> None:
        draw_three(session)
        session._clear_queue(["second"])
        assert places(session) == [0, 2], "`departure._clear_for_page` can go"

    on_a_page(monkeypatch, test)


@pytest.mark.usefixtures("unchanged")
def test_streamlit_still_gives_each_run_of_a_session_a_lock_of_its_own() -> None:
    state = SessionState()
    first, second = (SafeSessionState(state, lambda: None) for _ in range(2))
    assert first._lock is not second._lock, "`departure._share_lock` can go"


def draw_last(runner: Runner) -> None:
    """End a run whose last output the session has not taken in."""
    assert runner._requests.on_scriptrunner_ready().type is ScriptRequestType.STOP
    delta = ForwardMsg()
    delta.delta.new_element.text.body = "drawn last"
    runner.on_event.send(runner, event=ScriptRunnerEvent.ENQUEUE_FORWARD_MSG, forward_msg=delta)


def draw_three(session: AppSession) -> None:
    """Put three neighbours in a block into the queue, of which the second is to run again."""
    session._browser_queue.flush()
    for place, fragment in ((0, ""), (1, "second"), (2, "third")):
        delta = ForwardMsg()
        delta.metadata.delta_path.extend((0, place))
        delta.delta.fragment_id = fragment
        delta.delta.new_element.text.body = fragment
        session._browser_queue.enqueue(delta)


def places(session: AppSession) -> list[int]:
    """Places of the queued messages, which are taken from the queue."""
    return [list(message.metadata.delta_path)[-1] for message in session._browser_queue.flush()]


def test_an_event_of_a_page_that_was_left_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(session: AppSession) -> None:
        session.request_rerun(message("B", FRAME))
        runner = RUNNERS[-1]
        assert len(RUNNERS) == 2
        session.request_rerun(message("A", FIELD, fragment="f"))
        session.request_rerun(message("A", FIELD, FRAME))
        assert seen(runner.take()) == ("B", [], [FRAME])
        runner.take_in()
        session.request_rerun(message("A", FIELD, fragment="f"))
        session.request_rerun(message("A", FIELD))
        assert len(RUNNERS) == 2
        assert runner._requests._state is ScriptRequestType.CONTINUE
        session.request_rerun(message("B", FIELD, fragment="g"))  # of the page that is open
        assert seen(runner.take()) == ("B", ["g"], [FIELD])

    on_a_page(monkeypatch, test)


def test_a_link_back_at_once_and_the_back_button_lead_back(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(session: AppSession) -> None:
        session.request_rerun(message("B", FRAME))
        RUNNERS[-1].take()
        RUNNERS[-1].take_in()
        session.request_rerun(message("A", FRAME))
        assert seen(RUNNERS[-1].take()) == ("A", [], [FRAME])
        RUNNERS[-1].take_in()
        session.request_rerun(message("B", FIELD, back=True))
        assert seen(RUNNERS[-1].take()) == ("B", [], [FIELD])

    on_a_page(monkeypatch, test)


@pytest.mark.parametrize("fragment", ["", "f"])
def test_a_link_waits_until_the_event_before_it_is_taken_in(
    monkeypatch: pytest.MonkeyPatch, fragment: str
) -> None:
    async def test(session: AppSession) -> None:
        session.request_rerun(message("A", FIELD, fragment=fragment))
        session.request_rerun(message("B", FRAME))
        session.request_rerun(message("C", FRAME))  # of two links the second counts
        await asyncio.sleep(3 * departure._LOOK_SECONDS)
        runner = RUNNERS[-1]
        assert len(RUNNERS) == 2
        assert RUNNERS[0].stopped
        assert not runner.stopped
        assert seen(runner.take()) == ("A", [], [FIELD])
        await asyncio.sleep(3 * departure._LOOK_SECONDS)
        assert not runner.stopped
        runner.take_in()
        while RUNNERS[-1] is runner:
            await asyncio.sleep(departure._LOOK_SECONDS)
        assert runner.stopped
        assert seen(RUNNERS[-1].take()) == ("C", [], [FRAME])

    on_a_page(monkeypatch, test)


def test_an_event_waits_until_all_is_told_that_the_run_before_it_drew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run that begins sooner has the session forget what it was not told yet."""

    async def test(session: AppSession) -> None:
        runner = RUNNERS[-1]
        draw_last(runner)
        session.request_rerun(message("A", FIELD, fragment="f"))
        session.request_rerun(message("A", FRAME, FIELD, fragment="g"))
        assert [runner] == RUNNERS
        await asyncio.sleep(3 * departure._LOOK_SECONDS)
        told = [each.delta.new_element.text.body for each in session._browser_queue.flush()]
        assert "drawn last" in told
        assert [runner] == RUNNERS
        runner.on_event.send(runner, event=ScriptRunnerEvent.SHUTDOWN, client_state=message("A"))
        while RUNNERS[-1] is runner:
            await asyncio.sleep(departure._LOOK_SECONDS)
        assert seen(RUNNERS[-1].take()) == ("A", ["f", "g"], [FRAME, FIELD])
        assert len(RUNNERS) == 2

    on_a_page(monkeypatch, test)


def test_an_event_does_not_wait_for_a_run_that_was_ended_and_computes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test(session: AppSession) -> None:
        session.request_script_stop()
        session.request_rerun(message("A", FIELD, fragment="f"))
        session.request_rerun(message("B", FRAME))  # of a page that a link leads to
        while len(RUNNERS) < 2:
            await asyncio.sleep(departure._LOOK_SECONDS)
        assert seen(RUNNERS[1].take()) == ("A", ["f"], [FIELD])
        RUNNERS[1].take_in()
        while len(RUNNERS) < 3:
            await asyncio.sleep(departure._LOOK_SECONDS)
        assert seen(RUNNERS[2].take()) == ("B", [], [FRAME])

    on_a_page(monkeypatch, test)


def test_a_link_waits_no_longer_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A callback of the event before it may compute for long."""
    monkeypatch.setattr(departure, "_TAKEN_IN_LOOKS", 3)

    async def test(session: AppSession) -> None:
        session.request_rerun(message("A", FIELD, fragment="f"))
        session.request_rerun(message("B", FRAME))
        while len(RUNNERS) < 3:  # ends, or the test never does
            await asyncio.sleep(departure._LOOK_SECONDS)
        assert RUNNERS[1].stopped
        assert seen(RUNNERS[-1].take())[0] == "B"

    on_a_page(monkeypatch, test)


def test_where_a_page_sends_people_on_their_events_are_of_that_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test(session: AppSession) -> None:
        session.request_rerun(message("B", FRAME))
        RUNNERS[-1].take()
        RUNNERS[-1].take_in()
        session._client_state.page_script_hash = "A"  # Streamlit at the start of that run
        session.request_rerun(message("A", FIELD, fragment="f"))
        assert seen(RUNNERS[-1].take()) == ("A", ["f"], [FIELD])

    on_a_page(monkeypatch, test)


def test_before_any_link_and_without_a_browser_nothing_is_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test(session: AppSession) -> None:
        # While the first page runs, Streamlit does not yet know its own name for it.
        session.request_rerun(message("first", FIELD, fragment="f"))
        assert seen(RUNNERS[-1].take()) == ("first", ["f"], [FIELD])
        RUNNERS[-1].take_in()
        session.request_rerun(None)
        assert seen(RUNNERS[-1].take()) == ("", [], [])

    on_a_page(monkeypatch, test)


def test_runs_of_one_session_never_change_its_state_while_another_reads_it() -> None:
    departure.keep_order()
    state = SessionState()
    first, second = (SafeSessionState(state, lambda: None) for _ in range(2))
    read: list[dict[str, Any]] = []
    reader = Thread(target=lambda: read.append(second.filtered_state))
    with first._lock:  # as a stopped run has it while it removes the fields that it did not draw
        state["a"] = 1
        reader.start()
        reader.join(0.2)
        assert not read
        state["b"] = 2
    reader.join()
    assert read == [{"a": 1, "b": 2}]
    assert SafeSessionState(SessionState(), lambda: None)._lock is not first._lock


def test_streamlit_is_as_it_is_taken_to_be() -> None:
    assert list(signature(departure._request_rerun).parameters) == ["self", "client_state"]
    assert {"_lock", "_state", "_rerun_data"} <= vars(ScriptRequests()).keys()
    assert isinstance(vars(AppSession)["page_script_hash"], property)
    assert isinstance(vars(ScriptRunContext)["has_script_started"], property)
    assert "_script_thread" in ScriptRunner.__init__.__code__.co_names


def test_a_part_that_runs_again_leaves_no_hole_in_what_the_browser_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of three neighbours in a block the second runs again before the browser knows of any."""

    async def test(session: AppSession) -> None:
        draw_three(session)
        session._clear_queue(["second"])
        assert places(session) == [0, 1, 2]
        draw_three(session)
        session._clear_queue()  # the whole page is drawn again
        assert session._browser_queue.is_empty()

    on_a_page(monkeypatch, test)
