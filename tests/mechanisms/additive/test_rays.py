"""The three ways to find the lines of a ray agree with each other and with all lines."""

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.neighbours import rank
from dpcore.mechanisms.additive import rays
from dpcore.mechanisms.additive.euclidean import Pairs, two_nearest
from dpcore.mechanisms.additive.rays import Steps, lower_envelope
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons, plain

LEXICONS = lexicons.crafted() | {
    "300 words": lexicons.cloud(300, 6),
    "2000 words": lexicons.cloud(2000, 40),
    "40 words": lexicons.cloud(40, 3),
}


def _unit(rng: np.random.Generator, count: int, d: int) -> NDArray[np.float64]:
    unit = rng.standard_normal((count, d))
    return unit / np.linalg.norm(unit, axis=1, keepdims=True)


def _at(steps: Steps, lengths: NDArray[np.float64]) -> NDArray[np.int64]:
    position = (steps.thresholds[:, :, None] <= lengths).sum(axis=1)
    return np.take_along_axis(steps.targets, position, axis=1)


def _pairs_at(pairs: Pairs, lengths: NDArray[np.float64]) -> NDArray[np.int64]:
    position = (pairs.starts[:, :, None] <= lengths).sum(axis=1) - 1
    return np.take_along_axis(pairs.targets, position[:, :, None], axis=1)


def _grid(lexicon: Lexicon, word: int) -> NDArray[np.float64]:
    rows = lexicon.vectors.astype(np.float64)
    scale = np.linalg.norm(rows - rows[word], axis=1).max()
    return scale * np.geomspace(1e-4, 1e4, 61)


@pytest.mark.parametrize("name", LEXICONS)
def test_one_word_many_words_and_bundle_agree(name: str, rng: MakeRng) -> None:
    lexicon = LEXICONS[name]
    vectors, count = lexicon.vectors, 64
    unit = _unit(rng(), count, lexicon.dimension)
    norm = rays.largest_norm(vectors)
    bundle = rays.Bundle(unit, vectors)
    for word in (0, len(lexicon) // 3, len(lexicon) - 1):
        (known,) = rank(vectors, vectors[[word]])
        lengths = _grid(lexicon, word)
        single = rays.from_word(unit, vectors, known, norm=norm)
        many = rays.from_words(unit, vectors, [known] * count, norm=norm)
        shared = bundle.from_word(known)
        expected = _at(lower_envelope(single), lengths)
        assert np.array_equal(expected, _at(lower_envelope(many), lengths))
        assert np.array_equal(expected, _at(lower_envelope(shared), lengths))


@pytest.mark.parametrize("name", ["lattice", "300 words", "2000 words", "far from zero"])
def test_two_nearest_agree_and_equal_a_direct_search(name: str, rng: MakeRng) -> None:
    lexicon = LEXICONS[name]
    vectors, count = lexicon.vectors, 32
    rows = vectors.astype(np.float64)
    unit = _unit(rng(), count, lexicon.dimension)
    norm = rays.largest_norm(vectors)
    word = len(lexicon) // 2
    (known,) = rank(vectors, vectors[[word]])
    lengths = _grid(lexicon, word)[10:50:4]
    single = two_nearest(rays.from_word(unit, vectors, known, keep=2, norm=norm))
    many = two_nearest(rays.from_words(unit, vectors, [known] * count, keep=2, norm=norm))
    shared = two_nearest(rays.Bundle(unit, vectors).from_word(known, keep=2))
    expected = _pairs_at(single, lengths)
    assert np.array_equal(expected, _pairs_at(many, lengths))
    assert np.array_equal(expected, _pairs_at(shared, lengths))
    for i in range(count):
        for j, length in enumerate(lengths):
            first, second, _, _ = plain.two_nearest_on_ray(rows, rows[word], unit[i], length)
            assert expected[i, j].tolist() == [first, second]


def test_rays_from_different_words(rng: MakeRng) -> None:
    lexicon = LEXICONS["300 words"]
    vectors = lexicon.vectors
    rows = vectors.astype(np.float64)
    words = rng().integers(0, 300, 40)
    unit = _unit(rng(1), 40, lexicon.dimension)
    known = rank(vectors, vectors[words])
    steps = lower_envelope(rays.from_words(unit, vectors, known, norm=rays.largest_norm(vectors)))
    lengths = np.geomspace(0.01, 100, 30)
    outputs = _at(steps, lengths)
    for i, word in enumerate(words):
        expected = [plain.nearest_on_ray(rows, rows[word], unit[i], t) for t in lengths]
        assert outputs[i].tolist() == expected


@pytest.mark.parametrize("entries", [1, 5_000, 10**9])
def test_the_size_of_a_product_changes_nothing(
    entries: int, rng: MakeRng, monkeypatch: pytest.MonkeyPatch
) -> None:
    lexicon = LEXICONS["300 words"]
    vectors = lexicon.vectors
    (known,) = rank(vectors, vectors[[4]])
    unit, norm = _unit(rng(), 77, lexicon.dimension), rays.largest_norm(vectors)
    before = rays.from_word(unit, vectors, known, norm=norm)
    words = rays.from_words(unit, vectors, [known] * 77, norm=norm)
    monkeypatch.setattr(rays, "_ENTRIES", entries)
    for candidates in (
        rays.from_word(unit, vectors, known, norm=norm),
        rays.from_words(unit, vectors, [known] * 77, norm=norm),
    ):
        lengths = np.geomspace(0.01, 100, 30)
        for reference in (before, words):
            assert np.array_equal(
                _at(lower_envelope(candidates), lengths), _at(lower_envelope(reference), lengths)
            )


def test_tolerance_covers_the_rounding_of_a_product(rng: MakeRng) -> None:
    """The difference of two float32 reaches against float64, and not by a thousandfold."""
    for d in (1, 3, 100, 300):
        unit = _unit(rng(d), 50, d)
        vectors = (100 * rng(d, 1).standard_normal((400, d))).astype(np.float32)
        slack = rays.tolerance(unit, rays.largest_norm(vectors))
        error = unit.astype(np.float32) @ vectors.T - unit @ vectors.T.astype(np.float64)
        spread = error.max(axis=1) - error.min(axis=1)
        assert np.all(spread <= slack)


@pytest.mark.parametrize("factor", [1e-25, 1e-3, 1e18])
def test_largest_norm_neither_overflows_nor_vanishes(factor: float) -> None:
    vectors = (factor * np.array([[3.0, 4.0], [1.0, 0.0]])).astype(np.float32)
    assert rays.largest_norm(vectors) == pytest.approx(5 * factor, rel=1e-6)
