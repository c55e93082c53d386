"""Sums over distances from the spectrum against the distances themselves."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.attack.output.spectrum import BUNDLE, spectrum_of, write_bundle
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric, distances
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons

CRAFTED = {name: lex for name, lex in lexicons.crafted().items() if "tiny" not in name}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path))


def brute(
    lexicon: Lexicon, metric: Metric, function: Callable[[NDArray[np.float64]], NDArray[np.float64]]
) -> NDArray[np.float64]:
    away = distances(lexicon.vectors, lexicon.vectors, metric)
    values = function(away)
    np.fill_diagonal(values, 0.0)
    return values.sum(axis=1)


def decay(
    rate: float, most: float = np.inf
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    return lambda d: np.exp(-np.minimum(rate * d, most))


@pytest.mark.parametrize("metric", [Metric.EUCLIDEAN, Metric.MANHATTAN, Metric.ANGULAR])
@pytest.mark.parametrize("times", [0.01, 1.0, 10.0, 300.0])
def test_a_sum_is_within_its_stated_error(metric: Metric, times: float) -> None:
    lexicon = lexicons.cloud(700, 12)
    spectrum = spectrum_of(lexicon, metric)
    typical = float(np.median(distances(lexicon.vectors, lexicon.vectors[:20], metric)))

    def weight(d: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.exp(-np.minimum(times * d / typical, 9.0))

    sums, errors = spectrum.sums(weight)
    assert np.all(np.abs(sums - brute(lexicon, metric, weight)) <= errors)
    if times <= 10:  # and the bound says something
        assert np.all(errors <= 2e-3 * (1.0 + sums))


@pytest.mark.parametrize("name", sorted(CRAFTED))
def test_crafted_vocabularies_are_within_it_too(name: str) -> None:
    lexicon = CRAFTED[name]
    spectrum = spectrum_of(lexicon, Metric.EUCLIDEAN)
    scale = float(distances(lexicon.vectors, lexicon.vectors[:1]).max())
    for times in (0.1, 5.0, 100.0):
        sums, errors = spectrum.sums(decay(times / scale))
        true = brute(lexicon, Metric.EUCLIDEAN, decay(times / scale))
        assert np.all(np.abs(sums - true) <= errors)


def test_a_low_polynomial_is_exact_and_counts_are_whole() -> None:
    lexicon = lexicons.cloud(600, 5)
    spectrum = spectrum_of(lexicon, Metric.EUCLIDEAN)
    assert np.array_equal(spectrum.counts, np.round(spectrum.counts))
    assert np.array_equal(spectrum.counts.sum(axis=1), np.full(600, 599.0))
    sums, errors = spectrum.sums(lambda d: d**3 - 2.0 * d)
    true = brute(lexicon, Metric.EUCLIDEAN, lambda d: d**3 - 2.0 * d)
    assert np.all(np.abs(sums - true) <= errors)  # rounded moments are all that is lost
    assert np.allclose(sums, true, rtol=1e-3)


def test_several_functions_at_a_time_are_each_alone() -> None:
    spectrum = spectrum_of(lexicons.cloud(300, 4), Metric.EUCLIDEAN)
    rates = np.array([0.5, 2.0, 9.0])
    both, errors = spectrum.sums(lambda d: np.exp(-d[:, None] * rates))
    for i, rate in enumerate(rates):
        single, error = spectrum.sums(decay(rate))
        assert np.allclose(both[:, i], single, rtol=1e-12, atol=1e-15)
        assert np.allclose(errors[:, i], error, rtol=1e-9)


def test_it_is_kept_and_recalled() -> None:
    lexicon = lexicons.cloud(250, 5)
    calls = []
    first = spectrum_of(lexicon, Metric.EUCLIDEAN, lambda *call: calls.append(call))
    assert calls[-1][1] == calls[-1][2] > 0
    calls.clear()
    again = spectrum_of(lexicon, Metric.EUCLIDEAN, lambda *call: calls.append(call))
    assert not calls
    assert np.array_equal(first.moments, again.moments)
    assert not again.moments.flags.writeable


def test_a_bundle_gives_back_what_was_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lexicon = lexicons.cloud(120, 5)
    computed = spectrum_of(lexicon, Metric.EUCLIDEAN)
    write_bundle(lexicon, tmp_path / BUNDLE)
    monkeypatch.setattr("dpcore.attack.output.spectrum.bundled_folder", lambda: tmp_path)
    monkeypatch.setattr(
        "dpcore.attack.output.spectrum.recall", lambda *_: pytest.fail("was not read")
    )
    bundled = spectrum_of(lexicon, Metric.EUCLIDEAN)
    assert np.array_equal(bundled.moments, computed.moments)
    monkeypatch.setattr("dpcore.attack.output.spectrum.recall", lambda *_: None)
    other = lexicons.cloud(90, 5)
    assert len(spectrum_of(other, Metric.EUCLIDEAN).counts) == 90  # another lexicon's is not read
    (tmp_path / BUNDLE).write_bytes(b"PK no archive")
    assert np.array_equal(spectrum_of(lexicon, Metric.EUCLIDEAN).moments, computed.moments)


def test_what_comes_with_the_laboratory_is_of_its_lexicon(rng: MakeRng) -> None:
    lexicon = load()
    calls = []
    spectrum = spectrum_of(lexicon, Metric.EUCLIDEAN, lambda *call: calls.append(call))
    assert not calls  # nothing had to be computed
    words = rng().choice(len(lexicon), 25, replace=False)
    away = distances(lexicon.vectors, lexicon.vectors[words])
    for i, word in enumerate(words):
        others = np.delete(away[i], word)
        cells = np.bincount((others / spectrum.width).astype(int), minlength=40)
        assert np.array_equal(cells, spectrum.counts[word])
    for strength in (0.2, 1.0, 2.5, 10.0):
        sums, errors = spectrum.sums(decay(strength, 17.0))
        true = np.exp(-np.minimum(strength * away, 17.0)).sum(axis=1) - 1.0
        assert np.all(np.abs(sums[words] - true) <= errors[words])
        assert np.all(errors <= 3e-4 * (1.0 + sums))


def test_mechanisms_of_one_lexicon_share_one_spectrum() -> None:
    words = lexicons.cloud(40, 3)
    spectrum = spectrum_of(words, Metric.EUCLIDEAN)
    assert spectrum_of(lexicons.cloud(40, 3), Metric.EUCLIDEAN) is spectrum
    assert spectrum_of(words, Metric.MANHATTAN) is not spectrum
    assert spectrum_of(lexicons.cloud(41, 3), Metric.EUCLIDEAN) is not spectrum
