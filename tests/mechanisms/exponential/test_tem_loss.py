"""The true ε of TEM in O(n²) equals that of its laws, over all pairs and all outputs."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.errors import ComputationError, LexiconError, ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric, distances
from dpcore.mechanisms import distances as distances_module
from dpcore.mechanisms.exponential.tem import log_odds
from dpcore.mechanisms.exponential.tem_loss import effective_epsilon, effective_epsilons
from tests.mechanisms import lexicons
from tests.mechanisms.plain import tem_log_law

NAMES = ("lattice", "one-hot", "collinear", "far from zero", "two words", "near duplicates")


def brute(
    lexicon: Lexicon, metric: Metric, eta: float, gamma: float
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """ε_eff by the definition: laws of all words, all pairs, all outputs."""
    apart = distances(lexicon.vectors, lexicon.vectors, metric)
    logs = np.stack([tem_log_law(row, 2 * eta, gamma) for row in apart])
    worst = 0.0
    for w, log_row in enumerate(logs):
        loss = (log_row - logs).max(axis=1)
        loss[w] = 0.0
        worst = max(worst, float((loss / np.where(apart[w] > 0, apart[w], 1.0)).max()))
    return worst, apart, logs


@pytest.mark.parametrize("tile", [7, 512])
@pytest.mark.parametrize("name", ["cloud", *NAMES])
def test_the_fast_form_equals_brute_force_over_laws(
    name: str, tile: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distances_module, "TILE", tile)
    lexicon = lexicons.cloud(45, 4) if name == "cloud" else lexicons.crafted()[name]
    typical = float(np.median(distances(lexicon.vectors, lexicon.vectors[:1])[0]))
    etas = np.array([0.01, 0.5, 2.0, 8.0, 60.0]) / typical
    gammas = np.array([math.inf, 2.0, 1.0, 0.7, 0.5]) * typical
    for eta, gamma, loss in zip(
        etas, gammas, effective_epsilons(lexicon, "euclidean", etas, gammas), strict=True
    ):
        wanted, apart, logs = brute(lexicon, Metric.EUCLIDEAN, eta, gamma)
        # The laws of near duplicates differ by less than the rounding of their own sums.
        rounding = 1e-13 / apart[apart > 0].min()
        assert loss.epsilon == pytest.approx(wanted, rel=1e-9, abs=loss.error + rounding)
        w, v, y = loss.word, loss.other, loss.output
        assert loss.distance == pytest.approx(apart[w, v], rel=1e-10)
        assert loss.log_word == pytest.approx(logs[w, y], abs=1e-9)
        assert loss.log_other == pytest.approx(logs[v, y], abs=1e-9)
        shown = (loss.log_word - loss.log_other) / loss.distance
        assert shown == pytest.approx(loss.epsilon, rel=1e-9, abs=loss.error + rounding)
        # Theorem 2, and the part of it that no vocabulary escapes where a pair is within γ.
        assert loss.epsilon <= 2 * eta
        if apart[apart > 0].min() <= gamma:
            assert loss.epsilon >= eta * (1 - 1e-9)


@pytest.mark.parametrize("metric", [Metric.MANHATTAN, Metric.CHEBYSHEV, Metric.ANGULAR])
def test_other_metrics(metric: Metric) -> None:
    lexicon = lexicons.cloud(45, 4)
    wanted, _, _ = brute(lexicon, metric, 1.3, 2.0)
    assert effective_epsilon(lexicon, metric, 1.3, 2.0).epsilon == pytest.approx(wanted, rel=1e-9)


def parallel() -> Lexicon:
    """Words in five directions, some at several lengths, one of them against another."""
    rows: list[list[float]]
    rows = [[1, 0, 0], [2, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [3, 3, 3], [-1, -0.0, 0.0]]
    rows += [[7e-45, 0, 0], [2, 4, 6], [3, 6, 9]]
    return lexicons.lexicon(rows)


@pytest.mark.parametrize("tile", [2, 512])
@pytest.mark.parametrize("gamma", [0.9, math.inf])
def test_parallel_words_have_one_law_and_no_loss(
    tile: int, gamma: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The angle between them is 0, and so is their loss: 0/0 is left out, and hides no other."""
    monkeypatch.setattr(distances_module, "TILE", tile)
    lexicon = parallel()
    wanted, apart, logs = brute(lexicon, Metric.ANGULAR, 1.3, gamma)
    assert (apart == 0).sum() > len(lexicon)
    assert np.abs(logs[0] - logs[1]).max() == 0
    loss = effective_epsilon(lexicon, "angular", 1.3, gamma)
    assert loss.epsilon == pytest.approx(wanted, rel=1e-9)
    assert loss.distance > 0
    assert loss.error < 1e-7


def test_words_that_are_all_parallel_are_refused() -> None:
    with pytest.raises(LexiconError, match="all words are parallel"):
        effective_epsilon(lexicons.lexicon([[1, 2], [2, 4], [3, 6]]), "angular", 1.0)


def test_no_epsilon_is_true_of_two_laws_at_distance_0(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words at distance 0 with different distances to others have an infinite loss."""

    def wrong(
        vectors: NDArray[np.float32], origins: NDArray[np.float64], metric: Metric
    ) -> NDArray[np.float64]:
        apart = distances(vectors, origins, Metric.EUCLIDEAN)
        return np.where(apart < 1.01, 0.0, apart)

    monkeypatch.setattr(distances_module, "distances", wrong)
    lexicon = lexicons.line(0.0, 1.0, 3.0, 9.0)
    loss = effective_epsilon(lexicon, "manhattan", 0.5)
    assert (loss.epsilon, loss.error) == (math.inf, 0.0)
    assert {loss.word, loss.other} == {0, 1}


def test_nan_among_the_losses_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(
        vectors: NDArray[np.float32], origins: NDArray[np.float64], metric: Metric
    ) -> NDArray[np.float64]:
        apart = distances(vectors, origins, metric)
        apart[apart == apart.max()] = math.nan
        return apart

    monkeypatch.setattr(distances_module, "distances", broken)
    with pytest.raises(ComputationError, match="NaN"):
        effective_epsilon(lexicons.cloud(20, 3), "manhattan", 0.5)


def test_tiles_beyond_reach_are_not_computed_and_not_missed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Most normalisers of a large ε are alike: then a pair decides that is nearer than most."""
    lexicon = lexicons.cloud(300, 4)
    computed = []
    distances_of_a_tile = distances_module.AllPairs._distances

    def counted(self: Any, *place: Any) -> Any:
        computed.append(place)
        return distances_of_a_tile(self, *place)

    monkeypatch.setattr(distances_module, "TILE", 10)
    monkeypatch.setattr(distances_module.AllPairs, "_distances", counted)
    typical = float(np.median(distances(lexicon.vectors, lexicon.vectors[:1])[0]))
    loss = effective_epsilon(lexicon, "euclidean", 20.0 / typical, 0.7 * typical)
    tiles = 30 * 31 // 2
    assert tiles <= len(computed) < 1.2 * tiles  # the normalisers need all of them once
    wanted, _, _ = brute(lexicon, Metric.EUCLIDEAN, 20.0 / typical, 0.7 * typical)
    assert loss.epsilon == pytest.approx(wanted, rel=1e-9)


def test_progress_ends_at_the_whole() -> None:
    seen = []
    effective_epsilon(lexicons.cloud(40, 3), "euclidean", 1.0, progress=lambda *a: seen.append(a))
    assert {stage for stage, _, _ in seen} == {"normalising", "comparing"}
    assert all(done <= total for _, done, total in seen)
    assert seen[-1][1] == seen[-1][2]


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_a_bad_exponent_or_threshold_is_refused(bad: float) -> None:
    lexicon = lexicons.cloud(10, 2)
    with pytest.raises(ParameterError, match="eta must be finite"):
        effective_epsilon(lexicon, "euclidean", bad, 1.0)
    if not bad > 0:
        with pytest.raises(ParameterError, match="gamma > 0"):
            effective_epsilon(lexicon, "euclidean", 1.0, bad)
    with pytest.raises(ParameterError, match="each eta needs a gamma"):
        effective_epsilons(lexicon, "euclidean", [1.0, 2.0], [1.0])


@pytest.mark.slow
def test_glove(data_dir: Path) -> None:
    """7,847 GloVe vectors: the true ε is two thirds of the nominal one."""
    vectors = np.load(data_dir / "glove6b_50d_partial.npy").astype(np.float32)
    names = (data_dir / "glove6b_50d_partial.vocab.txt").read_text("utf-8").split("\n")
    lexicon = Lexicon("glove", tuple(names[: len(vectors)]), vectors)
    cap = log_odds(len(lexicon), 0.001)
    plain, wide = effective_epsilons(lexicon, "euclidean", [1.0, 1.42], [cap, cap / 1.42])
    assert plain.epsilon == pytest.approx(1.51045531700, rel=1e-9)
    assert (lexicon.words[plain.word], lexicon.words[plain.other]) == ("enzyme", "furthermore")
    assert wide.epsilon == pytest.approx(1.99857963893, rel=1e-9)
