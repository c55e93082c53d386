"""The three ways of measuring agree with each other, and with laws known by hand."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpcore.errors import EpsilonError, ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.limits import MAX_RUNS
from dpcore.measure import directions, figures
from dpcore.measure.counting import expected_distinct
from dpcore.measure.deniability import Method, choose_method, measure, methods_of
from dpcore.measure.directions import output_mass
from dpcore.measure.words import sample, select_words
from dpcore.mechanisms.additive.additive import RadialMechanism
from dpcore.mechanisms.law import Effort
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import MECHANISMS, create
from dpcore.noise.samplers import radii
from dpcore.noise.streams import generator
from tests.chance import FALSE_ALARM, deviation
from tests.mechanisms import lexicons
from tests.mechanisms.contract import make

RADIAL = [key for key, kind in MECHANISMS.items() if issubclass(kind, RadialMechanism)]
EXACT = [key for key, kind in MECHANISMS.items() if kind.exact_law]
RUNS = 1000
POINTS = np.array([-3.0, -2.5, -1.0, 0.0, 0.2, 1.7, 4.0])


def epsilons_of(mechanism: Mechanism, count: int = 4) -> NDArray[np.float64]:
    allowed = mechanism.admissible
    return np.geomspace(max(1.1 * allowed.low, 0.5), min(300.0, 0.9 * allowed.high), count)


def line_law(word: int, epsilons: Iterable[float]) -> NDArray[np.float64]:
    """Madlib on a line: a Laplace variable of scale 1/ε falls between two midpoints."""
    edges = np.concatenate(([-np.inf], (POINTS[1:] + POINTS[:-1]) / 2, [np.inf]))
    return np.stack(
        [np.diff(stats.laplace.cdf(edges, loc=POINTS[word], scale=1 / e)) for e in epsilons]
    )


def assert_share(share: float, law: float, runs: int, tests: int) -> None:
    """A share of `runs` independent runs fits a probability; one of `tests` such checks."""
    count = round(share * runs)
    assert stats.binomtest(count, runs, min(max(law, 0.0), 1.0)).pvalue >= FALSE_ALARM / tests


def assert_sw(estimate: float, law: NDArray[np.float64], runs: int, tests: int) -> None:
    """Sw fits a law. Its indicators are negatively associated, so Bernstein's bound holds."""
    missed = np.exp(runs * np.log1p(-np.minimum(law, 1 - 1e-16)))
    variance = (missed * (1 - missed)).sum()
    log = math.log(2 * tests / FALSE_ALARM)
    slack = math.sqrt(2 * variance * log) + log / 3 + 1e-9
    assert abs(estimate - expected_distinct(law, runs)) <= slack


def test_all_estimates_fit_the_law_on_a_line() -> None:
    lexicon = lexicons.line(*POINTS)
    madlib = create("madlib", lexicon)
    chosen = select_words(lexicon, lexicon.words)
    epsilons = np.array([0.1, 0.5, 1.0, 3.0, 10.0])
    tests = 4 * len(POINTS) * epsilons.size
    protocol = measure(madlib, chosen, epsilons, method="protocol", runs=RUNS).figures
    along = measure(madlib, chosen, epsilons, method="rao-blackwell", runs=RUNS).figures
    for word in range(len(POINTS)):
        law = line_law(word, epsilons)
        for e in range(epsilons.size):
            assert_share(protocol.nw[word, e], law[e, word], RUNS, tests)
            assert_sw(protocol.sw[word, e], law[e], RUNS, tests)
            assert_sw(along.sw[word, e], law[e], RUNS, tests)
            # In one dimension there are two directions, and the mass of each is known: the
            # share of the directions that point right is all that is left to chance.
            slack = deviation(RUNS, along.nw_error[word, e] ** 2 * RUNS, FALSE_ALARM / tests)
            assert abs(along.nw[word, e] - law[e, word]) <= slack
        # One run changes the share of agreeing pairs by at most 2/R: McDiarmid's bound.
        bound = math.sqrt(2 * math.log(2 * tests / FALSE_ALARM) / RUNS)
        for estimate in (protocol, along):
            agreement = 1 / estimate.effective[word]
            assert (abs(agreement - np.square(law).sum(axis=1)) <= bound).all()


@pytest.mark.slow
@pytest.mark.parametrize("key", EXACT)
def test_exact_and_protocol_agree(key: str, small: Lexicon) -> None:
    mechanism = make(key, small)
    chosen = select_words(small, small.words[:6])
    epsilons = epsilons_of(mechanism)
    exact = measure(mechanism, chosen, epsilons, runs=RUNS)
    assert exact.method is Method.EXACT
    assert not exact.figures.nw_error.any()
    protocol = measure(mechanism, chosen, epsilons, method="protocol", runs=RUNS)
    tests = 2 * len(chosen) * epsilons.size
    for i, word in enumerate(chosen.words.tolist()):
        law = mechanism.law(word, epsilons)
        for e in range(epsilons.size):
            assert exact.figures.nw[i, e] == law.stay()[e]
            assert_share(protocol.figures.nw[i, e], exact.figures.nw[i, e], RUNS, tests)
            assert_sw(protocol.figures.sw[i, e], law.probabilities[e], RUNS, tests)


@pytest.mark.parametrize("key", ["tem", "truncated-gumbel"])
def test_exact_figures_are_sums_over_the_law(key: str) -> None:
    vectors = generator(0, "sums").standard_normal((900, 6)).astype(np.float32)
    lexicon = Lexicon("sums", tuple(f"w{i}" for i in range(900)), vectors)
    mechanism = create(key, lexicon)
    chosen = select_words(lexicon, [f"w{i}" for i in (0, 101, 899)])
    epsilons = epsilons_of(mechanism)
    figures = measure(mechanism, chosen, epsilons, runs=RUNS).figures
    for i, word in enumerate(chosen.words.tolist()):
        law = mechanism.law(word, epsilons)
        np.testing.assert_array_equal(figures.nw[i], law.stay())
        plain = (1 - (1 - law.probabilities) ** RUNS).sum(axis=1)
        np.testing.assert_allclose(figures.sw[i], plain, rtol=0, atol=RUNS * law.error + 1e-9)
        agree = np.square(law.probabilities).sum(axis=1)
        np.testing.assert_allclose(1 / figures.effective[i], agree, rtol=0, atol=1e-9)
        assert (figures.numerical_error, figures.detail) == (law.error, law.method)


@pytest.mark.parametrize("key", RADIAL)
def test_directions_and_protocol_agree(key: str, small: Lexicon) -> None:
    mechanism = make(key, small)
    chosen = select_words(small, small.words[:4])
    epsilons = epsilons_of(mechanism)
    along = measure(mechanism, chosen, epsilons, runs=RUNS)
    assert along.method is Method.RAO_BLACKWELL
    protocol = measure(mechanism, chosen, epsilons, method="protocol", runs=RUNS)
    a, b = along.figures, protocol.figures
    alarms = FALSE_ALARM / (4 * a.nw.size)
    slack = deviation(RUNS, a.nw_error**2 * RUNS, alarms) + deviation(
        RUNS, b.nw_error**2 * RUNS, alarms
    )
    assert (abs(a.nw - b.nw) <= slack).all()
    # One run changes Sw by at most one: McDiarmid's bound for each of the two.
    assert (abs(a.sw - b.sw) <= 2 * math.sqrt(RUNS * math.log(2 / alarms) / 2)).all()
    assert (a.nw_error <= np.sqrt(a.nw * (1 - a.nw) / (RUNS - 1)) + 1e-12).all()


def test_directions_are_those_of_a_search_at_each_epsilon(small: Lexicon) -> None:
    madlib: Any = create("madlib", small)
    bundle = madlib.bundle(generator(3, "x"), 300)
    radius = radii(generator(3, "r"), madlib.family, 300, madlib.dimension)
    scales = np.array([0.01, 0.2, 1.0, 5.0, 400.0])
    steps = madlib.steps(generator(0), bundle.from_word(madlib.rankings(np.array([7]))[0]),
                         bundle.unit)  # fmt: skip
    outputs = directions.outputs_at(steps, radius, scales)
    vectors = small.vectors.astype(np.float64)
    for e, scale in enumerate(scales):
        noisy = vectors[7] + scale * radius[:, None] * bundle.unit
        distance = np.linalg.norm(noisy[:, None] - vectors, axis=2)
        assert (outputs[:, e] == distance.argmin(axis=1)).all()
    mass = output_mass(madlib, steps, 7, scales)
    assert mass.mean(axis=0) == pytest.approx(
        madlib.law(7, 1 / scales, rng=generator(0), bundle=bundle).stay(), abs=1e-12
    )


def test_the_plug_in_for_sw_is_biased_and_not_used(middle: Lexicon) -> None:
    madlib = create("madlib", middle)
    effort = Effort(directions=60)
    law = madlib.law(0, [0.01], rng=generator(1), effort=effort)
    plug_in = expected_distinct(law.probabilities[0], 5000)
    counted = measure(madlib, select_words(middle, ["w0"]), [0.01], runs=5000).figures.sw[0, 0]
    assert plug_in <= law.outputs.size < 0.6 * counted


def test_a_figure_does_not_depend_on_what_is_measured_beside_it(
    middle: Lexicon, monkeypatch: pytest.MonkeyPatch
) -> None:
    vickrey = create("vickrey", middle)
    both = select_words(middle, ["w3", "w9"])
    epsilons = [3.0, 1.0, 9.0]
    for method in ("rao-blackwell", "protocol"):
        together = measure(vickrey, both, epsilons, runs=100, method=method).figures
        alone = measure(
            vickrey, select_words(middle, ["w9"]), [1.0], runs=100, method=method
        ).figures
        for name in ("nw", "sw", "effective", "nw_error"):
            assert getattr(together, name)[1, 1] == pytest.approx(getattr(alone, name)[0, 0])
    kept = measure(vickrey, both, epsilons, runs=100).figures
    monkeypatch.setattr(directions, "_BUNDLE_ENTRIES", 0)
    monkeypatch.setattr(directions, "_COMPARISONS", 1)
    monkeypatch.setattr(figures, "_RANKED", 1)
    without = measure(vickrey, both, epsilons, runs=100).figures
    assert (kept.sw == without.sw).all()
    assert kept.nw == pytest.approx(without.nw, abs=1e-12)


def test_repetitions_shrink_the_errors(small: Lexicon) -> None:
    madlib = create("madlib", small)
    chosen = sample(small, 5, generator(0))
    once = measure(madlib, chosen, [2.0], runs=400).figures
    often = measure(madlib, chosen, [2.0], runs=400, repetitions=16).figures
    assert often.nw_error / once.nw_error == pytest.approx(np.full((5, 1), 1 / 4), rel=0.25)
    assert (often.sw_error < 0.5 * once.sw_error).all()
    assert (often.sw % 1 != 0).any()


@pytest.mark.slow
def test_the_error_of_a_mean_counts_shared_noise(small: Lexicon) -> None:
    madlib = create("madlib", small)
    single = measure(madlib, select_words(small, ["w5"]), [2.0], runs=400).figures
    assert single.nw_mean_error == pytest.approx(single.nw_error[0])
    assert single.sw_mean_error == pytest.approx(single.sw_error[0])
    chosen = sample(small, 30, generator(0))
    means, stated = [], []
    for seed in range(60):
        figures = measure(madlib, chosen, [2.0], runs=100, seed=seed).figures
        means.append(chosen.weights @ figures.nw[:, 0] / chosen.weights.sum())
        stated.append(figures.nw_mean_error[0])
    # 60 means: their variance over the stated one is about chi-square with 59 degrees of freedom.
    ratio = 59 * np.var(means, ddof=1) / np.mean(np.square(stated))
    low, high = (float(stats.chi2.ppf(p, 59)) for p in (FALSE_ALARM / 2, 1 - FALSE_ALARM / 2))
    assert low < ratio < high


def test_only_the_methods_of_a_mechanism_are_accepted(small: Lexicon) -> None:
    for key in MECHANISMS:
        mechanism = make(key, small)
        allowed = methods_of(mechanism)
        assert choose_method(mechanism, "auto") is allowed[0]
        for method in set(Method) - {Method.AUTO}:
            if method in allowed:
                assert choose_method(mechanism, method) is method
            else:
                with pytest.raises(ParameterError, match=f"has no method '{method}'"):
                    choose_method(mechanism, method)
    with pytest.raises(ParameterError, match="method must be one of"):
        choose_method(mechanism, "guess")


def test_wrong_arguments_are_refused(small: Lexicon) -> None:
    tem, chosen = create("tem", small), select_words(small, ["w1"])
    wrong: list[Any] = [0, 1, -3, MAX_RUNS + 1, 10.5]
    for runs in wrong:
        with pytest.raises(ParameterError, match="runs must be"):
            measure(tem, chosen, [1.0], runs=runs)
    with pytest.raises(ParameterError, match="at least one"):
        measure(tem, chosen, [])
    with pytest.raises(EpsilonError):
        measure(tem, chosen, [1.0, math.nan])
    with pytest.raises(ParameterError, match="repetitions"):
        measure(tem, chosen, [1.0], repetitions=0)
    with pytest.raises(ParameterError, match="runs times"):
        measure(create("madlib", small), chosen, np.linspace(1, 2, 300), runs=MAX_RUNS)


@pytest.mark.parametrize(
    ("key", "method"),
    [("tem", "exact"), ("madlib", "rao-blackwell"), ("trlaplace", "protocol")],
)
def test_progress_reaches_its_total(key: str, method: str, small: Lexicon) -> None:
    mechanism, chosen = create(key, small), select_words(small, ["w1", "w2"])
    seen = []
    measure(
        mechanism, chosen, epsilons_of(mechanism, 2), runs=20, method=method,
        progress=lambda *call: seen.append(call),
    )  # fmt: skip
    assert [done for _, done, _ in seen] == list(range(1, len(seen) + 1))
    assert seen[-1][1] == seen[-1][2]
