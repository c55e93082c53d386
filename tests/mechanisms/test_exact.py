"""Mechanisms defined by their law alone: inherited methods, and the guarantee computed from it.

False-alarm probability of each randomised assertion: 1e-6.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import log_softmax

from dpcore.errors import ParameterError
from dpcore.guarantee import EpsilonMeaning, MetricPrivacy, Status
from dpcore.lexicon.metric import Metric, distances
from dpcore.lexicon.neighbours import Ranking, rank
from dpcore.mechanisms.exact import ExactMechanism
from tests.chance import assert_law
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons

N, NEVER = 30, 3
LEXICON = lexicons.cloud(N, 3)


@dataclass(frozen=True, eq=False, kw_only=True)
class Softmax(ExactMechanism):
    """P ∝ e^(−ε·D/2), but for one word that never comes out unless it went in."""

    key, short, title = "softmax.v1", "softmax", "Softmax"
    summary = source = "the exponential mechanism"
    meaning = EpsilonMeaning.METRIC

    def guarantee(self, epsilon: float) -> MetricPrivacy:
        return MetricPrivacy(
            epsilon=self.check_epsilon(epsilon),
            status=Status.REFUTED,
            reason="One word gives itself away.",
            source=self.source,
            metric="euclidean",
        )

    def log_law(
        self, word: int, epsilon: float, *, ranking: Ranking | None = None
    ) -> NDArray[np.float64]:
        logs = -0.5 * self.check_epsilon(epsilon) * self.distances(word, ranking)
        logs[NEVER] = 0.0 if word == NEVER else -math.inf
        return log_softmax(logs)


MECHANISM = Softmax(lexicon=LEXICON)


def by_hand(word: int, epsilon: float) -> NDArray[np.float64]:
    apart = np.linalg.norm(LEXICON.vectors.astype(float) - LEXICON.vectors[word], axis=1)
    weights = np.exp(-epsilon * apart / 2)
    if word != NEVER:
        weights[NEVER] = 0.0
    return weights / weights.sum()


def test_the_law_follows_from_its_logarithms() -> None:
    law = MECHANISM.law(LEXICON.words[5], [0.5, 8.0])
    assert law.exact
    assert law.error == MECHANISM.log_error == 1e-12
    for e, epsilon in enumerate((0.5, 8.0)):
        np.testing.assert_allclose(law.dense(N)[e], by_hand(5, epsilon), rtol=1e-12)


def test_draws_and_paths_have_the_law(rng: MakeRng) -> None:
    grid, draws = np.array([0.5, 4.0]), 20_000
    words = np.tile([5, NEVER], draws)
    on_paths = MECHANISM.paths(rng(1), words, epsilons=grid).at(grid)
    for e, epsilon in enumerate(grid):
        sampled = MECHANISM.sample(rng(), words, epsilon)
        for drawn in (sampled, on_paths[:, e]):
            assert NEVER not in drawn[::2]
            assert_law(drawn[::2], by_hand(5, epsilon))
            assert_law(drawn[1::2], by_hand(NEVER, epsilon))


def test_a_path_without_a_grid_ends_with_the_word(rng: MakeRng) -> None:
    words = np.array([4, 4, 9])
    paths = MECHANISM.paths(rng(), words)
    assert (paths.low, paths.high) == (MECHANISM.grid()[0], MECHANISM.grid()[-1])
    assert paths.at(MECHANISM.grid()[-1:])[:, 0].tolist() == words.tolist()
    assert len(MECHANISM.paths(rng(), words[:0])) == 0


def test_draws_do_not_depend_on_blocks_or_known_rankings(
    rng: MakeRng, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = np.array([4, 9, 4, 4, 11])
    whole = MECHANISM.paths(rng(), words)
    known = MECHANISM.paths(rng(), words, rankings=rank(LEXICON.vectors, LEXICON.vectors[words]))
    monkeypatch.setattr("dpcore.mechanisms.exact._BLOCK_ENTRIES", 2 * N)
    in_blocks = MECHANISM.paths(rng(), words)
    np.testing.assert_array_equal(whole.outputs, known.outputs)
    np.testing.assert_array_equal(whole.outputs, in_blocks.outputs)


@pytest.mark.parametrize("metric", list(Metric))
def test_distances_stand_in_the_order_of_the_vocabulary(metric: Metric) -> None:
    wanted = distances(LEXICON.vectors, LEXICON.vectors[[7]], metric)[0]
    ranking = MECHANISM.ranked(7)
    for row in (MECHANISM.distances(7, None, metric), MECHANISM.distances(7, ranking, metric)):
        np.testing.assert_array_equal(row, wanted)


def test_an_estimated_law_has_no_logarithm() -> None:
    from dpcore.mechanisms.registry import create

    with pytest.raises(ParameterError, match="madlib is estimated"):
        create("madlib", LEXICON).log_law(0, 1.0)
