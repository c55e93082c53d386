"""The nearest word against float64 brute force."""

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.errors import ParameterError
from dpcore.lexicon import nearest_word as module
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric, distances
from dpcore.lexicon.nearest_word import NearestSearch, nearest, product_error
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons


def by_force(vectors: NDArray[np.float32], queries: NDArray[np.float64]) -> NDArray[np.int64]:
    """Least ‖x‖² - 2 x·q in extended precision; of equal ones the lowest index."""
    x, q = vectors.astype(np.longdouble), queries.astype(np.longdouble)
    return ((x * x).sum(axis=1) - 2 * (q @ x.T)).argmin(axis=1)


@pytest.mark.parametrize("noise", [0.0, 1e-6, 1e-3, 1.0, 1e3, 1e7, 1e12, 1e20])
@pytest.mark.parametrize("offset", [0.0, 50.0])
def test_nearest_equals_brute_force(noise: float, offset: float, rng: MakeRng) -> None:
    vectors = (rng().standard_normal((700, 24)) + offset).astype(np.float32)
    queries = vectors[:150] + noise * rng(1).standard_normal((150, 24))
    assert np.array_equal(nearest(vectors, queries), by_force(vectors, queries))


@pytest.mark.parametrize(("points", "words"), [(1, 1), (7, 97), (64, 5), (1000, 349)])
def test_tiles_of_any_size_give_the_same_words(
    points: int, words: int, rng: MakeRng, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_POINTS", points)
    monkeypatch.setattr(module, "_WORDS", words)
    monkeypatch.setattr(module, "_BLOCK_BYTES", 4 * 700 * 3)  # three doubtful points at a time
    vectors = rng().integers(-2, 3, (700, 4)).astype(np.float32)  # many words in one place
    queries = vectors[:150] + 0.4 * rng(1).standard_normal((150, 4))
    queries[:50] = vectors[:50]
    assert np.array_equal(nearest(vectors, queries), by_force(vectors, queries))


def test_near_duplicates_are_told_apart_far_from_the_origin(rng: MakeRng) -> None:
    base = (rng().standard_normal((40, 16)) + 1000).astype(np.float32)
    twins = base.copy()
    twins[:, 0] = np.nextafter(base[:, 0], np.float32(np.inf))
    vectors = np.concatenate((base, twins))
    assert nearest(vectors, vectors).tolist() == list(range(80))
    # Float32 alone gets this wrong, or the test would show nothing.
    scores = (vectors * vectors).sum(axis=1) / 2 - vectors @ vectors.T
    assert (scores.argmin(axis=1) != np.arange(80)).any()


def test_ties_take_the_lowest_index() -> None:
    corners = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]], dtype=np.float32)
    queries = np.array([[0, 0], [0, -0.5], [-3, 0], [0, 1e8]])
    assert nearest(corners, queries).tolist() == [0, 1, 2, 0]


def test_the_answer_is_free_of_the_batch(rng: MakeRng) -> None:
    vectors = rng().standard_normal((300, 8)).astype(np.float32)
    queries = 30 * rng(1).standard_normal((101, 8))
    whole = nearest(vectors, queries)
    assert whole.tolist() == [int(nearest(vectors, query[None])[0]) for query in queries]


def test_huge_values_do_not_overflow() -> None:
    vectors = np.array([[1e20, 0], [0, 1e20], [0, 0]], dtype=np.float32)
    queries = np.array([[9e19, 1], [-1e25, 1e30], [1, 1]])
    assert nearest(vectors, queries).tolist() == [0, 1, 2]
    small = np.array([[1, 0], [0, 1]], dtype=np.float32)
    assert nearest(small, [[-1e30, 1e30], [1e200, -1e200]]).tolist() == [1, 0]


@pytest.mark.parametrize("metric", list(Metric))
def test_other_metrics(metric: Metric, rng: MakeRng) -> None:
    vectors = rng().standard_normal((90, 6)).astype(np.float32)
    queries = rng(1).standard_normal((25, 6))
    expected = distances(vectors, queries, metric).argmin(axis=1)
    assert np.array_equal(nearest(vectors, queries, metric), expected)
    lexicon = Lexicon("some", tuple(f"w{i}" for i in range(90)), vectors, metric)
    assert np.array_equal(lexicon.nearest(queries), expected)


def test_no_query_and_bad_queries() -> None:
    vectors = np.eye(3, dtype=np.float32)
    assert nearest(vectors, np.empty((0, 3))).shape == (0,)
    with pytest.raises(ParameterError, match="finite"):
        nearest(vectors, [[np.nan, 0, 0]])
    with pytest.raises(ParameterError, match=r"\(k, 3\), got \(1, 2\)"):
        nearest(vectors, [[0, 0]])


@pytest.mark.parametrize("dimension", [1, 50, 300])
def test_the_error_bound_of_a_float32_product_holds(dimension: int, rng: MakeRng) -> None:
    a = rng().standard_normal((200, dimension))
    b = rng(1).standard_normal((200, dimension)).astype(np.float32)
    single = (a.astype(np.float32) @ b.T).astype(np.float64)
    double = a @ b.T.astype(np.float64)
    reach = np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b.astype(float), axis=1)
    assert (np.abs(single - double) <= product_error(dimension) * reach).all()


def named(name: str) -> Lexicon:
    """A cloud of words, or words that were made to be difficult."""
    return lexicons.cloud(90, 40) if name == "cloud" else lexicons.crafted()[name]


NAMES = ["cloud", *lexicons.crafted()]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("width", [0, 8, 12])
def test_words_nearest_to_words_are_those_of_all_distances_to_the_bit(
    name: str, count: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = named(name)
    monkeypatch.setattr(module, "_BLOCK_BYTES", 16 * len(words))  # four words a product
    chosen = np.append(np.arange(len(words)), [1, 0])
    count = min(count, len(words))
    # A table that is known may hold, of equally near words at its end, any.
    everyone = distances(words.vectors, words.vectors)
    backwards = len(words) - 1 - np.argsort(everyone[:, ::-1], axis=1, kind="stable")
    table = backwards[:, :width].astype(np.int32) if width else None
    order, near = NearestSearch(words.vectors).of_words(chosen, count, table)
    rows = everyone[chosen]
    expected = np.argsort(rows, axis=1, kind="stable")[:, :count]  # of equal ones the lowest index
    np.testing.assert_array_equal(order, expected)
    np.testing.assert_array_equal(near, np.take_along_axis(rows, expected, axis=1))


def test_a_stored_table_spares_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    words = lexicons.cloud(300, 20)
    words.neighbours()

    def refuse(*_: object) -> None:
        raise AssertionError("searched")

    order, near = NearestSearch(words.vectors).of_words(np.arange(300), 64)
    monkeypatch.setattr(module, "_limits", refuse)
    again = words.nearest_words(np.arange(300), 64)
    np.testing.assert_array_equal(order, again[0])
    np.testing.assert_array_equal(near, again[1])


@pytest.mark.parametrize("name", NAMES)
def test_every_word_within_a_distance_is_found(name: str) -> None:
    vectors = named(name).vectors
    search, everyone = NearestSearch(vectors), distances(vectors, vectors)
    compared = 0
    for reach in np.unique(everyone)[1::7].tolist():
        near = search.within(np.arange(len(vectors)), reach)
        if near is None:
            continue
        for row, (inside, apart) in zip(everyone, near, strict=True):
            assert set(np.flatnonzero(row < reach)) <= set(inside.tolist())
            np.testing.assert_array_equal(apart, row[inside])
            compared += 1
    # Words whose squares over- or underflow, or most of which are so near, are left to the caller.
    assert compared or name != "cloud"
    assert search.within(np.arange(len(vectors)), np.inf) is None
