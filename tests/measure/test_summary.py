"""The distribution over words in a few numbers."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.errors import ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.deniability import BANDS, Deniability, measure, summarise, summary_rows
from dpcore.measure.words import Selection, select_words
from dpcore.mechanisms.registry import create


@pytest.fixture(scope="module")
def measured(small: Lexicon) -> Deniability:
    return measure(
        create("tem", small), select_words(small, small.words[:9]), [0.5, 2.0, 4.0], runs=50
    )


def weighted(measured: Deniability, weights: NDArray[Any]) -> Deniability:
    old = measured.selection
    chosen = Selection(old.words, old.names, np.asarray(weights, float), old.description)
    return dataclasses.replace(measured, selection=chosen)


def test_weights_are_repetitions(measured: Deniability) -> None:
    times = np.array([1, 2, 1, 5, 1, 1, 3, 1, 4])
    for quantity in ("nw", "sw", "effective"):
        s = summarise(weighted(measured, times), quantity)
        values = np.repeat(getattr(measured.figures, quantity), times, axis=0)
        assert s.mean == pytest.approx(values.mean(axis=0))
        assert s.deviation == pytest.approx(values.std(axis=0, ddof=1))
        wanted = np.quantile(values, (0.5, *BANDS), axis=0, method="inverted_cdf")
        assert (s.median == wanted[0]).all()
        assert (s.bands == wanted[1:]).all()


def test_the_worst_word_is_the_least_deniable(measured: Deniability) -> None:
    figures = measured.figures
    nw, sw = summarise(measured, "nw"), summarise(measured, "sw")
    assert (nw.worst == figures.nw.max(axis=0)).all()
    assert (sw.worst == figures.sw.min(axis=0)).all()
    for row in summary_rows(measured):
        place = measured.selection.names.index(row["worst_word"])
        e = measured.epsilons.tolist().index(row["epsilon"])
        assert row["worst"] == getattr(figures, row["quantity"])[place, e]


def test_it_is_computed_once_and_never_for_another_measurement(measured: Deniability) -> None:
    once = summarise(measured, "nw")
    assert summarise(measured, "nw") is once
    with pytest.raises(ValueError, match="read-only"):
        once.mean[0] = 0.0
    other = weighted(measured, np.arange(1.0, 10.0))
    assert summarise(other, "nw") is not once
    assert not np.array_equal(summarise(other, "nw").mean, once.mean)
    figures = dataclasses.replace(measured.figures, nw=measured.figures.nw / 2)
    halved = dataclasses.replace(measured, figures=figures)
    assert summarise(halved, "nw").mean == pytest.approx(once.mean / 2)


def test_one_word_has_no_deviation_and_infinity_is_none(small: Lexicon) -> None:
    madlib = create("madlib", small)
    single = measure(madlib, select_words(small, ["w2"]), [1e-3], runs=2)
    rows = {row["quantity"]: row for row in summary_rows(single)}
    assert rows["nw"]["standard_deviation"] == 0.0
    assert single.figures.effective[0, 0] == np.inf
    assert rows["effective"]["mean"] is rows["effective"]["median"] is None
    assert single.rows()[0]["effective"] is None


def test_rows_at_one_epsilon_are_those_of_all(measured: Deniability) -> None:
    every = measured.rows()
    for epsilon in measured.epsilons.tolist():
        rows = measured.rows(epsilon)
        assert rows == [row for row in every if row["epsilon"] == epsilon]
        assert len(rows) == len(measured.selection)
    assert measured.rows(1.2345) == []


def test_an_unknown_quantity_is_refused(measured: Deniability) -> None:
    with pytest.raises(ParameterError, match="quantity must be one of nw, sw, effective"):
        summarise(measured, "mean")
