import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpcore.errors import ParameterError
from dpcore.learn.bags import Bags
from dpcore.learn.classifiers import averaged
from dpcore.learn.pixeldp.certified_prediction import (
    ABSTAINED,
    Bound,
    certify,
    draw_scores,
    score_bounds,
)
from dpcore.learn.pixeldp.noise_layer import Accounting
from dpcore.learn.pixeldp.noisy_text import train_text, words_within
from tests.fixtures import MakeRng

WORDS, SIGMA = 50, 0.4


def corpus(
    generator: np.random.Generator, documents: int = 60, size: int = 30
) -> tuple[Bags, NDArray[np.int64], NDArray[np.float32]]:
    """Texts whose words lean to one side of the first coordinate."""
    vectors = generator.standard_normal((WORDS, 3)).astype(np.float32)
    sides = np.flatnonzero(vectors[:, 0] > 0), np.flatnonzero(vectors[:, 0] <= 0)
    labels = np.arange(documents) % 2
    words = np.concatenate([generator.choice(sides[label], size) for label in labels])
    return Bags(words, np.arange(documents + 1) * size, WORDS), labels, vectors


def test_replaced_words_within_the_certificate_change_nothing(rng: MakeRng) -> None:
    """Ten thousand texts with as many words replaced as the certificate allows, by any words."""
    generator = rng()
    bags, labels, vectors = corpus(generator)
    model = train_text(Accounting.ANALYTIC, SIGMA, bags, labels, vectors, rng(1))
    scores = draw_scores(model.scores, model.layer, averaged(bags.counts(), vectors), 500, rng(2))
    found = certify(model.layer, score_bounds(scores, 1e-9, Bound.CLOPPER_PEARSON))
    diameter = max(np.linalg.norm(vectors - v, axis=1).max() for v in vectors.astype(float))
    words = words_within(found.tight, bags.lengths, diameter)
    assert words.max() >= 3
    # ln of the odds is linear in the mean vector, so that the share of votes is known exactly.
    odds = np.log(model.scores(np.concatenate((np.zeros((1, 3)), np.eye(3)))))
    line = (odds[:, 1] - odds[:, 0])[1:] - (odds[0, 1] - odds[0, 0])
    constant = odds[0, 1] - odds[0, 0]
    texts = np.flatnonzero((found.classes != ABSTAINED) & (words > 0))
    each = 10_000 // texts.size + 1
    for i in texts:
        label, text = found.classes[i], bags.words[bags.offsets[i] : bags.offsets[i + 1]]
        changed = np.repeat(text[None], each, axis=0)
        for row in changed:
            row[generator.permutation(text.size)[: words[i]]] = generator.integers(WORDS)
        # The first one is the worst: the words that speak most for the label give way.
        worst = (vectors @ line) * (2 * label - 1)
        changed[0] = text
        changed[0, np.argsort(-worst[text])[: words[i]]] = worst.argmin()
        means = vectors[changed].astype(float).mean(axis=1)
        share = stats.norm.cdf((means @ line + constant) / (SIGMA * np.linalg.norm(line)))
        assert ((share > 0.5) == bool(label)).all()


def test_words_are_counted_down() -> None:
    found = words_within([0.0, 0.1, 0.25, 0.35, 9.0, np.inf, 0.1], [10, 10, 10, 10, 4, 7, 0], 1.0)
    assert found.tolist() == [0, 0, 2, 3, 4, 7, 0]
    assert words_within([0.3, 0.05], [10, 10], 0.1).tolist() == [10, 4]


def test_bad_arguments_are_refused() -> None:
    for distance in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ParameterError, match="distance"):
            words_within([1.0], [3], distance)
    for size in (-1.0, np.nan):
        with pytest.raises(ParameterError, match="size of an attack"):
            words_within([size], [3], 1.0)
