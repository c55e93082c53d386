"""Randomised response over neighbours: its law by hand, the best k, its guarantee.

False-alarm probability of each randomised assertion: 1e-6.
"""

import math

import numpy as np
import pytest

from dpcore.lexicon.metric import distances
from dpcore.mechanisms import response
from dpcore.mechanisms.registry import create
from dpcore.mechanisms.response import NeighbourResponse
from tests.chance import assert_law
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons

N = 40
LEXICON = lexicons.cloud(N, 3)
APART = distances(LEXICON.vectors, LEXICON.vectors)


def by_hand(word: int, k: int, epsilon: float) -> np.ndarray:
    law = np.full(N, 1.0 / (k * math.exp(epsilon) + N - k))
    law[np.argsort(APART[word], kind="stable")[:k]] *= math.exp(epsilon)
    return law


@pytest.mark.parametrize("k", [1, 3, N - 1])
@pytest.mark.parametrize("epsilon", [1e-6, 0.7, 5.0, 30.0])
def test_the_law_is_the_formula(k: int, epsilon: float) -> None:
    mechanism = NeighbourResponse(lexicon=LEXICON, k=k)
    law = mechanism.law(4, [epsilon]).dense(N)[0]
    np.testing.assert_allclose(law, by_hand(4, k, epsilon), rtol=1e-13)
    np.testing.assert_allclose(
        [np.exp(mechanism.column_form.column(9, None, epsilon))[4]], law[[9]], rtol=1e-13
    )
    inside, values, counts = mechanism.grouped_law(4, np.array([epsilon]), mechanism.ranked(4))
    assert inside[0] == pytest.approx(law[4])
    assert (values * counts).sum() == pytest.approx(1.0)


def test_one_neighbour_is_k_ary_response() -> None:
    mechanism, k_ary = create("neighbour-response", LEXICON, {"k": 1}), create("k-ary", LEXICON)
    for epsilon in (0.1, 3.0, 800.0):
        np.testing.assert_allclose(
            mechanism.log_law(5, epsilon), k_ary.log_law(5, epsilon), rtol=1e-14, atol=1e-14
        )


@pytest.mark.parametrize("k", [1, 4])
def test_draws_have_the_law_and_so_have_paths(k: int, rng: MakeRng) -> None:
    mechanism = create("neighbour-response", LEXICON, {"k": k})
    words, grid = np.full(30_000, 7), np.array([0.5, 2.0, 4.0])
    on_paths = mechanism.paths(rng(1), words).at(grid)
    for i, epsilon in enumerate(grid):
        assert_law(mechanism.sample(rng(), words, epsilon), by_hand(7, k, epsilon))
        assert_law(on_paths[:, i], by_hand(7, k, epsilon))


def test_a_table_of_all_neighbours_gives_the_same_draws(
    rng: MakeRng, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = create("neighbour-response", LEXICON, {"k": 4})
    words = np.arange(N).repeat(50)
    one_by_one = mechanism.sample(rng(), words, 2.0)
    monkeypatch.setattr(response, "_FEW", 0)
    np.testing.assert_array_equal(mechanism.sample(rng(), words, 2.0), one_by_one)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 3.0, 6.0])
def test_the_best_k_has_the_least_mean_distance(epsilon: float) -> None:
    """All words of the small vocabulary are its sample, so that every k can be tried."""
    automatic = create("neighbour-response", LEXICON, {"k": "auto"})
    assert isinstance(automatic, NeighbourResponse)
    means = [
        np.mean([by_hand(word, k, epsilon) @ APART[word] for word in range(N)]) for k in range(1, N)
    ]
    assert means[automatic.width(epsilon) - 1] == pytest.approx(min(means), rel=1e-12)
    law = automatic.law(3, [epsilon]).dense(N)[0]
    np.testing.assert_allclose(law, by_hand(3, automatic.width(epsilon), epsilon), rtol=1e-13)


def test_the_loss_is_epsilon_and_is_attained() -> None:
    for k in (1, 4, N - 1):
        mechanism = create("neighbour-response", LEXICON, {"k": k})
        logs = np.stack([mechanism.log_law(word, 2.0) for word in range(N)])
        losses = np.abs(logs[:, None, :] - logs[None, :, :]).max()
        assert losses == pytest.approx(2.0, rel=1e-14)
        worst = mechanism.loss_search.find(2.0, lambda *_: None)
        assert worst.log_word - worst.log_other == pytest.approx(2.0, rel=1e-14)
        assert logs[worst.word, worst.output] == worst.log_word
        assert logs[worst.other, worst.output] == worst.log_other
