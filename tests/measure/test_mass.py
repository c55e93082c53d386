"""Where outputs fall on a map, and how long the noise is: against plain sums and draws."""

import math

import numpy as np
import pytest

from dpcore.errors import EpsilonError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.density.radius import noise_radii
from dpcore.measure.maps import maps
from dpcore.measure.maps.table import SMALLEST_MASS, distance_table, mass_table
from dpcore.measure.mass import mass_on_map
from dpcore.mechanisms.additive.additive import RadialMechanism
from dpcore.mechanisms.law import Law
from dpcore.mechanisms.registry import create
from dpcore.noise.radial import radii, radius_cdf
from tests.chance import FALSE_ALARM, deviation
from tests.fixtures import MakeRng


@pytest.mark.parametrize("name", ["tem", "madlib"])
def test_mass_on_a_map_and_beside_it_is_the_whole_law(
    middle: Lexicon, rng: MakeRng, name: str
) -> None:
    shown = maps.local_map(middle, [3, 9], 25, "pca")
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
    shown = maps.local_map(small, [0], 10, "pca")
    absent = int(np.setdiff1d(np.arange(60), shown.words)[-1])
    outputs = np.array(sorted([0, absent]))
    law = Law(small, 0, np.ones(1), outputs, np.array([[1.0, 1e-30]]), True, 0.0, "closed form")
    mass = mass_on_map(law, shown)
    assert mass.outside[0] == 1e-30
    assert mass.on[0, shown.place(0)] == 1.0


def test_the_mass_table_holds_what_can_be_seen(middle: Lexicon) -> None:
    shown = maps.local_map(middle, [3, 9], 25, "pca")
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
