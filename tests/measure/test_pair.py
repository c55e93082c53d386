"""Mechanisms at equal mean Nw, read from measured curves."""

import math
from typing import Any

import numpy as np
import pytest

from dpcore.arrays import IntArray
from dpcore.errors import EpsilonError, ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.neighbours import rank
from dpcore.measure.deniability import Deniability, Method, measure
from dpcore.measure.density import noise_radii
from dpcore.measure.figures import Figures
from dpcore.measure.maps import fit
from dpcore.measure.maps.table import SMALLEST_MASS, distance_table, mass_table
from dpcore.measure.pair import (
    Crossing,
    chances,
    crossings,
    draws,
    less_protected,
    mass_on_map,
    stay_tally,
)
from dpcore.measure.targets import calibrate
from dpcore.measure.words import Selection, select_words
from dpcore.mechanisms.additive.additive import RadialMechanism, SharedDirections
from dpcore.mechanisms.law import Law
from dpcore.mechanisms.registry import create
from dpcore.noise.samplers import radii, radius_cdf
from dpcore.noise.streams import generator
from tests.chance import FALSE_ALARM, deviation
from tests.fixtures import MakeRng


def curve(nw: Any, error: float = 0.0, effective: Any = None) -> Deniability:
    """A measurement of one word at ε = 1, e, e², … with this Nw and Sw = 10·2^place."""
    values = np.array([nw], dtype=float)
    count = values.shape[1]
    nothing = np.zeros(values.shape)
    figures = Figures(
        nw=values,
        sw=np.array([[10.0 * 2.0**place for place in range(count)]]),
        effective=np.ones(values.shape) if effective is None else np.array([effective]),
        nw_error=nothing + error,
        nw_low=values - 2 * error,
        nw_high=values + 2 * error,
        sw_error=nothing,
        effective_error=nothing,
        nw_mean_error=np.full(count, error),
        nw_mean_low=values[0] - 2 * error,
        nw_mean_high=values[0] + 2 * error,
        sw_mean_error=np.zeros(count),
        numerical_error=0.0,
        detail="",
    )
    words = Selection(np.array([0]), ("w",), np.ones(1), "one")
    return Deniability("tem.v1", Method.EXACT, words, np.exp(np.arange(count)), 50, figures)


def test_a_value_between_two_measured_epsilons_is_read_on_a_line_of_logarithms() -> None:
    (crossing,) = crossings(curve([0.0, 0.2, 0.6, 1.0]), 0.3)
    assert crossing.epsilon == pytest.approx(math.exp(1.25))
    assert (crossing.low, crossing.high) == pytest.approx((math.e, math.e**2))
    assert crossing.sw == pytest.approx(10.0 * 2**1.25)


def test_a_measured_value_is_met_where_it_was_measured() -> None:
    (crossing,) = crossings(curve([0.0, 0.2, 0.6, 1.0]), 0.2)
    assert crossing.epsilon == pytest.approx(math.e)
    assert (crossing.low, crossing.high) == pytest.approx((1.0, math.e**2))
    (end,) = crossings(curve([0.0, 0.6, 1.0, 1.0]), 1.0)
    assert end.epsilon == pytest.approx(math.e**2)
    assert end.low == pytest.approx(math.e)
    assert end.high is None


def test_a_value_that_is_never_reached_and_one_that_is_reached_twice() -> None:
    dipping = curve([0.5, 0.3, 0.4, 0.8])
    assert crossings(dipping, 0.2) == ()
    assert crossings(dipping, 0.9) == ()
    twice = crossings(dipping, 0.35)
    assert [c.epsilon for c in twice] == pytest.approx([math.exp(0.75), math.exp(1.5)])
    touched = crossings(dipping, 0.3)
    assert [c.epsilon for c in touched] == pytest.approx([math.e])


def test_what_the_noise_does_not_tell_apart_is_one_place_with_wide_ends() -> None:
    noisy = curve([0.1, 0.49, 0.51, 0.495, 0.52, 0.9], error=0.02)
    (crossing,) = crossings(noisy, 0.5)
    assert crossing.epsilon == pytest.approx(math.exp(1.5))
    assert (crossing.low, crossing.high) == pytest.approx((1.0, math.e**5))
    assert crossings(curve([0.1, 0.49, 0.3], error=0.02), 0.5) == ()  # not reached, only near


def test_an_infinite_effective_number_stays_infinite() -> None:
    measured = curve([0.0, 0.2, 0.6], effective=[np.inf, np.inf, 7.0])
    (open_one,) = crossings(measured, 0.4)
    assert open_one.effective == math.inf
    (met,) = crossings(measured, 0.6)
    about_e: Any = pytest.approx(math.e)
    assert met == Crossing(met.epsilon, about_e, None, 40.0, 7.0)


def test_the_place_agrees_with_measuring_more(small: Lexicon) -> None:
    chosen = select_words(small, small.words[:8])
    tem, madlib = create("tem", small), create("madlib", small)
    grid = np.geomspace(0.05, 200.0, 60)
    (searched,) = calibrate(tem, 1.5, madlib, chosen).crossings
    bound = float(measure(tem, chosen, [1.5]).figures.nw.mean())
    (read,) = crossings(measure(madlib, chosen, grid), bound)
    assert searched is not None
    assert read.low is not None
    assert read.high is not None
    assert read.low < searched < read.high
    ratio = grid[1] / grid[0]
    assert 1 / ratio < read.epsilon / searched < ratio


@pytest.mark.parametrize("nw", [-0.1, 1.1, float("nan")])
def test_anything_but_a_probability_is_refused(nw: float) -> None:
    with pytest.raises(ParameterError, match=r"a mean Nw is in \[0, 1\]"):
        crossings(curve([0.0, 1.0]), nw)


# Where outputs fall on a map, and how long the noise is: against plain sums and draws.


@pytest.mark.parametrize("name", ["tem", "madlib"])
def test_mass_on_a_map_and_beside_it_is_the_whole_law(
    middle: Lexicon, rng: MakeRng, name: str
) -> None:
    shown = fit.local_map(middle, [3, 9], 25, "pca")
    law = create(name, middle).law(3, [0.5, 4.0], rng=rng())
    mass = mass_on_map(law, shown)
    dense = law.dense(len(middle))
    assert mass.on == pytest.approx(dense[:, shown.words], abs=0)
    others = np.setdiff1d(np.arange(len(middle)), shown.words)
    assert mass.outside == pytest.approx(dense[:, others].sum(axis=1), rel=1e-12)
    assert mass.on.sum(axis=1) + mass.outside == pytest.approx(1.0, abs=1e-9)
    assert (mass.exact, mass.word) == (law.exact, 3)
    part = mass_on_map(law, shown, slice(1, 2))
    assert part.epsilons.tolist() == [4.0]
    assert part.outside == pytest.approx(mass.outside[1:], rel=1e-12)
    assert np.array_equal(part.on[0], mass.on[1])


def test_a_tiny_mass_beside_the_map_is_not_lost_to_rounding(small: Lexicon) -> None:
    shown = fit.local_map(small, [0], 10, "pca")
    absent = int(np.setdiff1d(np.arange(60), shown.words)[-1])
    outputs = np.array(sorted([0, absent]))
    law = Law(small, 0, np.ones(1), outputs, np.array([[1.0, 1e-30]]), True, 0.0, "closed form")
    mass = mass_on_map(law, shown)
    assert mass.outside[0] == 1e-30
    assert mass.on[0, shown.place(0)] == 1.0


def test_the_mass_table_holds_what_can_be_seen(middle: Lexicon) -> None:
    shown = fit.local_map(middle, [3, 9], 25, "pca")
    tem = create("tem", middle)
    masses = [mass_on_map(tem.law(word, [2.0, 3.0]), shown) for word in (3, 9)]
    table = mass_table(middle, shown, masses, position=1)
    for source, mass in zip("ab", masses, strict=True):
        rows = table[table["source"] == source]
        assert rows["mass"].is_monotonic_decreasing
        seen = mass.on[1] >= SMALLEST_MASS
        assert rows["mass"].sum() == pytest.approx(mass.on[1][seen].sum())
        for row in rows.itertuples():
            place = shown.place(int(str(row.word)[1:]))
            assert (row.x, row.y) == tuple(shown.points[place])


def test_the_distance_table_is_sorted_by_true_distance(middle: Lexicon) -> None:
    table = distance_table(middle, [3, 9], 12)
    assert table["source"].tolist() == ["a"] * 12 + ["b"] * 12
    vectors = middle.vectors.astype(np.float64)
    for source, word in (("a", 3), ("b", 9)):
        rows = table[table["source"] == source]
        assert rows["distance"].is_monotonic_increasing
        assert set(rows["word"]) == {f"w{word}"}
        for row in rows.itertuples():
            true = np.linalg.norm(vectors[word] - vectors[int(str(row.neighbour)[1:])])
            assert row.distance == pytest.approx(true)


@pytest.mark.parametrize("name", ["madlib", "mahalanobis", "vickrey"])
def test_the_noise_is_shorter_than_its_quantiles_as_often_as_said(
    middle: Lexicon, rng: MakeRng, name: str
) -> None:
    """Fresh draws of the noise; all three shares hold at once but for a chance of 10⁻⁶."""
    mechanism = create(name, middle)
    assert isinstance(mechanism, RadialMechanism)
    lengths = noise_radii(mechanism, [5.0])
    assert lengths is not None
    (radius,) = lengths
    draw, count = rng(), 20_000
    stretch = np.linalg.norm(mechanism.directions(draw, count), axis=1)
    length = stretch * radii(draw, mechanism.family, count, 25) / 5.0
    assert radius.exact == (name != "mahalanobis")
    for value, share in ((radius.low, 0.05), (radius.median, 0.5), (radius.high, 0.95)):
        seen = (length <= value).mean()
        slack = deviation(count, seen * (1 - seen), FALSE_ALARM / 6)
        if not radius.exact:  # the quantile is itself that of a mean over 2,000 directions
            spread = radius_cdf(mechanism.family, 5.0 * value / stretch, 25).var()
            slack += deviation(2_000, spread, FALSE_ALARM / 6)
        assert abs(seen - share) <= slack


def test_quantiles_of_round_noise_are_those_of_the_gamma_law(small: Lexicon) -> None:
    from scipy.stats import gamma

    lengths = noise_radii(create("madlib", small), [2.0])
    assert lengths is not None
    (radius,) = lengths
    assert (radius.low, radius.median, radius.high) == pytest.approx(
        [gamma.ppf(share, 4) / 2.0 for share in (0.05, 0.5, 0.95)], rel=1e-9
    )


@pytest.mark.parametrize("name", ["madlib", "mahalanobis"])
def test_the_noise_at_many_epsilons_is_that_at_each(small: Lexicon, name: str) -> None:
    mechanism = create(name, small)
    grid = [0.5, 2.0, 30.0]
    assert noise_radii(mechanism, grid) == [
        radius for epsilon in grid for radius in noise_radii(mechanism, [epsilon])
    ]


def test_mechanisms_that_move_no_vector_of_the_lexicon_have_no_radius(small: Lexicon) -> None:
    for name in ("tem", "random-projection"):
        assert noise_radii(create(name, small), [1.0]) is None
    with pytest.raises(EpsilonError):
        noise_radii(create("madlib", small), [math.nan])


# Chances of a word and its neighbours, and real draws with the length of their noise.


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
    others = np.setdiff1d(np.arange(len(middle)), [WORD, *NEAR])
    stays = dense[:, [WORD]]
    if mechanism.rays is not None:  # an estimate of its own; the shares of the rest are the law's
        stays = stay_tally(mechanism, WORD, epsilons, ranking, shared).value[:, None]
    rest = np.column_stack((dense[:, NEAR], dense[:, others].sum(axis=1)))
    rest *= (1.0 - stays) / (1.0 - dense[:, [WORD]])
    assert seen.value == pytest.approx(np.column_stack((stays, rest)), abs=1e-9)
    assert seen.value.sum(axis=1) == pytest.approx(1.0, abs=1e-9)
    assert seen.exact == mechanism.exact_law
    assert (seen.low <= seen.value).all()
    assert (seen.value <= seen.high).all()
    assert seen.exact == bool((seen.low == seen.high).all())


def test_an_output_that_no_ray_meets_may_still_come_out(middle: Lexicon) -> None:
    ranking = rank(middle.vectors, middle.vectors[[WORD]])[0]
    everywhere = np.array([1e4])  # ε at which the word stays along every ray
    all_chances = chances(
        create("madlib", middle), WORD, NEAR, everywhere, ranking, SharedDirections()
    )
    assert all_chances.value[0, 0] == pytest.approx(1.0, abs=1e-9)
    assert (all_chances.high[0, 1:] > 1e-3).all()


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


# Words that are guessed more often than another.


@pytest.mark.parametrize("name", ["tem", "truncated-gumbel", "optimal", "k-ary"])
@pytest.mark.parametrize("margin", [0.02, 0.1])
def test_less_protected_words_are_those_of_the_laws(
    small: Lexicon, name: str, margin: float
) -> None:
    mechanism, total = create(name, small), 0
    candidates = np.arange(0, len(small), 3)
    scale = 100.0 if name == "truncated-gumbel" else 1.0
    for epsilon in (scale, 4.0 * scale, 30.0 * scale):
        stays = [mechanism.law(i, epsilon).probability(i) for i in range(len(small))]
        for word in (0, 7, 20):
            expected = [
                i for i in candidates.tolist() if i != word and stays[i] >= stays[word] + margin
            ]
            expected.sort(key=lambda i: -stays[i])
            answer = less_protected(
                mechanism, word, candidates, epsilon, margin=margin, seed=1, count=6
            )
            assert answer.tolist() == expected[:6]
            total += len(expected)
    assert (total == 0) == (name == "k-ary")


def crowd_and_lonely() -> Lexicon:
    """Return thirty words, each nearest to one in thirty directions, and twelve far from all."""
    crowd = 0.01 * np.concatenate((np.eye(15), -np.eye(15)))
    lonely = 1000.0 * np.concatenate((np.eye(15), -np.eye(15)))[:12]
    rows = np.concatenate((crowd, lonely)).astype(np.float32)
    return Lexicon("crafted", tuple(f"w{i}" for i in range(42)), rows)


def test_less_protected_words_are_found_by_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lonely word always stays: noise of ten units would have to be longer than 900.

    One of the crowd stays with a chance of 1/30: any of 29 passes both its 50 and its 200 draws
    with a chance of 3·10⁻⁹, by the binomial laws of these draws and of the 400 of the word.
    """
    mechanism = create("madlib", crowd_and_lonely())
    candidates = np.arange(41, -1, -1)

    def found(word: int, candidates: IntArray, count: int = 10, epsilon: float = 1.0) -> list[int]:
        answer = less_protected(
            mechanism, word, candidates, epsilon, margin=0.1, seed=3, count=count
        )
        return [int(i) for i in answer]

    assert found(0, candidates) == list(range(41, 31, -1))  # equal: in the order of candidates
    assert found(0, candidates, 3) == [41, 40, 39]
    assert found(0, candidates[12:]) == []
    assert found(35, candidates) == []
    assert found(0, np.array([0])) == []
    # What is slow looks at eight.
    monkeypatch.setattr(type(mechanism), "rays", None)
    assert found(0, candidates) == list(range(41, 33, -1))
    assert found(0, candidates[12:]) == []
    with pytest.raises(EpsilonError):
        found(0, candidates, epsilon=-1.0)
