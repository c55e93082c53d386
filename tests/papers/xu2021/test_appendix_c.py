"""Appendix C: the formulas, the bounds that hold, and the numbers that contradict the formulas."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, stats

from dpcore.errors import ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import distances
from dpcore.measure.words import select_words
from dpcore.mechanisms.gumbel.law import law_from_distances
from dpcore.mechanisms.registry import create
from dpcore.noise.samplers import poisson_weights
from dpcore.papers.xu2021.appendix_c import (
    COLUMNS,
    appendix_rows,
    certain_share,
    everyday_extremes,
    gumbel_ceiling,
    gumbel_floor,
    gumbel_formula,
    gumbel_limit,
    gumbel_sentences,
    laplace_ceiling,
    laplace_floor,
    laplace_formula,
    laplace_sentences,
)
from tests.chance import FALSE_ALARM, deviation
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons
from tests.mechanisms.gumbel_twin import survival_and_density

EPSILONS = np.geomspace(0.05, 200.0, 9)


@pytest.fixture(scope="module")
def small() -> Lexicon:
    """60 words in 4 dimensions."""
    return lexicons.cloud(60, 4)


@pytest.fixture(scope="module")
def glove(data_dir: Path) -> Lexicon:
    """The first 2,000 rows of GloVe 6B in 50 dimensions."""
    names = (data_dir / "glove6b_50d_partial.vocab.txt").read_text(encoding="utf-8").split("\n")
    vectors = np.load(data_dir / "glove6b_50d_partial.npy", allow_pickle=False)[:2000]
    return Lexicon("glove", tuple(names[:2000]), vectors.astype(np.float32))


def nearest_of(lexicon: Lexicon) -> NDArray[np.float64]:
    gaps = distances(lexicon.vectors, lexicon.vectors)
    np.fill_diagonal(gaps, np.inf)
    return gaps.min(axis=1)


# -- Laplace ------------------------------------------------------------------------------------


def test_the_laplace_formula_is_exact_on_a_line_at_half_the_epsilon_it_names() -> None:
    lexicon = lexicons.line(-1.5, 0.0, 1.5)
    madlib = create("madlib", lexicon)
    rows = appendix_rows(madlib, select_words(lexicon, ["w1"]), EPSILONS / 2)
    for row, epsilon in zip(rows, EPSILONS, strict=True):
        assert row["nearest"] == 1.5
        # Along either direction the mass is the same, so the estimate has no error at all.
        assert row["truth"] == pytest.approx(laplace_formula(epsilon, 1.5), abs=1e-12)
        assert row["low"] == pytest.approx(row["truth"], abs=1e-12)
    one_sided = stats.laplace.cdf(0.75, scale=1 / EPSILONS)
    np.testing.assert_allclose(laplace_ceiling(EPSILONS, 1.5, 1), one_sided, atol=1e-15)


def test_a_lonely_neighbour_leaves_a_half_where_the_formula_says_never() -> None:
    lexicon = lexicons.line(0.0, 1e-6, 50.0)
    rows = appendix_rows(create("madlib", lexicon), select_words(lexicon, ["w0"]), [1.0], runs=5000)
    assert rows[0]["formula"] < 1e-6
    assert abs(rows[0]["truth"] - 0.5) <= deviation(5000, 0.25)


@pytest.mark.parametrize("d", [1, 2, 3, 50, 300])
def test_the_bounds_of_laplace_are_integrals_over_the_angle(d: int) -> None:
    floor = laplace_floor(EPSILONS, 2.0, d)
    ceiling = laplace_ceiling(EPSILONS, 2.0, d)
    assert np.all(np.diff(floor) >= 0)
    assert np.all(np.diff(ceiling) >= -1e-13)
    assert np.all(floor <= ceiling + 1e-13)
    if d == 1:
        return
    angle = (np.arange(100_000) + 0.5) * (math.pi / 200_000)  # midpoints: all is smooth
    density = np.sin(angle) ** (d - 2)
    for epsilon, value in zip(EPSILONS[3:], ceiling[3:], strict=True):
        beyond = stats.gamma.sf(epsilon / np.cos(angle), d) @ density
        assert value == pytest.approx(1 - beyond / density.sum() / 2, abs=1e-9)


def test_the_truth_under_laplace_lies_between_its_bounds(small: Lexicon) -> None:
    madlib = create("madlib", small)
    chosen = select_words(small, small.words[:10])
    rows = appendix_rows(madlib, chosen, EPSILONS, runs=1000, seed=3)
    assert [tuple(row) for row in rows] == [COLUMNS] * (10 * EPSILONS.size)
    for row in rows:
        slack = deviation(1000, row["standard_error"] ** 2 * 1000, FALSE_ALARM / len(rows))
        assert row["low"] - slack <= row["truth"] <= row["high"] + slack


@pytest.mark.slow
def test_the_laplace_formula_is_several_times_too_large_on_glove(glove: Lexicon) -> None:
    nearest: Any = nearest_of(glove)
    assert np.mean(laplace_formula(np.asarray(1.0), nearest)) == pytest.approx(0.466, abs=1e-3)
    chosen = select_words(glove, glove.words[::40])
    rows = appendix_rows(create("madlib", glove), chosen, [1.0], runs=400, seed=1)
    truth = np.array([row["truth"] for row in rows])
    formula = np.array([row["formula"] for row in rows])
    np.testing.assert_allclose(formula, laplace_formula(np.asarray(1.0), nearest[::40]), rtol=1e-6)
    # The mean of 400 directions, each a number in [0, 1]; the true mean is about 0.003.
    slack = deviation(400, 400 * np.mean([row["standard_error"] for row in rows]) ** 2)
    assert truth.mean() + slack < formula.mean() / 3


# -- Gumbel -------------------------------------------------------------------------------------

SCALES = np.array([1e4, 8.0, 3.0, 1.0, 0.3, 0.1])


@pytest.mark.parametrize("nearest", [0.0, 0.2, 0.9])
@pytest.mark.parametrize("n", [5, 40, 600])
def test_the_bounds_of_gumbel_hold_for_any_distances(rng: MakeRng, n: int, nearest: float) -> None:
    weights, make = poisson_weights(n), rng(n)
    for spread in (0.0, 1e-3, 0.1, 2.0):
        d = np.sort(make.uniform(nearest, nearest + spread, n - 1))
        d = np.concatenate(([0.0, nearest], d[1:]))
        low = gumbel_floor(SCALES, nearest, n)
        high = gumbel_ceiling(SCALES, nearest, n, 3.0)
        for b, under, over in zip(SCALES, low, high, strict=True):
            truth = law_from_distances(d, weights, float(b), 3.0)[0]
            assert under - 1e-9 <= truth <= over + 1e-9


def test_the_proved_bound_is_reached_by_equal_distances_without_truncation() -> None:
    n, nearest = 7, 0.8
    d = np.append(0.0, np.full(n - 1, nearest))
    for b in (5.0, 1.0, 0.2):
        truth = law_from_distances(d, poisson_weights(n), b, math.inf)[0]
        assert truth == pytest.approx(gumbel_floor(np.array(b), nearest, n), abs=1e-9)


def test_the_upper_bound_is_the_law_of_the_difference_of_two() -> None:
    for b in (5.0, 1.0, 0.2):

        def meets(t: float, scale: float = b) -> float:
            survival, _ = survival_and_density(np.array(t - 0.8), scale, 3.0)
            _, density = survival_and_density(np.array(t), scale, 3.0)
            return float(density * (survival if t > -2.2 else 1.0))

        beats = sum(
            integrate.quad(meets, low, high, epsabs=1e-12)[0]
            for low, high in ((-3, -2.2), (-2.2, 3))
        )
        share = 1 - math.log(7) / 7  # P(K >= 2)
        result = gumbel_ceiling(np.array([b]), 0.8, 7, 3.0)[0]
        assert result == pytest.approx(1 - share + share * beats, abs=1e-9)


def test_the_formulas_of_gumbel_are_those_of_the_paper() -> None:
    n, b, nearest = 1000, np.array([0.5, 2.0]), 0.7
    share = 1 - math.log(n) / n
    np.testing.assert_allclose(
        gumbel_formula(b, nearest, n), share * stats.logistic.cdf(nearest, scale=b), rtol=1e-12
    )
    assert np.all(gumbel_formula(b, nearest, n) > gumbel_limit(n))
    assert gumbel_limit(10**6) == pytest.approx(0.3679, abs=1e-4)


@pytest.mark.parametrize(("n", "share"), [(48_210, 0.1037), (11_673, 0.1219), (2_000, 0.1561)])
def test_what_is_certain_is_the_mean_of_one_over_the_candidates(n: int, share: float) -> None:
    assert certain_share(n) == pytest.approx(share, abs=5e-5)
    assert gumbel_floor(np.array(1e12), 1.0, n) == pytest.approx(certain_share(n), abs=1e-9)
    assert certain_share(n) < gumbel_limit(n)


def test_words_of_glove_contradict_the_inequality_and_the_floor(glove: Lexicon) -> None:
    gumbel = create("truncated-gumbel", glove)
    nearest = nearest_of(glove)
    dense, sparse = glove.words[nearest.argmin()], glove.words[nearest.argmax()]
    assert (dense, sparse) == ("tuesday", "species")
    rows = appendix_rows(gumbel, select_words(glove, [dense, sparse]), [math.exp(8), math.exp(12)])
    for row in rows:
        assert row["truth"] < row["formula"]
        assert row["low"] <= row["truth"] <= row["high"]
    by = {(row["word"], round(math.log(row["epsilon"]))): row for row in rows}
    assert by[dense, 8]["truth"] == pytest.approx(0.2213, abs=2e-4)
    assert by[dense, 8]["formula"] == pytest.approx(0.5226, abs=2e-4)
    assert by[dense, 12]["truth"] < gumbel_limit(2000) < by[sparse, 8]["truth"]


# -- rows and sentences -------------------------------------------------------------------------


def test_another_mechanism_is_refused(small: Lexicon) -> None:
    with pytest.raises(ParameterError, match=r"madlib .* and truncated-gumbel, got gaussian"):
        appendix_rows(
            create("gaussian", small, {"delta": 1e-5}), select_words(small, ["w1"]), [1.0]
        )


def test_the_sentences_say_the_numbers_of_the_rows(small: Lexicon) -> None:
    chosen = select_words(small, ["w3", "w9"])
    madlib, gumbel = create("madlib", small), create("truncated-gumbel", small)
    rows = appendix_rows(madlib, chosen, [1.0, 1000.0], runs=200)
    why, *message = laplace_sentences(rows, 1.0, 4)
    assert "vector of 4 coordinates" in why
    assert [f"“{name}”" in text for name, text in zip(("w3", "w9"), message, strict=False)] == [
        True
    ] * 2
    for row, text in zip((rows[0], rows[2]), message, strict=False):
        assert f"the formula gives {row['formula']:.3g}" in text
        assert f"probability {row['truth']:.3g} (" in text
    assert all("in fact between 1 and 1,000." in text for text in message[2:])
    rare = [row | {"truth": 0.49} for row in rows[:1]]
    assert laplace_sentences(rare, 1.0, 4)[-1].endswith("in fact at no ε measured.")
    assert laplace_sentences(rows[1:2], 1e3, 4)[-1].endswith("in fact already at ε = 1,000.")
    assert "exact" in laplace_sentences(rows, 1.0, 1)[0]

    low = 1.01 * gumbel.admissible.low
    rows = appendix_rows(gumbel, chosen, [low, 1e200])
    _, *message, floor = gumbel_sentences(rows, low, len(small))
    for row, text in zip((rows[0], rows[2]), message, strict=True):
        assert ("it contradicts the formula" in text) == (row["truth"] < row["formula"])
        assert f"in fact {row['truth']:.3g}" in text
    assert f"{certain_share(60):.1%} for 60 words" in floor
    top = [row for row in rows if row["epsilon"] == 1e200]
    assert "is not undercut here" in gumbel_sentences(top, 1e200, 60)[-1]


def test_the_words_to_begin_with_are_a_dense_and_a_sparse_one() -> None:
    lexicon = lexicons.line(0.0, 1.0, 1.1, 5.0, 9.0, 20.0)  # made-up words: none is alphabetic
    assert everyday_extremes(lexicon) == ("w1", "w5")
    names = ("cat", "river", "forest", "monday", "tree", "garage")
    alphabetic = Lexicon("test", names, lexicon.vectors)
    assert everyday_extremes(alphabetic) == ("monday", "garage")
    other = Lexicon("test", (*names[:3], "friday", *names[4:]), lexicon.vectors)
    assert everyday_extremes(other) == ("river", "garage")
