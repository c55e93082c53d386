"""What the contract tests share: every mechanism, on one small lexicon, at an ε that matters."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.law import Effort
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import MECHANISMS, create
from tests.mechanisms import lexicons

KEYS = list(MECHANISMS)
SMALL = lexicons.cloud(40, 3)
DIRECTIONS = 3000

every_mechanism = pytest.mark.parametrize("key", KEYS)


def make(key: str, lexicon: Lexicon = SMALL, **settings: Any) -> Mechanism:
    if key == "random-projection.v1":
        settings = {"dimensions": min(2, lexicon.dimension)} | settings
    return create(key, lexicon, settings)


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
) -> tuple[NDArray[np.float64], float]:
    """The law over the vocabulary, and its standard error (0 where it is exact)."""
    law = mechanism.law(word, [epsilon], rng=rng, effort=Effort(directions=DIRECTIONS))
    return law.dense(len(mechanism.lexicon))[0], 0.0 if law.exact else law.error
