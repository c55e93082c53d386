"""Laws from shared directions: shared where they can be, and the laws of the mechanisms."""

from typing import Any

import numpy as np
import pytest

from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.ranking import rank
from dpcore.mechanisms.additive.shared import SharedDirections
from dpcore.mechanisms.law import Effort
from dpcore.mechanisms.registry import MECHANISMS, create


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    vectors = np.random.default_rng(3).standard_normal((500, 12)).astype(np.float32)
    return Lexicon("toy", tuple(f"w{i}" for i in range(500)), vectors)


def test_directions_are_shared_where_they_can_be(lexicon: Lexicon) -> None:
    shared = SharedDirections()
    sphere: list[Any] = [
        create(name, lexicon) for name in ("madlib", "vickrey", "l2-laplace", "gaussian")
    ]
    assert len({id(shared.bundle(mechanism)) for mechanism in sphere}) == 1
    others: list[Any] = [
        create(name, lexicon) for name in ("mahalanobis", "laplace", "random-projection")
    ]
    others += [create("mahalanobis", lexicon, {"lam": 0.9})]
    others += [create("laplace", lexicon, {"clip_norm": 1.0})]
    assert len({id(shared.bundle(mechanism)) for mechanism in [sphere[0], *others]}) == 6


@pytest.mark.parametrize("key", MECHANISMS)
def test_a_shared_law_agrees_with_the_mechanisms_own(lexicon: Lexicon, key: str) -> None:
    mechanism = create(key, lexicon)
    allowed = mechanism.admissible
    low, high = max(allowed.low * 1.5, 0.5), min(allowed.high * 0.5, 1e4)
    epsilons = [float(np.sqrt(low * high))]
    ranking = rank(lexicon.vectors, lexicon.vectors[[7]])[0]
    effort = Effort(directions=2_000)
    law = SharedDirections(effort).law(mechanism, 7, epsilons, ranking)
    alone = mechanism.law(7, epsilons, rng=np.random.default_rng(1), effort=effort)
    assert law.exact == alone.exact == mechanism.exact_law
    gap = np.abs(law.dense(500) - alone.dense(500)).max()
    # Two independent estimates of entries in [0, 1]: Hoeffding and a union over 500 entries,
    # false alarm 1e-6.
    allowance = 2 * alone.error if alone.exact else 2 * np.sqrt(np.log(2e9) / (2 * 2_000))
    assert gap <= allowance
