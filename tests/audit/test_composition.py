"""Guarantees for whole texts against enumeration, closed forms and a third-party accountant."""

import itertools
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, multinomial, norm

from dpcore.arrays import FloatArray, IntArray
from dpcore.audit.composition import (
    TEXT_DELTA,
    Composition,
    Hiding,
    allowed_powers,
    bag_delta,
    composition,
    shuffled,
    worst_delta,
    worst_powers,
)
from dpcore.audit.document import document_losses
from dpcore.errors import ParameterError
from dpcore.guarantee import Status
from dpcore.mechanisms.clipped.clipped import composed_epsilon
from dpcore.mechanisms.mechanism import LossBounds, Mechanism
from dpcore.mechanisms.registry import create
from dpcore.outwards import at_most
from tests.mechanisms import lexicons
from tests.mechanisms.contract import every_mechanism, make, typical

FOUR = lexicons.cloud(4, 2)
TARGETS = (0.0, 0.2, 0.7, 1.5, 3.0)


def exact_delta(mechanism: Mechanism, epsilon: float, words: int, target: float) -> float:
    """The largest δ of all pairs of texts of so many words, over all outputs, one by one."""
    n = len(mechanism.lexicon)
    laws = np.stack([mechanism.law(w, [epsilon]).dense(n)[0] for w in range(n)])
    worst = 0.0
    for pairs in itertools.combinations_with_replacement(
        itertools.permutations(range(n), 2), words
    ):
        p, q = np.ones(1), np.ones(1)
        for w, v in pairs:
            p, q = np.outer(p, laws[w]).ravel(), np.outer(q, laws[v]).ravel()
        worst = max(worst, float(np.maximum(p - math.exp(target) * q, 0.0).sum()))
    return worst


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "epsilon", "settings", "sharp"),
    [
        ("k-ary", 0.7, {}, True),
        ("k-ary", 3.0, {}, True),
        ("neighbour-response", 1.2, {"k": 1}, True),
        ("neighbour-response", 1.2, {"k": 2}, False),
        ("neighbour-response", 1.2, {"k": 3}, False),
        ("tem", 0.4, {}, False),
        ("tem", 2.0, {"beta": 0.3}, False),
        ("tem-calibrated", 0.4, {}, False),
        ("optimal", 0.8, {}, False),
        ("truncated-gumbel-repaired", 30.0, {}, False),
    ],
)
@pytest.mark.parametrize("words", [1, 2, 3])
def test_no_two_texts_are_told_apart_better(
    key: str, epsilon: float, settings: dict[str, Any], sharp: bool, words: int
) -> None:
    mechanism = create(key, FOUR, settings)
    bounds = mechanism.loss_bounds(mechanism.guarantee(epsilon))
    for target in TARGETS:
        exact, bound = (
            exact_delta(mechanism, epsilon, words, target), worst_delta(bounds, words, target)
        )  # fmt: skip
        assert exact <= bound + 1e-15
        if sharp:
            assert bound == pytest.approx(exact, rel=1e-8, abs=1e-12)
    for delta in (1e-1, 1e-3, 1e-6):
        whole = composition(mechanism, epsilon, words, delta)
        assert exact_delta(mechanism, epsilon, words, whole.epsilon) <= delta * (1 + 1e-12)


@pytest.mark.parametrize(("loss", "words"), [(0.1, 1), (0.1, 60), (1.0, 8), (3.0, 3), (9.0, 40)])
def test_randomised_responses_compose_in_closed_form(loss: float, words: int) -> None:
    stays = 1.0 / (1.0 + math.exp(-loss))
    for target in (0.0, 0.31 * loss * words, 0.9 * loss * words):
        exact = math.fsum(
            math.comb(words, i)
            * stays ** (words - i)
            * (1.0 - stays) ** i
            * -math.expm1(min(target - (words - 2 * i) * loss, 0.0))
            for i in range(words + 1)
        )
        bound = worst_delta(LossBounds(loss), words, target)
        assert bound == pytest.approx(exact, rel=1e-8)
        # No chance is above that of randomised response.
        assert worst_delta(LossBounds(loss, chance=1.0), words, target) == bound


# -- Gaussian noise


def gaussian_delta(mean: float, epsilon: float) -> float:
    """δ of N(0, 1) and N(μ, 1) at ε, as Balle and Wang 2018, Theorem 8, has it."""
    first, second = mean / 2 - epsilon / mean, -mean / 2 - epsilon / mean
    return float(norm.cdf(first) - math.exp(epsilon + norm.logcdf(second)))


def check_gaussian(composed: Callable[[float, float, float, int], float]) -> None:
    """By integration of the product of so many noises, and by an accountant."""
    for sigma, count in ((4.0, 2), (4.0, 9), (11.0, 100)):
        epsilon = composed(sigma, math.log(1e-6), 2.0, count)
        # The loss of j noises is a sum of j independent N(μ²/2, μ²).
        mean = 2.0 / sigma
        grid = np.linspace(-40, 40, 400_001) * mean * math.sqrt(count) + count * mean**2 / 2
        density = norm.pdf(grid, count * mean**2 / 2, mean * math.sqrt(count))
        delta = np.trapezoid(density * -np.expm1(np.minimum(epsilon - grid, 0.0)), grid)
        assert delta == pytest.approx(1e-6, rel=1e-4)
        assert gaussian_delta(mean * math.sqrt(count), epsilon) <= 1e-6 * (1 + 1e-6)


def test_gaussian_noises_are_one() -> None:
    check_gaussian(composed_epsilon)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda sigma, log_delta, size, count: composed_epsilon(sigma, log_delta, size * count, 1),
        lambda sigma, log_delta, size, count: composed_epsilon(sigma, log_delta, size, 1),
        lambda sigma, log_delta, size, count: composed_epsilon(sigma, log_delta, size, count - 1),
    ],
    ids=["√ forgotten", "words forgotten", "a word forgotten"],
)
def test_a_wrong_formula_is_caught(wrong: Callable[[float, float, float, int], float]) -> None:
    with pytest.raises(AssertionError):
        check_gaussian(wrong)


@pytest.mark.parametrize(("epsilon", "words"), [(1.0, 30), (5.0, 10), (300.0, 4)])
def test_an_accountant_of_others_agrees(epsilon: float, words: int) -> None:
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    mechanism = create("gaussian", FOUR)
    noise = mechanism.vector_noise(epsilon)
    whole = composition(mechanism, epsilon, words)
    assert noise is not None
    assert whole.method == "gaussian"
    theirs = pld.from_gaussian_mechanism(
        noise.scale, sensitivity=noise.sensitivity, value_discretization_interval=whole.total * 1e-5
    ).self_compose(words)
    assert whole.epsilon == pytest.approx(theirs.get_epsilon_for_delta(TEXT_DELTA), rel=2e-3)
    assert whole.epsilon < whole.total


def test_any_two_clipped_texts_keep_the_gaussian_bound() -> None:
    mechanism = create("gaussian", FOUR, {"clip_norm": 0.5})
    noise = mechanism.vector_noise(2.0)
    assert noise is not None
    rows = noise.origins.astype(float)
    whole = composition(mechanism, 2.0, 5)
    apart = max(float(np.linalg.norm(a - b)) for a in rows for b in rows)
    assert gaussian_delta(math.sqrt(5) * apart / noise.scale, whole.epsilon) <= TEXT_DELTA


# -- all mechanisms


@pytest.mark.slow
@every_mechanism
def test_it_is_data_and_never_more_than_the_sum(key: str) -> None:
    mechanism = make(key)
    epsilon = typical(mechanism)
    guarantee = mechanism.guarantee(epsilon)
    before: Composition | None = None
    for words in (0, 1, 2, 7, 20, 200):
        whole = composition(mechanism, epsilon, words)
        fields = whole.to_dict()
        assert json.loads(json.dumps(fields, allow_nan=False)) == fields
        assert fields == composition(mechanism, epsilon, words, guarantee=guarantee).to_dict()
        pure = whole.total_delta == "0"
        if guarantee.status is Status.REFUTED:
            assert fields["epsilon"] is None
            assert "refuted, so nothing is composed" in whole.statement
            assert not whole.helps
            continue
        none = composition(mechanism, epsilon, words, 0.0).epsilon
        assert none <= whole.total if pure else none == (math.inf if words else 0.0)
        if pure:
            assert whole.epsilon <= none
        if before is not None:
            assert before.epsilon <= whole.epsilon
        assert composition(mechanism, epsilon, words, 1e-9).epsilon >= whole.epsilon
        before = whole


@pytest.mark.slow
@pytest.mark.parametrize("key", ["tem", "optimal", "k-ary", "neighbour-response"])
def test_two_given_texts_are_no_easier_to_tell_apart(key: str) -> None:
    lexicon = lexicons.cloud(9, 3)
    mechanism, epsilon = create(key, lexicon), 0.3
    bounds = mechanism.loss_bounds(mechanism.guarantee(epsilon))
    for w, v in ((0, 5), (3, 8), (7, 2)):
        given = document_losses(mechanism, epsilon, [w] * 40, [v] * 40, points=200_000)
        for target in (0.5, 2.0, 5.0):
            # Each of the 40 losses was moved up by a step of the grid, or two.
            moved = target + 80 * given.step
            assert given.delta(moved) <= worst_delta(bounds, 40, target) * (1 + 1e-9)


def test_a_response_that_mostly_tells_nothing_composes_far_below_the_sum() -> None:
    mechanism = create("k-ary", lexicons.cloud(700, 25))
    whole = composition(mechanism, 3.0, 20)
    assert whole.epsilon < 0.5 * whole.total == 30.0
    stays = 1.0 / (1.0 + 699 * math.exp(-3.0))
    more = sum(
        math.comb(20, i) * stays**i * (1 - stays) ** (20 - i) for i in range(21) if 3 * i > 8
    )
    assert worst_delta(mechanism.loss_bounds(mechanism.guarantee(3.0)), 20, 8.0) <= more


@pytest.mark.parametrize("key", ["tem", "tem-calibrated", "optimal", "k-ary", "neighbour-response"])
@pytest.mark.parametrize("name", ["two words", "seven", "line"])
def test_losses_stay_within_their_bounds(key: str, name: str) -> None:
    lexicon = {
        "two words": lexicons.line(0, 1),
        "seven": lexicons.cloud(7, 3),
        "line": lexicons.line(-2, -1, 0, 0.5, 3),
    }[name]
    mechanism = create(key, lexicon, {"k": 1} if key == "neighbour-response" else None)
    for epsilon in (0.1, 2.0, 30.0):
        bounds = mechanism.loss_bounds(mechanism.guarantee(epsilon))
        logs = [mechanism.log_law(w, epsilon) for w in range(len(lexicon))]
        losses = [p - q for p, q in itertools.permutations(logs, 2)]
        largest = max(float(loss.max()) for loss in losses)
        span = max(float(loss.max() - loss.min()) for loss in losses)
        assert largest <= bounds.largest * (1 + 1e-6)
        assert span <= bounds.width * (1 + 1e-6)
        if name == "two words":  # there the span is reached, or else truncation ends it
            assert span == pytest.approx(bounds.width, rel=1e-5)


def test_an_exponential_mechanism_has_half_the_span() -> None:
    mechanism = create("tem", FOUR)
    guarantee = mechanism.guarantee(0.01)
    bounds = mechanism.loss_bounds(guarantee)
    rows = FOUR.vectors.astype(float)
    apart = 0.01 * max(float(np.linalg.norm(a - b)) for a in rows for b in rows)
    assert bounds.promised == pytest.approx(apart, rel=1e-6)
    assert bounds.span == pytest.approx(bounds.promised)
    whole = composition(mechanism, 0.01, 400)
    assert whole.method == "zero-concentrated"
    rho = 400 * apart**2 / 8
    assert whole.epsilon == pytest.approx(rho + 2 * math.sqrt(rho * math.log(1e6)), rel=1e-5)
    far = create("tem", FOUR, {"beta": 0.5}).loss_bounds(mechanism.guarantee(100.0))
    assert far.largest == far.span == pytest.approx(2 * math.log(3.0))  # 2c, whatever ε is


def test_the_delta_of_words_counts() -> None:
    mechanism = create("trlaplace-corrected", FOUR)
    nothing = composition(mechanism, 0.1, 200, 1e-3)
    assert nothing.epsilon == math.inf
    assert nothing.to_dict()["epsilon"] is None
    assert "nothing is guaranteed" in nothing.statement
    some = composition(mechanism, 0.1, 200, 1e-2)
    assert some.epsilon < some.total
    assert some.total_delta == "0.002"
    pure = create("laplace", FOUR)
    assert composition(pure, 0.1, 200, 1e-2 - 2e-3).epsilon == pytest.approx(some.epsilon)


def test_very_long_texts_take_no_longer() -> None:
    mechanism = create("laplace", FOUR)
    there, beyond = (composition(mechanism, 0.01, words) for words in (10_000, 10_001))
    assert (there.method, beyond.method) == ("randomised response", "zero-concentrated")
    assert there.epsilon < beyond.epsilon < 1.2 * there.epsilon
    assert composition(mechanism, 1e-5, 10_000_000).epsilon < 1.0


@pytest.mark.parametrize("epsilon", [1e-200, 1e-20, 1e20, 1e200])
def test_extreme_numbers_stay_numbers(epsilon: float) -> None:
    for key in ("tem", "k-ary", "neighbour-response"):
        whole = composition(create(key, FOUR), epsilon, 12)
        assert 0 <= whole.epsilon <= whole.total < math.inf


def test_statements() -> None:
    short = composition(create("k-ary", FOUR), 8.0, 2)
    assert short.statement == (
        "Together, for δ = 1e-06, the whole text is protected within ε = 16 (the plain sum is the "
        "same)."
    )
    assert not short.helps
    # Rounded up in the fourth digit it would be more than the sum: nothing is won.
    assert not composition(create("k-ary", FOUR), 8.9444, 25, 1e-9).helps
    # Three times 1.1 is 3.3000000000000003 in float64, and no reason to say 3.301.
    assert "within ε = 3.3 (" in composition(create("k-ary", FOUR), 1.1, 3).statement
    long = composition(create("laplace", FOUR), 0.125, 200)
    said = at_most(long.epsilon)
    assert long.helps
    assert long.epsilon <= float(said) <= long.epsilon * 1.001
    assert f"within ε = {said} (the plain sum is 25)." in long.statement
    metric = composition(create("tem", FOUR), 0.01, 400)
    assert "(the plain sum for the farthest words is " in metric.statement
    noise = composition(create("gaussian", FOUR), 1.0, 20)
    assert noise.statement.endswith("(the plain sum is 20, for δ = 0.0002).")
    paper = create("random-projection", FOUR, {"form": "paper", "dimensions": 2})
    assert composition(paper, 0.01, 9).statement.startswith("Under the condition that the reason")


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -1.0, 0.0])
def test_nonsense_is_refused(wrong: float) -> None:
    with pytest.raises(ParameterError, match="guaranteed loss"):
        LossBounds(wrong)
    if wrong != math.inf:
        with pytest.raises(ParameterError, match="span"):
            LossBounds(1.0, wrong)
    with pytest.raises(ParameterError, match="chance"):
        LossBounds(1.0, chance=wrong)
    if wrong != 0:
        with pytest.raises(ParameterError, match="epsilon >= 0"):
            worst_delta(LossBounds(1.0), 3, wrong)
        with pytest.raises(ParameterError, match="delta in"):
            composition(create("k-ary", FOUR), 1.0, 3, wrong)
    with pytest.raises(ParameterError, match="words >= 1"):
        worst_delta(LossBounds(1.0), 0, 1.0)
    with pytest.raises(ParameterError, match="words >= 0"):
        composition(create("k-ary", FOUR), 1.0, -1)


@pytest.mark.parametrize(
    ("key", "epsilon", "settings", "sharp"),
    [
        ("k-ary", 0.7, {}, True),
        ("neighbour-response", 1.2, {"k": 2}, False),
        ("tem", 0.4, {}, False),
        ("optimal", 0.8, {}, False),
    ],
)
@pytest.mark.parametrize("words", [1, 3])
def test_no_test_of_two_texts_has_more_power(
    key: str, epsilon: float, settings: dict[str, Any], sharp: bool, words: int
) -> None:
    mechanism = create(key, FOUR, settings)
    rates = np.linspace(0.0, 1.0, 41)
    bound = worst_powers(mechanism, epsilon, words, rates)
    found = np.max(
        [
            document_losses(mechanism, epsilon, [w] * words, [v] * words).best_tests().power(rates)
            for w, v in itertools.permutations(range(4), 2)
        ],
        axis=0,
    )
    assert np.all(bound >= found - 2e-3)
    if sharp:
        np.testing.assert_allclose(bound, found, atol=5e-3)


def test_the_power_of_gaussian_noise_is_that_of_one() -> None:
    mechanism = make("gaussian")
    noise = mechanism.vector_noise(2.0)
    assert noise is not None
    rates = np.array([0.0, 0.01, 0.5, 1.0])
    mu = 2.0 * noise.sensitivity / noise.scale
    np.testing.assert_allclose(
        worst_powers(mechanism, 2.0, 4, rates), norm.cdf(norm.ppf(rates) + mu), rtol=2e-9
    )


def test_a_refuted_claim_bounds_no_test() -> None:
    mechanism = make("trlaplace")
    assert np.all(worst_powers(mechanism, 0.5, 1, [0.0, 0.5]) == 1.0)


@pytest.mark.parametrize(("words", "rates"), [(0, [0.5]), (1, [1.5]), (1, [-0.1]), (1, [math.nan])])
def test_powers_need_words_and_rates(words: int, rates: list[float]) -> None:
    with pytest.raises(ParameterError, match="false-positive"):
        worst_powers(make("k-ary"), 1.0, words, rates)


def test_powers_that_a_guaranteed_loss_allows_hold_for_every_two_words() -> None:
    rates = np.concatenate(([0.0], np.geomspace(1e-6, 1.0, 40)))
    for short in ("tem", "k-ary", "santext", "neighbour-response"):
        mechanism = make(short)
        promise = mechanism.guarantee(2.0)
        for pair in ((0, 1), (2, 5)):
            apart = mechanism.promised_distances(np.array(pair), 2.0)
            loss = promise.loss(1.0 if apart is None else float(apart[0, 1]))
            first, second = (mechanism.law(word, 2.0).probabilities[0] for word in pair)
            order = np.argsort(-(np.log(first) - np.log(second)))
            # The best tests of the law itself, without a grid: outputs by their likelihood ratio.
            alpha = np.concatenate(([0.0], np.cumsum(second[order])))
            power = np.concatenate(([0.0], np.cumsum(first[order])))
            allowed = allowed_powers(promise, loss, rates)
            assert (allowed >= np.interp(rates, alpha, power) - 1e-9).all()
            assert (np.diff(allowed) >= 0).all()
            assert allowed[-1] == 1.0
    # Randomised response over two words meets the bound.
    two = np.array([math.e, 1.0]) / (math.e + 1.0)
    bound = allowed_powers(make("k-ary").guarantee(1.0), 1.0, [0.0, two[1], 1.0])
    np.testing.assert_allclose(bound, [0.0, two[0], 1.0], rtol=2e-9)
    for short, epsilon in (("truncated-gumbel", 50.0), ("custext", 1.0)):
        promise = make(short).guarantee(epsilon)  # refuted, or true under a condition alone
        assert promise.status in (Status.REFUTED, Status.CONDITIONAL)
        assert (allowed_powers(promise, 1.0, rates) == 1.0).all()
    assert (allowed_powers(make("tem").guarantee(1.0), math.inf, rates) == 1.0).all()


# Shuffled bags.


def bag_law(laws: np.ndarray, words: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """The law of a shuffled bag: how often each word came out of independent channels."""
    n = len(laws)
    law = {(0,) * n: 1.0}
    for word in words:
        after: dict[tuple[int, ...], float] = {}
        for counts, chance in law.items():
            for output in range(n):
                more = tuple(count + (y == output) for y, count in enumerate(counts))
                after[more] = after.get(more, 0.0) + chance * laws[word, output]
        law = after
    return law


def true_bag_delta(laws: np.ndarray, own: int, bag: int, target: float) -> float:
    """The largest δ at ε of so many own words, over all own words and those of the others."""
    worst = 0.0
    words = range(len(laws))
    for others in itertools.combinations_with_replacement(words, bag - own):
        for mine in itertools.combinations_with_replacement(words, own):
            for yours in itertools.combinations_with_replacement(words, own):
                if set(mine) & set(yours):
                    continue
                first, second = (bag_law(laws, (*each, *others)) for each in (mine, yours))
                worst = max(
                    worst,
                    sum(max(p - math.exp(target) * second[c], 0.0) for c, p in first.items()),
                )
    return worst


@pytest.mark.parametrize(("size", "bag"), [(2, 2), (2, 6), (3, 1), (3, 4), (4, 3)])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_no_word_of_a_bag_is_seen_more_clearly_than_the_bound_says(
    size: int, bag: int, epsilon: float
) -> None:
    other = 1.0 / (math.exp(epsilon) + size - 1)
    laws = np.full((size, size), other) + (math.exp(epsilon) - 1.0) * other * np.eye(size)
    either = other * (1.0 + math.exp(epsilon))
    blanket = Hiding(either, laws[0, 0] / either, size * other, 2.0 / size)
    fall = math.exp(-epsilon)
    clones = Hiding(1.0, 1.0 / (1.0 + fall), fall, 1.0)
    for target in (0.0, 0.1, 0.4, 1.3):
        truth = true_bag_delta(laws, 1, bag, target)
        near, far = (bag_delta(target, bag - 1, each) for each in (blanket, clones))
        assert truth <= min(near, far)
        if bag == 1:  # nothing hides the word: the bound of the response is the truth
            assert near == pytest.approx(truth, rel=1e-6)


def test_the_bound_of_a_bag_holds_for_several_words_and_falls_with_the_bag() -> None:
    mechanism, delta = create("k-ary", lexicons.cloud(3, 2)), 0.02
    laws = np.stack([mechanism.law(w, [1.0]).dense(3)[0] for w in range(3)])
    for own in (1, 2):
        bound = shuffled(mechanism, 1.0, 4, own, delta)
        assert true_bag_delta(laws, own, 4, bound.epsilon) <= delta
        assert bound.epsilon <= bound.alone
    bounds = [shuffled(mechanism, 1.0, n, 2, 1e-6).epsilon for n in (2, 100, 3_000)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < 0.1 * bounds[0]


@pytest.mark.parametrize("hiding", [Hiding(0.4, 0.8, 0.3, 0.1), Hiding(1.0, 0.7, 0.3, 1.0)])
@pytest.mark.parametrize("others", [37, 300])
def test_grouped_numbers_bound_what_each_gives(others: int, hiding: Hiding) -> None:
    bound, total = bag_delta(0.05, others, hiding), 0.0
    for count in range(others + 1):
        chance = binom.pmf(count, others, hiding.chance)
        if chance > 1e-17:
            total += chance * told_by_hand(count, hiding, 0.05)
    assert total <= bound <= 1.2 * total + 1e-12


def told_by_hand(count: int, hiding: Hiding, target: float) -> float:
    """δ of the own word among C others, by sums over all T and a."""
    total, share, fair = 0.0, hiding.share, 0.5
    for number in range(count + 2):
        a = np.arange(number + 1)
        own = hiding.seen * binom.pmf(number - 1, count, hiding.coin)
        up, down = (binom.pmf(a - x, max(number - 1, 0), fair) for x in (1, 0))
        unseen = (1.0 - hiding.seen) * binom.pmf(number, count, hiding.coin)
        rest = unseen * binom.pmf(a, number, fair)
        p = own * (share * up + (1.0 - share) * down) + rest
        q = own * ((1.0 - share) * up + share * down) + rest
        total += float(np.maximum(p - math.exp(target) * q, 0.0).sum())
    return total


def test_what_a_bag_hides_in_truth_is_near_its_bound() -> None:
    """By all counts of the two words, if no one else has either: a lower bound of the truth."""
    size, bag, epsilon = 2_000, 3_000, 6.0
    other = 1.0 / (math.exp(epsilon) + size - 1)
    stay, rest = math.exp(epsilon) * other, 1.0 - (math.exp(epsilon) + 1.0) * other
    mechanism = create("k-ary", lexicons.cloud(size, 3))
    bound = shuffled(mechanism, epsilon, bag, 1, 1e-6).epsilon
    a, b = np.meshgrid(np.arange(60), np.arange(60), indexing="ij")

    def counts(first: IntArray, second: IntArray) -> FloatArray:
        return np.asarray(
            multinomial.pmf(
                np.stack((first, second, bag - 1 - first - second), axis=-1),
                bag - 1,
                [other, other, 1.0 - 2.0 * other],
            )
        )

    one, two, none = counts(a - 1, b), counts(a, b - 1), counts(a, b)
    p = stay * one + other * two + rest * none
    q = other * one + stay * two + rest * none
    assert np.maximum(p - math.exp(bound) * q, 0.0).sum() <= 1e-6
    assert np.maximum(p - math.exp(0.8 * bound) * q, 0.0).sum() > 1e-6


def test_order_or_an_author_undoes_the_bag() -> None:
    """With its place a word is protected by its own noise alone: the bound would be wrong."""
    mechanism = create("k-ary", FOUR)
    law = np.stack([mechanism.law(w, [3.0]).dense(4)[0] for w in range(4)])
    in_a_bag = shuffled(mechanism, 3.0, 10_000, 1, TEXT_DELTA).epsilon
    in_its_place = float(np.maximum(law[0] - math.exp(in_a_bag) * law[1], 0.0).sum())
    assert in_a_bag < 0.3
    assert in_its_place > 0.5


def test_what_no_bag_helps() -> None:
    far = create("tem", lexicons.cloud(40, 3))
    bag = shuffled(far, 40.0, 100)
    assert (bag.epsilon, bag.source) == (bag.alone, "")
    assert "No bound is known" in bag.statement
    approximate = shuffled(create("gaussian", FOUR), 1.0, 10_000)
    assert (approximate.epsilon, approximate.source) == (approximate.alone, "")
    for wrong in ({"bag": 0}, {"bag": 3, "words": 4}, {"bag": 3, "delta": 0.0}):
        with pytest.raises(ParameterError):
            shuffled(far, 1.0, **wrong)
