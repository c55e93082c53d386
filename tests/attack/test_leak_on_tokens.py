"""Guesses about the words of real texts, rewritten by the command, against sums of our own.

The guesser knows the law and the shipped counts; the words are as frequent as they are in the
texts. Sums are written down from the definition of the mechanism, without the code under test.
"""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.attack.leak import leak
from dpcore.attack.output.prior import content_words
from dpcore.cli.main import main
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import create
from dpcore.rewrite.documents import encode_all
from dpcore.study.vocabularies import plain_rows
from tests.chance import FALSE_ALARM

TOKENS = 20_000
EPSILON, K = 9.2, 10


def odds_of(epsilon: float, k: int) -> tuple[float, float]:
    """Probability of each of the k nearest words, and of each other one."""
    n = len(load(None))
    total = k * math.exp(epsilon) + n - k
    return math.exp(epsilon) / total, 1 / total


def guesses(weights: NDArray[np.float64], epsilon: float, k: int) -> NDArray[np.int64]:
    """The word that is likeliest behind each output, shape (n,)."""
    near, far = odds_of(epsilon, k)
    answers = load(None).neighbours(k).indices
    best = np.full(weights.size, weights.argmax())
    likelihood = weights[best] * far
    for word in np.argsort(weights, kind="stable").tolist():  # the likelier one comes later
        outputs = answers[word]
        better = outputs[weights[word] * near > likelihood[outputs]]
        best[better], likelihood[better] = word, weights[word] * near
    return best


def right(
    truth: NDArray[np.float64], weights: NDArray[np.float64], epsilon: float, k: int
) -> float:
    """Share that is guessed of words that are as likely as `truth`."""
    near, far = odds_of(epsilon, k)
    best = guesses(weights, epsilon, k)
    answers = load(None).neighbours(k).indices
    inside = (answers[best] == np.arange(best.size)[:, None]).any(axis=1)
    return float((truth[best] * np.where(inside, near, far)).sum())


@pytest.mark.slow
def test_the_sum_is_that_of_the_engine() -> None:
    weights = content_words(load(None)).probability
    mechanism = create("neighbour-response", load(None), {"k": K})
    whole = right(weights, weights, EPSILON, K)
    assert leak(mechanism, EPSILON).after == pytest.approx(whole, rel=1e-9)
    assert whole == pytest.approx(0.305, abs=5e-4)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(("corpus", "share"), [("agnews", 0.275), ("imdb", 0.279)])
def test_words_of_real_texts_are_guessed_as_often_as_the_sum_says(
    data_dir: Path,
    tmp_path: Path,
    rng: Callable[..., np.random.Generator],
    corpus: str,
    share: float,
) -> None:
    lexicon = load(None)
    weights = content_words(lexicon).probability
    texts = plain_rows(data_dir / f"{corpus}.parquet", "test", 2_000, rng())
    words = encode_all(texts, lexicon).words
    words = words[words >= 0]
    words = rng(1).permutation(words[weights[words] > 0])[:TOKENS]
    assert words.size == TOKENS
    source, private = tmp_path / "words.txt", tmp_path / "private.txt"
    source.write_text("".join(f"{lexicon.words[w]}\n" for w in words), encoding="utf-8")
    order = f"--mechanism neighbour-response --set k={K} --epsilon {EPSILON} --experiment --seed 3"
    assert main(["privatize", str(source), "--out", str(private), *order.split()]) == 0
    lines = private.read_text(encoding="utf-8").splitlines()
    places = {word: i for i, word in enumerate(lexicon.words)}
    # An experiment keeps each text behind its private form. Names come out with a capital.
    outputs, inputs = np.array([[places[w] for w in line.lower().split("\t")] for line in lines]).T
    assert np.array_equal(inputs, words)
    share_right = float((guesses(weights, EPSILON, K)[outputs] == words).mean())
    truth = np.bincount(words, minlength=weights.size) / TOKENS
    # Hoeffding: the words are given, the noise is what is random.
    slack = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * TOKENS))
    assert abs(share_right - right(truth, weights, EPSILON, K)) < slack
    # Three thousand words of the same corpus, counted by another program: ± .016.
    assert abs(share_right - share) < 0.016 + slack
