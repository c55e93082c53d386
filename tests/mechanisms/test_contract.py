"""What every mechanism of the registry keeps to, whatever it does inside.

False-alarm probability of each randomised assertion: 1e-6.
"""

import json
import math
from itertools import pairwise

import numpy as np
import pytest

from dpcore.errors import EpsilonError, ParameterError
from dpcore.guarantee import Status
from dpcore.lexicon.approximate import ApproximateIndex
from dpcore.lexicon.neighbours import ExactIndex
from dpcore.lexicon.ranking import rank
from dpcore.mechanisms.law import Effort
from dpcore.mechanisms.registry import MECHANISMS, create
from tests.chance import (
    FALSE_ALARM,
    assert_law,
    assert_law_near,
    assert_same_law,
    deviation,
)
from tests.mechanisms import lexicons, plain

KEYS = list(MECHANISMS)
SMALL = lexicons.cloud(40, 3)
DIRECTIONS = 3000

every_mechanism = pytest.mark.parametrize("key", KEYS)


def make(key, lexicon=SMALL, **settings):
    if key == "random-projection.v1":
        settings = {"dimensions": min(2, lexicon.dimension)} | settings
    return create(key, lexicon, settings)


def typical(mechanism) -> float:
    """An ε at which the word sometimes stays: searched for, because the units differ."""
    allowed = mechanism.admissible
    top = min(0.999 * allowed.high, 1e6)
    grid = np.geomspace(max(1.05 * allowed.low, 1e-3), top, 40)
    if not grid[0] < top:
        return float(top)
    for epsilon in grid:
        drawn = mechanism.sample(np.random.default_rng(0), np.zeros(400, np.int64), float(epsilon))
        if (drawn == 0).mean() > 0.3:
            return float(epsilon)
    return float(top)


@pytest.fixture(scope="module")
def typicals():
    return {key: typical(make(key)) for key in KEYS}


def dense_law(mechanism, word, epsilon, rng):
    """The law over the vocabulary, and its standard error (0 where it is exact)."""
    law = mechanism.law(word, [epsilon], rng=rng, effort=Effort(directions=DIRECTIONS))
    return law.dense(len(mechanism.lexicon))[0], 0.0 if law.exact else law.error


# -- shapes, seeds, batches -----------------------------------------------------------------------


@every_mechanism
def test_sample_gives_one_word_for_each_entry(key, typicals, rng):
    mechanism = make(key)
    for size in (0, 1, 7, 1300):
        words = rng().integers(0, len(SMALL), size)
        out = mechanism.sample(rng(1), words, typicals[key])
        assert out.shape == (size,)
        assert out.dtype == np.int64
        assert np.all((out >= 0) & (out < len(SMALL)))


@every_mechanism
def test_paths_have_the_agreed_form(key, rng):
    mechanism = make(key)
    for words in (np.array([], np.int64), np.array([4]), np.array([4, 9, 4]), np.full(5, 11)):
        paths = mechanism.paths(rng(), words)
        assert len(paths) == words.size
        assert paths.outputs.dtype == np.int64
        assert paths.outputs.shape == (words.size, paths.breaks.shape[1] + 1)
        assert np.array_equal(paths.words, words)
        for i in range(words.size):
            pieces = paths.pieces(i)
            assert pieces[0].from_epsilon == paths.low
            assert pieces[-1].to_epsilon == paths.high
            for a, b in pairwise(pieces):
                assert a.to_epsilon == b.from_epsilon
                assert a.output != b.output
            assert all(0 <= piece.output < len(SMALL) for piece in pieces)


@every_mechanism
def test_a_seed_determines_the_output(key, typicals, rng):
    mechanism = make(key)
    words = np.arange(30)
    first = mechanism.sample(rng(), words, typicals[key])
    assert np.array_equal(first, mechanism.sample(rng(), words, typicals[key]))
    other = mechanism.paths(rng(), words), mechanism.paths(rng(), words)
    assert np.array_equal(other[0].breaks, other[1].breaks)
    assert np.array_equal(other[0].outputs, other[1].outputs)


@every_mechanism
def test_known_rankings_change_nothing(key, rng):
    mechanism = make(key)
    words = np.array([3, 17, 3])
    known = rank(SMALL.vectors, SMALL.vectors[words])
    a = mechanism.paths(rng(), words)
    b = mechanism.paths(rng(), words, rankings=known)
    epsilons = np.geomspace(max(a.low, 1e-3), min(a.high, 1e6), 60)
    assert np.array_equal(a.at(epsilons), b.at(epsilons))


@every_mechanism
def test_equal_words_of_a_batch_get_different_noise(key, typicals, rng):
    """One noise vector for a whole batch would make all 300 outputs equal."""
    mechanism, words = make(key), np.zeros(300, dtype=np.int64)
    law, _ = dense_law(mechanism, 0, typicals[key], rng(1))
    assert law.max() ** 299 < FALSE_ALARM, "this ε cannot tell"
    assert np.unique(mechanism.sample(rng(), words, typicals[key])).size > 1
    at = np.array([typicals[key]])
    paths = mechanism.paths(rng(2), words, epsilons=at)
    assert np.unique(paths.at(at)).size > 1


@every_mechanism
def test_entries_of_a_batch_are_independent(key, typicals, rng):
    """Neighbours agree as often as two independent draws: Σ p², within Bernstein's bound."""
    mechanism, draws = make(key), 20_000
    out = mechanism.sample(rng(), np.zeros(draws, dtype=np.int64), typicals[key])
    share = np.bincount(out) / draws
    expected = np.square(share).sum()
    for lag in (1, 2, 512):
        agree = (out[:-lag:2] == out[lag::2]) if lag % 2 else out[:-lag] == out[lag:]
        # Pairs may share an entry: half of them do not.
        slack = deviation(agree.size // 2, expected * (1 - expected)) + 2 * deviation(draws, 0.25)
        assert abs(agree.mean() - expected) <= slack


@every_mechanism
def test_the_law_of_an_entry_does_not_depend_on_the_batch(key, typicals, rng):
    mechanism = make(key)
    generator, epsilon, word = rng(), typicals[key], 5
    many = mechanism.sample(generator, np.full(6000, word), epsilon)
    mixed = np.resize([word, 0, 39, 21], 4 * 3000)
    among = mechanism.sample(generator, mixed, epsilon)[::4]
    alone = [mechanism.sample(generator, np.array([word]), epsilon)[0] for _ in range(1500)]
    assert_same_law(many, among)
    assert_same_law(many, alone)


# -- laws -----------------------------------------------------------------------------------------


@every_mechanism
@pytest.mark.parametrize("word", [0, 33])
def test_law_agrees_with_samples_and_with_paths(key, word, typicals, rng):
    mechanism, epsilon, draws = make(key), typicals[key], 20_000
    law, error = dense_law(mechanism, word, epsilon, rng())
    sampled = mechanism.sample(rng(1), np.full(draws, word), epsilon)
    grid = np.array([epsilon])
    on_paths = mechanism.paths(rng(2), np.full(draws, word), epsilons=grid).at(grid)[:, 0]
    assert_same_law(sampled, on_paths)
    if error == 0:
        assert_law(sampled, law)
        assert_law(on_paths, law)
    else:
        assert_law_near(sampled, law, error, DIRECTIONS)
        assert_law_near(on_paths, law, error, DIRECTIONS)


@every_mechanism
def test_law_is_a_distribution_at_every_epsilon(key, rng):
    mechanism = make(key)
    allowed = mechanism.admissible
    top = min(0.999 * allowed.high, 1e6)
    epsilons = np.geomspace(max(1.001 * allowed.low, 1e-3), top, 9)
    law = mechanism.law(7, epsilons, rng=rng())
    assert law.exact is type(mechanism).exact_law
    assert law.probabilities.shape == (9, law.outputs.size)
    assert np.all(np.diff(law.outputs) > 0)
    assert np.all(law.probabilities >= 0)
    np.testing.assert_allclose(law.probabilities.sum(axis=1), 1, rtol=1e-9)
    np.testing.assert_allclose(law.stay(), law.dense(len(SMALL))[:, 7], rtol=0, atol=0)
    for e in (0, 8):
        best = law.top(3, e)
        row = law.dense(len(SMALL))[e]
        assert [p for _, p in best] == sorted((p for _, p in best), reverse=True)
        assert best[0][1] == row.max()
        assert all(row[j] == p for j, p in best)


@every_mechanism
def test_an_estimated_law_needs_a_generator(key):
    mechanism = make(key)
    epsilon = [min(2 * mechanism.admissible.low + 0.1, 0.9 * mechanism.admissible.high)]
    if mechanism.exact_law:
        assert mechanism.law(0, epsilon).exact
    else:
        with pytest.raises(ParameterError, match="random generator"):
            mechanism.law(0, epsilon)


# -- limits ---------------------------------------------------------------------------------------


@every_mechanism
def test_without_noise_the_word_stays(key, rng):
    """ε→∞, or the largest admissible ε. TEM keeps 1 − β of it for ever; β is made small here.

    TrLaplace's noise does not vanish at the end of its range: it is left out.
    """
    if key == "trlaplace.v1":
        assert make(key).admissible.high < math.inf
        return
    mechanism = make(key, beta=1e-12) if key == "tem.v1" else make(key)
    words = np.arange(len(SMALL))
    if key == "vickrey.v1":
        mechanism = make(key, t=0.5)
    epsilon = 1e9 if key != "truncated-gumbel.v1" else 1e200
    np.testing.assert_array_equal(mechanism.sample(rng(), words, epsilon), words)
    if mechanism.paths(rng(), words).high == math.inf:
        np.testing.assert_array_equal(mechanism.paths(rng(), words).at([1e12])[:, 0], words)


@every_mechanism
def test_without_privacy_budget_the_word_does_not_matter(key, rng):
    """ε→0: one law for all words; for additive noise that of argmax ⟨u, τ⟩, for TEM uniform."""
    mechanism = make(key)
    if mechanism.admissible.low > 0:
        return  # defined only above a bound, where the word still matters
    draws = 20_000
    a, b = (mechanism.sample(rng(w), np.full(draws, w), 1e-6) for w in (0, 33))
    if key == "trlaplace.v1":
        # Its noise stops growing: the words never become indistinguishable.
        with pytest.raises(AssertionError):
            assert_same_law(a, b)
        return
    assert_same_law(a, b)
    if key == "tem.v1":
        assert_law(a, np.full(len(SMALL), 1 / len(SMALL)))
    elif hasattr(mechanism, "bundle") and key != "vickrey.v1":
        unit = mechanism.directions(rng(3), draws)
        assert_same_law(a, (unit @ mechanism.targets.T.astype(np.float64)).argmax(axis=1))


# -- ε, indices, parameters -----------------------------------------------------------------------


@every_mechanism
@pytest.mark.parametrize("bad", [0, 0.0, -1, math.nan, math.inf, -math.inf, 10**400, "text", None])
def test_epsilon_must_be_a_finite_positive_number(key, bad, rng):
    mechanism = make(key)
    words = np.array([0])
    for call in (
        lambda: mechanism.check_epsilon(bad),
        lambda: mechanism.guarantee(bad),
        lambda: mechanism.sample(rng(), words, bad),
    ):
        with pytest.raises(EpsilonError, match="finite number > 0, got"):
            call()


@every_mechanism
def test_bad_epsilons_of_a_law_are_refused(key, rng):
    for bad in ([0.0], [1.0, math.nan], [math.inf], [-2.0]):
        with pytest.raises(EpsilonError):
            make(key).law(0, bad, rng=rng())


@every_mechanism
def test_the_ends_of_the_range_are_open_and_explained(key):
    mechanism = make(key)
    allowed = mechanism.admissible
    if allowed.low > 0:
        for value in (allowed.low, allowed.low / 2):
            with pytest.raises(EpsilonError) as caught:
                mechanism.check_epsilon(value)
            assert f"{allowed.low:.6g}" in str(caught.value)
            assert allowed.low_reason in str(caught.value)
            assert f"got {value:g}" in str(caught.value)
        assert mechanism.check_epsilon(allowed.low * 1.0001) > allowed.low
    if allowed.high < math.inf:
        for value in (allowed.high, 2 * allowed.high):
            with pytest.raises(EpsilonError) as caught:
                mechanism.check_epsilon(value)
            assert f"{allowed.high:.6g}" in str(caught.value)
            assert allowed.high_reason in str(caught.value)
        assert mechanism.check_epsilon(allowed.high * 0.9999) < allowed.high


@every_mechanism
def test_words_outside_the_vocabulary_are_refused(key, typicals, rng):
    for bad in ([-1], [len(SMALL)], [[0, 1]]):
        with pytest.raises(ParameterError, match="word indices"):
            make(key).sample(rng(), np.array(bad), typicals[key])


@every_mechanism
def test_an_approximate_index_is_refused_unless_it_is_post_processing(key, typicals, rng):
    mechanism, words = make(key), np.zeros(4000, dtype=np.int64)
    approximate = ApproximateIndex(SMALL)
    if not mechanism.accepts_approximate_search:
        with pytest.raises(ParameterError, match="approximate"):
            mechanism.sample(rng(), words, typicals[key], index=approximate)
        return
    own_points = mechanism.targets is not SMALL.vectors
    for index in (approximate, ExactIndex(SMALL.vectors)):
        if own_points:
            with pytest.raises(ParameterError, match="its own points"):
                mechanism.sample(rng(), words, typicals[key], index=index)
        else:
            found = mechanism.sample(rng(), words, typicals[key], index=index)
            assert_same_law(found, mechanism.sample(rng(1), words, typicals[key]))


@every_mechanism
def test_settings_survive_a_round_trip_through_json(key):
    mechanism = make(key)
    copied = create(key, SMALL, json.loads(json.dumps(mechanism.settings())))
    assert copied.settings() == mechanism.settings()
    as_text = {name: str(value) for name, value in mechanism.settings().items()}
    assert create(mechanism.short, SMALL, as_text).settings() == mechanism.settings()


@every_mechanism
def test_an_unknown_parameter_is_named_with_the_known_ones(key):
    with pytest.raises(ParameterError) as caught:
        create(key, SMALL, {"no_such": 1})
    for name in ("no_such", *(MECHANISMS[key].parameters() or ["none"])):
        assert name in str(caught.value)


@every_mechanism
def test_parameters_are_bounded_and_explained(key):
    for name, declared in MECHANISMS[key].parameters().items():
        assert declared["help"]
        bad: list[object] = [math.nan] if declared["low"] is not None else []
        if declared["low"] is not None:
            bad.append(declared["low"] - 1)
        if declared["high"] is not None:
            bad.append(declared["high"] * 2 + 1)
        if declared["choices"] is not None:
            bad.append("no such choice")
        assert bad, f"{name} has neither bounds nor choices"
        for value in bad:
            with pytest.raises(ParameterError, match=name):
                make(key, **{name: value})


# -- guarantees -----------------------------------------------------------------------------------


@every_mechanism
def test_guarantee_is_data(key, typicals):
    mechanism = make(key)
    for epsilon in (typicals[key], str(typicals[key])):
        found = mechanism.guarantee(epsilon).to_dict()
        assert json.loads(json.dumps(found, allow_nan=False)) == found
        assert found["status"] in set(Status)
        assert found["epsilon"] > 0
        assert all(found[part] for part in ("reason", "source", "statement", "kind"))
    assert "3 protected words" in mechanism.guarantee(typicals[key]).for_tokens(3)


LINES = {
    "even": lexicons.line(-2, -1, 0, 1, 2, 3),
    "near and far": lexicons.line(0, 1e-3, 0.5, 4, 4.001, -3),
    "two": lexicons.line(0, 1),
    "random": lexicons.cloud(25, 1),
}
BOTH_WAYS = np.array([[1.0], [-1.0]])


def _exact_laws(mechanism, epsilon):
    """Laws of all words: closed form, or both directions of a line, which are all there are."""
    from dpcore.mechanisms.rays import Bundle

    n = len(mechanism.lexicon)
    if mechanism.exact_law:
        laws = [mechanism.law(w, [epsilon]) for w in range(n)]
    else:
        both = Bundle(BOTH_WAYS, mechanism.targets)
        laws = [
            mechanism.law(w, [epsilon], rng=np.random.default_rng(0), bundle=both) for w in range(n)
        ]
    return np.stack([law.dense(n)[0] for law in laws])


def _distance(mechanism, guarantee, w, v):
    rows = mechanism.lexicon.vectors.astype(np.float64)
    factor = getattr(guarantee, "euclidean_factor", 1.0)
    return factor * float(np.linalg.norm(rows[w] - rows[v]))


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize(
    "key", [k for k in KEYS if k not in {"vickrey.v1", "trlaplace.v1", "trlaplace-corrected.v1"}]
)
def test_a_proved_guarantee_holds_exactly_on_a_line(key, name):
    """All pairs of words and all outputs; Vickrey and TrLaplace have files of their own."""
    settings = {"dimensions": 1} if key == "random-projection.v1" else {}
    mechanism = make(key, LINES[name], **settings)
    proved = 0
    for epsilon in (1e-3, 0.1, 0.7, 2.0, 5.0, 12.0):
        if epsilon not in mechanism.admissible:
            continue
        guarantee = mechanism.guarantee(epsilon)
        if guarantee.status is not Status.PROVED:
            continue
        proved += 1
        laws = _exact_laws(mechanism, epsilon)
        np.testing.assert_allclose(laws.sum(axis=1), 1, rtol=1e-12)
        log_delta = getattr(guarantee, "log_delta", -math.inf)
        for w in range(len(laws)):
            for v in range(len(laws)):
                loss = guarantee.loss(_distance(mechanism, guarantee, w, v))
                if math.isinf(log_delta):
                    # 1e-15 is the rounding of a difference of two distribution functions.
                    excess = laws[w] - math.exp(loss) * (1 + 1e-9) * (laws[v] + 1e-15)
                    assert excess.max() <= 1e-15
                else:
                    exceeded = plain.delta_between(laws[w], laws[v], loss)
                    assert exceeded <= math.exp(log_delta) * (1 + 1e-9)
    assert proved or key == "truncated-gumbel.v1"


@pytest.mark.parametrize(
    "key", ["madlib.v1", "laplace.v1", "l2-laplace.v1", "gaussian.v1", "gaussian-classical.v1"]
)
def test_law_on_a_line_equals_the_distribution_function(key):
    """The Rao–Blackwell law over both directions of a line is the exact law."""
    from scipy.stats import norm

    mechanism = make(
        key, LINES["near and far"], **({"clip_norm": 4.0005} if "madlib" not in key else {})
    )
    targets = mechanism.targets[:, 0].astype(np.float64)
    cdf = norm.cdf if "gaussian" in key else plain.laplace_cdf
    for epsilon in (0.3, 1.0, 8.0):
        laws = _exact_laws(mechanism, epsilon)
        for w, law in enumerate(laws):
            origin = float(mechanism.origins[w, 0])
            expected = plain.line_law(targets, origin, cdf, mechanism.scale(epsilon))
            np.testing.assert_allclose(law, expected, atol=1e-12)
