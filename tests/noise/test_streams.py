"""Keyed random streams."""

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.noise.streams import document_generator, generator
from tests.chance import assert_distribution


@pytest.mark.parametrize("seed", [-1, 2**60, 1.5, "7"])
def test_a_seed_that_a_link_cannot_carry_is_refused(seed):
    with pytest.raises(ParameterError, match="a seed is a whole number"):
        generator(seed, "x")


def test_streams_differ_by_key_and_repeat_by_seed():
    first = generator(1, "a", 2).random(4)
    assert np.array_equal(first, generator(1, "a", 2).random(4))
    for other in (generator(2, "a", 2), generator(1, "a", 3), generator(1, "a2"), generator(None)):
        assert not np.array_equal(first, other.random(4))


def test_the_noise_of_a_document_depends_on_secret_and_id_alone():
    secret, other = bytes(32), bytes(31) + b"\1"
    first = document_generator(secret, 5).random(4).tolist()
    assert document_generator(secret, 5).random(4).tolist() == first
    assert document_generator(secret, "5").random(4).tolist() == first
    others = [
        document_generator(key, name).random(4).tolist()
        for key, name in ((secret, 6), (secret, "ä"), (other, 5), (secret, "\ud800"))
    ]
    assert first not in others
    assert len({tuple(one) for one in others}) == 4


def test_documents_have_independent_noise():
    """First numbers of 20,000 documents: uniform, and unrelated from one to the next."""
    found = np.array([document_generator(bytes(32), i).random(2) for i in range(20_000)])
    assert_distribution(found, "uniform")
    assert_distribution((found[1:, 0] - found[:-1, 0]) % 1.0, "uniform")
    assert_distribution((found[:, 1] - found[:, 0]) % 1.0, "uniform")


def test_a_short_secret_is_refused():
    with pytest.raises(ParameterError, match="at least 32 bytes"):
        document_generator(b"secret", 1)
