"""The meter of ε: closed forms, the packing bound, and statements about unknown values."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpcore.attack.bounds.meter import largest_epsilon, meter, write_bundle
from dpcore.attack.leak import leak
from dpcore.attack.output.prior import Prior, typed_prior, uniform
from dpcore.errors import EpsilonError, ParameterError
from dpcore.guarantee import ApproximateLocalPrivacy, MetricPrivacy, Status
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.metric import Metric
from dpcore.mechanisms.exponential.packing import known_weights
from dpcore.mechanisms.registry import MECHANISMS, create
from tests.mechanisms import lexicons

N = 60
LEXICON = lexicons.cloud(N, 8)
SMALL = lexicons.cloud(12, 4, 1)


def zipf() -> Prior:
    values = 1.0 / (1.0 + np.arange(N))
    return Prior("zipf", values / values.sum(), "as Zipf has it")


@pytest.mark.parametrize("epsilon", [0.1, 2.0, 900.0])
@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_local_privacy_has_a_closed_form(epsilon: float, delta: float) -> None:
    (row,) = meter(LEXICON, epsilon, local=True, delta=delta).rows
    others = (N - 1) * math.exp(-epsilon)
    expected = (1.0 + others * delta) / (1.0 + others)
    assert row.low <= expected <= row.high
    assert row.high - row.low < 1e-10


def test_local_privacy_under_a_skewed_prior_is_attained() -> None:
    """k-ary response over the likeliest words, every k tried, any other word taking one of them."""
    prior = zipf()
    for epsilon in (0.2, 1.0, 4.0):
        (row,) = meter(LEXICON, epsilon, prior, local=True).rows
        shares = []
        for k in range(1, N + 1):
            law = np.full((N, k), 1.0 / k)
            law[:k] = 1.0 / (math.exp(epsilon) + k - 1)
            law[np.arange(k), np.arange(k)] *= math.exp(epsilon)
            assert np.log(law.max(axis=0) / law.min(axis=0)).max() <= epsilon + 1e-12
            shares.append((prior.probability[:, None] * law).max(axis=0).sum())
        assert max(shares) == pytest.approx(row.high, rel=1e-9)


def test_metric_privacy_is_an_interval_that_closes() -> None:
    rows = meter(LEXICON, [0.05, 0.3, 1.0, 2.0, 40.0]).rows
    for row in rows:
        assert 1.0 / N <= row.low <= row.high <= 1.0
    assert [row.high for row in rows] == sorted(row.high for row in rows)
    assert rows[3].high - rows[3].low < 1e-4
    assert rows[4].low > 0.999999
    assert {row.attained_by for row in rows[1:]} == {"optimal"}


def test_a_prior_that_knows_more_guesses_more() -> None:
    plain, skewed = (meter(LEXICON, [0.3, 1.0], prior).rows for prior in (None, zipf()))
    for even, uneven in zip(plain, skewed, strict=True):
        assert even.high < uneven.high
        assert zipf().probability.max() * (1 - 1e-9) <= uneven.low <= uneven.high


def test_words_that_are_impossible_do_not_count() -> None:
    pair = typed_prior(LEXICON, {"w3": 0.5, "w7": 0.5})
    first, second = LEXICON.vectors[[3, 7]].astype(np.float64)
    distance = float(np.linalg.norm(first - second))
    (row,) = meter(LEXICON, 0.5, pair).rows
    # Two words at distance d: 1ᵀb with b = (1, 1)/(1 + e^(−ε·d)), times ½.
    assert row.high == pytest.approx(1.0 / (1.0 + math.exp(-0.5 * distance)), rel=1e-9)


def test_what_is_not_known_is_bracketed_or_computed() -> None:
    known = meter(LEXICON, [1.0, 1.2], compute=False).rows
    between = meter(LEXICON, 1.1031, compute=False).rows[0]
    assert known[0].low <= between.low <= between.high <= known[1].high
    computed = meter(LEXICON, 1.1031).rows[0]
    assert between.low <= computed.low <= computed.high < between.high
    assert meter(LEXICON, 1.1031, compute=False).rows[0] == computed  # and it was kept


def test_backwards_it_guarantees_what_was_asked_for() -> None:
    for options in ({"local": True}, {"local": True, "delta": 0.001}, {}):
        reading = largest_epsilon(LEXICON, 0.25, **options)
        assert 0.15 < reading.high <= 0.25
    assert largest_epsilon(LEXICON, 0.5 / N, local=True) is None
    assert largest_epsilon(LEXICON, 0.001, local=True, delta=0.01) is None


@pytest.mark.parametrize("prior", [None, zipf()])
def test_refined_it_is_the_largest_epsilon(prior: Prior | None) -> None:
    for share in (0.3, 0.9):
        coarse = largest_epsilon(LEXICON, share, prior)
        reading = largest_epsilon(LEXICON, share, prior, refine=True)
        assert reading.high <= share
        assert coarse is None or coarse.epsilon <= reading.epsilon
        assert meter(LEXICON, reading.epsilon, prior).rows[0].high == reading.high
        assert meter(LEXICON, 1.003 * reading.epsilon, prior).rows[0].high > share
    # Guesses without any output set a floor: no ε guarantees less.
    assert largest_epsilon(LEXICON, 0.9 / N, prior, refine=True) is None


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_nonsense_is_refused(epsilon: float) -> None:
    with pytest.raises(EpsilonError, match="finite number > 0"):
        meter(LEXICON, epsilon)


def test_nonsense_beside_epsilon_is_refused() -> None:
    with pytest.raises(ParameterError, match="delta"):
        meter(LEXICON, 1.0, delta=0.1)
    with pytest.raises(ParameterError, match="delta"):
        meter(LEXICON, 1.0, local=True, delta=1.0)
    with pytest.raises(ParameterError, match="share"):
        largest_epsilon(LEXICON, 1.0)


@pytest.mark.slow
def test_bounds_for_the_counts_of_words_are_bundled() -> None:
    lexicon = load(None)
    weights = known_weights(lexicon, Metric.EUCLIDEAN)
    assert weights is not None
    rows = meter(lexicon, weights.wanted, "counts", compute=False).rows
    highs = np.array([row.high for row in rows])
    assert np.all(np.diff(highs) >= 0)
    assert highs[0] < 0.02
    assert highs[weights.wanted == 2.0] < 0.99
    assert all(row.low <= row.high for row in rows)
    assert rows[-1].low > 0.999  # `optimal` closes the interval where ε is large
    (between,) = meter(lexicon, 1.02, "counts", compute=False).rows
    assert between.high == highs[weights.wanted == 1.05]
    (unknown,) = meter(lexicon, 1.0, "counts-all", compute=False).rows
    assert unknown.high == 1.0


@pytest.mark.full
def test_the_bundled_bounds_are_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lexicon = load(None)
    (known,) = meter(lexicon, 1.0, "counts", compute=False).rows
    file = tmp_path / "meter.json"
    weights = known_weights(lexicon, Metric.EUCLIDEAN)
    assert weights is not None
    one = replace(weights, wanted=np.array([1.0]))
    monkeypatch.setattr("dpcore.attack.bounds.meter.known_weights", lambda *_: one)
    write_bundle(file, lexicon)
    ((table,),) = (part.values() for part in json.loads(file.read_text("utf-8")).values())
    assert table == [[1.0, pytest.approx(known.high, rel=1e-5)]]


def test_a_large_vocabulary_is_taken_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    (whole,) = meter(LEXICON, 0.7123, uniform(LEXICON)).rows
    monkeypatch.setattr("dpcore.attack.bounds.meter.PACKING_WORDS", 25)
    (parts,) = meter(LEXICON, 0.7124, uniform(LEXICON)).rows
    assert whole.high < parts.high <= 1.0


def skewed() -> Prior:
    """A stranger who knows that some words are much more common; one is impossible."""
    values = 1.0 / (1.0 + np.arange(len(SMALL))) ** 1.5
    values[-1] = 0.0
    return Prior("skewed", values / values.sum(), "as a language has it")


STRANGERS = [uniform(SMALL), skewed()]


@pytest.mark.slow
@pytest.mark.parametrize("prior", STRANGERS, ids=lambda prior: prior.name)
@pytest.mark.parametrize("key", MECHANISMS)
def test_no_mechanism_of_the_registry_lies_above_what_its_guarantee_permits(
    key: str, prior: Prior
) -> None:
    """Bayes success from the laws of all words against the meter of the same prior."""
    mechanism = create(key, SMALL)
    n = len(SMALL)
    for epsilon in (0.5, 2.0, 8.0):
        if epsilon not in mechanism.admissible:
            continue
        promise = mechanism.guarantee(epsilon)
        if promise.status not in (Status.PROVED, Status.CERTIFIED):
            continue
        laws = [mechanism.law(word, [epsilon]) for word in range(n)]
        dense = np.stack([law.dense(n)[0] for law in laws])
        delta = 0.0
        if isinstance(promise, ApproximateLocalPrivacy):
            delta = math.exp(promise.log_delta)
        if isinstance(promise, MetricPrivacy):
            # In Euclidean terms: the guarantee at ε·f, which it implies.
            reading = meter(SMALL, epsilon * promise.euclidean_factor, prior)
        else:
            reading = meter(SMALL, epsilon, prior, local=True, delta=delta)
        high = reading.rows[0].high
        if mechanism.exact_law:
            guessed = (prior.probability[:, None] * dense).max(axis=0).sum()
            assert guessed <= high + n * laws[0].error
        else:  # the largest of noisy numbers is too large: what stays is not
            staying = prior.probability @ np.diag(dense)
            assert staying <= high + 5.0 * max(law.error for law in laws)


@pytest.mark.parametrize("prior", STRANGERS, ids=lambda prior: prior.name)
@pytest.mark.parametrize("key", ["optimal", "k-ary"])
def test_a_mechanism_that_spends_more_than_it_says_is_caught(key: str, prior: Prior) -> None:
    """The canary of the test before: a guarantee of ε, kept at 1.5·ε (at 4·ε, of a skewed prior).

    Who knows much before learns less from an output, and these mechanisms are best where all words
    are equally likely: there less is needed to exceed the bound.
    """
    mechanism, n = create(key, SMALL), len(SMALL)
    more = 1.5 if prior.name == "uniform" else 4.0
    for epsilon in (0.5, 2.0):
        laws = [mechanism.law(word, [more * epsilon]) for word in range(n)]
        dense = np.stack([law.dense(n)[0] for law in laws])
        high = meter(SMALL, epsilon, prior, local=key == "k-ary").rows[0].high
        guessed = (prior.probability[:, None] * dense).max(axis=0).sum()
        assert guessed > high + n * laws[0].error


@pytest.mark.parametrize("key", ["optimal", "k-ary"])
def test_who_knows_more_than_the_prior_exceeds_its_bound(key: str) -> None:
    """The bound is of one prior: who knows more guesses more, and it must not say otherwise."""
    prior, epsilon = skewed(), 0.5
    guessed = leak(create(key, SMALL), epsilon, prior).low
    assert guessed > meter(SMALL, epsilon, local=key == "k-ary").rows[0].high
    assert guessed <= meter(SMALL, epsilon, prior, local=key == "k-ary").rows[0].high
