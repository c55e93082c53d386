"""The optimal mechanism: its law by hand, its guarantee, and that no mechanism does better."""

import math

import numpy as np
import pytest

from dpcore.guarantee import Status
from dpcore.lexicon.metric import Metric, distances
from dpcore.mechanisms.exponential.optimal import Optimal
from dpcore.mechanisms.exponential.packing import CertifiedWeights, known_weights
from dpcore.mechanisms.registry import MECHANISMS, create
from dpcore.outwards import at_most
from tests.chance import assert_law
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons

N = 50
LEXICON = lexicons.cloud(N, 6, 4)
MECHANISM = Optimal(lexicon=LEXICON)
MECHANISM_METRIC = Metric.EUCLIDEAN


def by_hand(word: int, epsilon: float) -> np.ndarray:
    """a_y·e^(−ε·d(w, y)) with K·a = 1."""
    k = np.exp(-epsilon * distances(LEXICON.vectors, LEXICON.vectors))
    weights = np.linalg.solve(k, np.ones(N))
    assert (weights >= 0).all()
    return k[word] * weights


def weights() -> CertifiedWeights:
    """The certified weights, which the mechanism computes on first use."""
    assert MECHANISM.certificate is not None
    table = known_weights(LEXICON, MECHANISM_METRIC)
    assert table is not None
    return table


@pytest.mark.parametrize("epsilon", [2.0, 3.0, 8.0])
def test_the_law_is_the_formula(epsilon: float) -> None:
    law = MECHANISM.law(7, [epsilon]).dense(N)[0]
    np.testing.assert_allclose(law, by_hand(7, epsilon), rtol=1e-4)  # ε is lowered by 2.5e-7
    assert law.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "angular"])
def test_scores_are_the_law_without_its_normaliser(metric: str) -> None:
    mechanism = Optimal(lexicon=LEXICON, metric=metric)
    grid = np.geomspace(0.05, 20.0, 40).tolist()  # more than are kept; weights of 1 among them
    for word in (7, 0):
        every = mechanism.log_scores(word, grid, mechanism.ranked(word))
        for epsilon, scores in zip(grid, every, strict=True):
            law = mechanism.log_law(word, epsilon)
            assert (np.isneginf(scores) == np.isneginf(law)).all()
            left = scores[np.isfinite(law)] - law[np.isfinite(law)]
            np.testing.assert_allclose(left, left[0], atol=1e-12)


def test_draws_have_the_law_and_so_have_paths(rng: MakeRng) -> None:
    words, grid = np.full(20_000, 7), np.array([0.3, 1.0, 3.0])
    on_paths = MECHANISM.paths(rng(1), words, epsilons=grid).at(grid)
    for i, epsilon in enumerate(grid):
        law = MECHANISM.law(7, [epsilon]).dense(N)[0]
        assert_law(MECHANISM.sample(rng(), words, epsilon), law)
        assert_law(on_paths[:, i], law)


def test_words_without_weight_never_come_out(rng: MakeRng) -> None:
    assert MECHANISM.certificate is not None
    epsilon = float(MECHANISM.certificate.epsilons[0])
    silent = np.flatnonzero(MECHANISM.weights(epsilon) == 0)
    assert silent.size
    outputs = MECHANISM.sample(rng(), np.arange(N).repeat(400), epsilon)
    assert not np.isin(outputs, silent).any()
    assert (MECHANISM.log_law(int(silent[0]), epsilon)[silent] == -math.inf).all()


def test_columns_are_those_of_the_laws() -> None:
    for epsilon in (0.01, 0.3, 2.0, 1e4):
        laws = np.stack([MECHANISM.log_law(word, epsilon) for word in range(N)])
        for output in (0, 31):
            column = MECHANISM.column_form.column(output, None, epsilon)
            np.testing.assert_allclose(column, laws[:, output], atol=2e-6, rtol=1e-12)


@pytest.mark.slow
def test_no_mechanism_with_metric_privacy_keeps_more_words() -> None:
    """Mechanisms that do guarantee ε·d stay below the bound, and the optimal one reaches it."""
    table = weights()
    for row, epsilon in enumerate(table.wanted.tolist()):
        kept = np.mean([math.exp(MECHANISM.log_law(w, epsilon)[w]) for w in range(N)])
        assert kept <= table.upper[row]
        if not table.normalisers[row].any():
            assert kept >= table.upper[row] * (1.0 - 1e-5)
        for key in ("tem.v1", "tem-calibrated.v1"):
            other = create(key, LEXICON)
            stays = np.mean([other.law(w, epsilon).dense(N)[0][w] for w in range(N)])
            assert stays <= table.upper[row]


def test_a_mechanism_that_guarantees_too_much_is_seen() -> None:
    """A canary: TEM without its factor 1/2 keeps more words than any mechanism may at its ε."""
    table = weights()
    row = int(np.flatnonzero(table.wanted == 1.0)[0])
    k = np.exp(-2.0 * distances(LEXICON.vectors, LEXICON.vectors))
    assert (1.0 / k.sum(axis=1)).mean() > table.upper[row]


def test_the_guarantee_is_proved_above_the_critical_epsilon_and_certified_below() -> None:
    assert MECHANISM.certificate is not None
    high, low = MECHANISM.guarantee(3.0), MECHANISM.guarantee(MECHANISM.certificate.epsilons[0])
    assert high.status is Status.PROVED
    assert "optimal" in high.reason
    assert low.status is Status.CERTIFIED


def test_between_two_known_epsilons_it_claims_the_bound_of_the_smaller_one() -> None:
    table = weights()
    row = int(np.flatnonzero(table.wanted == 3.0)[0])
    between = 0.5 * (table.wanted[row] + table.wanted[row + 1])
    reason = MECHANISM.guarantee(between).reason
    assert f"ε = 3 keeps more than {at_most(float(table.upper[row]), places=6)}" in reason


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 2.0, 50.0])
def test_without_weights_the_theorem_decides(
    epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Optimal, "_table", None)
    plain = Optimal(lexicon=LEXICON)
    assert plain.guarantee(epsilon).status is Status.PROVED
    logs = np.stack([plain.log_law(word, epsilon) for word in range(N)])
    losses = np.abs(logs[:, None, :] - logs[None, :, :]).max(axis=2)
    apart = distances(LEXICON.vectors, LEXICON.vectors) + np.diag(np.full(N, np.inf))
    assert (losses / apart).max() <= epsilon * (1.0 + 1e-12)
    strength = plain.proved_strength(epsilon)
    assert plain.proved_epsilon(np.array([strength]))[0] <= epsilon * (1.0 + 1e-12)


def test_it_stands_in_the_registry() -> None:
    assert MECHANISMS["optimal.v1"] is Optimal


def test_it_is_called_optimal_on_its_conditions() -> None:
    high = MECHANISM.guarantee(3.0).reason
    for condition in ("equally likely", "at and above the critical ε"):
        assert condition in high
    for condition in ("equally likely", "at or above the critical one"):
        assert condition in Optimal.summary


def test_below_the_critical_epsilon_the_bound_is_named_and_not_reached() -> None:
    """The words that stay by the law itself, against the bound, rounded outwards."""
    table = weights()
    row = int((table.lower / table.upper).argmin())
    epsilon = float(table.epsilons[row])
    standing = MECHANISM.standing(epsilon)
    assert standing is not None
    assert not standing.attained
    laws = np.exp([MECHANISM.log_law(word, epsilon)[word] for word in range(N)])
    assert standing.kept <= laws.mean() == pytest.approx(standing.kept, rel=1e-5)
    reason = MECHANISM.guarantee(epsilon).reason
    assert "another mechanism may keep more" in reason
    assert "optimal" not in reason
    percent = float(reason.split(" % of the bound")[0].split()[-1])
    assert percent <= 100 * standing.kept / standing.bound < percent + 0.11
    assert reason.count(f"{standing.bound + 5e-7:.6f}") == 1


def test_beyond_the_weights_the_bound_is_that_of_the_next_epsilon() -> None:
    standing = MECHANISM.standing(500.0)
    assert standing is not None
    assert 0.9999 < standing.kept <= standing.bound == 1.0


def test_without_weights_nothing_is_said_of_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Optimal, "_table", None)
    plain = Optimal(lexicon=LEXICON)
    assert plain.standing(2.0) is None
    assert "the bound" not in plain.guarantee(2.0).reason
