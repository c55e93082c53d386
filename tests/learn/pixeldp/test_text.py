from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpcore.errors import CorpusError, MissingPackageError, ParameterError
from dpcore.learn.classifiers import averaged
from dpcore.learn.corpus import Bags
from dpcore.learn.pixeldp.certified import (
    ABSTAINED,
    Bound,
    Scores,
    certify,
    draw_scores,
    score_bounds,
)
from dpcore.learn.pixeldp.noise_layer import Accounting
from dpcore.learn.pixeldp.text import replaced_words, train_text, train_text_network, words_within
from tests.fixtures import MakeRng, Uninstall

WORDS, SIGMA = 50, 0.4


def corpus(
    generator: np.random.Generator, documents: int = 80
) -> tuple[Bags, NDArray[np.int64], NDArray[np.float32]]:
    """Texts of 3 to 9 words that lean to one side of the first coordinate; unknown words too."""
    vectors = generator.standard_normal((WORDS, 3)).astype(np.float32)
    sides = np.flatnonzero(vectors[:, 0] > 0), np.flatnonzero(vectors[:, 0] <= 0)
    labels = np.arange(documents) % 2
    texts = []
    for label in labels:
        words = generator.choice(sides[label], generator.integers(3, 10))
        texts.append(np.append(words, -1))
    offsets = np.concatenate(([0], np.cumsum([t.size for t in texts])))
    return Bags(np.concatenate(texts), offsets, WORDS), labels, vectors


def trained(
    rng: MakeRng, scale: float = 0.6, accounting: Accounting = Accounting.ANALYTIC, key: int = 1
) -> tuple[Any, Bags, NDArray[np.int64]]:
    bags, labels, vectors = corpus(rng())
    model = train_text_network(accounting, scale, bags, labels, vectors, rng(key), epochs=60)
    return model, bags, labels


@pytest.mark.parametrize("accounting", [Accounting.ANALYTIC, Accounting.LAPLACE])
def test_it_learns_under_noise_on_every_word(rng: MakeRng, accounting: Accounting) -> None:
    model, bags, labels = trained(rng, 0.4, accounting)
    scores = model.scores(bags, 200, rng(2))
    assert (scores.means.argmax(axis=1) == labels).mean() > 0.85
    certificates = certify(model.layer(), score_bounds(scores, 0.01, Bound.CLOPPER_PEARSON))
    assert (certificates.tight[certificates.classes != ABSTAINED] > 0).all()
    assert model.layer().sensitivity == model.layer(7).sensitivity == 1.0


def test_scores_are_those_of_each_text_alone(rng: MakeRng) -> None:
    """Texts are grouped by length: the means agree with each text drawn on its own."""
    model, bags, _ = trained(rng)
    together = model.scores(bags, 3_000, rng(2))
    width = np.sqrt(np.log(4 * 4 * 1e6) / (2 * 3_000))  # Hoeffding: 4 texts, 2 runs, both sides
    for i in (0, 1, 30, 79):
        alone = model.scores(bags.part([i]), 3_000, rng(3))
        assert np.abs(alone.means[0] - together.means[i]).max() <= 2 * width


def test_words_replaced_within_the_certificate_change_nothing(rng: MakeRng) -> None:
    """Ten thousand texts with as many words replaced as allowed; those that come nearest to
    another class are drawn again. The means of both are within Hoeffding's width."""
    model, bags, _ = trained(rng, 1.0)
    generator = rng(4)
    certificates = certify(
        model.layer(), score_bounds(model.scores(bags, 600, rng(2)), 1e-9, Bound.CLOPPER_PEARSON)
    )
    vectors = model.vectors.astype(float)
    gaps = np.linalg.norm(vectors[:, None] - vectors[None], axis=2)
    distance = 0.8
    lengths = np.array([(words >= 0).sum() for words in np.split(bags.words, bags.offsets[1:-1])])
    words = replaced_words(certificates.tight, lengths, distance, 2)
    texts = np.flatnonzero(words > 0)
    assert texts.size >= 10
    attacked, whose = [], []
    for i in texts:
        text = bags.words[bags.offsets[i] : bags.offsets[i + 1] - 1]
        for _ in range(10_000 // texts.size + 1):
            changed = text.copy()
            for place in generator.permutation(text.size)[: words[i]]:
                near = np.flatnonzero(gaps[text[place]] <= distance)
                changed[place] = generator.choice(near)
            attacked.append(changed)
            whose.append(i)
    sizes = np.concatenate(([0], np.cumsum([t.size for t in attacked])))
    tried = Bags(np.concatenate(attacked), sizes, WORDS)
    owners = np.array(whose)
    assert len(tried) >= 10_000
    lead = margin(model.scores(tried, 20, rng(5)), certificates.classes[owners])
    worst = np.argsort(lead)[:50]
    draws = 3_000
    again = margin(
        model.scores(tried.part(worst), draws, rng(6)), certificates.classes[owners[worst]]
    )
    error = 2 * np.sqrt(np.log(2 * 50 * 1e6) / (2 * draws))
    assert (again > -error).all()
    assert again.min() < 0.9  # attacks that do something


def margin(scores: Scores, classes: NDArray[np.int64]) -> NDArray[np.float64]:
    shares = scores.votes / scores.draws
    rows = np.arange(len(shares))
    predicted = shares[rows, classes]
    shares[rows, classes] = -1
    return predicted - shares.max(axis=1)


def test_training_is_fixed_by_its_generator(rng: MakeRng) -> None:
    first, again, other = (trained(rng, key=key)[0] for key in (1, 1, 2))
    bags = corpus(rng())[0]
    drawn = [model.scores(bags, 20, rng(3)).means for model in (first, again, other)]
    assert np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])


def test_a_text_without_known_words_is_predicted_as_nothing(rng: MakeRng) -> None:
    model, _, _ = trained(rng)
    empty = Bags(np.array([-1, -1]), np.array([0, 0, 2]), WORDS)
    scores = model.scores(empty, 50, rng(2))
    assert scores.votes.sum(axis=1).tolist() == [50, 50]
    assert replaced_words([0.0, 9.0], [0, 0], 1.0, 2).tolist() == [0, 0]
    with pytest.raises(ParameterError, match="no text"):
        model.scores(empty.part([]), 50, rng(2))


def test_words_are_counted_down() -> None:
    sizes = [0.0, 0.9, 1.0, 1.9, 2.0, 3.1, np.inf]
    lengths = [9, 9, 9, 9, 9, 9, 4]
    assert replaced_words(sizes, lengths, 1.0, 1).tolist() == [0, 0, 0, 1, 1, 3, 4]
    assert replaced_words(sizes, lengths, 1.0, 2).tolist() == [0, 0, 0, 3, 3, 9, 4]
    assert replaced_words([3.1], [4], 1.0, 2).tolist() == [4]
    for norm in (1, 2):  # never more than what the norm allows
        result = replaced_words(np.linspace(0, 5, 300), np.full(300, 99), 0.7, norm)
        moved = 0.7 * result if norm == 1 else 0.7 * np.sqrt(result)
        assert (moved <= np.linspace(0, 5, 300)).all()


def long_texts(
    generator: np.random.Generator, documents: int = 60, size: int = 30
) -> tuple[Bags, NDArray[np.int64], NDArray[np.float32]]:
    """Texts whose words lean to one side of the first coordinate."""
    vectors = generator.standard_normal((WORDS, 3)).astype(np.float32)
    sides = np.flatnonzero(vectors[:, 0] > 0), np.flatnonzero(vectors[:, 0] <= 0)
    labels = np.arange(documents) % 2
    words = np.concatenate([generator.choice(sides[label], size) for label in labels])
    return Bags(words, np.arange(documents + 1) * size, WORDS), labels, vectors


def test_words_replaced_within_the_certificate_of_the_mean_change_nothing(rng: MakeRng) -> None:
    """Ten thousand texts with as many words replaced as the certificate allows, by any words."""
    generator = rng()
    bags, labels, vectors = long_texts(generator)
    model = train_text(Accounting.ANALYTIC, SIGMA, bags, labels, vectors, rng(1))
    scores = draw_scores(model.scores, model.layer, averaged(bags.counts(), vectors), 500, rng(2))
    certificates = certify(model.layer, score_bounds(scores, 1e-9, Bound.CLOPPER_PEARSON))
    diameter = max(np.linalg.norm(vectors - v, axis=1).max() for v in vectors.astype(float))
    words = words_within(certificates.tight, bags.lengths, diameter)
    assert words.max() >= 3
    # ln of the odds is linear in the mean vector, so that the share of votes is known exactly.
    odds = np.log(model.scores(np.concatenate((np.zeros((1, 3)), np.eye(3)))))
    line = (odds[:, 1] - odds[:, 0])[1:] - (odds[0, 1] - odds[0, 0])
    constant = odds[0, 1] - odds[0, 0]
    texts = np.flatnonzero((certificates.classes != ABSTAINED) & (words > 0))
    each = 10_000 // texts.size + 1
    for i in texts:
        label, text = certificates.classes[i], bags.words[bags.offsets[i] : bags.offsets[i + 1]]
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


def test_words_of_a_mean_are_counted_down() -> None:
    result = words_within([0.0, 0.1, 0.25, 0.35, 9.0, np.inf, 0.1], [10, 10, 10, 10, 4, 7, 0], 1.0)
    assert result.tolist() == [0, 0, 2, 3, 4, 7, 0]
    assert words_within([0.3, 0.05], [10, 10], 0.1).tolist() == [10, 4]


def test_bad_arguments_are_refused(rng: MakeRng, uninstalled: Uninstall) -> None:
    bags, labels, vectors = corpus(rng())
    with pytest.raises(CorpusError, match="two classes"):
        train_text_network(Accounting.ANALYTIC, 1.0, bags, 0 * labels, vectors, rng())
    with pytest.raises(ParameterError, match="scale of the noise"):
        train_text_network(Accounting.ANALYTIC, 0.0, bags, labels, vectors, rng())
    for distance in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ParameterError, match="distance"):
            replaced_words([1.0], [3], distance, 2)
        with pytest.raises(ParameterError, match="distance"):
            words_within([1.0], [3], distance)
    with pytest.raises(ParameterError, match="norm of an attack"):
        replaced_words([1.0], [3], 1.0, 3)
    for size in (-1.0, np.nan):
        with pytest.raises(ParameterError, match="size of an attack"):
            replaced_words([size], [3], 1.0, 1)
        with pytest.raises(ParameterError, match="size of an attack"):
            words_within([size], [3], 1.0)
    uninstalled("torch")
    with pytest.raises(MissingPackageError, match=r"pip install -r requirements-learn\.txt"):
        train_text_network(Accounting.ANALYTIC, 1.0, bags, labels, vectors, rng())
