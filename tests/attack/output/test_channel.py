"""Likelihoods of one output under all words against the laws themselves, one word after another."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.attack.output.channel import (
    ExponentialColumns,
    GumbelColumns,
    RepairedColumns,
    Rows,
    open_channel,
)
from dpcore.attack.output.posterior import worst_odds
from dpcore.errors import EpsilonError, ParameterError
from dpcore.lexicon.metric import Metric, distances
from dpcore.limits import MAX_ATTACK_WORDS
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create
from dpcore.noise.samplers import log_survival_and_density, poisson_weights
from tests.mechanisms import lexicons

LEXICON = lexicons.cloud(400, 12)
CLOSED = [
    ("tem", {}, (0.2, 1.0, 4.0, 30.0)),
    ("tem", {"metric": "manhattan", "beta": "0.2"}, (0.1, 1.0, 5.0)),
    ("tem-calibrated", {}, (0.2, 1.0, 4.0)),
    ("truncated-gumbel-repaired", {}, (1.1, 2.0, 5.0, 30.0)),
]


def admissible(mechanism: Mechanism, epsilons: Sequence[float]) -> list[float]:
    low = mechanism.admissible.low
    return [max(epsilon, 1.0001 * low) for epsilon in epsilons]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "settings", "epsilons"), CLOSED)
def test_a_column_is_that_of_all_laws(
    name: str, settings: dict[str, str], epsilons: tuple[float, ...]
) -> None:
    mechanism = create(name, LEXICON, settings)
    channel = open_channel(mechanism)
    assert isinstance(channel, ExponentialColumns | RepairedColumns)
    for epsilon in admissible(mechanism, epsilons):
        laws = np.stack([mechanism.law(w, [epsilon]).probabilities[0] for w in range(400)])
        for output in (0, 17, 399):
            likelihood = channel.seen(output).at(epsilon)
            with np.errstate(divide="ignore"):
                true = np.log(laws[:, output])
            known = laws[:, output] > 1e-300
            assert known.sum() > 1
            assert np.all(np.abs(likelihood.logs - true)[known] <= likelihood.errors[known] + 1e-11)
            assert likelihood.errors.max() < 1e-3
            assert likelihood.words.tolist() == list(range(400))


@pytest.mark.parametrize("name", ["tem", "truncated-gumbel-repaired", "k-ary"])
def test_what_is_prepared_together_is_what_each_epsilon_gives_alone(name: str) -> None:
    mechanism = create(name, LEXICON)
    # More than are kept, one of them twice.
    epsilons = [*np.geomspace(10.0, 60.0, 20).tolist(), 10.0]
    together, alone = open_channel(mechanism), open_channel(mechanism)
    for first in range(0, len(epsilons), 8):
        some = epsilons[first : first + 8]
        together.prepare(some)
        for epsilon in some:
            a, b = together.seen(5).at(epsilon), alone.seen(5).at(epsilon)
            assert np.allclose(a.logs, b.logs, rtol=1e-14, atol=1e-14)
            assert np.allclose(a.errors, b.errors, rtol=1e-6, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["near duplicates", "lattice", "huge and tiny", "collinear"])
def test_crafted_vocabularies_with_equal_distances(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpcore.attack.output.channel.MAX_ATTACK_PRIOR_WORDS", 3)
    lexicon = lexicons.crafted()[name]
    for short in ("tem", "truncated-gumbel-repaired"):
        mechanism = create(short, lexicon)
        epsilon = 1.5 * mechanism.admissible.low or 1.0
        channel = open_channel(mechanism)
        assert not isinstance(channel, Rows)
        for output in (0, len(lexicon) - 1):
            likelihood = channel.seen(output).at(epsilon)
            true = np.array(
                [mechanism.law(w, [epsilon]).probability(output) for w in range(len(lexicon))]
            )
            known = true > 1e-300
            gap = np.abs(likelihood.logs[known] - np.log(true[known]))
            assert np.all(gap <= likelihood.errors[known] + 1e-9)


def plain_gumbel(d: NDArray[np.float64], i: int, b: float, bound: float) -> float:
    """P(u_i) by a fine trapezoid rule: the definition, written down."""
    weights = poisson_weights(d.size)
    t = np.linspace(-bound, bound + d[i], 8_001)
    t = np.unique(np.concatenate((t, d - bound, d + bound)))
    survival = np.stack([log_survival_and_density(t - x, b, bound)[0] for x in d])
    density = np.exp(log_survival_and_density(t - d[i], b, bound)[1])
    products = np.exp(
        np.cumsum(survival, axis=0) - np.where(np.isfinite(survival[i]), survival[i], 0)
    )
    total = (weights[i:, None] * products[i:]).sum(axis=0)
    return float(np.trapezoid(np.where(np.isfinite(survival[i]), density * total, 0.0), t))


@pytest.mark.slow
def test_a_column_of_the_published_gumbel_mechanism() -> None:
    mechanism = create("truncated-gumbel", LEXICON)
    channel = open_channel(mechanism)
    assert isinstance(channel, GumbelColumns)
    low = mechanism.admissible.low
    for epsilon in (1.01 * low, 3.0 * low, 100.0 * low, 1e6 * low):
        laws = np.stack([mechanism.law(w, [epsilon]).probabilities[0] for w in range(400)])
        for output in (0, 123):
            likelihood = channel.seen(output).at(epsilon)
            true = laws[:, output]
            # The laws themselves are right to 1e-9.
            known = true > 1e-7
            gap = np.abs(likelihood.logs[known] - np.log(true[known]))
            assert np.all(gap <= likelihood.errors[known] + 2e-9 / true[known])
            assert np.all(np.exp(likelihood.logs[~known] - likelihood.errors[~known]) <= 1.1e-7)
            assert likelihood.errors[true > 1e-3].max() < 0.1


def test_far_outputs_of_the_published_gumbel_mechanism_are_integrals() -> None:
    mechanism: Any = create("truncated-gumbel", LEXICON)
    channel = open_channel(mechanism)
    epsilon = 40.0 * mechanism.admissible.low
    b = mechanism.noise_scale(epsilon)
    bound = LEXICON.with_metric(Metric.EUCLIDEAN).extent.diameter
    likelihood = channel.seen(5).at(epsilon)
    d = distances(LEXICON.vectors, LEXICON.vectors)
    likely = np.argsort(-likelihood.logs)
    for word in (*likely[:4], *likely[40:200:80]):
        order = np.argsort(d[word], kind="stable")
        true = plain_gumbel(d[word][order], int(np.flatnonzero(order == 5)[0]), b, bound)
        assert abs(likelihood.logs[word] - np.log(true)) <= likelihood.errors[word] + 1e-4


@pytest.mark.parametrize("name", ["tem", "tem-calibrated", "truncated-gumbel"])
def test_a_list_of_words_gets_its_exact_laws(name: str) -> None:
    mechanism = create(name, LEXICON)
    epsilon = 30.0 * mechanism.admissible.low or 2.0
    channel = open_channel(mechanism, [7, 300, 7])
    assert isinstance(channel, Rows)
    assert channel.words.tolist() == [7, 300]
    likelihood = channel.seen(7).at(epsilon)
    for word in (7, 300):
        true = mechanism.law(word, [epsilon]).probability(7)
        assert likelihood.of(word) == pytest.approx(np.log(true), rel=4e-3)
    assert "2 words" in likelihood.method
    with pytest.raises(ParameterError, match="not among the 2"):
        likelihood.of(8)


@pytest.mark.parametrize(
    ("name", "epsilons"),
    # Beyond ε = 750 probabilities of far words are below the smallest float.
    [("tem", (0.5, 2.0, 0.5)), ("truncated-gumbel-repaired", (10.0, 1000.0, 10.0))],
)
def test_lists_and_columns_agree_at_every_epsilon(
    name: str, epsilons: tuple[float, float, float]
) -> None:
    mechanism = create(name, LEXICON)
    all_words, some = open_channel(mechanism), open_channel(mechanism, [3, 4, 250])
    a, b = all_words.seen(9), some.seen(9)
    for epsilon in epsilons:
        by_list, by_column = a.at(epsilon), b.at(epsilon)
        assert np.allclose(by_list.logs[[3, 4, 250]], by_column.logs, atol=1e-5)
        odds = worst_odds(LEXICON, by_column, mechanism.guarantee(epsilon), 3)
        assert not odds.broken


def test_what_cannot_be_attacked_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match="nearest-neighbour attacker"):
        open_channel(create("madlib", LEXICON))
    with pytest.raises(ParameterError, match="1 to 200 words, got 201"):
        open_channel(create("tem", LEXICON), range(201))
    channel = open_channel(create("truncated-gumbel", LEXICON), [1, 2])
    with pytest.raises(EpsilonError, match="must be >"):
        channel.seen(1).at(0.1)
    with pytest.raises(ParameterError, match=r"0\.\.399"):
        channel.seen(400)
    monkeypatch.setattr("dpcore.attack.output.channel.MAX_ATTACK_WORDS", 399)
    with pytest.raises(ParameterError, match="list the possible words"):
        open_channel(create("tem", LEXICON))
    assert MAX_ATTACK_WORDS >= 25_000
