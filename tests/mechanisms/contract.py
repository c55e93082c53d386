"""Every mechanism, on one small lexicon, at an informative ε: shared by tests of all mechanisms.

The contract itself is `dpcore.testing`, for the tests of other packages too.
"""

from typing import Any

import pytest

from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import MECHANISMS, create
from dpcore.testing.contract import DIRECTIONS, SMALL, dense_law, typical

__all__ = ["DIRECTIONS", "KEYS", "SMALL", "dense_law", "every_mechanism", "make", "typical"]

KEYS = list(MECHANISMS)

every_mechanism = pytest.mark.parametrize("key", KEYS)


def needed(key: str, lexicon: Lexicon) -> dict[str, Any]:
    """Settings without which a mechanism cannot be made over a lexicon."""
    return {"dimensions": min(2, lexicon.dimension)} if key == "random-projection.v1" else {}


def make(key: str, lexicon: Lexicon = SMALL, **settings: Any) -> Mechanism:
    return create(key, lexicon, needed(key, lexicon) | settings)
