"""Data that mechanisms derive from a lexicon: shared, and only the last few are held."""

import gc
import itertools
import math
import weakref
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.guarantee import MetricPrivacy
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.nearest_word import NearestSearch
from dpcore.mechanisms.additive import additive, points
from dpcore.mechanisms.additive.additive import NoisyMechanism, RadialMechanism, SharedDirections
from dpcore.mechanisms.additive.euclidean import (
    Mahalanobis,
    MultivariateLaplace,
    RandomProjection,
    Vickrey,
)
from dpcore.mechanisms.additive.points import Decoding, Noise, radial_noise, truncated_noise
from dpcore.mechanisms.clipped.clipped import ClippedGaussian, ClippedL2Laplace, ClippedLaplace
from dpcore.mechanisms.clipped.trlaplace import (
    TrLaplace,
    TrLaplaceCorrected,
    TruncatedLaplaceMechanism,
)
from dpcore.mechanisms.registry import MECHANISMS, create
from dpcore.noise.samplers import Radial, draws
from tests.chance import deviation
from tests.mechanisms import lexicons
from tests.mechanisms.contract import make

# What floating point does to decoded noise: each step of the bound, against exact arithmetic.


WIDE = np.longdouble
ROUND = [Radial.L2LAPLACE, Radial.LAPLACE, Radial.GAUSSIAN]
LEXICON = lexicons.cloud(60, 4)


def _scores(points: NDArray[np.float64], targets: NDArray[np.float32]) -> NDArray[np.longdouble]:
    """S of every target at every point, less a constant of the point; longdouble."""
    rows = targets.astype(WIDE)
    return (rows * rows).sum(axis=1) / 2 - points.astype(WIDE) @ rows.T


def _on(lexicon: Lexicon, noise: Noise) -> Decoding:
    norm = float(np.linalg.norm(lexicon.vectors.astype(float), axis=1).max()) * 1.001
    return Decoding(
        words=len(lexicon),
        dimension=lexicon.dimension,
        separation=lexicon.extent.separation,
        norm=norm,
        offset=0.0,
        noise=noise,
    )


@pytest.mark.slow
@pytest.mark.parametrize("family", ROUND)
@pytest.mark.parametrize("scale", [0.3, 1.0])
def test_near_ties_are_no_more_frequent_than_bounded(family: Radial, scale: float) -> None:
    """At margins that draws can see; false-alarm probability 1e-6 each."""
    decoding = _on(LEXICON, radial_noise(family, 4, scale))
    margin = decoding.separation**2 / 2 / 200
    word, count = 3, 60_000
    rng = np.random.default_rng([int(100 * scale), len(family)])
    noise = draws(rng, family, count, 4, scale)
    scores = np.sort(_scores(LEXICON.vectors[word] + noise, LEXICON.vectors), axis=1)
    share = float((scores[:, 1] - scores[:, 0] <= margin).mean())
    assert share > 0, "the margin is too small to see"
    assert share <= decoding.near_tie(margin) + deviation(count, share)
    assert float((np.linalg.norm(noise, axis=1) > decoding.noise.reach).sum()) == 0


@pytest.mark.parametrize("family", ROUND)
def test_a_cell_that_grows_gains_no_more_than_its_share(family: Radial) -> None:
    """P(S_y ≤ all + m) ≤ e^r·P(S_y ≤ all), word by word; false-alarm probability 1e-6 in all."""
    scale, count = 0.3, 60_000
    decoding = _on(LEXICON, radial_noise(family, 4, scale))
    margin = decoding.separation**2 / 2 / 400
    noise = draws(np.random.default_rng(8), family, count, 4, scale)
    scores = _scores(LEXICON.vectors[3] + noise, LEXICON.vectors)
    least = scores.min(axis=1, keepdims=True)
    inner, outer = (scores <= least).mean(axis=0), (scores <= least + margin).mean(axis=0)
    assert (outer > inner).any()
    allowed = inner * math.exp(decoding.near_tie(margin))
    slack = deviation(count, outer * (1 - outer), 1e-6 / 120) + deviation(
        count, inner * (1 - inner), 1e-6 / 120
    ) * math.exp(decoding.near_tie(margin))
    assert (outer <= allowed + slack).all()


def _exact_noise(mechanism: Any, epsilon: float, seed: int, count: int) -> NDArray[np.longdouble]:
    """Return the noise that `noisy` adds, in longdouble from the same draws."""
    rng, d = np.random.default_rng(seed), mechanism.dimension
    if isinstance(mechanism, TrLaplace | TrLaplaceCorrected):
        noise = mechanism.truncation(epsilon)
        u = rng.uniform(-1.0, 1.0, size=(count, d))
        grains = (-np.abs(u) * noise.mass).astype(WIDE)
        return -np.sign(u) * np.log1p(grains) / WIDE(noise.alpha)
    laplace = mechanism.family is Radial.LAPLACE
    raw = rng.laplace(size=(count, d)) if laplace else rng.standard_normal((count, d))
    raw = raw.astype(WIDE)
    length = np.abs(raw).sum(axis=1) if laplace else np.sqrt((raw * raw).sum(axis=1))
    unit = raw / length[:, None]
    if isinstance(mechanism, Mahalanobis) and mechanism.lam > 0:
        values, axes = mechanism._spectrum
        unit = ((unit @ axes.astype(WIDE)) * np.sqrt(values.astype(WIDE))) @ axes.T.astype(WIDE)
    if mechanism.family is Radial.GAUSSIAN:
        radius = np.sqrt(rng.chisquare(d, size=count).astype(WIDE))
    else:
        radius = rng.standard_gamma(d, size=count).astype(WIDE)
    return unit * (WIDE(mechanism.scale(epsilon)) * radius)[:, None]


@pytest.mark.parametrize(
    "mechanism",
    [
        MultivariateLaplace(lexicon=LEXICON),
        Mahalanobis(lexicon=LEXICON, lam=0.7),
        ClippedLaplace(lexicon=LEXICON),
        ClippedL2Laplace(lexicon=LEXICON, clip_norm=1.0),
        ClippedGaussian(lexicon=LEXICON),
        TrLaplace(lexicon=LEXICON, delta_root=0.5),
        TrLaplaceCorrected(lexicon=LEXICON),
        RandomProjection(lexicon=LEXICON, dimensions=3),
    ],
    ids=lambda m: m.short,
)
def test_the_noisy_point_lies_where_the_bound_says(mechanism: Any) -> None:
    words, epsilon = np.arange(60).repeat(50), 1.0
    noisy = mechanism.noisy_vectors(np.random.default_rng(5), words, epsilon)
    if isinstance(mechanism, TrLaplace | TrLaplaceCorrected):
        noise = mechanism.truncation(epsilon)
        bound = _on(LEXICON, truncated_noise(noise.alpha, noise.cut, 4)).displacement
    else:
        bound = mechanism.decoding(epsilon).displacement
    exact = mechanism.origins[words].astype(WIDE) + _exact_noise(mechanism, epsilon, 5, words.size)
    off = float(np.sqrt(np.square(noisy.astype(WIDE) - exact).sum(axis=1)).max())
    assert 0 < off <= bound


@pytest.mark.slow
@pytest.mark.parametrize("name", ["near duplicates", "huge and tiny", "far from zero", "lattice"])
def test_the_word_that_is_found_is_nearest_up_to_the_margin(name: str) -> None:
    """Points halfway between two words and far out, in exact rational arithmetic."""
    lexicon = lexicons.crafted()[name]
    rng = np.random.default_rng(11)
    rows = lexicon.vectors.astype(np.float64)
    norm = float(np.linalg.norm(rows, axis=1).max())
    search = NearestSearch(lexicon.vectors)
    for reach in (1e-3 * norm, norm, 30.0 * norm):
        i, j = rng.integers(0, len(rows), (2, 12))
        noise = rng.standard_normal((12, lexicon.dimension))
        noise *= 0.9 * reach / np.linalg.norm(noise, axis=1, keepdims=True)
        # Away from the plane halfway only by rounding.
        apart = rows[i] - rows[j]
        along = (noise * apart).sum(axis=1) / np.maximum((apart**2).sum(axis=1), 1e-300)
        points = 0.5 * (rows[i] + rows[j]) + noise - along[:, None] * apart
        spent = float(np.linalg.norm(points - rows[i], axis=1).max())
        noise_bounds = radial_noise(Radial.GAUSSIAN, lexicon.dimension, 1.0)
        decoding = _on(lexicon, noise_bounds)
        object.__setattr__(noise_bounds, "reach", 1.01 * spent + norm)
        margin = Fraction(decoding.margin)
        for point, word in zip(points, search(points), strict=True):
            q = [Fraction(x) for x in point.tolist()]
            scores = [
                sum(Fraction(x) * (Fraction(x) / 2 - y) for x, y in zip(row, q, strict=True))
                for row in rows.tolist()
            ]
            assert scores[word] - min(scores) <= margin


def test_few_places_of_a_line_or_an_arc_decide_who_wins() -> None:
    """Step 3: fine grids see no more changes than 4n for a set of words, 96n for two words."""
    rng = np.random.default_rng(21)
    n, d = 40, 5
    targets = rng.standard_normal((n, d))
    margin = 0.05
    x = np.tan(np.linspace(-1.5705, 1.5705, 60_001))
    for turn in range(6):
        fixed = rng.standard_normal(d)
        vectors = np.tile(fixed, (x.size, 1))
        vectors[:, turn % d] = x
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        points = 0.3 + (vectors * 3 / norms if turn < 4 else vectors)
        scores = (targets**2).sum(axis=1) / 2 - points @ targets.T
        for _ in range(5):
            inside = rng.random(n) < 0.5
            lead = scores[:, inside].min(axis=1) - scores[:, ~inside].min(axis=1)
            for m in (-margin, margin):
                assert 1 <= np.count_nonzero(np.diff(lead <= m)) <= 4 * n
        ordered = np.sort(scores, axis=1)
        gaps = np.diff(ordered[:, :3], axis=1) <= margin
        first_two = np.argsort(scores, axis=1)[:, :2]
        places = np.any(np.diff(gaps, axis=0), axis=1) | np.any(np.diff(first_two, axis=0), axis=1)
        assert 1 <= np.count_nonzero(places) <= 96 * n


def test_what_rounding_does_to_a_guarantee() -> None:
    """The sentence of the module, over all sets of outputs of laws moved as far as allowed."""
    rng = np.random.default_rng(2)
    relative, total = 0.05, 0.01
    sets = [list(s) for k in range(1, 6) for s in itertools.combinations(range(5), k)]
    tight = 0.0
    for _ in range(300):
        p = rng.dirichlet(np.full(5, 0.5), 2)
        loss = float(np.abs(np.log(p[0] / p[1])).max())
        # The sampled laws: a factor and a shift for one word up, for the other down, in turn.
        moved = p * np.exp(relative * rng.choice([-1, 1], (2, 5)))
        target = rng.integers(5)
        moved[0, target] += total
        moved[1, target] = max(moved[1, target] - total, 0.0)
        for a in sets:
            allowed = math.exp(loss + 2 * relative) * moved[1, a].sum()
            allowed += (1 + math.exp(loss + 2 * relative)) * total
            assert moved[0, a].sum() <= allowed * (1 + 1e-12)
            tight = max(tight, float(moved[0, a].sum() / allowed))
    assert tight > 0.5


ADDITIVE = [
    key
    for key, kind in MECHANISMS.items()
    if issubclass(kind, RadialMechanism | TruncatedLaplaceMechanism)
]


@pytest.mark.slow
@pytest.mark.parametrize("key", ADDITIVE)
def test_the_guarantee_on_the_bundled_lexicon_carries_its_rounding(key: str) -> None:
    mechanism = MECHANISMS[key](lexicon=load())
    epsilon = min(10.0, 0.5 * mechanism.admissible.high)
    rounding = mechanism.guarantee(epsilon).to_dict()["rounding"]
    assert 0 <= rounding["relative"] < 1e-4
    assert 0 < rounding["total_variation"] < 1e-5
    assert "samplers" in rounding["reason"]


def test_there_are_twelve_that_add_noise() -> None:
    assert len(ADDITIVE) == 12


def test_more_noise_and_closer_words_are_rounded_more() -> None:
    mechanism = MultivariateLaplace(lexicon=LEXICON)
    roundings = [mechanism.rounding(epsilon).relative for epsilon in (10.0, 1.0, 0.1)]
    assert roundings == sorted(roundings)
    vectors = LEXICON.vectors.copy()
    vectors[1] = vectors[0] + np.float32(1e-4)
    closer = MultivariateLaplace(lexicon=lexicons.lexicon(vectors))
    assert closer.rounding(1.0).relative > 100 * mechanism.rounding(1.0).relative


def test_no_bound_is_claimed_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    duplicates = lexicons.crafted()["tiny near duplicates"]
    guarantee = make("madlib.v1", duplicates).guarantee(1e-3)
    assert isinstance(guarantee, MetricPrivacy)
    assert guarantee.rounding is None
    assert guarantee.to_dict()["rounding"] is None
    # Published, cut off short of some targets: a cell may hold no point of the noise's support.
    short = TrLaplace(lexicon=LEXICON, delta_root=0.9, clip_norm=0.5, compare_with="unclipped")
    assert short.truncation(0.1).cut < LEXICON.largest_norm
    assert short.rounding(0.1) is None
    monkeypatch.setattr("dpcore.mechanisms.additive.points.SEPARATED_AT_ONCE_WORDS", 10)
    assert ClippedGaussian(lexicon=lexicons.cloud(50, 3), clip_norm=0.5).rounding(1.0) is None


def test_a_second_word_costs_more_and_its_weight_counts() -> None:
    first = Vickrey(lexicon=LEXICON, t=0.0).rounding(2.0)
    second = Vickrey(lexicon=LEXICON, t=0.75).rounding(2.0)
    assert first.relative > 0 == second.relative
    assert second.total_variation > first.total_variation
    assert Vickrey(lexicon=LEXICON, t=1.0).rounding(2.0) is not None


WORDS = lexicons.cloud(300, 8)
LARGEST = WORDS.largest_norm


def cached(*arguments: Any) -> NoisyMechanism:
    """A mechanism of a kind that has points of its own."""
    mechanism = create(*arguments)
    assert isinstance(mechanism, NoisyMechanism)
    return mechanism


def below(share: float) -> dict[str, float]:
    return {"clip_norm": share * LARGEST}


def test_mechanisms_with_one_clipping_norm_share_one_copy() -> None:
    laplace, gaussian = (cached(key, WORDS, below(0.5)) for key in ("laplace.v1", "gaussian.v1"))
    assert laplace.targets is gaussian.origins
    assert laplace.points.search is gaussian.points.search
    assert cached("laplace.v1", WORDS, below(0.4)).targets is not laplace.targets
    other = cached("adept-l1.v1", WORDS, below(0.5))  # another norm that clips
    assert other.targets is not laplace.targets


def test_a_mechanism_without_a_copy_uses_the_vectors_themselves() -> None:
    for key, settings in (("madlib.v1", {}), ("laplace.v1", {}), ("gaussian.v1", below(2.0))):
        assert cached(key, WORDS, settings).targets is WORDS.vectors
    wide = cached("laplace.v1", WORDS, below(0.5) | {"compare_with": "unclipped"})
    assert wide.targets is WORDS.vectors
    assert wide.origins is not WORDS.vectors


@pytest.mark.parametrize("key", ["laplace.v1", "trlaplace.v1", "adept-l1.v1"])
def test_who_tries_many_norms_takes_the_memory_of_a_few(key: str) -> None:
    mechanisms = [cached(key, WORDS, below(0.3 + 0.02 * i)) for i in range(20)]
    copies = [weakref.ref(mechanism.points) for mechanism in mechanisms]
    for mechanism in mechanisms:
        mechanism.sample(np.random.default_rng(1), np.arange(4), 1.0)
    gc.collect()
    assert sum(copy() is not None for copy in copies) <= points._COPIES
    again = mechanisms[0].targets  # it is made again, the same
    assert np.array_equal(again, cached(key, WORDS, below(0.3)).targets)
    assert np.abs(again).max() > 0


def test_projections_are_held_like_copies() -> None:
    mechanisms = [
        cached("random-projection.v1", WORDS, {"matrix_seed": seed}) for seed in range(20)
    ]
    copies = [weakref.ref(mechanism.points) for mechanism in mechanisms]
    gc.collect()
    assert 1 <= sum(copy() is not None for copy in copies) <= points._COPIES
    assert mechanisms[3].origins is mechanisms[3].targets


def test_what_takes_no_memory_is_kept_in_a_number_that_has_an_end() -> None:
    words = lexicons.cloud(20, 3)
    for i in range(200):
        points.derived_points(words, i, lambda: words.vectors)
    assert len(points._held[words]._points) == points._KEPT


def test_points_go_with_their_lexicon() -> None:
    words = lexicons.cloud(40, 3)
    copy = weakref.ref(cached("laplace.v1", words, {"clip_norm": 0.5 * words.largest_norm}).points)
    assert copy() is not None
    del words
    gc.collect()
    assert copy() is None


def test_one_copy_is_made_however_many_ask_at_once() -> None:
    words, calls = lexicons.cloud(50, 3), []

    def make() -> NDArray[np.float32]:
        calls.append(1)
        return words.vectors.copy()

    with ThreadPoolExecutor(8) as pool:
        copies = list(pool.map(lambda _: points.derived_points(words, "asked", make), range(40)))
    assert len(calls) == 1
    assert all(copy is copies[0] for copy in copies)


def test_the_directions_of_the_last_few_settings_are_kept() -> None:
    directions = SharedDirections()
    mechanisms = [Mahalanobis(lexicon=WORDS, lam=0.05 * i) for i in range(12)]
    bundles = [weakref.ref(directions.bundle(mechanism)) for mechanism in mechanisms]
    gc.collect()
    assert [bundle() is not None for bundle in bundles] == [False] * 9 + [True] * additive._KEPT
    assert directions.bundle(mechanisms[-1]) is bundles[-1]()
    first = directions.bundle(mechanisms[0]).unit
    assert np.array_equal(first, SharedDirections().bundle(mechanisms[0]).unit)
