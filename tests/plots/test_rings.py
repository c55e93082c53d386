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
from dpcore.plots.maps.panes import Guess, pane_caption, shortened, standings

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


def _exact(value: float, near: float = 0.05) -> Guess:
    return Guess(value, value, value, near)


@pytest.mark.parametrize(
    ("shares", "standing", "ends"),
    [
        (
            (0.24, 0.57),
            ("crowd", "alone"),
            "“garage” stands alone, guessed in 57 of 100 outputs; “monday”, in a crowd, in 24.",
        ),
        ((0.57, 0.24), ("alone", "crowd"), "“garage”, in a crowd, in 24."),
        (
            (0.31, 0.34),
            ("alike", "alike"),
            "nearly alike, in 31 and 34 of 100 outputs; near words take 5 and 5.",
        ),
        (
            (0.3, 0.301),
            ("alike", "alike"),
            "nearly alike, in 30 of 100 outputs; near words take 5 and 5.",
        ),
        (
            (1e-4, 0.3),
            ("crowd", "alone"),
            "in 30 of 100 outputs; “monday”, in a crowd, in 1 of 10,000.",
        ),
        ((1.0, 1 - 1e-9), ("alike", "alike"), "practically every draw: neither is hidden."),
    ],
)
def test_the_caption_says_which_word_stands_alone(
    shares: tuple[float, float], standing: tuple[str, str], ends: str
) -> None:
    guesses = [_exact(share) for share in shares]
    said = pane_caption(("monday", "garage"), guesses, "tem, ε = 3")
    assert said.startswith("tem, ε = 3: ")
    assert said.endswith(ends)
    assert len(said.split()) <= 25
    assert standings(guesses) == standing


def test_a_long_reading_leaves_no_room_for_the_reason() -> None:
    said = pane_caption(("a", "b"), [_exact(0.3), _exact(0.31)], "tem, ln ε = 9.5 (ε = 13,360)")
    assert said.endswith("nearly alike, in 30 and 31 of 100 outputs.")
    assert len(said.split()) <= 25


def test_an_estimate_says_no_more_than_it_knows() -> None:
    unclear = [Guess(0.3, 0.2, 0.4, 0.1), Guess(0.25, 0.2, 0.3, 0.1)]
    assert standings(unclear) == ("", "")
    assert "do not tell them apart" in pane_caption(("monday", "garage"), unclear, "tem, ε = 3")
    unseen = [Guess(0.3, 0.25, 0.35, 0.1), Guess(0.0, 0.0, 0.01, 0.1)]
    said = pane_caption(("monday", "garage"), unseen, "tem, ε = 3")
    assert said.endswith("“garage”, in a crowd, in at most 1.")


def test_a_long_word_is_shortened() -> None:
    assert shortened("a" * 30) == "a" * 23 + "…"
    assert len(pane_caption(("a" * 90, "b"), [_exact(0.5), _exact(0.4)], "tem, ε = 1")) < 140
