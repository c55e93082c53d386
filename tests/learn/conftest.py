"""Fixtures of the tests of learning: a few pictures."""

import pytest

from dpcore.learn.pixeldp.digits import Digits, digits


@pytest.fixture(scope="session")
def few() -> Digits:
    """Three hundred pictures to train on, forty to test on."""
    data = digits()
    return Digits(data.train[:300], data.train_labels[:300], data.test[:40], data.test_labels[:40])
