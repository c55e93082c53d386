"""The colours of crowded and lonely words: an order to everybody, on both grounds."""

import itertools
import tomllib

import numpy as np
import pytest

from dpcore.plots.maps.panes import CLASSES, DARK, LIGHT
from tests.colours import VISIONS, ciede2000, lab, linear
from tests.needs import ROOT

GROUNDS = {"light": LIGHT, "dark": DARK}


def luminance(colour: str) -> float:
    return float(linear([colour])[0] @ np.array([0.2126, 0.7152, 0.0722]))


@pytest.mark.parametrize(("theme", "colours"), GROUNDS.items())
def test_every_class_stands_out_from_the_ground(theme: str, colours: tuple[str, ...]) -> None:
    settings = tomllib.loads((ROOT / ".streamlit/config.toml").read_text(encoding="utf-8"))
    ground = luminance(settings["theme"][theme]["backgroundColor"])
    for colour in colours:
        lower, upper = sorted((luminance(colour), ground))
        assert (upper + 0.05) / (lower + 0.05) >= 3, colour


@pytest.mark.parametrize("colours", GROUNDS.values(), ids=list(GROUNDS))
@pytest.mark.parametrize("vision", VISIONS)
def test_lightness_alone_tells_the_order(vision: str, colours: tuple[str, ...]) -> None:
    seen = lab(colours, vision)
    steps = np.diff(seen[:, 0])
    assert (np.sign(steps) == np.sign(steps[0])).all()
    assert np.abs(steps).min() >= 5
    for one, other in itertools.pairwise(seen):
        assert float(ciede2000(one, other)) >= 5


def test_both_grounds_have_as_many_classes() -> None:
    assert len(LIGHT) == len(DARK) == CLASSES
