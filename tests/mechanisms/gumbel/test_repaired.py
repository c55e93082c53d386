"""The repaired truncated Gumbel mechanism: its law, its proved bound and its certificate.

False-alarm probability of each randomised assertion: 1e-6.
"""

import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.guarantee import Status
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import distances
from dpcore.mechanisms import certificate
from dpcore.mechanisms.gumbel import repaired_certificate as certificate_module
from dpcore.mechanisms.gumbel.repaired import (
    TruncatedGumbelRepaired,
    law_of,
    log_law_of,
    proved_epsilon,
    proved_strength,
)
from dpcore.mechanisms.gumbel.repaired_certificate import normaliser_bounds, repaired_losses
from dpcore.mechanisms.registry import create
from dpcore.noise.samplers import poisson_weights, standard_gumbel, truncated_poisson
from tests.chance import assert_law
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons
from tests.needs import ROOT


def log_laws(lexicon: Lexicon, strength: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """ln P of all pairs, by the definition: a softmax for each K; and the distances."""
    n = len(lexicon)
    apart = distances(lexicon.vectors, lexicon.vectors)
    weights = poisson_weights(n)
    logs = np.empty((n, n))
    for w, row in enumerate(apart):
        order = np.argsort(row, kind="stable")
        near = row[order]
        terms = weights / [np.exp(-strength * near[:k]).sum() for k in range(1, n + 1)]
        for i in range(n):
            logs[w, order[i]] = -strength * near[i] + math.log(terms[i:].sum())
    return logs, apart


def brute(
    lexicon: Lexicon,
    strength: float,
    known: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
) -> float:
    """The largest loss per distance."""
    logs, apart = known or log_laws(lexicon, strength)
    apart = np.where(np.eye(len(apart)) > 0, 1.0, apart)
    return max(float(((row - logs).max(axis=1) / apart[w]).max()) for w, row in enumerate(logs))


def test_the_closed_form_is_a_mixture_of_softmaxes() -> None:
    lexicon = lexicons.cloud(30, 3)
    logs, apart = log_laws(lexicon, 1.7)
    for w in (0, 11):
        order = np.argsort(apart[w], kind="stable")
        near = apart[w][order]
        law = law_of(near[:29], near, np.array([1.7]))[0]
        np.testing.assert_allclose(law, np.exp(logs[w][order]), rtol=1e-12)
        assert law.sum() == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("strength", [0.3, 1.7, 40.0, 1e4])
def test_the_logarithms_do_not_underflow(strength: float) -> None:
    """Equal to the definition in logarithms, far below the smallest float."""
    lexicon = lexicons.cloud(30, 3)
    logs, apart = log_laws(lexicon, strength)
    for w in (0, 11):
        order = np.argsort(apart[w], kind="stable")
        near = apart[w][order]
        computed = log_law_of(near[:29], near, strength)
        np.testing.assert_allclose(computed, logs[w][order], rtol=1e-12, atol=1e-12)
    assert (logs.min() < -1e4) == (strength == 1e4)
    mechanism: Any = create("truncated-gumbel-repaired", lexicon)
    epsilon = max(2.0 * strength, 1.1 * mechanism.admissible.low)
    whole = log_laws(lexicon, mechanism.strength(epsilon))[0]
    np.testing.assert_allclose(mechanism.log_law(4, epsilon), whole[4], rtol=1e-11, atol=1e-11)


def test_the_law_is_that_of_the_algorithm(rng: MakeRng) -> None:
    """K, then the smallest distance minus noise among the K nearest."""
    lexicon = lexicons.cloud(30, 3)
    mechanism: Any = create("truncated-gumbel-repaired", lexicon)
    epsilon = 1.4 * mechanism.admissible.low
    b, draws = mechanism.noise_scale(epsilon), 20_000
    row = distances(lexicon.vectors, lexicon.vectors[[4]])[0]
    order = np.argsort(row, kind="stable")
    noisy = row[order] - b * standard_gumbel(rng(), (draws, 30))
    noisy[np.arange(30) >= truncated_poisson(rng(1), draws, 30)[:, None]] = math.inf
    law = mechanism.law(4, [epsilon]).dense(30)[0]
    assert_law(order[noisy.argmin(axis=1)], law)
    assert_law(mechanism.sample(rng(2), np.full(draws, 4), epsilon), law)


def test_many_heads_and_a_rest(rng: MakeRng) -> None:
    """More words than the counts tell apart: sampling puts only the heads in order."""
    lexicon = lexicons.cloud(200, 25)
    mechanism: Any = create("truncated-gumbel-repaired", lexicon)
    epsilon = 1.1 * mechanism.admissible.low
    assert mechanism.heads < 100
    law = mechanism.law(9, [epsilon]).dense(200)[0]
    assert law.sum() == pytest.approx(1, abs=1e-12)
    assert_law(mechanism.sample(rng(), np.full(10_000, 9), epsilon), law)
    grid = np.array([epsilon])
    assert_law(mechanism.paths(rng(1), np.full(10_000, 9)).at(grid)[:, 0], law)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.01, 0.3, 2.0, 10.0])
@pytest.mark.parametrize("name", ["cloud", "wide", "lattice", "one-hot", "collinear", "line"])
def test_the_certificate_covers_every_pair_and_output(name: str, share: float) -> None:
    crafted = {
        "cloud": lexicons.cloud(60, 3),
        "wide": lexicons.cloud(140, 12),
        "line": lexicons.line(0, 1e-3, 0.5, 4, 4.001, -3),
    }
    lexicon = crafted[name] if name in crafted else lexicons.crafted()[name]
    separation = lexicon.extent.separation
    strength = share / separation
    certified = repaired_losses(lexicon, np.array([strength]))[0]
    logs, apart = log_laws(lexicon, strength)
    true = brute(lexicon, strength, (logs, apart))
    assert true <= certified.epsilon
    if name in {"cloud", "wide", "one-hot"}:  # no ties, or such as do not matter
        assert certified.epsilon <= true * (1 + 3e-6)
        loss = logs[certified.word, certified.output] - logs[certified.other, certified.output]
        assert loss / apart[certified.word, certified.other] == pytest.approx(true, rel=1e-6)
    assert true <= float(proved_epsilon(np.array(strength), len(lexicon), separation))


@pytest.mark.parametrize("share", [0.01, 0.3, 2.0, 10.0])
@pytest.mark.parametrize("name", ["cloud", "lattice", "one-hot", "collinear"])
def test_bounded_normalisers_certify_the_same(
    monkeypatch: pytest.MonkeyPatch, name: str, share: float
) -> None:
    """Z between two float32 bounds first, in float64 where it matters: the same worst loss."""
    lexicon = lexicons.cloud(400, 12) if name == "cloud" else lexicons.crafted()[name]
    strengths = np.array([share / lexicon.extent.separation])
    plain = certificate_module.repaired_losses(lexicon, strengths)[0]
    monkeypatch.setattr(certificate_module, "_BOUNDED", 2)
    bounded = certificate_module.repaired_losses(lexicon, strengths)[0]
    assert bounded.epsilon == pytest.approx(plain.epsilon, rel=3e-6)


@pytest.mark.slow
@pytest.mark.parametrize("strength", [0.05, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("apart", [1.5, 10.0])
def test_pairs_outside_the_table_of_neighbours_are_looked_at_too(
    monkeypatch: pytest.MonkeyPatch, apart: float, strength: float
) -> None:
    """A crowd larger than the table, and isolated words, whose normaliser is smaller."""
    vectors = np.eye(170, dtype=np.float32)
    vectors[150:] *= apart
    lexicon = Lexicon("crowd", tuple(f"w{i}" for i in range(170)), vectors)
    assert lexicon.neighbours().indices.shape[1] < len(lexicon)
    seen: list[int] = []
    offer = certificate_module._Evaluation._offer

    def watched(self: Any, value: float, word: int, other: int, output: int) -> None:
        if word not in self.order[other]:
            seen.append(word)
        offer(self, value, word, other, output)

    monkeypatch.setattr(certificate_module._Evaluation, "_offer", watched)
    certified = repaired_losses(lexicon, np.array([strength]))[0]
    true = brute(lexicon, strength)
    assert true <= certified.epsilon <= true * (1 + 3e-6)
    assert seen  # their bound was above what all pairs inside lose


def test_more_equal_pairs_than_are_computed_keep_their_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(certificate_module, "_BOUNDED", 2)
    monkeypatch.setattr(certificate_module, "_SETTLED", 1)
    monkeypatch.setattr(certificate_module, "_ROUNDS", 1)
    lexicon = lexicons.cloud(60, 3)
    strength = 0.3 / lexicon.extent.separation
    loss = repaired_losses(lexicon, np.array([strength]))[0]
    true = brute(lexicon, strength)
    assert true <= loss.epsilon <= true * 1.01


@pytest.mark.parametrize("n", [2, 40, 25_000])
@pytest.mark.parametrize("separation", [1e-3, 0.2, 3.0])
def test_the_proved_strength_inverts_the_bound(n: int, separation: float) -> None:
    low = float(proved_epsilon(np.zeros(()), n, separation))
    assert proved_strength(low, n, separation) == 0.0
    assert proved_strength(0.5 * low, n, separation) == 0.0
    for times in (1.001, 1.5, 10.0, 1e4):
        strength = proved_strength(times * low, n, separation)
        back = float(proved_epsilon(np.array(strength), n, separation))
        assert back <= times * low
        assert back == pytest.approx(times * low, rel=1e-9)


def test_what_it_guarantees_holds(rng: MakeRng) -> None:
    lexicon = lexicons.cloud(60, 3)
    mechanism: Any = create("truncated-gumbel-repaired", lexicon)
    for epsilon in (1.02 * mechanism.admissible.low, 15.0, 37.0, 900.0):
        assert brute(lexicon, mechanism.strength(epsilon)) <= epsilon
    assert mechanism.guarantee(15.0).status is Status.CERTIFIED


def test_without_certificate_the_bound_for_every_vocabulary_decides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(certificate, "CERTIFIED_AT_ONCE_WORDS", 10)
    monkeypatch.setattr(certificate, "known_certificate", lambda *_: None)
    lexicon = lexicons.cloud(60, 3)
    mechanism = TruncatedGumbelRepaired(lexicon=lexicon)
    low = float(proved_epsilon(np.zeros(()), 60, lexicon.extent.separation))
    assert mechanism.admissible.low == pytest.approx(low)
    assert "a certificate allows less" in mechanism.admissible.low_reason
    promise = mechanism.guarantee(2 * low)
    assert promise.status is Status.PROVED
    assert "calibrate --mechanism truncated-gumbel-repaired" in promise.reason
    assert brute(lexicon, mechanism.strength(2 * low)) <= 2 * low


def test_what_to_know_before_it_is_taken_is_computed() -> None:
    """At the lowest ε that a lexicon allows the noise is largest; there a word stays this often."""
    mechanism = create("truncated-gumbel-repaired", lexicons.cloud(30, 6))
    low = mechanism.admissible.low
    lowest, more = (
        [mechanism.law(word, [epsilon]).probabilities[0, word] for word in range(30)]
        for epsilon in (low * (1 + 1e-9), 1.5 * low)
    )
    assert (
        f"a word stays with probability {np.mean(lowest):.4g} (mean of 30 words, the least "
        f"{min(lowest):.3g}), and more often at any larger ε"
    ) in mechanism.caution
    assert np.all(np.array(more) > lowest)


def test_the_summary_and_the_page_say_how_often_words_of_the_bundled_lexicon_stay() -> None:
    mechanism = create("truncated-gumbel-repaired", load())
    stays = float(re.search(r"with probability (0\.\d+)", mechanism.caution)[1])
    assert stays > 0.999
    assert "a word nearly always stays" in mechanism.summary
    page = (ROOT / "docs/mechanisms.md").read_text(encoding="utf-8")
    assert f"({mechanism.admissible.low:.2f}), a word stays with probability .999" in page


# -- bounds on ln Z from float32 products, against float64 brute force


def log_normalisers(
    vectors: NDArray[np.float32], strengths: Iterable[float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    apart = distances(vectors, vectors)
    np.fill_diagonal(apart, np.inf)  # own weight 1 comes in by log1p: small sums keep their digits
    logs = np.array([np.log1p(np.exp(-s * apart).sum(axis=1)) for s in strengths])
    return logs, apart.min(axis=1)


@pytest.mark.parametrize(
    ("n", "d", "middle", "spread"),
    [
        (40, 3, 0.0, 1.0),
        (1100, 20, 0.0, 1.0),  # several tiles
        (600, 5, 30.0, 1.0),  # far from the origin: the product loses digits
        (600, 300, 0.0, 1e-6),
        (600, 50, 0.0, 1e7),
    ],
)
def test_the_truth_lies_between_the_bounds(
    rng: MakeRng, n: int, d: int, middle: float, spread: float
) -> None:
    vectors = (middle + spread * rng().standard_normal((n, d))).astype(np.float32)
    typical = spread * np.sqrt(d)
    strengths = np.array([1e-3, 0.1, 1.0, 5.0, 30.0, 1e4]) / typical
    logs, gaps = log_normalisers(vectors, strengths)
    bounds = normaliser_bounds(vectors, gaps, strengths)
    assert bounds is not None
    low, high = bounds
    assert np.all(low <= logs + 1e-12)
    assert np.all(logs <= high + 1e-12)
    if not middle:
        assert np.all((high - low)[:3] < 3e-2)
        assert np.all((high - low)[0] < 3e-4)


def test_near_duplicates_make_the_bounds_wide_and_not_wrong(rng: MakeRng) -> None:
    half = rng().standard_normal((300, 40)).astype(np.float32)
    vectors = np.concatenate((half, np.nextafter(half, np.float32(9))))
    strengths = np.array([0.5, 20.0, 2e6])
    logs, gaps = log_normalisers(vectors, strengths)
    bounds = normaliser_bounds(vectors, gaps, strengths)
    assert bounds is not None
    assert np.all(bounds[0] <= logs)
    assert np.all(logs <= bounds[1])
    assert bounds[1].max() <= np.log(600) + 1e-12


def test_lengths_whose_squares_leave_float32_are_left_to_float64() -> None:
    vectors = lexicons.cloud(30, 3).vectors
    gaps = np.ones(30)
    assert normaliser_bounds(vectors * np.float32(1e18), gaps, np.ones(1)) is None
    assert normaliser_bounds(vectors * np.float32(1e-18), gaps, np.ones(1)) is None


def test_progress_counts_every_tile(rng: MakeRng) -> None:
    seen = []
    vectors = rng().standard_normal((1100, 4)).astype(np.float32)
    _, gaps = log_normalisers(vectors, [])
    normaliser_bounds(vectors, gaps, np.ones(2), lambda *args: seen.append(args))
    assert seen == [("normalising", k, 6) for k in range(1, 7)]
