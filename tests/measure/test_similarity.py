"""Similarity of meaning: the formulas on made-up pieces, and the encoder where it is installed."""

import numpy as np
import pytest

from dpcore.errors import MissingPackageError, ParameterError
from dpcore.measure.similarity import (
    bleu,
    compare,
    greedy,
    greedy_matching,
    load_encoder,
    rouge1,
    words_kept,
)
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


# Similarity of texts: known values of the libraries, matching by hand, refusals.


BEFORE = ["the cat sat on the mat", "It is a good day!"]
AFTER = ["the cat lay on a mat", "It is a good day!"]


def test_rouge_by_hand() -> None:
    overlap = rouge1(BEFORE, AFTER)
    np.testing.assert_allclose(overlap.recall, [4 / 6, 1.0])
    np.testing.assert_allclose(overlap.precision, [4 / 6, 1.0])
    shorter = rouge1(["a b c d"], ["A b"])
    assert (shorter.recall[0], shorter.precision[0]) == (0.5, 1.0)
    assert shorter.f1[0] == pytest.approx(2 / 3)


def test_bleu_of_equal_and_of_unlike_texts() -> None:
    assert bleu(BEFORE, BEFORE) == pytest.approx(100.0)
    assert bleu([text.upper() for text in BEFORE], BEFORE) == pytest.approx(100.0)
    assert bleu(BEFORE, AFTER) < bleu(BEFORE, BEFORE)
    assert bleu(["one two three four"], ["five six seven eight"]) < 10


def test_words_kept() -> None:
    before, after = np.array([3, -1, 5, 5]), np.array([3, 2, 5, 6])
    assert words_kept(before, after) == 0.5
    with pytest.raises(ParameterError, match="same places"):
        words_kept(before, after[:2])


def test_matching_by_hand() -> None:
    vectors = np.array([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]], dtype=np.float32)
    same = greedy_matching([np.array([0, 1])], [np.array([1, 0, 0])], vectors)
    assert same.f1[0] == pytest.approx(1.0)  # order and repetition do not count
    half = np.sqrt(0.5)
    overlap = greedy_matching([np.array([0, 1])], [np.array([2])], vectors)
    assert overlap.recall[0] == pytest.approx(half)
    assert overlap.precision[0] == pytest.approx(half)
    none = greedy_matching([np.array([], dtype=int)], [np.array([2])], vectors)
    assert np.isnan(none.f1[0])
    assert greedy_matching([np.array([0])], [np.array([3])], vectors).f1[0] == 0.0


def test_greedy_follows_the_formula(rng: MakeRng) -> None:
    cosines = rng().uniform(-1, 1, (4, 7))
    recall = np.mean([max(row) for row in cosines])
    precision = np.mean([max(row) for row in cosines.T])
    expected = 2 * recall * precision / (recall + precision)
    np.testing.assert_allclose(greedy(cosines), (precision, recall, expected))


def test_refusals(uninstalled: Uninstall) -> None:
    for function in (rouge1, bleu):
        with pytest.raises(ParameterError, match=r"one by one.*got 2 and 1"):
            function(BEFORE, AFTER[:1])
        with pytest.raises(ParameterError, match="got 0 and 0"):
            function([], [])
    with pytest.raises(ParameterError, match="as many"):
        greedy_matching([np.array([1])], [], np.eye(2, dtype=np.float32))
    uninstalled("sacrebleu")
    with pytest.raises(MissingPackageError, match="sacrebleu; install"):
        bleu(BEFORE, AFTER)
