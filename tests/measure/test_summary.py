"""The distribution over words in a few numbers."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.deniability import Deniability, measure
from dpcore.measure.summary import BANDS, summarise, summary_rows
from dpcore.measure.words import Selection, named
from dpcore.mechanisms.registry import create


@pytest.fixture(scope="module")
def found(small: Lexicon) -> Deniability:
    return measure(create("tem", small), named(small, small.words[:9]), [0.5, 2.0, 4.0], runs=50)


def weighted(found: Any, weights: Any) -> Any:
    old = found.selection
    chosen = Selection(old.words, old.names, np.asarray(weights, float), old.description)
    return dataclasses.replace(found, selection=chosen)


def test_weights_are_repetitions(found: Deniability) -> None:
    times = np.array([1, 2, 1, 5, 1, 1, 3, 1, 4])
    for quantity in ("nw", "sw", "effective"):
        s = summarise(weighted(found, times), quantity)
        values = np.repeat(getattr(found.figures, quantity), times, axis=0)
        assert s.mean == pytest.approx(values.mean(axis=0))
        assert s.deviation == pytest.approx(values.std(axis=0, ddof=1))
        wanted = np.quantile(values, (0.5, *BANDS), axis=0, method="inverted_cdf")
        assert (s.median == wanted[0]).all()
        assert (s.bands == wanted[1:]).all()


def test_the_worst_word_is_the_least_deniable(found: Deniability) -> None:
    figures = found.figures
    nw, sw = summarise(found, "nw"), summarise(found, "sw")
    assert (nw.worst == figures.nw.max(axis=0)).all()
    assert (sw.worst == figures.sw.min(axis=0)).all()
    for row in summary_rows(found):
        place = found.selection.names.index(row["worst_word"])
        e = found.epsilons.tolist().index(row["epsilon"])
        assert row["worst"] == getattr(figures, row["quantity"])[place, e]


def test_it_is_computed_once_and_never_for_another_measurement(found: Deniability) -> None:
    once = summarise(found, "nw")
    assert summarise(found, "nw") is once
    with pytest.raises(ValueError, match="read-only"):
        once.mean[0] = 0.0
    other = weighted(found, np.arange(1.0, 10.0))
    assert summarise(other, "nw") is not once
    assert not np.array_equal(summarise(other, "nw").mean, once.mean)
    figures = dataclasses.replace(found.figures, nw=found.figures.nw / 2)
    halved = dataclasses.replace(found, figures=figures)
    assert summarise(halved, "nw").mean == pytest.approx(once.mean / 2)


def test_one_word_has_no_deviation_and_infinity_is_none(small: Lexicon) -> None:
    madlib = create("madlib", small)
    one = measure(madlib, named(small, ["w2"]), [1e-3], runs=2)
    rows = {row["quantity"]: row for row in summary_rows(one)}
    assert rows["nw"]["standard_deviation"] == 0.0
    assert one.figures.effective[0, 0] == np.inf
    assert rows["effective"]["mean"] is rows["effective"]["median"] is None
    assert one.rows()[0]["effective"] is None


def test_an_unknown_quantity_is_refused(found: Deniability) -> None:
    with pytest.raises(ParameterError, match="quantity must be one of nw, sw, effective"):
        summarise(found, "mean")
