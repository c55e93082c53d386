"""Parts of a measurement put together."""

from typing import Any

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.deniability import join_measurements, measure, part_of
from dpcore.measure.words import Selection
from dpcore.mechanisms.registry import create

EPSILONS = [0.5, 2.0, 8.0]


@pytest.fixture(scope="module")
def selection(small: Lexicon) -> Selection:
    chosen = np.array([7, 3, 20, 11, 40])
    names = tuple(small.words[i] for i in chosen)
    return Selection(chosen, names, np.array([1.0, 2.0, 0.5, 1.0, 3.0]), "five words")


@pytest.mark.parametrize("key", ["tem.v1", "madlib.v1", "trlaplace-corrected.v1"])
def test_parts_give_what_the_whole_gives(key: str, small: Lexicon, selection: Selection) -> None:
    mechanism = create(key, small)
    options: dict[str, Any] = {"epsilons": EPSILONS, "runs": 30, "seed": 5}
    whole = measure(mechanism, selection, **options)
    parts = [
        measure(mechanism, part_of(selection, places), **options) for places in ([1, 3], [4, 0, 2])
    ]
    measured = join_measurements(parts, selection)
    assert measured.selection.names == selection.names
    for name in ("nw", "sw", "effective", "nw_error", "sw_error", "effective_error"):
        np.testing.assert_allclose(
            getattr(measured.figures, name), getattr(whole.figures, name), rtol=1e-9, atol=1e-12
        )
    for name in ("nw_mean_error", "sw_mean_error"):
        ours, theirs = getattr(measured.figures, name), getattr(whole.figures, name)
        if key == "madlib.v1":
            assert (ours >= theirs * (1 - 1e-9)).all()
        else:
            np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    half = join_measurements(parts[:1], selection)
    assert half.selection.names == (selection.names[1], selection.names[3])
    assert half.selection.weights.tolist() == [2.0, 1.0]


def test_parts_that_do_not_belong_together_are_refused(
    small: Lexicon, selection: Selection
) -> None:
    mechanism = create("tem.v1", small)
    first = measure(mechanism, part_of(selection, [0]), [1.0, 2.0])
    with pytest.raises(ParameterError, match="at least one part"):
        join_measurements([], selection)
    for other in ([1.0], [1.0, 3.0]):
        part = measure(mechanism, part_of(selection, [1]), other)
        with pytest.raises(ParameterError, match="grid of epsilon"):
            join_measurements([first, part], selection)
