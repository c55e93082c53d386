"""Classifiers: they learn what can be learned, nothing where there is nothing, and repeat."""

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.errors import CorpusError, MissingPackageError, ParameterError
from dpcore.learn.classifiers import (
    LEARNERS,
    NEIGHBOURS,
    NETWORKS,
    TITLES,
    Kind,
    Learner,
    averaged,
    bundled_network,
    cross_predict,
    folds_of,
    learner_of,
    network_path,
    train,
)
from dpcore.learn.corpus import Bags
from dpcore.learn.robust_data import teaching_parts
from dpcore.learn.substitutions import nearest_words
from dpcore.lexicon.catalogue import load
from tests import needs
from tests.chance import FALSE_ALARM
from tests.fixtures import MakeRng, Uninstall
from tests.mechanisms import lexicons
from tests.needs import ROOT

# The networks that come with the laboratory are what their description says.


needs.torch()


def test_they_read_and_certify_what_is_said() -> None:
    """On a part of the test texts, within the error of a sample, and of the record in the file."""
    lexicon = load()
    test = teaching_parts("sentiment", lexicon, np.random.default_rng(0)).test
    some = test.part(np.arange(0, len(test), 6))
    table = nearest_words(lexicon, some.bags.words, NEIGHBOURS)
    described = (ROOT / "data" / "README.md").read_text(encoding="utf-8")
    for name in NETWORKS:
        model, entry = bundled_network(name, lexicon)
        assert entry.settings["classes"] == ["negative", "positive"]
        assert entry.settings["training"] == name
        for quantity in ("clean_accuracy", "certified_accuracy"):
            assert f"{entry.facts[quantity]:.1%}".replace("%", " %") in described
        clean = model.accuracy(some.bags, some.labels)
        certified = model.certify(some.bags, some.labels, table).accuracy
        # 72 of 432 texts: five standard deviations of a sample are at most 0.27.
        assert abs(clean - entry.facts["clean_accuracy"]) < 0.27
        assert abs(certified - entry.facts["certified_accuracy"]) < 0.27
    assert certified > 0.25


def test_there_is_no_other() -> None:
    with pytest.raises(ParameterError, match="one of normal, ibp, got 'linear'"):
        network_path("linear")


N, TEXTS, WORDS = 60, 600, 12
LEXICON = lexicons.cloud(N, 10)


def texts(rng: np.random.Generator, labels: NDArray[np.int64]) -> Bags:
    """Each class prefers words of its own half of the vocabulary."""
    topical = rng.random((labels.size, WORDS)) < 0.5
    half = rng.integers(N // 2, size=topical.shape) + labels[:, None] * (N // 2)
    words = np.where(topical, half, rng.integers(N, size=topical.shape))
    return Bags(words.reshape(-1), np.arange(labels.size + 1) * WORDS, N)


@pytest.mark.parametrize("name", LEARNERS)
def test_it_learns_what_is_there_and_nothing_else(name: str, rng: MakeRng) -> None:
    random = rng()
    labels = random.integers(2, size=TEXTS)
    training, testing = texts(random, labels), texts(random, labels)
    model = train(learner_of(name), training, labels, LEXICON.vectors, rng(1))
    # Guessing would stay within this of one half: Hoeffding at the false-alarm probability.
    slack = np.sqrt(np.log(2 / FALSE_ALARM) / (2 * TEXTS))
    assert model.accuracy(testing, labels) > 0.5 + slack
    result = model.probabilities(testing)
    assert result.shape == (TEXTS, 2)
    np.testing.assert_allclose(result.sum(axis=1), 1.0)
    again = train(learner_of(name), training, labels, LEXICON.vectors, rng(1))
    assert np.array_equal(again.probabilities(testing), result)
    none = random.integers(2, size=TEXTS)
    guess = train(learner_of(name), training, none, LEXICON.vectors, rng(2))
    assert abs(guess.accuracy(testing, random.integers(2, size=TEXTS)) - 0.5) < slack


def test_more_than_two_classes_and_one_that_is_absent(rng: MakeRng) -> None:
    labels = np.repeat([0, 2, 3], 40)
    model = train(Learner(Kind.TF_IDF), texts(rng(), labels % 2), labels, LEXICON.vectors, rng())
    result = model.probabilities(texts(rng(1), labels % 2))
    assert result.shape == (120, 4)
    assert not result[:, 1].any()


def test_words_that_never_occurred_have_no_weight_but_count_for_the_length(rng: MakeRng) -> None:
    """The plain twin: the same model over the whole vocabulary."""
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.linear_model import LogisticRegression

    labels = rng().integers(2, size=40)
    training, testing = texts(rng(1), labels), texts(rng(2), labels)
    training = Bags(np.where(training.words % 3, training.words, -1), training.offsets, N)
    weights = TfidfTransformer(sublinear_tf=True).fit(training.counts())
    plain = LogisticRegression(C=10, max_iter=300).fit(weights.transform(training.counts()), labels)
    assert not plain.coef_[0, ::3].any()
    expected = plain.predict_proba(weights.transform(testing.counts()))
    model = train(learner_of("tf-idf"), training, labels, LEXICON.vectors, rng(3))
    np.testing.assert_allclose(model.probabilities(testing), expected, rtol=1e-9)


def test_averages_are_those_of_the_words(rng: MakeRng) -> None:
    words = np.array([3, 3, 7, -1])
    bags = Bags(words, np.array([0, 3, 4, 4]), N)
    result = averaged(bags.counts(), LEXICON.vectors)
    mean = (2 * LEXICON.vectors[3] + LEXICON.vectors[7]) / 3
    np.testing.assert_allclose(result[0], mean, rtol=1e-6)
    assert not result[1:].any()


def test_kept_averages_are_those_of_the_vectors_in_use(rng: MakeRng) -> None:
    """The plain twin: a bag that was never looked at before."""
    labels = rng().integers(2, size=TEXTS)
    bags = texts(rng(), labels)
    other = lexicons.cloud(N, 5).vectors
    for vectors in (LEXICON.vectors, other, LEXICON.vectors):
        fresh = bags.with_words(bags.words)
        model = train(learner_of("averaged"), bags, labels, vectors, rng(1))
        plain = train(learner_of("averaged"), fresh, labels, vectors, rng(1))
        assert np.array_equal(model.probabilities(bags), plain.probabilities(fresh))


def test_refusals(rng: MakeRng, uninstalled: Uninstall) -> None:
    bags = texts(rng(), np.zeros(10, dtype=int))
    with pytest.raises(CorpusError, match="at least two classes"):
        train(Learner(), bags, np.zeros(10, dtype=int), LEXICON.vectors, rng())
    with pytest.raises(ParameterError, match="no classifier 'x'; there are: averaged, tf-idf"):
        learner_of("x")
    for wrong in ({"strength": float("nan")}, {"strength": 0.0}, {"hidden": 0}, {"epochs": 0}):
        with pytest.raises(ParameterError):
            Learner(**wrong)
    assert set(TITLES) == set(Kind)
    uninstalled("sklearn")
    with pytest.raises(MissingPackageError, match="scikit-learn; install"):
        train(Learner(), bags, np.arange(10) % 2, LEXICON.vectors, rng())


def test_folds_hold_an_even_part_of_each_class(rng: MakeRng) -> None:
    labels = np.repeat([0, 1, 2], [40, 23, 7])
    fold = folds_of(labels, seed=3, folds=5)
    for label in range(3):
        sizes = np.bincount(fold[labels == label], minlength=5)
        assert sizes.max() - sizes.min() <= 1
    assert np.bincount(fold).tolist() == [14] * 5
    assert (fold == folds_of(labels, seed=3, folds=5)).all()
    assert (fold != folds_of(labels, seed=4, folds=5)).any()
    for folds in (1, 71):
        with pytest.raises(ParameterError, match=f"2 to the 70 documents, got {folds}"):
            folds_of(labels, 0, folds)


@pytest.mark.slow
def test_each_document_is_predicted_by_the_others(rng: MakeRng) -> None:
    draws, learner = rng(), LEARNERS["averaged"]
    labels = np.arange(80) % 2
    bags = texts(draws, labels)
    fold = folds_of(labels, seed=0, folds=4)
    predicted = cross_predict(learner, bags, bags, labels, fold, LEXICON.vectors, draws)
    for number in range(4):
        others, held = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        model = train(learner, bags.part(others), labels[others], LEXICON.vectors, draws)
        assert (predicted[held] == model.predict(bags.part(held))).all()
    # What is read may differ from what was learned from: here the classes are exchanged.
    swapped = texts(draws, 1 - labels)
    turned = cross_predict(learner, bags, swapped, labels, fold, LEXICON.vectors, draws)
    assert (turned == labels).mean() < 0.5 < (predicted == labels).mean()
    rest = bags.part(np.arange(79))
    with pytest.raises(CorpusError, match="got 80, 79, 80 and 80"):
        cross_predict(learner, bags, rest, labels, fold, LEXICON.vectors, draws)
