"""Exact and approximate indices, and the table of neighbours, against brute force."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.errors import LexiconError, ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric, distances
from dpcore.lexicon.nearest_word import nearest
from dpcore.lexicon.neighbours import ApproximateIndex, ExactIndex, rank
from tests.fixtures import MakeRng


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path))
    return tmp_path


def by_force(
    vectors: NDArray[np.float32], queries: NDArray[Any], count: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    table = distances(vectors, queries)
    order = np.argsort(table, axis=1, kind="stable")[:, :count]
    return order, np.take_along_axis(table, order, axis=1)


def lexicon_of(vectors: NDArray[np.float32]) -> Lexicon:
    return Lexicon("some", tuple(f"w{i}" for i in range(len(vectors))), vectors)


@pytest.mark.parametrize("noise", [0.0, 1e-4, 1.0, 1e4])
@pytest.mark.parametrize("count", [1, 10, 128])
def test_the_exact_index_answers_as_brute_force_does(
    noise: float, count: int, rng: MakeRng
) -> None:
    vectors = (rng().standard_normal((900, 20)) + 10).astype(np.float32)
    queries = vectors[::9] + noise * rng(1).standard_normal((100, 20))
    indices, gaps = ExactIndex(vectors).search(queries, count)
    expected, lengths = by_force(vectors, queries, count)
    assert np.array_equal(indices, expected)
    np.testing.assert_allclose(gaps, lengths, rtol=1e-13, atol=0)


@pytest.mark.parametrize("scale", [1e-30, 1e-22, 1e-16, 1e12, 1e19, 1e30])
def test_tiny_and_huge_vectors_do_not_fool_float32(scale: float, rng: MakeRng) -> None:
    plain = rng().standard_normal((400, 10))
    vectors = (plain * scale).astype(np.float32)
    queries = scale * (plain[:60] + rng(1).standard_normal((60, 10)))
    far = np.concatenate((queries, 1e22 * queries))
    index = ExactIndex(vectors)
    for points in (queries, far):
        indices, gaps = index.search(points, 7)
        expected, lengths = by_force(vectors, points, 7)
        np.testing.assert_allclose(gaps, lengths, rtol=1e-13)
        assert np.array_equal(indices[:60], expected[:60])
    assert np.array_equal(nearest(vectors, queries), by_force(vectors, queries, 1)[0][:, 0])


def test_ties_and_near_duplicates_far_from_the_origin(rng: MakeRng) -> None:
    # A lattice has many equal distances; the twins differ by one step of float32 at 1000.
    axis = np.arange(-2, 3, dtype=np.float32)
    lattice = np.stack(np.meshgrid(axis, axis, axis, axis), axis=-1).reshape(-1, 4) + 1000
    twins = lattice[:100].copy()
    twins[:, 3] = np.nextafter(twins[:, 3], np.float32(np.inf))
    vectors = rng().permutation(np.concatenate((lattice, twins)))
    indices, gaps = ExactIndex(vectors).search(vectors, 40)
    expected, lengths = by_force(vectors, vectors, 40)
    assert np.array_equal(indices, expected)
    np.testing.assert_allclose(gaps, lengths, rtol=1e-13, atol=0)
    assert (indices[:, 0] == np.arange(len(vectors))).all()
    assert (gaps[:, 0] == 0).all()


def test_all_words_can_be_asked_for() -> None:
    vectors = np.eye(5, dtype=np.float32)
    indices, gaps = ExactIndex(vectors).search(np.zeros((1, 5)), 5)
    assert indices.tolist() == [[0, 1, 2, 3, 4]]
    assert gaps.tolist() == [[1.0] * 5]


def test_bad_arguments() -> None:
    index = ExactIndex(np.eye(5, dtype=np.float32))
    for count in (0, 6):
        with pytest.raises(ParameterError, match="1 to 5"):
            index.search(np.zeros((1, 5)), count)
    with pytest.raises(ParameterError, match="finite"):
        index.search(np.full((1, 5), np.inf), 1)
    with pytest.raises(ParameterError, match=r"\(k, 5\)"):
        index.search(np.zeros((1, 4)), 1)


def test_the_approximate_index_says_so_gives_true_distances_and_finds_most(rng: MakeRng) -> None:
    vectors = rng().standard_normal((2000, 16)).astype(np.float32)
    index = ApproximateIndex(lexicon_of(vectors))
    assert not index.exact
    assert ExactIndex(vectors).exact
    queries = vectors[:300] + 0.3 * rng(1).standard_normal((300, 16))
    indices, gaps = index.search(queries, 10)
    table = distances(vectors, queries)
    assert indices.shape == gaps.shape == (300, 10)
    np.testing.assert_allclose(gaps, np.take_along_axis(table, indices, axis=1), rtol=1e-12)
    assert (np.diff(gaps, axis=1) >= 0).all()
    # HNSW guarantees no recall. With these settings at 2,000 words it is above 0.99; below one half
    # the index would be broken, not unlucky.
    expected, _ = by_force(vectors, queries, 10)
    recall = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(indices, expected, strict=True)])
    assert recall > 0.5


def test_the_approximate_index_is_kept_and_rebuilt_when_damaged(rng: MakeRng, cache: Path) -> None:
    lexicon = lexicon_of(rng().standard_normal((300, 8)).astype(np.float32))
    first = ApproximateIndex(lexicon)
    again = ApproximateIndex(lexicon)
    assert (first.from_cache, again.from_cache) == (False, True)
    queries = rng(1).standard_normal((20, 8))
    assert np.array_equal(first.search(queries, 5)[0], again.search(queries, 5)[0])
    (path,) = cache.rglob("hnsw.bin")
    damaged = bytearray(path.read_bytes())
    damaged[-100] ^= 1
    path.write_bytes(damaged)
    assert not ApproximateIndex(lexicon).from_cache
    assert ApproximateIndex(lexicon).from_cache


def test_the_approximate_index_answers_for_every_word_asked_for(rng: MakeRng) -> None:
    vectors = rng().standard_normal((50, 4)).astype(np.float32)
    beyond = np.full((1, 4), 1e60)
    assert ApproximateIndex(lexicon_of(vectors)).search(beyond, 3)[0].shape == (1, 3)
    indices, _ = ApproximateIndex(lexicon_of(vectors)).search(vectors[:3], 50)
    assert (np.sort(indices, axis=1) == np.arange(50)).all()
    with pytest.raises(LexiconError, match="Euclidean"):
        ApproximateIndex(lexicon_of(vectors).with_metric(Metric.MANHATTAN))


def test_the_table_of_neighbours_is_exact_kept_and_rebuilt_when_damaged(
    rng: MakeRng, cache: Path
) -> None:
    vectors = rng().standard_normal((260, 6)).astype(np.float32)
    seen = []
    table = lexicon_of(vectors).neighbours(progress=lambda *step: seen.append(step))
    assert seen[-1] == ("neighbours", 260, 260)
    expected, lengths = by_force(vectors, vectors, 128)
    assert np.array_equal(table.indices, expected)
    assert np.array_equal(table.distances, lengths.astype(np.float32))
    assert table.indices.dtype == np.int32
    assert table.distances.dtype == np.float32
    for array in (table.indices, table.distances):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1

    def no_progress(*step: Any) -> None:
        raise AssertionError("computed again")

    kept = lexicon_of(vectors).neighbours(7, no_progress)
    assert np.array_equal(kept.indices, expected[:, :7])
    (path,) = cache.rglob("neighbours.bin")
    whole = path.read_bytes()
    for broken in (whole[: len(whole) // 2], whole[:-9] + bytes([whole[-9] ^ 4]) + whole[-8:], b""):
        path.write_bytes(broken)
        assert np.array_equal(lexicon_of(vectors).neighbours(3).indices, expected[:, :3])
        assert path.read_bytes() == whole


def test_a_small_lexicon_has_a_narrow_table_and_bad_widths_are_refused() -> None:
    lexicon = lexicon_of(np.eye(3, dtype=np.float32))
    assert lexicon.neighbours().indices.tolist() == [[0, 1, 2], [1, 0, 2], [2, 0, 1]]
    for count in (0, 129):
        with pytest.raises(ParameterError, match="1 to 128"):
            lexicon.neighbours(count)
    with pytest.raises(ParameterError, match="Euclidean"):
        lexicon.with_metric(Metric.CHEBYSHEV).neighbours()


# Rankings: sorted, stable, read-only.


@pytest.mark.parametrize("metric", list(Metric))
def test_ranking_is_a_stable_sort_of_the_distances(metric: Metric, rng: MakeRng) -> None:
    rows = rng().standard_normal((80, 5)).astype(np.float32)
    for row, ranking in zip(
        distances(rows, rows[:7], metric), rank(rows, rows[:7], metric), strict=True
    ):
        expected = sorted(range(80), key=lambda i: (row[i], i))
        assert ranking.order.tolist() == expected
        assert np.array_equal(ranking.distances, row[expected])
        assert ranking.order.dtype == np.int64
        assert len(ranking) == 80


def test_ties_take_the_lowest_index_and_a_word_comes_first_in_its_own_ranking() -> None:
    square = np.array([[1, 0], [-1, 0], [0, 1], [0, -1], [0, 0]], dtype=np.float32)
    centre, corner = rank(square, square[[4, 0]])
    assert centre.order.tolist() == [4, 0, 1, 2, 3]
    assert centre.distances.tolist() == [0, 1, 1, 1, 1]
    assert corner.order.tolist() == [0, 4, 2, 3, 1]


def test_many_ties_among_many_words_take_the_lowest_index_too(rng: MakeRng) -> None:
    rows = rng().integers(0, 4, (5_000, 3)).astype(np.float32)
    (ranking,) = rank(rows, rows[:1])
    assert np.array_equal(ranking.order, np.argsort(distances(rows, rows[:1])[0], kind="stable"))
    assert np.all(np.diff(ranking.distances) >= 0)


def test_rankings_are_read_only_and_none_for_no_origin() -> None:
    (ranking,) = rank(np.eye(3, dtype=np.float32), np.eye(3)[:1])
    with pytest.raises(ValueError, match="read-only"):
        ranking.order[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        ranking.distances[0] = 1
    assert rank(np.eye(3, dtype=np.float32), np.empty((0, 3))) == ()
