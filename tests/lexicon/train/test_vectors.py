"""From counts to vectors: every step against its definition."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from dpcore.errors import LexiconError, ParameterError
from dpcore.lexicon.train import vectors as training
from dpcore.lexicon.train.vectors import factorise, positive_pmi
from tests.fixtures import MakeRng

# Counts


def plain_cooccurrences(
    ids: NDArray[np.int32], segments: NDArray[np.int32], size: int, window: int
) -> NDArray[np.float64]:
    """The definition, token by token."""
    table = np.zeros((size, size))
    for i in range(len(ids)):
        for j in range(max(0, i - window), min(len(ids), i + window + 1)):
            if i != j and ids[i] >= 0 and ids[j] >= 0 and segments[i] == segments[j]:
                table[ids[i], ids[j]] += (window + 1 - abs(i - j)) / window
    return table


@pytest.mark.parametrize("chunk", [1, 7, 1000])
@pytest.mark.parametrize("window", [1, 2, 5])
def test_counts_equal_the_plain_loop(
    rng: MakeRng, monkeypatch: pytest.MonkeyPatch, window: int, chunk: int
) -> None:
    monkeypatch.setattr(training, "_CHUNK", chunk)
    draw = rng(window, chunk)
    ids = draw.integers(-1, 6, size=200).astype(np.int32)
    segments = np.sort(draw.integers(0, 30, size=200)).astype(np.int32)
    counted = training.cooccurrences(ids, segments, 6, window)
    np.testing.assert_allclose(
        counted.toarray(), plain_cooccurrences(ids, segments, 6, window), rtol=1e-12
    )


def test_counts_refuse_a_window_of_zero() -> None:
    none = np.zeros(0, np.int32)
    with pytest.raises(ParameterError, match="window must be at least 1, got 0"):
        training.cooccurrences(none, none, 1, 0)


# PMI and its factorisation


@pytest.mark.parametrize(("exponent", "shift"), [(1.0, 0.0), (1.0, 0.5), (0.75, 0.2)])
def test_pmi_is_its_formula(rng: MakeRng, exponent: float, shift: float) -> None:
    table = rng(int(10 * shift)).integers(0, 5, size=(7, 7)).astype(float)
    information = positive_pmi(sp.csr_array(table), exponent, shift).toarray()
    total = table.sum()
    context = table.sum(axis=0) ** exponent
    context /= context.sum()
    for w in range(7):
        for c in range(7):
            expected = 0.0
            if table[w, c]:
                joint = table[w, c] / total
                expected = max(0.0, math.log(joint / (table[w].sum() / total * context[c])) - shift)
            assert information[w, c] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("power", [0.0, 0.25, 1.0])
def test_factorisation_weights_the_left_singular_vectors(rng: MakeRng, power: float) -> None:
    matrix = sp.csr_array(rng().random((30, 20)))
    factors = factorise(matrix, 4, power, seed=0)
    left, values, _ = np.linalg.svd(matrix.toarray())
    expected = left[:, :4] * values[:4] ** power
    np.testing.assert_allclose(np.abs(factors), np.abs(expected), atol=1e-5)
    largest = factors[np.argmax(np.abs(factors), axis=0), np.arange(4)]
    assert (largest > 0).all()


def test_factorisation_does_not_depend_on_the_start_vector_beyond_rounding(rng: MakeRng) -> None:
    matrix = sp.csr_array(rng().random((30, 30)))
    np.testing.assert_allclose(
        factorise(matrix, 5, 0.25, seed=1), factorise(matrix, 5, 0.25, seed=2), atol=1e-5
    )


# Joining


def test_principal_components_keep_all_distances_at_full_rank(rng: MakeRng) -> None:
    points = rng().standard_normal((40, 6))
    components = training.principal_components(points, 6)
    for i, j in [(0, 1), (3, 30), (12, 39)]:
        expected = np.linalg.norm(points[i] - points[j])
        assert np.linalg.norm(components[i] - components[j]) == pytest.approx(expected, rel=1e-5)


def test_principal_components_are_those_of_the_singular_value_decomposition(rng: MakeRng) -> None:
    points = rng().standard_normal((50, 8)) * np.arange(1, 9)
    centred = points - points.mean(axis=0)
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    components = training.principal_components(points, 3)
    np.testing.assert_allclose(np.abs(components), np.abs(left[:, :3] * values[:3]), rtol=1e-4)


@pytest.mark.parametrize("dimensions", [0, 6])
def test_principal_components_refuse_too_few_or_many(dimensions: int) -> None:
    with pytest.raises(ParameterError, match="dimensions must be between 1 and 5"):
        training.principal_components(np.eye(5), dimensions)


def test_joined_rows_have_length_one_and_weigh_as_told(rng: MakeRng) -> None:
    first, second = rng(0).standard_normal((30, 4)), rng(1).standard_normal((30, 4))
    joined = training.side_by_side([first, second], (1.0, 1e-6), 4)
    np.testing.assert_allclose(np.linalg.norm(joined, axis=1), 1.0, rtol=1e-6)
    alone = training.side_by_side([first], (1.0,), 4)
    np.testing.assert_allclose(np.abs(joined), np.abs(alone), atol=1e-4)


def test_a_zero_row_has_no_direction() -> None:
    with pytest.raises(LexiconError, match="1 rows have no direction"):
        training.unit_rows(np.array([[1.0, 0.0], [0.0, 0.0]]))


def test_nearest_distances_equal_brute_force(rng: MakeRng, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "_BLOCK", 7)
    points = rng().standard_normal((50, 3))
    table = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(table, np.inf)
    np.testing.assert_allclose(training.nearest_distances(points), table.min(axis=1), rtol=1e-5)
