"""The tree of elements that a browser holds, as the frontend of Streamlit 1.67 keeps it.

A browser that receives a position that its tree does not have shows an error for good. This model
raises `BadPlaceError` there, and says what a browser would show at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

_ENDED = {ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY}


class BadPlaceError(Exception):
    """A message about a place that the browser does not have."""


@dataclass
class Element:
    """A leaf of the tree."""

    kind: str
    message: Any
    run: str
    script: str
    fragment: str


@dataclass
class Block:
    """A container."""

    kind: str
    message: Any
    run: str
    script: str
    fragment: str
    children: list[Node] = field(default_factory=list)


@dataclass
class Passing:
    """Temporary content, such as a spinner, before the content that replaces it."""

    run: str
    many: int
    anchor: Element | Block | None


Node = Element | Block | Passing


@dataclass
class Tree:
    """All that one browser shows.

    Attributes:
        page: whose elements it shows; the menu marks this one.
        run: id of the last run that began.
        running: whether a run has begun and has not ended.
        late: whether the page of the last messages is not yet taken in: React does so when the
            browser gets to it, and Streamlit's frontend looks at the page that was taken in.
    """

    page: str = ""
    run: str = ""
    running: bool = False
    main_script: str = ""
    late: str | None = None
    fragments: list[str] = field(default_factory=list)
    roots: list[Block] = field(default_factory=lambda: [_root() for _ in range(4)])

    def take(self, forward: ForwardMsg) -> None:
        """Follow one message.

        Raises:
            BadPlaceError: the tree does not have the place that it is about.
        """
        kind = forward.WhichOneof("type")
        if kind == "new_session":
            self._begin(forward)
        elif kind == "navigation":
            self.late = forward.navigation.page_script_hash
        elif kind == "session_status_changed":
            self.running = forward.session_status_changed.script_is_running
        elif kind == "delta":
            self._draw(forward)
        elif kind == "script_finished" and forward.script_finished in _ENDED:
            ended, parts = forward.metadata.run.script_run_id, forward.metadata.run.fragment_ids
            if parts or ended == self.run:
                self._keep(lambda node: _without_stale(node, ended, list(parts), inside=False))

    def settle(self) -> None:
        """Take in the page of the last messages."""
        if self.late is not None:
            self.page, self.late = self.late, None

    def _begin(self, forward: ForwardMsg) -> None:
        new, run = forward.new_session, forward.metadata.run
        same = self.page == new.page_script_hash
        self.run, self.fragments = run.script_run_id, list(run.fragment_ids)
        if not self.fragments:
            self.late = new.page_script_hash
        if same:
            self._keep(lambda node: _without_passing(node, self.fragments))
        else:
            self.main_script = new.main_script_hash
            self._keep(lambda node: _of_script(node, self.main_script))

    def _keep(self, choose: Callable[[Node], Node | None]) -> None:
        self.roots = [_block(choose(root)) for root in self.roots]

    def _draw(self, forward: ForwardMsg) -> None:
        place = list(forward.metadata.delta_path)
        about = (self.run, forward.metadata.active_script_hash, forward.delta.fragment_id)
        what = forward.delta.WhichOneof("type")
        node: Node
        if what == "new_element":
            kind: str = forward.delta.new_element.WhichOneof("type") or ""
            node = Element(kind, getattr(forward.delta.new_element, kind, None), *about)
        elif what == "add_block":
            kind = forward.delta.add_block.WhichOneof("type") or ""
            node = Block(kind, forward.delta.add_block, *about)
            before = self._at(place)
            before = before.anchor if isinstance(before, Passing) else before
            if isinstance(before, Block) and before.kind == kind:
                node.children = before.children
        else:
            node = Passing(self.run, len(forward.delta.new_transient.elements), None)
        root, *rest = place
        self.roots[root] = _block(_put(self.roots[root], rest, node, self.run))

    def _at(self, place: Sequence[int]) -> Node | None:
        node: Node | None = self.roots[place[0]]
        for index in place[1:]:
            node = node.anchor if isinstance(node, Passing) else node
            if not isinstance(node, Block) or not 0 <= index < len(node.children):
                return None
            node = node.children[index]
        return node

    def elements(self, *roots: int) -> Iterator[Element | Block]:
        """All elements and containers of these roots (0 is the main area), or of all."""
        for root in roots or range(4):
            yield from _inside(self.roots[root])


def _root() -> Block:
    return Block("", None, "", "", "")


def _block(node: Node | None) -> Block:
    return node if isinstance(node, Block) else _root()


def _inside(node: Node | None) -> Iterator[Element | Block]:
    if isinstance(node, Passing):
        node = node.anchor
    if node is not None:
        yield node
    if isinstance(node, Block):
        for child in node.children:
            yield from _inside(child)


def _put(node: Node, place: list[int], new: Node, run: str) -> Node:
    """The tree below a node with another node at a place."""
    if isinstance(node, Element):
        if place:
            raise BadPlaceError("'setIn' cannot be called on an ElementNode")
    elif isinstance(node, Passing):
        if place and node.anchor is None:
            raise BadPlaceError("TransientNode has no anchor to set node at")
        if place and node.anchor is not None:
            anchor = _put(node.anchor, place, new, run)
            return Passing(node.run, node.many, _anchor(anchor))
    elif place:
        index, *rest = place
        if not 0 <= index <= len(node.children):
            raise BadPlaceError(
                f"Bad delta path index {index} (should be between [0, {len(node.children)}])"
            )
        children = list(node.children)
        if index < len(children):
            children[index] = _put(children[index], rest, new, run)
        elif rest:
            raise BadPlaceError("Cannot set a node at a delta path")
        else:
            children.append(new)
        return Block(node.kind, node.message, run, node.script, node.fragment, children)
    if isinstance(new, Passing):
        return Passing(new.run, new.many, node.anchor if isinstance(node, Passing) else node)
    if isinstance(node, Passing) and node.many and node.run == new.run:
        return Passing(node.run, node.many, new)
    return new


def _anchor(node: Node | None) -> Element | Block | None:
    return node.anchor if isinstance(node, Passing) else node


def _without_stale(node: Node, run: str, parts: list[str], *, inside: bool) -> Node | None:
    if isinstance(node, Passing):
        anchor = node.anchor and _anchor(_without_stale(node.anchor, run, parts, inside=inside))
        many = node.many if node.run == run or (parts and not inside) else 0
        return Passing(node.run, many, anchor) if many else anchor
    if isinstance(node, Element):
        loose = bool(parts) and not (node.fragment and inside)
        return node if node.kind == "toast" or loose or node.run == run else None
    if node.run != run and (inside or not parts):
        return None
    below = inside or (node.fragment in parts and node.run == run)
    seen = (_without_stale(child, run, parts, inside=below) for child in node.children)
    children = [child for child in seen if child is not None]
    if len(children) == len(node.children) and all(map(_is, children, node.children)):
        return node
    return Block(node.kind, node.message, run, node.script, node.fragment, children)


def _without_passing(node: Node, parts: list[str]) -> Node | None:
    if isinstance(node, Passing):
        return node.anchor
    if isinstance(node, Block) and not (parts and node.fragment and node.fragment not in parts):
        seen = (_without_passing(child, parts) for child in node.children)
        children = [child for child in seen if child is not None]
        if len(children) != len(node.children) or not all(map(_is, children, node.children)):
            return Block(node.kind, node.message, node.run, node.script, node.fragment, children)
    return node


def _of_script(node: Node, script: str) -> Node | None:
    if isinstance(node, Passing):
        return node.anchor and _anchor(_of_script(node.anchor, script))
    is_root = isinstance(node, Block) and node.message is None
    if node.script != script and not is_root:
        return None
    if isinstance(node, Block):
        seen = (_of_script(child, script) for child in node.children)
        children = [child for child in seen if child is not None]
        return Block(node.kind, node.message, node.run, node.script, node.fragment, children)
    return node


def _is(first: object, second: object) -> bool:
    return first is second
