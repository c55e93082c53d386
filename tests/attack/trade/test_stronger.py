"""Stronger attackers than the one that repeats the output: against the definition, and the best."""

import numpy as np
import pytest

from dpcore.attack.output.prior import Prior
from dpcore.attack.trade.attackers import from_laws, guess_from_samples
from dpcore.mechanisms.registry import create
from tests.mechanisms import lexicons

EPSILONS = np.array([2.0, 6.0])
N = 150  # more than one block of laws
COUNT = 20_000


@pytest.mark.parametrize("name", ["tem", "neighbour-response", "k-ary"])
def test_all_laws_give_the_definition(name: str) -> None:
    mechanism = create(name, lexicons.cloud(N, 5))
    shares, error = from_laws(mechanism, EPSILONS)
    for e, epsilon in enumerate(EPSILONS):
        table = np.array([mechanism.law(word, [epsilon]).dense(N)[0] for word in range(N)])
        assert shares[e] == pytest.approx(table.max(axis=0).sum() / N, abs=error + 1e-12)
    weights = np.arange(N) / np.arange(N).sum()  # the first word is impossible
    shares, error = from_laws(mechanism, EPSILONS[-1:], prior=Prior("typed", weights, ""))
    best = (weights[:, None] * table).max(axis=0).sum()
    assert shares[0] == pytest.approx(best, abs=error + 1e-12)


@pytest.mark.parametrize(("name", "epsilon"), [("k-ary", 4.0), ("tem", 4.0)])
def test_who_has_learned_guesses_almost_as_many_as_the_best(name: str, epsilon: float) -> None:
    """At most the best share: five standard errors, a false alarm in 10⁶."""
    mechanism = create(name, lexicons.cloud(N, 5))
    (best,), _ = from_laws(mechanism, np.array([epsilon]))
    share = guess_from_samples(mechanism, np.array([epsilon]), 200, COUNT, 3).mean()
    assert share <= best + 5 * np.sqrt(best * (1 - best) / COUNT)
    assert share >= 0.9 * best - 5 * np.sqrt(best * (1 - best) / COUNT)


def test_a_mechanism_that_answers_with_the_neighbour_is_read_backwards() -> None:
    """Vickrey with t = 1 and hardly any noise says the second nearest word, never the word."""
    mechanism = create("vickrey", lexicons.cloud(N, 5), {"t": 1.0})
    right = guess_from_samples(mechanism, np.array([1e6]), 3, COUNT, 0)
    words = np.arange(N)
    nearest = mechanism.lexicon.neighbours(2).indices[:, 1]
    assert right.shape == (COUNT, 1)
    # Of the words that share a nearest word one is named.
    share = np.unique(nearest).size / N
    assert right.mean() == pytest.approx(share, abs=5 * np.sqrt(share * (1 - share) / COUNT))
    assert 0.3 < share < 1.0
    assert (nearest != words).all()
