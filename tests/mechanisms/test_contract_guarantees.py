"""The exact laws by which the contract checks guarantees on a line are the laws there."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from dpcore.testing.contract import LINES, exact_laws
from tests.mechanisms import plain
from tests.mechanisms.contract import make


@pytest.mark.parametrize(
    "key", ["madlib.v1", "laplace.v1", "l2-laplace.v1", "gaussian.v1", "gaussian-classical.v1"]
)
def test_law_on_a_line_equals_the_distribution_function(key: str) -> None:
    """The Rao–Blackwell law over both directions of a line is the exact law."""
    mechanism: Any = make(
        key, LINES["near and far"], **({"clip_norm": 4.0005} if "madlib" not in key else {})
    )
    targets = mechanism.targets[:, 0].astype(np.float64)
    cdf = norm.cdf if "gaussian" in key else plain.laplace_cdf
    for epsilon in (0.3, 1.0, 8.0):
        laws = exact_laws(mechanism, epsilon)
        for w, law in enumerate(laws):
            origin = float(mechanism.origins[w, 0])
            expected = plain.line_law(targets, origin, cdf, mechanism.scale(epsilon))
            np.testing.assert_allclose(law, expected, atol=1e-12)
