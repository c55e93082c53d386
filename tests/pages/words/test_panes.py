"""Data of the panes: true distances, true probabilities at every ε, real draws, no markup."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.pair import Pair
from dpcore.mechanisms.mechanism import Mechanism
from pages.shared import session
from pages.shared.dial import admissible_grid, group_of
from pages.shared.session import admissible
from pages.words.bench import SEED, PairBench
from pages.words.panes import pane_data, pane_table
from tests.pages.words.reading import FEW, panes

_RNG = np.random.default_rng(7)
NAMES = ("<b>a</b>", *(f"w{i}" for i in range(1, 40)))
SMALL = Lexicon("small", NAMES, _RNG.standard_normal((40, 6)).astype(np.float32))


def bench() -> PairBench:
    return PairBench(Pair.of(SMALL, NAMES[0], "w5"), session.directions(SMALL.fingerprint))


def data(mechanism: Mechanism) -> dict[str, Any]:
    group = group_of(mechanism.meaning)
    steps = admissible_grid(group, [mechanism])
    return pane_data(bench(), mechanism, group, steps)


@pytest.mark.parametrize("key", ["tem.v1", "madlib.v1", "truncated-gumbel.v1", "vickrey.v1"])
def test_distances_and_chances_are_the_true_ones(key: str) -> None:
    mechanism = session.mechanism(SMALL, key)
    shown = data(mechanism)
    rows = len(admissible(mechanism))
    assert sorted(row for row in shown["rows"] if row is not None) == list(range(rows))
    for name, pane in zip((NAMES[0], "w5"), shown["panes"], strict=True):
        assert pane["word"] == name
        row = SMALL.vectors[SMALL.index(name)].astype(np.float64)
        for word, distance, _, _ in pane["near"]:
            true = np.linalg.norm(SMALL.vectors[SMALL.index(word)].astype(np.float64) - row)
            assert distance == pytest.approx(true, rel=1e-5)
            assert distance < shown["reach"]
        chances = np.array(pane["chances"]).reshape(rows, len(pane["near"]) + 2)
        assert chances.sum(axis=1) == pytest.approx(1.0, abs=2e-3)
        if mechanism.exact_law:
            law = mechanism.law(SMALL.index(name), admissible(mechanism))
            assert pane["ends"] is None
            for column, (word, *_) in enumerate(pane["near"], start=1):
                exact = law.dense(40)[:, SMALL.index(word)]
                assert chances[:, column] == pytest.approx(exact, rel=1e-3)
        else:
            low, high = np.array(pane["ends"]).reshape(2, *chances.shape)
            assert (low <= chances * 1.06 + 1e-9).all()
            assert (chances <= high * 1.06 + 1e-9).all()


def test_draws_are_those_of_the_mechanism_and_have_its_noise() -> None:
    mechanism = session.mechanism(SMALL, "madlib.v1")
    shown, ours = data(mechanism), bench()
    grid = admissible(mechanism)
    for place, pane in enumerate(shown["panes"]):
        drawn = ours.fate(mechanism, place).draws
        assert drawn.outputs.shape == (100, len(grid))
        names = [pane["word"], *(near[0] for near in pane["near"])]
        names += [other[0] for other in pane["others"]]
        for path, outputs in zip(pane["paths"], drawn.outputs, strict=True):
            starts, codes = path[::2], path[1::2]
            rows = np.searchsorted(starts, np.arange(len(grid)), side="right") - 1
            assert [names[codes[row]] for row in rows] == [SMALL.words[i] for i in outputs]
        assert drawn.lengths is not None
        lengths = np.outer(pane["lengths"], pane["scales"])
        assert lengths == pytest.approx(drawn.lengths, rel=1e-3)
    again = PairBench(ours.pair, ours.shared).fate(mechanism, 0).draws.outputs
    assert np.array_equal(again, ours.fate(mechanism, 0).draws.outputs)
    assert SEED == 2024


def test_a_mechanism_that_moves_no_vector_has_no_noise() -> None:
    shown = data(session.mechanism(SMALL, "tem.v1"))
    assert shown["noise"] is None
    assert all(pane["lengths"] is None for pane in shown["panes"])


def test_where_a_mechanism_is_not_defined_there_is_no_row() -> None:
    mechanism = session.mechanism(SMALL, "trlaplace.v1")
    shown = data(mechanism)
    for epsilon, row in zip(group_of(mechanism.meaning).grid, shown["rows"], strict=True):
        assert (row is not None) == (epsilon in mechanism.admissible)


def test_the_table_holds_what_the_panes_show() -> None:
    mechanism = session.mechanism(SMALL, "tem.v1")
    table = pane_table(bench(), mechanism)
    sums = table.groupby(["word", "epsilon"])["probability"].sum()
    assert sums.to_numpy() == pytest.approx(1.0, abs=1e-9)
    assert table.groupby(["word", "epsilon"])["elsewhere"].sum().eq(1).all()


@pytest.mark.slow
def test_any_mechanism_can_be_in_the_panes(opened: Callable[..., AppTest]) -> None:
    shown = panes(opened(**FEW | {"outputs_of": "neighbour-response"}))
    assert (shown["group"], shown["mechanism"]) == ("local", "neighbour-response")
    assert shown["readings"][shown["step"]] == "ε = 8"  # where words are guessed, not always kept
