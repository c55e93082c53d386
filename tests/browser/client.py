"""A person without a window: Streamlit's protocol over a web socket, as a browser speaks it.

What a page draws is kept by its place, so that a test can look at every element that a browser
would be told to show, and a benchmark can move a widget without the time that drawing takes.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit

import websockets
from streamlit.components.v2.bidi_component.main import _make_trigger_id
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.typing import Origin, Subprotocol

if TYPE_CHECKING:
    from streamlit.proto.WidgetStates_pb2 import WidgetState

T = TypeVar("T")
_EARLY = ForwardMsg.FINISHED_EARLY_FOR_RERUN  # another run follows by itself


@dataclass(frozen=True)
class Shown:
    """One element or block on the screen.

    Attributes:
        kind: of the element ("text_area"), or of the block ("tab").
        message: the message that the browser received about it.
        fragment: the part of the page that drew it; empty for the page itself.
    """

    kind: str
    message: Any
    fragment: str

    @property
    def id(self) -> str:
        """The id of its widget; empty where it is none."""
        told = self.message.tab_container if self.kind == "block tab_container" else self.message
        return str(getattr(told, "id", ""))

    @property
    def key(self) -> str:
        """The key that the page gave it, which is the end of its id."""
        return self.id.split("-", 2)[-1]


def state_of(widget: Shown, value: object) -> WidgetState:
    """Return the state of a widget with this value, as a browser sends it.

    Args:
        widget: a widget of Streamlit's, or a component of ours.
        value: of the widget, a list where several are chosen; for a component the event and what
            it tells of it.

    Raises:
        TypeError: no way is known to set such a widget.
    """
    state = BackMsg().rerun_script.widget_states.widgets.add()
    state.id = widget.id
    values = [str(each) for each in value] if isinstance(value, list) else [str(value)]
    if widget.kind == "button":
        state.trigger_value = True
    elif widget.kind in {"text_area", "text_input", "selectbox", "block tab_container"}:
        state.string_value = str(value)
    elif widget.kind == "checkbox":
        state.bool_value = bool(value)
    elif widget.kind == "slider" and not getattr(widget.message, "options", ()):
        state.double_array_value.data.extend(map(float, values))
    elif widget.kind == "number_input":
        state.double_value = float(values[0])
    elif widget.kind in {"slider", "button_group"}:
        state.string_array_value.data.extend(values)
    elif widget.kind == "bidi_component":
        event, told = cast("tuple[str, object]", value)
        state.id = _make_trigger_id(state.id, "events")
        state.json_trigger_value = json.dumps([{"event": event, "value": told}])
    else:
        raise TypeError(f"no way to set a {widget.kind} to {value!r}")
    return state


@dataclass(frozen=True)
class Answer:
    """Cost of one request: seconds to the end of the script run, and bytes received."""

    seconds: float
    bytes: int


@dataclass
class Session:
    """One session of a running server.

    Attributes:
        socket: an open web socket.
        keep: whether what is drawn is kept in `screen`.
        screen: elements and blocks by their place.
        pages: the hash of each page by its address; empty before the first page is open.
        raw: called with every frame that arrives.
        patience: seconds for which an answer is waited for.
    """

    socket: websockets.ClientConnection
    keep: bool = True
    screen: dict[tuple[int, ...], Shown] = field(default_factory=dict)
    pages: dict[str, str] = field(default_factory=dict)
    raw: Callable[[bytes], object] | None = None
    patience: float = 240.0
    id: str = ""
    query: str = ""
    _page: str = ""
    _states: dict[str, WidgetState] = field(default_factory=dict)
    _drawn: set[tuple[int, ...]] = field(default_factory=set)

    @property
    def shown_page(self) -> str:
        """Hash of the page that is shown."""
        return self._page

    async def run(self, message: BackMsg) -> Answer:
        """Send a request and wait for the end of its script run.

        Raises:
            TimeoutError: it did not come in time.
        """
        async with asyncio.timeout(self.patience):
            return await self._run(message)

    async def _run(self, message: BackMsg) -> Answer:
        start, size = time.perf_counter(), 0
        parts: set[str] = set()
        await self.socket.send(message.SerializeToString())
        while True:
            data = await self.socket.recv(decode=False)
            size += len(data)
            if self.raw is not None:
                self.raw(data)
            forward = ForwardMsg.FromString(data)
            kind = forward.WhichOneof("type")
            if kind == "new_session":
                parts = set(forward.metadata.run.fragment_ids)
                self._drawn.clear()
            self._take(kind, forward)
            if kind == "script_finished" and forward.script_finished != _EARLY:
                self._forget(parts)
                return Answer(time.perf_counter() - start, size)

    def _forget(self, parts: set[str]) -> None:
        """Of the parts that ran, or of the whole page, what was not drawn again is gone."""
        self.screen = {
            place: element
            for place, element in self.screen.items()
            if place in self._drawn or (parts and element.fragment not in parts)
        }

    def _take(self, kind: str | None, forward: ForwardMsg) -> None:
        if kind == "new_session":
            self._page = forward.new_session.page_script_hash
            self.id = forward.new_session.initialize.session_id or self.id
        elif kind == "navigation":
            self._page = forward.navigation.page_script_hash  # of the page that a link named
            self.pages = {
                page.url_pathname: page.page_script_hash for page in forward.navigation.app_pages
            }
        elif kind == "page_info_changed":
            self.query = forward.page_info_changed.query_string
        elif kind == "delta" and self.keep:
            self._draw(forward)

    def _draw(self, forward: ForwardMsg) -> None:
        place = tuple(forward.metadata.delta_path)
        delta = forward.delta
        what = delta.WhichOneof("type")
        self._drawn.add(place)
        if what == "new_element":
            kind: str = delta.new_element.WhichOneof("type") or ""
            shown = Shown(kind, getattr(delta.new_element, kind), delta.fragment_id)
            for inner in [key for key in self.screen if key[: len(place)] == place]:
                del self.screen[inner]
            self.screen[place] = shown
        elif what == "add_block":
            kind = delta.add_block.WhichOneof("type") or ""
            self.screen[place] = Shown(f"block {kind}", delta.add_block, delta.fragment_id)

    async def open(self, page: str = "", query: str = "") -> Answer:
        """Load a page by its address in a session that may be new."""
        message = BackMsg()
        message.rerun_script.query_string = query
        message.rerun_script.page_name = page
        self.screen.clear()
        self._states.clear()
        return await self.run(message)

    async def switch(self, page: str) -> Answer:
        """Choose another page in the menu; what was typed stays in the session."""
        message = BackMsg()
        message.rerun_script.page_script_hash = self.pages[page]
        self._states.clear()
        return await self.run(message)

    async def rerun(self, fragment: str = "", *, by_itself: bool = False) -> Answer:
        """Run the page, or a fragment of it, with the current values of all widgets."""
        message = BackMsg()
        message.rerun_script.query_string = self.query
        message.rerun_script.page_script_hash = self._page
        message.rerun_script.fragment_id = fragment
        message.rerun_script.is_auto_rerun = by_itself
        message.rerun_script.widget_states.widgets.extend(self._states.values())
        return await self.run(message)

    def find(self, kind: str, key: str = "") -> Shown:
        """The first element of a kind, with this key if one is given.

        Raises:
            LookupError: there is none.
        """
        for shown in self.all(kind):
            if not key or shown.key == key:
                return shown
        raise LookupError(f"no {kind} {key!r} on the page")

    def keyed(self, key: str) -> Shown:
        """The element with this key, of whatever kind.

        Raises:
            LookupError: there is none.
        """
        for shown in self.screen.values():
            if shown.key == key:
                return shown
        raise LookupError(f"nothing has the key {key!r} on the page")

    def all(self, kind: str) -> Iterator[Shown]:
        """All elements of a kind."""
        return (shown for shown in self.screen.values() if shown.kind == kind)

    async def set(self, widget: Shown, value: object) -> Answer:
        """Give a widget a value as a person would, and wait until the page has answered.

        Args:
            widget: a widget of Streamlit's, or a component of ours.
            value: of the widget; for a component the event and what it tells of it.
        """
        state = state_of(widget, value)
        self._states[state.id] = state
        answer = await self.rerun(widget.fragment)
        if widget.kind in {"button", "bidi_component"}:  # what happens once is told once
            del self._states[state.id]
        return answer

    async def upload(self, widget: Shown, file: str, name: str, size: int) -> Answer:
        """Give a file uploader a file that the server already holds.

        Args:
            widget: the uploader.
            file: id under which the file was put.
            name: of the file.
            size: in bytes.
        """
        state = BackMsg().rerun_script.widget_states.widgets.add()
        state.id = widget.message.id
        info = state.file_uploader_state_value.uploaded_file_info.add(
            name=name, size=size, file_id=file
        )
        info.file_urls.file_id = file
        self._states[state.id] = state
        return await self.rerun(widget.fragment)


@asynccontextmanager
async def session(url: str, cookie: str = "", **fields: Any) -> AsyncIterator[Session]:
    """A session of a server at `url`; no page is open yet.

    Args:
        url: of the server, without a trailing slash.
        cookie: that a browser would send along.
        fields: of `Session`.
    """
    address = f"ws://{urlsplit(url).netloc}/_stcore/stream"
    async with websockets.connect(
        address,
        subprotocols=[Subprotocol("streamlit")],
        max_size=None,
        origin=Origin(url),
        additional_headers={"Cookie": cookie} if cookie else None,
    ) as socket:
        yield Session(socket, **fields)


def alone(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also where Playwright's own loop is running in this thread."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
