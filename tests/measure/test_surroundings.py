"""Chances of a word and its neighbours, and real draws with the length of their noise."""

import numpy as np
import pytest

from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.ranking import rank
from dpcore.measure.surroundings import chances, draws
from dpcore.mechanisms.additive.shared import SharedDirections
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import generator
from tests.chance import FALSE_ALARM, deviation

EPSILONS = np.array([0.5, 2.0, 8.0])
WORD, NEAR = 3, np.array([9, 1, 20])


@pytest.mark.parametrize("name", ["tem", "madlib", "truncated-gumbel", "vickrey"])
def test_chances_are_those_of_the_law(middle: Lexicon, name: str) -> None:
    mechanism, shared = create(name, middle), SharedDirections()
    epsilons = EPSILONS * (100.0 if name == "truncated-gumbel" else 1.0)
    epsilons = epsilons[[epsilon in mechanism.admissible for epsilon in epsilons]]
    ranking = rank(middle.vectors, middle.vectors[[WORD]])[0]
    seen = chances(mechanism, WORD, NEAR, epsilons, ranking, shared)
    dense = shared.law(mechanism, WORD, epsilons, ranking).dense(len(middle))
    shown = [WORD, *NEAR]
    assert seen.value[:, :-1] == pytest.approx(dense[:, shown], abs=1e-9)
    others = np.setdiff1d(np.arange(len(middle)), shown)
    assert seen.value[:, -1] == pytest.approx(dense[:, others].sum(axis=1), abs=1e-9)
    assert seen.exact == mechanism.exact_law
    assert (seen.low <= seen.value).all()
    assert (seen.value <= seen.high).all()
    assert seen.exact == bool((seen.low == seen.high).all())


def test_a_draw_lands_where_its_noise_leads(middle: Lexicon) -> None:
    """The lengths belong to the draws: the same stream gives the noise that led to the outputs."""
    mechanism = create("madlib", middle)
    ranking = rank(middle.vectors, middle.vectors[[WORD]])[0]
    drawn = draws(mechanism, WORD, EPSILONS, ranking, seed=5, count=40)
    rng = generator(5, mechanism.key, "surroundings", WORD)
    unit, radius = mechanism._noise(rng, 40)  # type: ignore[attr-defined]
    assert drawn.lengths is not None
    for e, epsilon in enumerate(EPSILONS.tolist()):
        noise = unit * (radius / epsilon)[:, None]
        assert np.linalg.norm(noise, axis=1) == pytest.approx(drawn.lengths[:, e])
        landed = middle.vectors[WORD] + noise
        apart = np.linalg.norm(landed[:, None] - middle.vectors[None], axis=2)
        assert np.array_equal(apart.argmin(axis=1), drawn.outputs[:, e])


def test_draws_have_the_law_and_repeat_under_a_seed(middle: Lexicon) -> None:
    mechanism, count = create("tem", middle), 2_000
    ranking = rank(middle.vectors, middle.vectors[[WORD]])[0]
    drawn = draws(mechanism, WORD, EPSILONS, ranking, seed=5, count=count)
    assert drawn.lengths is None
    exact = mechanism.law(WORD, EPSILONS).stay()
    stayed = (drawn.outputs == WORD).mean(axis=0)
    assert (
        np.abs(stayed - exact) <= deviation(count, stayed * (1 - stayed), FALSE_ALARM / 3)
    ).all()
    again = draws(mechanism, WORD, EPSILONS, ranking, seed=5, count=count)
    assert np.array_equal(drawn.outputs, again.outputs)
    other = draws(mechanism, WORD, EPSILONS, ranking, seed=6, count=count)
    assert not np.array_equal(drawn.outputs, other.outputs)


@pytest.mark.parametrize("name", ["tem", "truncated-gumbel", "neighbour-response"])
def test_who_moves_no_vector_has_no_lengths(middle: Lexicon, name: str) -> None:
    assert create(name, middle).path_lengths(np.random.default_rng(1), 3, EPSILONS) is None
