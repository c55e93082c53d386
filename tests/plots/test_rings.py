"""Words around a word: true radii, no name on another, little turned; and their captions."""

import math

import numpy as np
import pytest

from dpcore.lexicon.cache import bundled_folder
from dpcore.lexicon.catalogue import load
from dpcore.measure.maps.fit import DEFAULT_PAIR
from dpcore.measure.pair import Pair
from dpcore.plots.maps.distances import (
    SHEET,
    arrange,
    local_angles,
    name_boxes,
    overlap,
    plane_angles,
    rim,
    ring_distances,
)
from dpcore.plots.maps.panes import Change, pane_caption, shortened

K = 24


@pytest.fixture(scope="module")
def pair() -> Pair:
    assert bundled_folder()
    return Pair.of(load("default"), *DEFAULT_PAIR)


@pytest.mark.parametrize("place", [0, 1])
def test_the_default_words_have_room_for_every_name(pair: Pair, place: int) -> None:
    lexicon = pair.lexicon
    near = [pair.rankings[word] for word in pair.words]
    reach = rim(*(ranking.distances[1 : K + 1] for ranking in near))
    rings = ring_distances(reach)
    order, distances = near[place].order[1 : K + 1], near[place].distances[1 : K + 1]
    names = [lexicon.words[i] for i in order.tolist()]
    wanted = local_angles(lexicon.vectors[order] - lexicon.vectors[pair.words[place]])
    middle = lexicon.words[pair.words[place]]
    stood = arrange(wanted, distances, names, reach, middle=middle, rings=rings)
    assert stood.named.all()
    assert np.abs(stood.angles - wanted).max() < math.radians(30)
    radius = SHEET.radius * distances / reach
    dots = radius[:, None] * np.stack((np.cos(stood.angles), np.sin(stood.angles)), axis=1)
    assert np.hypot(*dots.T) * reach / SHEET.radius == pytest.approx(distances, rel=1e-12)
    boxes = np.concatenate(
        [
            name_boxes(dots[i : i + 1], stood.sides[i : i + 1], len(name))
            for i, name in enumerate(names)
        ]
    )
    assert not overlap(boxes, boxes)[~np.eye(K, dtype=bool)].any()
    assert not overlap(boxes, np.concatenate((dots - 3, dots + 3), axis=1)).any()
    assert (np.abs(boxes[:, [0, 2]]) <= SHEET.width / 2).all()
    assert (np.abs(boxes[:, [1, 3]]) <= SHEET.height / 2).all()
    again = arrange(wanted, distances, names, reach, middle=middle, rings=rings)
    assert np.array_equal(stood.angles, again.angles)


def test_near_words_stay_near_in_angle() -> None:
    """Two bundles in opposite directions: no word of one is among those of the other."""
    rng = np.random.default_rng(3)
    towards = np.zeros(8)
    towards[2] = 5.0
    offsets = np.concatenate(
        (rng.standard_normal((6, 8)) + towards, rng.standard_normal((6, 8)) - towards)
    )
    order = np.argsort(local_angles(offsets))
    first = order < 6
    assert np.count_nonzero(first != np.roll(first, 1)) == 2
    angles = local_angles(offsets)
    assert np.ptp(angles) < 2 * math.pi
    assert plane_angles(offsets, offsets[:2]) == pytest.approx(plane_angles(offsets, offsets)[:2])


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_words_have_places_too(count: int) -> None:
    offsets = np.eye(3)[:count]
    angles = local_angles(offsets)
    stood = arrange(angles, np.ones(count), ["word"] * count, 1.05)
    assert np.isfinite(stood.angles).all()
    assert stood.named.all()


def test_words_without_room_stand_nameless_at_their_angle() -> None:
    long = ["a" * 200, "b"]
    stood = arrange(np.array([0.3, 2.0]), np.array([1.0, 1.1]), long, 1.2)
    assert stood.named.tolist() == [False, True]
    assert stood.angles[0] == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("reach", "rings"),
    [
        (6.66, [2, 4, 6]),
        (0.31, [0.1, 0.2, 0.3]),
        (1.0, [0.2, 0.4, 0.6, 0.8, 1.0]),
        (480, [100, 200, 300, 400]),
    ],
)
def test_rings_are_at_round_distances(reach: float, rings: list[float]) -> None:
    assert ring_distances(reach) == rings


def _exact(value: float) -> Change:
    return Change(value, value, value)


@pytest.mark.parametrize(
    ("gaps", "changes", "ends"),
    [
        (
            (2.4, 5.8),
            (0.3, 0.23),
            "in 30 of 100 draws, “garage” in 23: the crowd hides “monday” better.",
        ),
        ((5.8, 2.4), (0.3, 0.23), "“monday”, the lonelier word, hides better."),
        ((2.4, 2.5), (0.1, 0.23), "“garage” hides better."),
        ((2.4, 5.8), (0.3, 0.301), "each become another word in 30 of 100 draws: both hide alike."),
        (
            (2.4, 5.8),
            (0.3, 1e-4),
            "“garage” in 1 of 10,000 draws: the crowd hides “monday” better.",
        ),
        ((2.4, 5.8), (1e-9, 0.0), "both words stay in practically every draw: neither is hidden."),
    ],
)
def test_the_caption_says_which_word_hides_better(
    gaps: tuple[float, float], changes: tuple[float, float], ends: str
) -> None:
    said = pane_caption(("monday", "garage"), gaps, [_exact(c) for c in changes], "ε = 3")
    assert said.startswith("At ε = 3 ")
    assert said.endswith(ends)
    assert len(said.split()) <= 25


def test_an_estimate_says_no_more_than_it_knows() -> None:
    names, gaps = ("monday", "garage"), (2.4, 5.8)
    unclear = [Change(0.3, 0.2, 0.4), Change(0.25, 0.2, 0.3)]
    assert "do not tell them apart" in pane_caption(names, gaps, unclear, "ε = 3")
    unseen = [Change(0.3, 0.25, 0.35), Change(0.0, 0.0, 0.01)]
    said = pane_caption(names, gaps, unseen, "ε = 3")
    assert "“garage” in at most 1: the crowd hides “monday” better." in said


def test_a_long_word_is_shortened() -> None:
    assert shortened("a" * 30) == "a" * 23 + "…"
    assert len(pane_caption(("a" * 90, "b"), (1, 2), [_exact(0.5), _exact(0.4)], "ε = 1")) < 140
