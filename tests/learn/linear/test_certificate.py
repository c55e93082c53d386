import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.errors import ParameterError
from dpcore.learn.corpus import Bags
from dpcore.learn.linear.certificate import Places, certify_linear, changes_allowed
from dpcore.learn.linear.training import LinearModel
from dpcore.learn.substitutions import Substitutions
from tests.fixtures import MakeRng

WORDS = 12


def model(generator: np.random.Generator, classes: int = 3) -> LinearModel:
    vectors = generator.standard_normal((WORDS, 4)).astype(np.float32)
    return LinearModel(
        generator.standard_normal((classes, 4)), generator.standard_normal(classes), vectors
    )


def substitutions(generator: np.random.Generator) -> Substitutions:
    """One to three choices for ten of the twelve words; repetitions fill the rows up."""
    words = np.arange(10)
    choices = np.column_stack((words, generator.integers(WORDS, size=(10, 2))))
    return Substitutions(words, choices, np.ones(10))


def documents(generator: np.random.Generator, count: int = 25) -> Bags:
    """Short documents with repeated and with unknown words; the last is empty, one before it
    holds an unknown word alone."""
    texts = [generator.integers(-1, WORDS, size=generator.integers(1, 6)) for _ in range(count)]
    texts += [np.array([-1]), np.empty(0, dtype=np.int64)]
    offsets = np.concatenate(([0], np.cumsum([t.size for t in texts])))
    return Bags(np.concatenate(texts), offsets, WORDS)


def texts_of(bags: Bags) -> list[list[int]]:
    return [bags.words[a:b].tolist() for a, b in itertools.pairwise(bags.offsets)]


def allowed(text: list[int], table: Substitutions, budget: int) -> Iterator[list[int]]:
    """Every text that the substitutions reach with so many changes."""
    options = [[w, *table.of(w).tolist()] if w >= 0 else [-1] for w in text]
    for words in itertools.product(*options):
        if sum(a != b for a, b in zip(words, text, strict=True)) <= budget:
            yield list(words)


def margins(linear: LinearModel, texts: list[list[int]], label: int) -> NDArray[np.float64]:
    """Score of the label less the largest other one, word by word from the definition."""
    leads = []
    for text in texts:
        known = [linear.vectors[w].astype(np.float64) for w in text if w >= 0]
        mean = np.mean(known, axis=0) if known else np.zeros(4)
        scores = linear.weights @ mean + linear.bias
        leads.append(scores[label] - np.delete(scores, label).max())
    return np.array(leads)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_worst_case_is_that_of_all_allowed_texts(
    rng: MakeRng, share: float, classes: int
) -> None:
    generator = rng()
    linear, table, bags = model(generator, classes), substitutions(generator), documents(generator)
    labels = generator.integers(classes, size=len(bags))
    certificates = certify_linear(linear, bags, labels, table, share)
    lengths = [sum(w >= 0 for w in text) for text in texts_of(bags)]
    budgets = changes_allowed(lengths, share)
    after = texts_of(certificates.texts)
    for i, text in enumerate(texts_of(bags)):
        reachable = list(allowed(text, table, budgets[i]))
        least = margins(linear, reachable, labels[i]).min()
        assert certificates.margins[i] == pytest.approx(least, abs=1e-12)
        assert after[i] in reachable
        assert margins(linear, [after[i]], labels[i])[0] == pytest.approx(least, abs=1e-12)
        assert certificates.certified[i] == (least > 0)
    assert 0 < certificates.accuracy < 1


def test_no_attack_gets_below_the_certificate(rng: MakeRng) -> None:
    """A thousand random allowed texts of each of twelve documents, and the returned one."""
    generator = rng()
    linear, table, bags = model(generator), substitutions(generator), documents(generator, 10)
    predicted = linear.predict(bags)
    certificates = certify_linear(linear, bags, predicted, table)
    changed = linear.predict(certificates.texts) != predicted
    assert np.array_equal(changed, ~certificates.certified)
    rows = table.table(np.arange(WORDS))
    for _ in range(1_000):
        words = np.array(bags.words)
        known = words >= 0
        picks = generator.integers(rows.shape[1], size=known.sum())
        words[known] = rows[words[known], picks]
        kept = linear.predict(bags.with_words(words)) == predicted
        assert kept[certificates.certified].all()


def test_a_smoothed_minimum_is_a_little_lower(rng: MakeRng) -> None:
    generator = rng()
    table, bags = substitutions(generator), documents(generator)
    places = Places(bags, np.zeros(len(bags), dtype=int), table)
    difference = generator.standard_normal(places.candidates.size)
    group = places.group(np.arange(len(bags)))
    exact = group.worst(difference).values
    for temperature in (1.0, 0.1, 1e-3):
        smooth = group.worst(difference, temperature).values
        assert (smooth <= exact + 1e-12).all()
        assert (smooth >= exact - temperature * np.log(3) - 1e-12).all()


@pytest.mark.parametrize("bias", [[0.0, 0.0, 0.0], [-1.0, 0.5, 0.5], [0.2, 0.1, 0.7]])
def test_a_classifier_that_always_says_one_thing_is_certified_for_that_share(
    rng: MakeRng, bias: list[float]
) -> None:
    """No text matters to it, so no substitution does, and a tie is broken as in a prediction."""
    generator = rng()
    vectors = generator.standard_normal((WORDS, 4)).astype(np.float32)
    constant = LinearModel(np.ones((3, 4)), np.array(bias), vectors)
    bags = documents(generator)
    labels = generator.integers(3, size=len(bags))
    certificates = certify_linear(constant, bags, labels, substitutions(generator))
    assert (
        certificates.accuracy
        == constant.accuracy(bags, labels)
        == (labels == np.argmax(bias)).mean()
    )
    assert 0 < certificates.accuracy < 1
    np.testing.assert_array_equal(certificates.certified, constant.predict(bags) == labels)


def test_how_many_words_may_change() -> None:
    assert changes_allowed([0, 1, 4, 5, 10], 0.2).tolist() == [0, 1, 1, 1, 2]
    assert changes_allowed([0, 7, 10], 0.3).tolist() == [0, 2, 3]
    assert changes_allowed([0, 7], 1.0).tolist() == [0, 7]
    assert changes_allowed([0, 7], 0.0).tolist() == [0, 0]
    for share in (-0.1, 1.1, np.nan):
        with pytest.raises(ParameterError, match="share of words"):
            changes_allowed([3], share)


def test_bad_arguments_are_refused(rng: MakeRng) -> None:
    generator = rng()
    linear, table, bags = model(generator), substitutions(generator), documents(generator)
    with pytest.raises(ParameterError, match="needs a label"):
        certify_linear(linear, bags, [0], table)
    with pytest.raises(ParameterError, match="at least one document"):
        certify_linear(linear, bags.part([]), [], table)
    with pytest.raises(ParameterError, match="vocabulary of 13 words"):
        certify_linear(linear, Bags(bags.words, bags.offsets, 13), [0] * len(bags), table)
    for label in (-1, 3):
        with pytest.raises(ParameterError, match="labels must lie"):
            certify_linear(linear, bags, np.full(len(bags), label), table)
