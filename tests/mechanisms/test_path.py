"""ε-paths as data: look-up, pieces, joining, and the turn from noise scale to ε."""

import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.mechanisms.path import EpsilonPaths, Piece, in_epsilon
from tests.fixtures import MakeRng


def _plain_output(thresholds: NDArray[np.float64], outputs: NDArray[np.int64], scale: float) -> int:
    """Walk along the steps of one draw to a noise scale."""
    position = 0
    for threshold in thresholds:
        if math.isfinite(threshold) and scale > threshold:
            position += 1
    return int(outputs[position])


def _ragged(
    rng: np.random.Generator, rows: int = 60, width: int = 7
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Random steps in the scale: from none to `width` thresholds a row, padded as is agreed."""
    thresholds = np.full((rows, width), np.inf)
    outputs = np.empty((rows, width + 1), dtype=np.int64)
    for i in range(rows):
        count = i % (width + 1)
        thresholds[i, :count] = np.sort(rng.exponential(size=count))
        outputs[i] = rng.integers(0, 50, width + 1)
        outputs[i, count + 1 :] = outputs[i, count]
    return thresholds, outputs


@pytest.mark.parametrize("factor", [1.0, 7.5])
def test_in_epsilon_equals_a_walk_along_the_scale(factor: float, rng: MakeRng) -> None:
    thresholds, outputs = _ragged(rng())
    paths = in_epsilon(np.arange(60), thresholds, outputs, lambda s: factor / s)
    epsilons = np.geomspace(1e-3, 1e4, 201)
    words_on = paths.at(epsilons)
    for i in range(60):
        expected = [_plain_output(thresholds[i], outputs[i], factor / e) for e in epsilons]
        assert words_on[i].tolist() == expected


def test_in_epsilon_keeps_the_agreed_form(rng: MakeRng) -> None:
    thresholds, outputs = _ragged(rng())
    paths = in_epsilon(np.arange(60), thresholds, outputs, lambda s: 1 / s)
    count = np.isfinite(thresholds).sum(axis=1)
    assert np.array_equal(np.isfinite(paths.breaks).sum(axis=1), count)
    for i in range(60):
        finite = paths.breaks[i, : count[i]]
        assert np.all(np.diff(finite) >= 0)
        assert np.all(np.isposinf(paths.breaks[i, count[i] :]))
        assert np.all(paths.outputs[i, count[i] :] == outputs[i, 0])
    assert (paths.low, paths.high, paths.exact) == (0.0, math.inf, True)


def test_a_threshold_at_scale_zero_is_a_break_at_infinite_epsilon() -> None:
    """Two words at the same place as the origin: without noise the first, with any the other."""
    paths = in_epsilon(
        np.array([0]), np.array([[0.0, 2.0]]), np.array([[4, 5, 6]]), lambda s: 1 / s
    )
    assert paths.at(np.array([0.1, 1.0, 1e300])).tolist() == [[6, 5, 5]]


def test_no_threshold_at_all() -> None:
    paths = in_epsilon(np.array([3]), np.empty((1, 0)), np.array([[8]]), lambda s: 1 / s)
    assert paths.at(np.array([0.1, 10.0])).tolist() == [[8, 8]]
    assert paths.pieces(0) == [Piece(0.0, math.inf, 8)]


def test_a_break_belongs_to_the_piece_that_it_starts() -> None:
    paths = EpsilonPaths(np.array([0]), np.array([[1.0, 2.0]]), np.array([[7, 8, 9]]))
    below, above = np.nextafter(2.0, 0), np.nextafter(2.0, 3)
    assert paths.at(np.array([0.5, 1.0, below, 2.0, above])).tolist() == [[7, 8, 8, 9, 9]]


def test_pieces_cover_the_range_without_gap_and_agree_with_at(rng: MakeRng) -> None:
    thresholds, outputs = _ragged(rng())
    paths = in_epsilon(np.arange(60), thresholds, outputs, lambda s: 1 / s)
    for i in range(60):
        pieces = paths.pieces(i)
        assert pieces[0].from_epsilon == 0
        assert pieces[-1].to_epsilon == math.inf
        for a, b in pairwise(pieces):
            assert a.to_epsilon == b.from_epsilon
            assert a.output != b.output
        for piece in pieces:
            inside = (piece.from_epsilon + min(piece.to_epsilon, piece.from_epsilon + 10)) / 2
            assert paths.at(np.array([inside]))[i, 0] == piece.output
            if piece.from_epsilon > 0:
                assert paths.at(np.array([piece.from_epsilon]))[i, 0] == piece.output


def test_pieces_drop_steps_of_no_width_and_merge_equal_neighbours() -> None:
    paths = EpsilonPaths(
        np.array([0]), np.array([[0.0, 1.0, 1.0, 2.0, np.inf]]), np.array([[1, 2, 3, 4, 4, 4]])
    )
    assert paths.pieces(0) == [Piece(0.0, 1.0, 2), Piece(1.0, math.inf, 4)]


def test_join_widens_and_keeps_every_draw(rng: MakeRng) -> None:
    parts = []
    for seed, width in ((0, 2), (1, 7), (2, 4)):
        thresholds, outputs = _ragged(rng(seed), rows=10, width=width)
        parts.append(in_epsilon(np.arange(10), thresholds, outputs, lambda s: 1 / s))
    joined = EpsilonPaths.join(parts)
    epsilons = np.geomspace(0.01, 100, 40)
    assert len(joined) == 30
    assert np.array_equal(joined.at(epsilons), np.concatenate([p.at(epsilons) for p in parts]))


def test_a_grid_is_exact_at_its_points_and_says_that_it_is_a_grid() -> None:
    grid = np.array([1.0, 4.0, 9.0])
    paths = EpsilonPaths.of_grid(np.array([0, 1]), grid, np.array([[1, 2, 2], [5, 5, 6]]))
    assert paths.at(grid).tolist() == [[1, 2, 2], [5, 5, 6]]
    assert not paths.exact
    assert (paths.low, paths.high) == (1.0, 9.0)
    assert paths.pieces(0) == [Piece(1.0, 2.0, 1), Piece(2.0, 9.0, 2)]


def test_a_grid_of_one_point() -> None:
    paths = EpsilonPaths.of_grid(np.array([0]), np.array([3.0]), np.array([[4]]))
    assert paths.at(np.array([3.0])).tolist() == [[4]]
