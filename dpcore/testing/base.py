"""What the parts of the contract share: the mechanism under test, on one small lexicon."""

from __future__ import annotations

import contextlib
import json
import zlib
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from dpcore.mechanisms.law import Effort
from dpcore.mechanisms.registry import construct
from dpcore.testing.lexicons import cloud

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.arrays import FloatArray
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.mechanism import Mechanism

SMALL = cloud(40, 3)
"""40 words in 3 dimensions."""
DIRECTIONS = 3000
"""Of an estimated law."""


class Contract:
    """A class of tests for one mechanism; what is said here may be said otherwise below it.

    Attributes:
        kind: the class of the mechanism.
        quiet_epsilon: an ε that leaves no noise.
        quiet: what comes out then: the word always, never, or neither.
        quiet_settings: of the mechanism then, such as a small share that it keeps for other words.
        forgets: whether one law is left for all words as ε goes to 0.
        forgetting_settings: of the mechanism then.
        proves: whether its promise is proved or certified, as it is by default.
        on_a_line: whether its laws are exact on a line, so that the promise can be checked there.
    """

    kind: ClassVar[type[Mechanism]]
    quiet_epsilon: ClassVar[float] = 1e9
    quiet: ClassVar[Literal["stays", "leaves", "neither"]] = "stays"
    quiet_settings: ClassVar[dict[str, Any]] = {}
    forgets: ClassVar[bool] = True
    forgetting_settings: ClassVar[dict[str, Any]] = {}
    proves: ClassVar[bool] = True
    on_a_line: ClassVar[bool] = True
    _name = ""

    def setup_method(self, method: Any) -> None:
        """Each test has random numbers of its own."""
        self._name = f"{type(self).__qualname__}.{method.__name__}"

    def settings(self, lexicon: Lexicon) -> dict[str, Any]:
        """Settings without which it cannot be made over a lexicon."""
        return {}

    def make(self, lexicon: Lexicon = SMALL, **settings: Any) -> Mechanism:
        """The mechanism under test."""
        return construct(self.kind, lexicon, self.settings(lexicon) | settings)

    def rng(self, *key: int) -> np.random.Generator:
        """A generator: the same for a test and a key, and no other has it."""
        return np.random.default_rng([zlib.crc32(self._name.encode()), *key])

    @property
    def typical(self) -> float:
        """An ε at which the word sometimes stays, and sometimes not."""
        return _typical(self.kind, json.dumps(self.settings(SMALL)))


@cache
def _typical(kind: type[Mechanism], settings: str) -> float:
    return typical(construct(kind, SMALL, json.loads(settings)))


def typical(mechanism: Mechanism) -> float:
    """An ε at which the word sometimes stays: searched for, because the units differ."""
    allowed = mechanism.admissible
    top = min(0.999 * allowed.high, 1e6)
    grid = np.geomspace(max(1.05 * allowed.low, 1e-3), top, 40)
    if not grid[0] < top:
        return float(top)
    for epsilon in grid:
        drawn = mechanism.sample(np.random.default_rng(0), np.zeros(400, np.int64), float(epsilon))
        if (drawn == 0).mean() > 0.3:
            return float(epsilon)
    return float(top)


def dense_law(
    mechanism: Mechanism, word: int, epsilon: float, rng: np.random.Generator
) -> tuple[FloatArray, float]:
    """The law over the vocabulary, and its standard error (0 where it is exact)."""
    law = mechanism.law(word, [epsilon], rng=rng, effort=Effort(directions=DIRECTIONS))
    return law.dense(len(mechanism.lexicon))[0], 0.0 if law.exact else law.error


def refusal(kind: type[Exception], call: Callable[[], object]) -> str:
    """The text of the error that a call raises."""
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__} was raised")


@contextlib.contextmanager
def refused(kind: type[Exception], part: str = "") -> Iterator[None]:
    """What is inside raises this error, in whose text this stands."""
    text = None
    try:
        yield
    except kind as error:
        text = str(error)
    assert text is not None, f"no {kind.__name__} was raised"
    assert part in text
