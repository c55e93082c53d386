"""People in a hurry, without a browser: messages in any order, and the tree a browser would hold.

Each person is a seed. It decides what is done and how long is waited before the next thing, often
not at all. What a person can do is what the tree shows at that moment, as in a browser.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.client import Shown, state_of
from tests.browser.tree import BadPlaceError, Tree

if TYPE_CHECKING:
    import websockets
    from streamlit.proto.WidgetStates_pb2 import WidgetState

PAUSES = (0.0, 0.0, 0.0, 0.002, 0.01, 0.03, 0.1, 0.4)
REST_SECONDS = 1.0
LAST = 40
QUICK = ("papers", "lesson", "start", "release", "robustness")
"""Pages that compute nothing long when they open."""


@dataclass
class Person:
    """One person.

    Attributes:
        socket: an open web socket.
        will: what decides.
        faults: what a browser could not have shown.
        did: the last things that were done, and what the server said.
    """

    socket: websockets.ClientConnection
    will: random.Random
    tree: Tree = field(default_factory=Tree)
    faults: list[str] = field(default_factory=list)
    did: deque[str] = field(default_factory=lambda: deque(maxlen=LAST))
    pages: dict[str, str] = field(default_factory=dict)
    query: str = ""
    steps: int = 0
    changes: int = 0
    last: float = 0.0
    visited: list[str] = field(default_factory=list)
    states: dict[str, WidgetState] = field(default_factory=dict)

    async def listen(self) -> None:
        """Follow all that the server says."""
        while True:
            try:
                data = await asyncio.wait_for(self.socket.recv(decode=False), 0.05)
            except TimeoutError:
                self.tree.settle()
                continue
            self.last = time.monotonic()
            if self.will.random() < 0.2:  # React takes in what it was told when it gets to it
                self.tree.settle()
            self._take(ForwardMsg.FromString(data))

    def _take(self, forward: ForwardMsg) -> None:
        kind = forward.WhichOneof("type")
        if kind == "navigation":
            self.pages = {
                page.url_pathname: page.page_script_hash for page in forward.navigation.app_pages
            }
        elif kind == "page_info_changed":
            self.query = forward.page_info_changed.query_string
        if kind in {"new_session", "script_finished", "navigation"}:
            run = forward.metadata.run
            self.did.append(
                f"  <- {kind} {self.name(forward.new_session.page_script_hash)} "
                f"{run.script_run_id[:4]} {[part[:4] for part in run.fragment_ids]} "
                f"{forward.script_finished}"
            )
        try:
            self.tree.take(forward)
        except BadPlaceError as error:
            place = list(forward.metadata.delta_path)
            self.faults.append(f"{error} at {place} of {self.name(self.tree.page)}")
            self.did.append(f"  <- {self.faults[-1]}")

    def name(self, page: str) -> str:
        """Address of a page."""
        return next((name for name, known in self.pages.items() if known == page), page[:6])

    async def ask(
        self, page: str, *, fragment: str = "", back: bool = False, name: str = ""
    ) -> None:
        """Send what a browser would send."""
        message = BackMsg()
        rerun = message.rerun_script
        rerun.query_string, rerun.page_script_hash, rerun.page_name = self.query, page, name
        rerun.fragment_id, rerun.is_history_navigation = fragment, back
        rerun.widget_states.widgets.extend(self.states.values())
        self.last = time.monotonic()
        await self.socket.send(message.SerializeToString())

    async def go(self, name: str, *, back: bool = False) -> None:
        """Follow a link of the menu, or the Back button."""
        self.did.append(f"{'back' if back else 'go'} to {name}")
        self.changes += 1
        self.states.clear()
        if not back:
            self.visited.append(name)
        await self.ask(self.pages[name], back=back)

    async def step(self) -> None:
        """Do the next thing that comes to mind."""
        self.steps += 1
        way = self.will.random()
        if way < 0.12:
            await self.go(self.will.choice(list(self.pages)))
        elif way < 0.2 and len(self.visited) > 1:
            self.visited.pop()
            await self.go(self.visited[-1], back=True)
        else:
            await self._use()
        await asyncio.sleep(self.will.choice(PAUSES))

    async def _use(self) -> None:
        shown = [Shown(self._kind(n.kind, n), n.message, n.fragment) for n in self.tree.elements()]
        usable = [each for each in shown if each.id and self._value(each) is not None]
        if not usable:
            return
        widget = self.will.choice(usable)
        value = self._value(widget)
        self.did.append(f"{widget.kind} {widget.key[:40]} {str(value)[:40]}")
        state = state_of(widget, value)
        self.states[state.id] = state
        await self.ask(self.tree.page, fragment=widget.fragment)
        if widget.kind in {"button", "bidi_component"}:
            del self.states[state.id]

    @staticmethod
    def _kind(kind: str, node: object) -> str:
        return f"block {kind}" if type(node).__name__ == "Block" else kind

    def _value(self, widget: Shown) -> object:
        told = widget.message
        if getattr(told, "disabled", False):
            return None
        if widget.kind == "button":
            return True
        if widget.kind == "checkbox":
            return self.will.random() < 0.5
        if widget.kind == "slider":
            if told.options:
                return [self.will.choice(told.options) for _ in told.default]
            return [self.will.choice([told.min, told.max])]
        if widget.kind == "selectbox" and told.options:
            return self.will.choice(told.options)
        if widget.kind == "button_group" and told.options:
            many = 1 if told.click_mode == 0 else self.will.randint(0, 2)
            return [option.content for option in self.will.choices(told.options, k=many)]
        if widget.kind == "number_input":
            return self.will.choice([told.min, told.default]) if told.has_min else None
        if widget.kind == "text_area":
            return "The old doctor bought a violin in winter."
        if widget.kind == "bidi_component":
            data = json.loads(told.json or "null")
            if widget.key.startswith("dial_"):
                return ("rest", {"step": self.will.randrange(len(data["steps"]))})
            if widget.key == "grid":
                key = self.will.choice(data["groups"])["rows"][0]["key"]
                return (self.will.choice(["word", "peek"]), {"mechanism": key, "place": 1})
        return None

    async def rest(self, patience: float) -> None:
        """Follow one last link, wait until the server is quiet, and look at the tree."""
        name = self.will.choice(QUICK)
        await self.go(name)
        end = time.monotonic() + patience
        while time.monotonic() < end:
            await asyncio.sleep(0.05)
            quiet = not self.tree.running and time.monotonic() - self.last > REST_SECONDS
            if quiet and self.tree.page == self.pages[name]:
                break
        else:
            self.faults.append(
                f"{name} asked for; after {patience:g} s {self.name(self.tree.page)} is there"
            )
        there = list(self.tree.elements(0))
        if not any(node.kind == "heading" for node in there):
            self.faults.append(f"{self.name(self.tree.page)} is blank: {len(there)} elements")
        wrong = [node for node in there if node.kind == "exception"]
        self.faults += [f"an exception on {self.name(self.tree.page)}" for _ in wrong]
