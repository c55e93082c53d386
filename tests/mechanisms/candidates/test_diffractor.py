"""1-Diffractor: tours against a plain one, the law against the published steps, its own metric.

False-alarm probability of each randomised assertion: 1e-6.
"""

import math
from itertools import pairwise

import numpy as np
import pytest

from dpcore.audit.exact import audit_mechanism
from dpcore.guarantee import MetricPrivacy, Status
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import distances
from dpcore.mechanisms.candidates.clusters import places, tours
from dpcore.mechanisms.candidates.diffractor import Diffractor
from tests.chance import assert_law
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons

N = 40
LEXICON = lexicons.cloud(N, 3)


@pytest.mark.parametrize("lexicon", [LEXICON, lexicons.cloud(200, 5), lexicons.line(0, 1, 3)])
def test_a_tour_goes_to_the_nearest_word_that_is_left(lexicon: Lexicon) -> None:
    n = len(lexicon)
    apart = distances(lexicon.vectors, lexicon.vectors)
    for start, tour in enumerate(tours(lexicon, 3).tolist()):
        assert sorted(tour) == list(range(n))
        assert tour[0] == start % n
        for i, (word, following) in enumerate(pairwise(tour)):
            left = tour[i + 1 :]
            near = [y for y in np.argsort(apart[word], kind="stable")[:50].tolist() if y in left]
            assert following == (near[0] if near else min(left))


def test_the_law_is_that_of_the_published_steps(rng: MakeRng) -> None:
    """A list at random, the difference of two geometric numbers, and a stop at the ends."""
    mechanism, word, epsilon, draws = Diffractor(lexicon=LEXICON, lists=3), 5, 0.2, 40_000
    source, place = rng(), places(LEXICON, 3)
    chosen = source.integers(3, size=draws)
    steps = source.geometric(-math.expm1(-epsilon), (2, draws))
    ends = np.clip(place[chosen, word] + steps[0] - steps[1], 0, N - 1)
    assert_law(tours(LEXICON, 3)[chosen, ends], mechanism.law(word, [epsilon]).dense(N)[0])


@pytest.mark.parametrize("epsilon", [1e-4, 0.3, 4.0])
def test_the_loss_is_bounded_by_places_and_nearly_reaches_them(epsilon: float) -> None:
    mechanism = Diffractor(lexicon=LEXICON)
    promise = mechanism.guarantee(epsilon)
    assert isinstance(promise, MetricPrivacy)
    assert promise.status is Status.PROVED
    audit = audit_mechanism(mechanism, epsilon, words=np.arange(N)).losses
    assert audit.epsilon_effective <= epsilon * (1 + 1e-9)
    one = audit_mechanism(Diffractor(lexicon=LEXICON, lists=1), epsilon, words=np.arange(N)).losses
    assert one.epsilon_effective == pytest.approx(epsilon, rel=1e-9)
    # Its Euclidean factor guarantees no less.
    apart = distances(LEXICON.vectors, LEXICON.vectors)
    own = mechanism.promised_distances(np.arange(N), epsilon)
    assert (own <= promise.euclidean_factor * apart * (1 + 1e-12)).all()


def test_logarithms_do_not_underflow() -> None:
    logs = Diffractor(lexicon=LEXICON, lists=1).log_law(0, 500.0)
    assert logs.min() == pytest.approx(-500.0 * (N - 1), rel=1e-6)


def test_neighbours_in_meaning_may_be_far_apart_on_a_tour() -> None:
    caution = Diffractor(lexicon=LEXICON).caution
    apart = distances(LEXICON.vectors, LEXICON.vectors)
    np.fill_diagonal(apart, np.inf)
    gaps = np.abs(places(LEXICON, 5) - places(LEXICON, 5)[:, apart.argmin(axis=1)]).max(axis=0)
    assert f"it is {int(np.quantile(gaps, 0.75)):,} places or more" in caution
    assert f"at most {gaps.max()}" in caution
