"""The colour science of the tests against published values."""

import numpy as np
import pytest

from tests.colours import VISIONS, ciede2000, lab

# Sharma, Wu and Dalal 2005, Table 1: pairs that catch wrong mean hues, signs and rotations.
SHARMA = [
    ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
    ((50.0, 2.8361, -74.0200), (50.0, 0.0, -82.7485), 3.4412),
    ((50.0, -1.3802, -84.2814), (50.0, 0.0, -82.7485), 1.0000),
    ((50.0, 0.0, 0.0), (50.0, -1.0, 2.0), 2.3669),
    ((50.0, 2.4900, -0.0010), (50.0, -2.4900, 0.0009), 7.1792),
    ((50.0, 2.4900, -0.0010), (50.0, -2.4900, 0.0011), 7.2195),
    ((50.0, -0.0010, 2.4900), (50.0, 0.0009, -2.4900), 4.8045),
    ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
    ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    ((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619), 2.0373),
    ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
]


@pytest.mark.parametrize(("first", "second", "distance"), SHARMA)
def test_differences_are_the_published_ones(
    first: tuple[float, ...], second: tuple[float, ...], distance: float
) -> None:
    for pair in ((first, second), (second, first)):
        assert ciede2000(*map(np.array, pair)) == pytest.approx(distance, abs=1e-4)


def test_lab_of_known_colours() -> None:
    """Red as it is published for D65; white and greys by definition."""
    values = lab(["#FF0000", "#FFFFFF", "#000000", "#808080"])
    expected = [[53.24, 80.09, 67.20], [100, 0, 0], [0, 0, 0], [53.59, 0, 0]]
    assert values == pytest.approx(np.array(expected), abs=0.03)


def test_no_vision_changes_a_grey() -> None:
    greys = ["#000000", "#5F6A6A", "#808080", "#FFFFFF"]
    for name, matrix in VISIONS.items():
        assert matrix.sum(axis=1) == pytest.approx(np.ones(3), abs=2e-6), name
        assert lab(greys[2:], name) == pytest.approx(lab(greys[2:]), abs=1e-3)


@pytest.mark.parametrize(
    ("pair", "blind"),
    [
        (("#B25B1C", "#6B7A1C"), {"protanopia", "deuteranopia"}),  # orange and olive
        (("#0072B2", "#2E8B57"), {"tritanopia"}),  # blue and green
    ],
)
def test_colours_of_one_line_of_confusion_meet(pair: tuple[str, str], blind: set[str]) -> None:
    for vision in VISIONS:
        distance = float(ciede2000(*lab(pair, vision)))
        assert distance < 9 if vision in blind else distance > 25, vision
