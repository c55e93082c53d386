"""Limits of laws that are known beyond what the contract asks.

False-alarm probability of each randomised assertion: 1e-6.
"""

from typing import Any

import numpy as np
import pytest

from dpcore.mechanisms.registry import MECHANISMS
from tests.chance import assert_law, assert_same_law
from tests.fixtures import MakeRng
from tests.mechanisms.contract import SMALL, make

DRAWS = 20_000


@pytest.mark.parametrize("key", ["tem.v1", "tem-calibrated.v1"])
def test_without_privacy_budget_tem_is_uniform(key: str, rng: MakeRng) -> None:
    drawn = make(key).sample(rng(), np.zeros(DRAWS, np.int64), 1e-6)
    assert_law(drawn, np.full(len(SMALL), 1 / len(SMALL)))


@pytest.mark.parametrize(
    "key",
    [
        key
        for key, kind in MECHANISMS.items()
        if hasattr(kind, "bundle") and key not in {"vickrey.v1", "trlaplace.v1"}
    ],
)
def test_without_privacy_budget_noise_alone_decides(key: str, rng: MakeRng) -> None:
    """For additive noise the output is that of argmax ⟨u, τ⟩ over the targets τ."""
    mechanism: Any = make(key)
    if mechanism.admissible.low > 0:
        return  # defined only above a bound, where the word still matters
    drawn = mechanism.sample(rng(), np.zeros(DRAWS, np.int64), 1e-6)
    unit = mechanism.directions(rng(3), DRAWS)
    assert_same_law(drawn, (unit @ mechanism.targets.T.astype(np.float64)).argmax(axis=1))
