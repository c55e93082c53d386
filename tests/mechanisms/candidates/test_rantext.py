"""RANTEXT: the law of its radius, its law against draws as published, and what is lost.

False-alarm probability of each randomised assertion: 1e-6.
"""

import math

import numpy as np
import pytest

from dpcore.audit.exact.exact import hockey_stick
from dpcore.audit.exact.laws import audit_mechanism
from dpcore.guarantee import Status
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.candidates.rantext import RanText, noise_scale, radius_law
from tests.chance import assert_law_near, deviation
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons

N = 40
LEXICON = lexicons.cloud(N, 3)


def radii(lexicon: Lexicon, source: np.random.Generator, count: int) -> np.ndarray:
    ranges = np.ptp(lexicon.vectors.astype(np.float64), axis=0)
    return np.linalg.norm(source.laplace(scale=ranges, size=(count, ranges.size)), axis=1)


def test_the_scale_is_that_of_the_code() -> None:
    assert noise_scale(1.0) == 1.0
    assert noise_scale(6.0) == pytest.approx(1 / (9.3110838 + 0.0165816 * math.log(76.258896)))
    assert 1 / 9.4 < noise_scale(2.0) < 1 / 9.1  # its logarithm is finite there


@pytest.mark.parametrize(
    "lexicon", [lexicons.line(0, 1, 4), LEXICON, lexicons.cloud(300, 60)], ids=["1", "3", "60"]
)
def test_the_radius_has_its_law(lexicon: Lexicon, rng: MakeRng) -> None:
    law, count = radius_law(lexicon), 200_000
    drawn = radii(lexicon, rng(), count)
    below = np.concatenate(([0.0], np.cumsum(law.masses)))
    for place in np.searchsorted(below, [0.02, 0.3, 0.5, 0.8, 0.98]):
        share = (drawn < law.edges[place]).mean()
        # The grid has cells: at a coordinate's own size they hold about a thousandth.
        assert abs(share - below[place]) <= deviation(count, 0.25) + 2e-3
    assert law.masses.sum() == pytest.approx(1.0)
    assert abs((drawn < law.median).mean() - 0.5) <= deviation(count, 0.25) + 2e-3


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 30.0])
def test_the_law_is_that_of_draws_as_published(epsilon: float, rng: MakeRng) -> None:
    """A noise vector, the words nearer than it is long, and a choice among them."""
    mechanism, word, draws, source = RanText(lexicon=LEXICON), 5, 20_000, rng()
    apart = np.linalg.norm(LEXICON.vectors.astype(np.float64) - LEXICON.vectors[word], axis=1)
    outputs = np.empty(draws, dtype=np.int64)
    for i, radius in enumerate(noise_scale(epsilon) * radii(LEXICON, source, draws)):
        near = np.flatnonzero(apart < radius)
        weights = np.exp(0.5 * epsilon * (1 - apart[near] / radius))
        outputs[i] = source.choice(near, p=weights / weights.sum())
    law = mechanism.law(word, [epsilon])
    assert_law_near(outputs, law.dense(N)[0], law.error, draws)


@pytest.mark.parametrize("epsilon", [1.0, 6.0])
def test_four_times_as_many_nodes_change_little(epsilon: float) -> None:
    mechanism, law = RanText(lexicon=lexicons.cloud(300, 60)), radius_law
    coarse = mechanism.log_law(3, epsilon)
    fine = law(mechanism.lexicon, 960)
    try:
        import dpcore.mechanisms.candidates.rantext as module

        module.radius_law = lambda _: fine  # type: ignore[assignment]
        finer = mechanism.log_law(3, epsilon)
    finally:
        module.radius_law = law
    seen = finer > math.log(1e-9)
    assert np.abs(np.exp(coarse) - np.exp(finer)).max() <= mechanism.law_error
    size = np.maximum(np.abs(finer[seen]), 1.0)
    assert (np.abs(coarse[seen] - finer[seen]) / size).max() <= mechanism.log_estimate


def test_words_beyond_the_radius_tell_words_apart() -> None:
    """Two far groups: at an ε with a short radius the promise is broken, and nearly certainly."""
    points = np.concatenate((np.eye(30) * 0.1, 4.0 + np.eye(30) * 0.1))
    mechanism = RanText(lexicon=lexicons.lexicon(points))
    assert mechanism.guarantee(2.5).status is Status.REFUTED
    audit = audit_mechanism(mechanism, 2.5, words=np.array([0, 30])).losses
    assert not audit.holds
    first, second = (mechanism.log_law(word, 2.5) for word in (0, 30))
    assert hockey_stick(first, second, 2.5) > 0.5


def test_a_distance_that_reaches_all_words_breaks_nothing() -> None:
    """A narrow vocabulary of many dimensions: below ε = 2 all words are candidates."""
    rows = 10.0 + 0.5 * np.random.default_rng(3).standard_normal((60, 400))
    lexicon = lexicons.lexicon(rows - rows.mean(axis=0))
    mechanism = RanText(lexicon=lexicon)
    statuses = [mechanism.guarantee(epsilon).status for epsilon in (0.5, 1.0, 2.1, 9.0)]
    assert statuses[0] is Status.CONDITIONAL
    assert statuses[2:] == [Status.REFUTED, Status.REFUTED]
    assert audit_mechanism(mechanism, 0.5, words=np.arange(60)).losses.holds
    shares = [mechanism.falls_short(epsilon) for epsilon in (0.5, 1.0, 1.9, 2.1)]
    assert shares == sorted(shares)


@pytest.mark.parametrize("epsilon", [0.4, 3.0, 20.0])
@pytest.mark.parametrize("name", ["cloud", "lattice", "collinear", "two words"])
def test_a_fixed_radius_keeps_epsilon(name: str, epsilon: float) -> None:
    lexicon = LEXICON if name == "cloud" else lexicons.crafted()[name]
    mechanism = RanText(lexicon=lexicon, form="fixed")
    assert mechanism.guarantee(epsilon).status is Status.PROVED
    assert audit_mechanism(mechanism, epsilon, words=np.arange(len(lexicon))).losses.holds
