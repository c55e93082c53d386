"""Keyed random streams."""

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.noise.streams import generator


@pytest.mark.parametrize("seed", [-1, 2**60, 1.5, "7"])
def test_a_seed_that_a_link_cannot_carry_is_refused(seed):
    with pytest.raises(ParameterError, match="a seed is a whole number"):
        generator(seed, "x")


def test_streams_differ_by_key_and_repeat_by_seed():
    first = generator(1, "a", 2).random(4)
    assert np.array_equal(first, generator(1, "a", 2).random(4))
    for other in (generator(2, "a", 2), generator(1, "a", 3), generator(1, "a2"), generator(None)):
        assert not np.array_equal(first, other.random(4))
