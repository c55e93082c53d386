"""All words at once: the most likely histogram, undone counts with errors, and what is learned."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from dpcore.crowd.estimates import OutputCounts
from dpcore.crowd.histogram import all_counts, most_likely
from dpcore.crowd.learning import learn_weights
from dpcore.errors import ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.registry import create
from tests.mechanisms import lexicons
from tests.mechanisms.contract import SMALL, typical

N = len(SMALL)
FEW, _ = Lexicon.build("few", list("abcde"), SMALL.vectors[:5])


@pytest.fixture(autouse=True)
def _fresh(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path))


@pytest.mark.parametrize("name", ["k-ary", "tem", "custext", "neighbour-response"])
def test_the_histogram_is_the_most_likely_one_by_brute_force(name: str) -> None:
    mechanism = create(name, FEW, {"k": 2} if name == "neighbour-response" else {})
    epsilon = typical(create(name, SMALL))
    channel = np.array([mechanism.law(word, [epsilon]).dense(5)[0] for word in range(5)])
    outputs = np.array([40, 7, 0, 22, 31])
    found = most_likely(mechanism, epsilon, OutputCounts(("a",), np.array([3]), outputs[None]))[0]
    assert found.min() >= 0
    assert found.sum() == pytest.approx(outputs.sum())

    def loss(free: np.ndarray) -> float:
        share = np.exp(free - free.max())
        expected = channel.T @ (share / share.sum())
        return float(-(outputs[outputs > 0] * np.log(expected[outputs > 0])).sum())

    best = min(
        minimize(loss, np.random.default_rng(seed).normal(size=5)).fun for seed in range(5)
    )  # fmt: skip
    expected = channel.T @ (found / found.sum())
    reached = -(outputs[outputs > 0] * np.log(expected[outputs > 0])).sum()
    assert reached <= best + 1e-3


@pytest.mark.parametrize("name", ["k-ary", "tem", "budget"])
def test_undone_counts_are_unbiased_and_their_errors_right(name: str) -> None:
    mechanism = create(name, SMALL)
    epsilon = typical(mechanism)
    counts = np.full(N, 20)
    counts[:3] = 900, 400, 0
    words, rng = np.repeat(np.arange(N), counts), np.random.default_rng(0)
    found, errors = [], []
    for _ in range(200):
        outputs = np.bincount(mechanism.sample(rng, words, epsilon), minlength=N)
        estimators = all_counts(
            mechanism, epsilon, OutputCounts(("a",), np.array([3]), outputs[None])
        )
        found.append(estimators.counts[0])
        errors.append(estimators.errors[0])
    spread = np.std(found, axis=0)
    # 40 words: 5 standard errors once in 40,000 tests.
    assert np.all(np.abs(np.mean(found, axis=0) - counts) <= 5 * spread / math.sqrt(200))
    # Both are known to a tenth; the errors use the same draws in every repetition. Where next to
    # nothing but the count itself is in Σ h², the error is too large.
    ratio = np.sqrt(np.mean(np.square(errors), axis=0)) / spread
    assert ratio.min() > 0.6
    assert abs(np.median(ratio) - 1) < 0.15


def test_a_law_that_hides_which_word_it_was_is_refused() -> None:
    with pytest.raises(ParameterError, match="not undone at once"):
        all_counts(
            create("neighbour-response", SMALL, {"k": 3}), 4.0,
            OutputCounts(("a",), np.array([2]), np.ones((1, N), dtype=int)),
        )  # fmt: skip


def test_weights_tell_clean_texts_apart() -> None:
    """Learned from texts that no one can read, used on texts that nobody made private."""
    rng, mechanism = np.random.default_rng(1), create("k-ary", SMALL)
    shares = np.full((2, N), 1.0)
    shares[0, :5] += 1.0
    shares[1, 5:10] += 1.0
    shares /= shares.sum(axis=1, keepdims=True)
    outputs = []
    for share in shares:
        words = rng.choice(N, size=300_000, p=share)
        outputs.append(np.bincount(mechanism.sample(rng, words, 1.5), minlength=N))
    seen = OutputCounts(("no", "yes"), np.array([3_000, 3_000]), np.array(outputs))
    weights = learn_weights(mechanism, 1.5, seen)
    truth = np.log(shares[1] / shares[0])
    assert np.corrcoef(weights.weights[1], truth)[0, 1] > 0.7
    texts = [rng.choice(N, size=60, p=share) for share in shares for _ in range(200)]
    scores = weights.scores(np.concatenate(texts), np.arange(0, 400 * 60 + 1, 60))
    right = scores.argmax(axis=1) == np.repeat([0, 1], 200)
    best = np.array([truth[text].sum() > 0 for text in texts]) == np.repeat([False, True], 200)
    assert right.mean() > 0.8 * best.mean()
    assert weights.classes == ("no", "yes")
    with pytest.raises(ParameterError, match="two classes"):
        learn_weights(mechanism, 1.5, OutputCounts(("a",), np.array([2]), seen.outputs[:1]))


def test_a_class_of_few_words_is_named_as_often_as_it_is_met() -> None:
    """More noise in the counts of one class must not speak for it, nor against it."""
    rng, n = np.random.default_rng(2), 2_000
    shares = np.tile(1.0 / np.arange(1, n + 1), (4, 1))
    own = rng.permutation(200).reshape(4, 50)
    for share, words in zip(shares, own, strict=True):
        share[words] *= 3.0
    shares /= shares.sum(axis=1, keepdims=True)
    mechanism, sizes = create("k-ary", lexicons.cloud(n, 2)), np.array([4, 3, 2, 1]) * 20_000
    drawn = (rng.choice(n, size=size, p=p) for size, p in zip(sizes, shares, strict=True))
    outputs = [np.bincount(mechanism.sample(rng, words, 4.0), minlength=n) for words in drawn]
    # As many texts of each class, so that only the words decide.
    seen = OutputCounts(tuple("abcd"), np.full(4, 2_000), np.array(outputs))
    words = np.concatenate([rng.choice(n, size=150 * 40, p=share) for share in shares])
    scores = learn_weights(mechanism, 4.0, seen).scores(words, np.arange(0, words.size + 1, 40))
    guessed = scores.argmax(axis=1)
    assert np.all(np.abs(np.bincount(guessed, minlength=4) - 150) < 50)
    assert (guessed == np.repeat(range(4), 150)).mean() > 0.85  # by the true shares .97


@pytest.mark.parametrize("name", ["k-ary", "tem"])
def test_errors_of_a_part_follow_from_those_of_the_whole(name: str) -> None:
    mechanism, rng = create(name, SMALL), np.random.default_rng(0)
    epsilon = typical(mechanism)
    whole = rng.poisson(20_000.0 / np.arange(1, N + 1))
    part = rng.binomial(whole, 0.25)
    both = OutputCounts(("all", "part"), np.array([8, 2]), np.array([whole, part]))
    alone = all_counts(mechanism, epsilon, both)
    shared = all_counts(mechanism, epsilon, both, like=[0, 0])
    assert shared.counts == pytest.approx(alone.counts, rel=1e-9, abs=1e-6)
    assert shared.errors[0] == pytest.approx(alone.errors[0])
    # Own draws and own outputs differ where many words answer for one: here of 40 words.
    assert shared.errors[1] == pytest.approx(alone.errors[1], rel=0.25)
    assert abs(np.log(shared.errors[1] / alone.errors[1]).mean()) < 0.05
