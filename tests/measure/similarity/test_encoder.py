"""Similarity of meaning: the formulas on made-up pieces, and the encoder where it is installed."""

import numpy as np
import pytest

from dpcore.errors import MissingPackageError
from dpcore.measure.similarity.encoder import compare, load_encoder
from tests import needs
from tests.fixtures import MakeRng, Uninstall


def test_equal_texts_are_equal_and_opposite_ones_are_not(rng: MakeRng) -> None:
    pieces = rng().standard_normal((5, 8)).astype(np.float32)
    pieces /= np.linalg.norm(pieces, axis=1, keepdims=True)
    style, cosine = compare([pieces, pieces], [pieces[::-1], -pieces])
    assert style[0] == pytest.approx(1.0, abs=1e-6)
    assert cosine[0] == pytest.approx(1.0, abs=1e-6)
    assert cosine[1] == pytest.approx(-1.0, abs=1e-6)


def test_without_the_packages_it_says_which(uninstalled: Uninstall) -> None:
    load_encoder.cache_clear()
    uninstalled("torch")
    with pytest.raises(MissingPackageError, match=r"torch, an optional one.*\.\[encoder\]"):
        load_encoder()


@pytest.mark.slow
def test_a_paraphrase_is_nearer_than_another_text() -> None:
    needs.encoder()
    load_encoder.cache_clear()
    encoder = load_encoder()
    original = encoder.pieces(["the food was great"] * 3)
    others = encoder.pieces(["the food was great", "the meal was good", "my printer is broken"])
    for values in compare(original, others):
        assert values[0] == pytest.approx(1.0, abs=1e-5)
        assert values[0] > values[1] > values[2]
