"""Taking turns: slow work of many people is done a few at a time, in the order of their coming.

Who stands in a line knows how many come first, and may leave at any time.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Self

from dpcore.errors import ParameterError

if TYPE_CHECKING:
    from types import TracebackType


class Turns:
    """A line in front of some places.

    Args:
        places: how many may be at work at a time, 1 or more.

    Raises:
        ParameterError: there are fewer.
    """

    def __init__(self, places: int) -> None:
        """Open a line in which nobody stands yet."""
        if not places >= 1:
            raise ParameterError(f"a line needs 1 place or more, got {places}")
        self._places = places
        self._line: dict[object, threading.Thread | None] = {}  # who works, then who waits
        self._moved = threading.Condition()

    def join(self, owner: threading.Thread | None = None) -> Turn:
        """Stand at the end of the line.

        Args:
            owner: a thread that has started; the place is free once it has ended.
        """
        ticket = object()
        with self._moved:
            self._line[ticket] = owner
        return Turn(self, ticket)

    def _present(self) -> list[object]:
        """Who stands in the line, without those whose owner has ended."""
        ended = [ticket for ticket, owner in self._line.items() if owner and not owner.is_alive()]
        for ticket in ended:
            del self._line[ticket]
        return list(self._line)

    def _before(self, ticket: object) -> int:
        with self._moved:
            line = self._present()
            return max(0, line.index(ticket) + 1 - self._places) if ticket in line else 0

    def _wait(self, ticket: object, seconds: float) -> bool:
        with self._moved:
            return self._moved.wait_for(lambda: ticket in self._present()[: self._places], seconds)

    def _leave(self, ticket: object) -> None:
        with self._moved:
            self._line.pop(ticket, None)
            self._moved.notify_all()


class Turn:
    """One's own place in a line; as a context manager it is left at the end of the block.

    A turn that nobody holds any more leaves by itself.
    """

    def __init__(self, turns: Turns, ticket: object) -> None:
        self._turns, self._ticket = turns, ticket
        self._finalizer = weakref.finalize(self, turns._leave, ticket)

    @property
    def before(self) -> int:
        """How many must leave before it is this one's turn; 0 once it is."""
        return self._turns._before(self._ticket)

    @property
    def left(self) -> bool:
        """Whether it was left."""
        return not self._finalizer.alive

    def wait(self, seconds: float) -> bool:
        """Wait until it is this one's turn, at most this long; whether it is."""
        return self._turns._wait(self._ticket, seconds)

    def leave(self) -> None:
        """Make room, from the line or from work; a second time it does nothing."""
        self._finalizer()

    def __enter__(self) -> Self:
        """Stay until the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave."""
        self.leave()


def waiting(before: int) -> str:
    """What is said to who waits.

    Args:
        before: how many come first; at 0 it begins now.
    """
    return f"Waiting: {before} before you" if before else "Starting"
