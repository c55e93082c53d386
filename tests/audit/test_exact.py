"""The exact audit against a plain loop, and on canaries: caught or passed for the right reason."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from dpcore import limits
from dpcore.audit import exact
from dpcore.audit.exact import audit_laws, hockey_stick
from dpcore.errors import ComputationError, ParameterError
from dpcore.mechanisms.exponential.tem import tem_gamma
from dpcore.mechanisms.gumbel import repaired
from dpcore.mechanisms.gumbel.published import TruncatedGumbel
from dpcore.mechanisms.registry import create
from tests.audit import canaries
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons


def plain(
    logs: NDArray[np.float64], distance: NDArray[np.float64], epsilon: float
) -> tuple[float, float]:
    """ε_eff and δ by the definition, one output at a time."""
    best, delta = 0.0, 0.0
    for w in range(len(logs)):
        for v in range(len(logs)):
            if v == w:
                continue
            for p, q in zip(logs[w], logs[v], strict=True):
                if math.isinf(p) and math.isinf(q):
                    continue
                best = max(best, abs(p - q) / distance[w, v])
            bound = math.exp(epsilon * distance[w, v])
            delta = max(
                delta,
                sum(
                    max(math.exp(p) - bound * math.exp(q), 0.0)
                    for p, q in zip(logs[w], logs[v], strict=True)
                ),
            )
    return best, delta


def vocabularies() -> dict[str, NDArray[np.float64]]:
    rng = np.random.default_rng(3)
    return {
        "random": rng.standard_normal((40, 3)),
        "line": np.arange(12.0)[:, None],
        "one-hot": np.eye(30),
        "one apart": np.concatenate((rng.standard_normal((50, 2)) / 10, [[3.0, 0.0]])),
        "two clusters": np.concatenate(
            (rng.standard_normal((60, 2)) / 50, [[4.0, 0.0], [4.05, 0.0]])
        ),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", vocabularies())
@pytest.mark.parametrize("sparse", [False, True])
def test_equal_to_the_definition(
    name: str, sparse: bool, rng: MakeRng, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact, "_BLOCK_ENTRIES", 100)
    points = vocabularies()[name]
    distance = cdist(points, points)
    weights = rng().exponential(size=distance.shape)
    if sparse:
        weights[:, rng(1).random(len(points)) < 0.3] = 0.0
    with np.errstate(divide="ignore"):
        logs = np.log(weights / weights.sum(axis=1, keepdims=True))
    audit = audit_laws(logs, distance, 0.7)
    best, delta = plain(logs, distance, 0.7)
    assert audit.epsilon_effective == pytest.approx(best, rel=1e-12)
    assert audit.delta == pytest.approx(delta, rel=1e-9)
    worst = audit.worst
    assert worst.loss / worst.distance == pytest.approx(best, rel=1e-12)
    assert worst.log_probability == pytest.approx(logs[worst.word, worst.output], rel=1e-15)
    assert audit.delta_pair is not None
    w, v = audit.delta_pair
    assert hockey_stick(logs[w], logs[v], 0.7 * distance[w, v]) == pytest.approx(delta, rel=1e-9)


def test_identity_has_infinite_loss_and_delta_one() -> None:
    audit = audit_laws(canaries.identity(5), None, 3.0)
    assert audit.epsilon_effective == math.inf
    assert audit.delta == pytest.approx(1.0)
    assert audit.worst.other_log_probability == -math.inf
    assert audit.worst.word == audit.worst.output
    assert not audit.holds


def test_constant_has_no_loss() -> None:
    audit = audit_laws(canaries.constant(5), None, 0.1)
    assert (audit.epsilon_effective, audit.delta, audit.worst) == (0.0, 0.0, None)
    assert audit.holds


def test_randomised_response_is_exactly_ln_3() -> None:
    logs = canaries.randomised_response(2, math.log(3.0))
    assert audit_laws(logs, None, math.log(3.0)).epsilon_effective == pytest.approx(math.log(3.0))
    assert audit_laws(logs, None, math.log(3.0)).holds
    audit = audit_laws(logs, None, 1.0)
    assert not audit.holds
    assert audit.delta == pytest.approx(0.75 - math.e * 0.25, rel=1e-12)


def test_words_at_distance_0_have_one_law_or_an_infinite_loss() -> None:
    logs = np.log([[0.5, 0.5], [0.5, 0.5], [0.75, 0.25]])
    distance = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    assert audit_laws(logs, distance, 1.0).epsilon_effective == pytest.approx(math.log(2.0))
    logs[1] = np.log([0.5 + 1e-9, 0.5 - 1e-9])
    audit = audit_laws(logs, distance, 1.0)
    assert (audit.epsilon_effective, audit.worst.distance) == (math.inf, 0.0)
    assert not audit.holds


def test_a_distance_that_is_nan_hides_no_loss() -> None:
    logs = canaries.randomised_response(3, math.log(9.0))
    distance = 1.0 - np.eye(3)
    distance[1, 2] = distance[2, 1] = math.nan
    with pytest.raises(ComputationError, match="NaN"):
        audit_laws(logs, distance, 1.0)


def test_an_output_that_is_impossible_for_both_words_says_nothing() -> None:
    logs = np.array([[math.log(0.5), math.log(0.5), -math.inf]] * 2)
    assert audit_laws(logs, None, 1.0).epsilon_effective == 0.0


def test_denominators_far_below_the_smallest_float() -> None:
    logs = np.array([[math.log(0.5), math.log(0.5)], [0.0, -3500.0]])
    audit = audit_laws(logs, np.array([[0.0, 2.0], [2.0, 0.0]]), 100.0)
    assert audit.epsilon_effective == pytest.approx((3500.0 - math.log(2.0)) / 2.0, rel=1e-14)
    assert audit.delta == pytest.approx(0.5)


def test_below_the_floor_is_not_computed_and_never_infinite() -> None:
    logs = np.array([[math.log(0.5), math.log(0.5)], [0.0, -math.inf]])
    audit = audit_laws(logs, None, 1.0, floor=-40_000.0)
    assert audit.epsilon_effective == pytest.approx(40_000.0 - math.log(2.0))
    assert audit.unknown == 1
    # Two logarithms below the floor are not compared at all.
    logs = np.array([[0.0, -math.inf, -50_000.0], [0.0, -45_000.0, -math.inf]])
    assert audit_laws(logs, None, 1.0, floor=-40_000.0).epsilon_effective == 0.0


@pytest.mark.parametrize(
    ("logs", "message"),
    [
        ([[math.nan, 0.0], [0.0, -math.inf]], "NaN"),
        ([[0.5, -1.0], [0.0, -math.inf]], "above 0"),
        ([[math.log(0.5), math.log(0.4)], [0.0, -math.inf]], "sum to 0.9"),
        ([0.0], "shape"),
    ],
)
def test_anything_but_a_law_is_refused(logs: list[float | list[float]], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        audit_laws(np.array(logs), None, 1.0)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_epsilon_must_be_positive(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        audit_laws(canaries.constant(3), None, epsilon)


# -- canaries over distances ----------------------------------------------------------------------


@pytest.mark.parametrize("name", vocabularies())
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_right_mechanisms_pass(name: str, epsilon: float) -> None:
    distance = cdist(vocabularies()[name], vocabularies()[name])
    for law in (canaries.exponential, canaries.tem):
        audit = audit_laws(law(distance, epsilon), distance, epsilon)
        assert audit.holds
        assert audit.delta <= 1e-14


def test_the_factor_two_dropped_is_caught_but_for_one_hot_words() -> None:
    """With equal normalisers the exponential mechanism needs no factor 2: nothing to catch."""
    for name, points in vocabularies().items():
        distance = cdist(points, points)
        audit = audit_laws(canaries.exponential(distance, 2.0, halved=False), distance, 2.0)
        assert audit.holds == (name == "one-hot")
        assert audit.epsilon_effective * (1 + 1e-12) >= 2.0
        assert audit.epsilon_effective <= 4.0 * (1 + 1e-12)
    assert audit.epsilon_effective > 2.5
    assert audit.worst.output == audit.worst.word


def test_a_wrong_bottom_score_passes_on_random_words_and_fails_on_crafted_ones() -> None:
    spread = vocabularies()["random"] * 0.2
    near = cdist(spread, spread)
    assert audit_laws(canaries.tem_wrong_bottom(near, 2.0), near, 2.0).holds
    # Thirty words just beyond γ for the words around 0, and just inside it for the one at 0.2.
    gamma = tem_gamma(2.0, 61, 0.001)
    wiggle = np.linspace(-0.01, 0.01, 30)
    distance = np.abs(
        np.subtract.outer(*[np.concatenate((wiggle, [0.2], gamma + 0.1 + wiggle))] * 2)
    )
    audit = audit_laws(canaries.tem_wrong_bottom(distance, 2.0), distance, 2.0)
    assert audit.epsilon_effective > 4.0
    assert 30 in (audit.worst.word, audit.worst.other)
    assert audit_laws(canaries.tem(distance, 2.0), distance, 2.0).holds


def test_missed_neighbours_break_tem(rng: MakeRng) -> None:
    points = rng().standard_normal((150, 4))
    distance = cdist(points, points)
    missed = (rng(1).random(distance.shape) < 0.02) & ~np.eye(150, dtype=bool)
    audit = audit_laws(canaries.tem_with_misses(distance, 2.0, missed), distance, 2.0)
    assert audit.epsilon_effective > 4.0
    worst = audit.worst
    # For the right reason: the output is one that the index missed for the less likely word.
    assert missed[worst.other, worst.output]


# Exact audits of mechanisms of the registry: the whole vocabulary, samples, and refusals.


@pytest.mark.parametrize("name", ["tem", "truncated-gumbel"])
def test_a_sample_bounds_the_whole_from_below(name: str) -> None:
    mechanism = create(name, lexicons.cloud(30, 5))
    epsilon = max(2.0, 2 * mechanism.admissible.low)
    whole = exact.audit_mechanism(mechanism, epsilon)
    some = exact.audit_mechanism(mechanism, epsilon, words=12, seed=4)
    pairs = exact.audit_mechanism(mechanism, epsilon, pairs=15, seed=4)
    assert (whole.complete, some.complete, pairs.complete) == (True, False, False)
    assert some.losses.epsilon_effective <= whole.losses.epsilon_effective * (1 + 1e-9)
    assert pairs.losses.epsilon_effective <= whole.losses.epsilon_effective * (1 + 1e-9)
    worst = pairs.losses.worst
    again = exact.audit_mechanism(mechanism, epsilon, words=np.array([worst.word, worst.other]))
    assert again.losses.epsilon_effective == pytest.approx(pairs.losses.epsilon_effective)
    assert "seed 4" in some.method


@pytest.mark.parametrize("missing", [1, 3, 12])
def test_logarithms_that_were_not_computed_never_make_a_loss(
    missing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """−∞ of `log_law` is no zero: a few are bounded one by one, many lie below a proved floor."""
    mechanism: Any = create("truncated-gumbel", lexicons.cloud(30, 5))
    epsilon = 1.5 * mechanism.admissible.low
    right = exact.audit_mechanism(mechanism, epsilon).losses
    whole = TruncatedGumbel.log_law

    def partial(
        self: Any, word: int, epsilon: float, outputs: Any = None, *, ranking: Any = None
    ) -> NDArray[np.float64]:
        logs = np.array(whole(self, word, epsilon, ranking=ranking))
        logs[ranking.order[-missing:]] = -np.inf
        return logs

    monkeypatch.setattr(TruncatedGumbel, "log_law", partial)
    monkeypatch.setattr(exact, "SUM_TOLERANCE", 1.0)
    result = exact.audit_mechanism(mechanism, epsilon).losses
    if missing <= 8:
        assert result.unknown == 0
        assert result.epsilon_effective == pytest.approx(right.epsilon_effective, rel=0.1)
    else:
        assert result.unknown == 30 * missing
        assert result.epsilon_effective <= right.epsilon_effective * (1 + 1e-6)
    logs, floor = mechanism.floored_log_law(4, epsilon)
    true = whole(mechanism, 4, epsilon)
    if floor is not None:
        assert np.all(true[np.isneginf(logs)] <= floor + 1e-6)


def test_the_closed_form_of_tem_equals_the_matrix() -> None:
    mechanism = create("tem", lexicons.cloud(80, 5))
    closed = exact.audit_mechanism(mechanism, 3.0)
    rows = exact.audit_mechanism(mechanism, 3.0, words=np.arange(80))
    assert rows.complete
    assert closed.losses.epsilon_effective == pytest.approx(rows.losses.epsilon_effective, rel=1e-9)
    assert closed.losses.worst.distance == pytest.approx(rows.losses.worst.distance)
    assert closed.losses.worst.loss == pytest.approx(rows.losses.worst.loss, rel=1e-9)


@pytest.mark.parametrize("name", ["truncated-gumbel-repaired", "tem-calibrated"])
def test_the_certificate_equals_the_matrix(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    mechanism = create(name, lexicons.cloud(80, 5))
    epsilon = max(3.0, 1.5 * mechanism.admissible.low)
    rows = exact.audit_mechanism(mechanism, epsilon, words=np.arange(80))
    for module in (exact, repaired):
        monkeypatch.setattr(module, "MAX_AUDIT_WORDS", 20)
    whole = exact.audit_mechanism(mechanism, epsilon)
    assert whole.complete
    assert whole.losses.epsilon_effective == pytest.approx(rows.losses.epsilon_effective, rel=1e-5)
    assert whole.error >= whole.losses.epsilon_effective - rows.losses.epsilon_effective
    loss = whole.losses.worst.loss / whole.losses.worst.distance
    assert loss == pytest.approx(rows.losses.epsilon_effective, rel=1e-5)
    assert whole.losses.holds
    assert "all pairs of the 80 words" in whole.method


@pytest.mark.parametrize("name", ["tem", "tem-calibrated", "truncated-gumbel-repaired"])
@pytest.mark.parametrize("epsilon", [300.0, 1e3, 1e6])
def test_a_probability_that_underflows_refutes_nothing(name: str, epsilon: float) -> None:
    """Up to e^(−10⁷): no output is impossible, and every loss keeps its guarantee."""
    mechanism = create(name, lexicons.cloud(30, 5))
    samples: tuple[dict[str, Any], ...] = ({}, {"words": 12}, {"pairs": 9})
    for sample in samples:
        result = exact.audit_mechanism(mechanism, epsilon, **sample).losses
        assert result.holds
        assert result.delta == 0.0
        assert result.unknown == 0
    assert np.isfinite(mechanism.floored_log_law(4, epsilon)[0]).all()


def test_what_cannot_be_audited_exactly_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match="no exact law"):
        exact.audit_mechanism(create("madlib", lexicons.cloud(10, 2)), 1.0)
    small = lexicons.cloud(30, 2)
    monkeypatch.setattr(exact, "MAX_AUDIT_WORDS", 20)
    gumbel = create("truncated-gumbel", small)
    with pytest.raises(
        ParameterError, match=r"up to 20 words, this lexicon has 30: audit a sample"
    ):
        exact.audit_mechanism(gumbel, 2 * gumbel.admissible.low)
    monkeypatch.setattr(exact, "MAX_AUDIT_TEM_WORDS", 20)
    tem = create("tem", small)
    with pytest.raises(ParameterError, match="up to 20 words"):
        exact.audit_mechanism(tem, 1.0)
    for wrong in (1, 31):
        with pytest.raises(ParameterError, match="2 to 30 words"):
            exact.audit_mechanism(tem, 1.0, words=wrong)
    with pytest.raises(ParameterError, match="not both"):
        exact.audit_mechanism(tem, 1.0, words=5, pairs=5)
    with pytest.raises(ParameterError, match=f"from 1 to {limits.MAX_AUDIT_PAIRS:,}"):
        exact.audit_mechanism(tem, 1.0, pairs=0)
