"""A certified ε is an upper bound of the true loss: against 64-bit mantissas, crafted words."""

import numpy as np
import pytest

from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric, distance_error, distances, paired_distances
from dpcore.mechanisms.distances import RELATIVE_ERROR, AllPairs
from dpcore.mechanisms.exponential.tem import log_odds
from dpcore.mechanisms.exponential.tem_loss import effective_epsilons
from dpcore.mechanisms.gumbel import repaired_certificate as certificate
from dpcore.mechanisms.gumbel.repaired_certificate import repaired_losses
from tests.mechanisms import lexicons
from tests.mechanisms.exactly import WIDE, repaired_loss, tem_loss, wide_distances


def _pairs_of_near_words(gap: float, n: int = 200, d: int = 8) -> Lexicon:
    """A third of the words has a twin at about `gap`: little loss, and many digits matter."""
    rng = np.random.default_rng([n, d])
    rows = rng.standard_normal((n, d))
    rows[: n // 3] = rows[n // 3 : 2 * (n // 3)] + gap * rng.standard_normal((n // 3, d)) / d**0.5
    return lexicons.lexicon(rows)


def _parallel() -> Lexicon:
    rng = np.random.default_rng(4)
    return lexicons.lexicon(np.outer(rng.uniform(0.01, 100.0, 80), rng.standard_normal(6)))


VOCABULARIES = {
    "cloud": lexicons.cloud(60, 4),
    "twins at 1e-2": _pairs_of_near_words(1e-2),
    "twins at 1e-4": _pairs_of_near_words(1e-4),
    "parallel": _parallel(),
    "huge and tiny": lexicons.crafted()["huge and tiny"],
    "near duplicates": lexicons.crafted()["near duplicates"],
    "far from zero": lexicons.crafted()["far from zero"],
    "lattice": lexicons.crafted()["lattice"],
}


def _typical(lexicon: Lexicon) -> float:
    return float(np.median(distances(lexicon.vectors, lexicon.vectors[:1])[0][1:]))


@pytest.mark.parametrize("name", VOCABULARIES)
def test_distances_are_off_by_no_more_than_is_said(name: str) -> None:
    lexicon = VOCABULARIES[name]
    n = len(lexicon)
    exact = wide_distances(lexicon)
    first, second = np.indices((n, n)).reshape(2, -1)
    ways = (
        distances(lexicon.vectors, lexicon.vectors),
        paired_distances(lexicon.vectors[first], lexicon.vectors[second]).reshape(n, n),
    )
    for computed in ways:
        off = np.abs(computed.astype(WIDE) - exact)
        assert (off <= WIDE(distance_error(lexicon.dimension)) * exact).all()
    for tile in AllPairs(lexicon.vectors, Metric.EUCLIDEAN):
        truth = exact[tile.rows, tile.columns]
        assert (np.abs(tile.distances.astype(WIDE) - truth) <= WIDE(RELATIVE_ERROR) * truth).all()


@pytest.mark.parametrize("name", ["cloud", "parallel", "huge and tiny", "far from zero"])
def test_angles_are_off_by_no_more_than_is_said(name: str) -> None:
    lexicon = VOCABULARIES[name]
    rows = lexicon.vectors.astype(WIDE)
    unit = rows / np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
    computed = distances(lexicon.vectors, lexicon.vectors, Metric.ANGULAR)
    for w, row in enumerate(unit):
        chord = np.sqrt(np.square(unit - row).sum(axis=1))
        total = np.sqrt(np.square(unit + row).sum(axis=1))
        truth = 2 * np.arctan2(chord, total)
        assert (np.abs(computed[w] - truth) <= distance_error(lexicon.dimension)).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", VOCABULARIES)
def test_the_loss_of_tem_is_enclosed(name: str) -> None:
    lexicon = VOCABULARIES[name]
    cap = log_odds(len(lexicon), 0.001)
    etas = np.array([0.01, 0.5, 2.0, 8.0, 60.0]) / _typical(lexicon)
    for eta, loss in zip(
        etas, effective_epsilons(lexicon, "euclidean", etas, cap / etas), strict=True
    ):
        true = tem_loss(lexicon, eta, eta * (cap / eta))
        assert true <= loss.epsilon + loss.error
        assert loss.epsilon - loss.error <= true
        if name == "cloud":
            assert loss.error < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("name", VOCABULARIES)
def test_the_loss_of_the_repaired_mechanism_is_enclosed(
    name: str, bounded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From distances of float32 the result was 4e-6 of the loss too low for words with a twin."""
    lexicon = VOCABULARIES[name]
    if bounded:  # Z between two float32 bounds first, as for a large vocabulary
        monkeypatch.setattr(certificate, "_BOUNDED", 2)
    strengths = np.array([0.01, 0.5, 3.0, 10.0, 40.0]) / _typical(lexicon)
    for strength, loss in zip(strengths, repaired_losses(lexicon, strengths), strict=True):
        true = repaired_loss(lexicon, strength)
        assert true <= loss.epsilon
        if name == "cloud" and not bounded:
            assert loss.epsilon <= true * (1 + 1e-9)
