""""""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize

from dpcore.errors import CorpusError, ParameterError
from dpcore.learn.classifiers import Learner, train
from dpcore.learn.corpus import Bags
from dpcore.learn.linear.certificate import certify_linear
from dpcore.learn.linear.training import LinearModel, LinearTraining, Program, train_linear
from dpcore.learn.substitutions import Substitutions
from tests.fixtures import MakeRng
from tests.learn.linear.test_certificate import documents, model, texts_of


def test_scores_are_those_of_the_mean_vector(rng: MakeRng) -> None:
    generator = rng()
    linear, bags = model(generator), documents(generator)
    for text, row in zip(texts_of(bags), linear.scores(bags), strict=True):
        known = [w for w in text if w >= 0]
        mean = linear.vectors[known].astype(float).mean(axis=0) if known else np.zeros(4)
        assert row == pytest.approx(linear.weights @ mean + linear.bias)
    probabilities = linear.probabilities(bags)
    assert np.allclose(probabilities.sum(axis=1), 1.0)
    assert np.array_equal(probabilities.argmax(axis=1), linear.predict(bags))
    assert linear.accuracy(bags, linear.predict(bags)) == 1.0


def test_shapes_that_do_not_fit_are_refused(rng: MakeRng) -> None:
    linear = model(rng())
    with pytest.raises(ParameterError, match="do not fit"):
        LinearModel(np.zeros((2, 3)), np.zeros(2), linear.vectors)
    with pytest.raises(ParameterError, match="do not fit"):
        LinearModel(np.zeros((1, 4)), np.zeros(1), linear.vectors)
    with pytest.raises(ParameterError, match="vocabulary of 13 words"):
        linear.predict(Bags(np.array([1]), np.array([0, 1]), 13))


def test_a_classifier_without_weights_reads_no_text(rng: MakeRng) -> None:
    linear = model(rng())
    assert not linear.constant
    assert LinearModel(np.ones((3, 4)), np.arange(3.0), linear.vectors).constant


WORDS, DIMENSION = 40, 3


def problem(
    generator: np.random.Generator, classes: int = 2, documents: int = 30, longest: int = 5
) -> tuple[Bags, NDArray[np.int64], NDArray[np.float32], Substitutions]:
    """Documents whose words point at their class, and two substitutes for each word."""
    vectors = generator.standard_normal((WORDS, DIMENSION)).astype(np.float32)
    labels = np.arange(documents) % classes
    vectors[:, 0] += 3.0 * (np.arange(WORDS) % classes)
    texts = []
    for label in labels:
        size = int(generator.integers(1, longest + 1))
        topical = generator.integers(WORDS // classes, size=size) * classes + label
        texts.append(np.where(generator.random(size) < 0.1, -1, topical))
    texts[0] = np.array([-1])  # no known word
    offsets = np.concatenate(([0], np.cumsum([t.size for t in texts])))
    gaps = np.linalg.norm(vectors[:, None] - vectors[None], axis=2)
    choices = np.argsort(gaps, axis=1)[:, :3]
    table = Substitutions(np.arange(WORDS), choices, np.ones(WORDS))
    return Bags(np.concatenate(texts), offsets, WORDS), labels, vectors, table


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("temperature", [0.0, 0.05])
@pytest.mark.parametrize("robust", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("share", [0.4, 1.0])
def test_the_gradient_is_that_of_finite_differences(
    rng: MakeRng, classes: int, temperature: float, robust: float, share: float
) -> None:
    """At a random point, where no two substitutes tie."""
    bags, labels, vectors, table = problem(rng(), classes)
    program = Program(LinearTraining(0.7, robust, share), bags, labels, vectors, table)
    point = rng(1).standard_normal(program.size)
    value, slope = program.value(point, temperature)
    step = 1e-6
    for i in range(program.size):
        ends = [
            program.value(point + s * step * np.eye(program.size)[i], temperature)[0]
            for s in (1, -1)
        ]
        assert slope[i] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5, abs=1e-5)
    assert value > 0


@pytest.mark.parametrize("robust", [0.0, 0.4, 1.0])
def test_the_objective_is_its_definition(rng: MakeRng, robust: float) -> None:
    """From the certificates of the model that the variables stand for."""
    bags, labels, vectors, table = problem(rng(), 2)
    settings = LinearTraining(0.7, robust, 0.4)
    program = Program(settings, bags, labels, vectors, table)
    point = rng(1).standard_normal(program.size)
    model = program.model(point)
    weights = model.weights * program.spread
    total = 0.5 * np.square(weights).sum()
    for weight, share in ((1 - robust, 0.0), (robust, 0.4)):
        worst = certify_linear(model, bags, labels, table, share).margins
        total += 0.7 * weight * np.log1p(np.exp(-worst)).sum()
    assert program.value(point)[0] == pytest.approx(total)


@pytest.mark.parametrize("classes", [2, 3])
def test_it_is_convex(rng: MakeRng, classes: int) -> None:
    """Along segments between random points the middle is no higher than the mean of the ends."""
    bags, labels, vectors, table = problem(rng(), classes)
    program = Program(LinearTraining(0.7, 1.0, 0.4), bags, labels, vectors, table)
    ends = rng(1).standard_normal((200, 2, program.size))
    for a, b in ends:
        chord = 0.5 * (program.value(a)[0] + program.value(b)[0])
        assert program.value(0.5 * (a + b))[0] <= chord * (1 + 1e-12)


@pytest.mark.parametrize("robust", [0.5, 1.0])
def test_the_minimum_is_that_of_another_solver(rng: MakeRng, robust: float) -> None:
    """The same program with the minima written as constraints, solved by sequential quadratics."""
    bags, labels, vectors, table = problem(rng(), 2, documents=12, longest=3)
    settings = LinearTraining(0.7, robust)
    trained = train_linear(settings, bags, labels, vectors, table)
    program = Program(settings, bags, labels, vectors, table)
    assert program.value(np.zeros(program.size))[0] > trained.objective
    places, points = program.places, program.points
    sign = 1.0 - 2.0 * labels  # class 0 against class 1
    kinds = len(places.choices)

    # Variables: the difference v of the two rows, of the biases, and for each word the smallest
    # value of +v·φ and of −v·φ. At the optimum the two rows are ±v/2.
    def unpack(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], float, NDArray[np.float64]]:
        return x[:DIMENSION], x[DIMENSION], x[DIMENSION + 1 :].reshape(2, kinds)

    def objective(x: NDArray[np.float64]) -> Any:
        v, bias, low = unpack(x)
        total = 0.25 * v @ v
        for i, s in enumerate(sign):
            mine = places.word[places.document == i]
            clean = s * (program.features[i] @ v + bias)
            worst = low[0 if s > 0 else 1][mine].mean() + s * bias if mine.size else clean
            total += 0.7 * ((1 - robust) * np.log1p(np.exp(-clean)))
            total += 0.7 * robust * np.log1p(np.exp(-worst))
        return total

    rows = []
    for j, choices in enumerate(places.choices):
        for s, half in ((1.0, 0), (-1.0, 1)):
            for point in points[choices]:
                row = np.zeros(DIMENSION + 1 + 2 * kinds)
                row[:DIMENSION] = s * point
                row[DIMENSION + 1 + half * kinds + j] = -1.0
                rows.append(row)
    twin = optimize.minimize(
        objective,
        np.zeros(DIMENSION + 1 + 2 * kinds),
        method="SLSQP",
        constraints=optimize.LinearConstraint(np.array(rows), 0.0, np.inf),
        options={"maxiter": 500, "ftol": 1e-10},
    )
    assert twin.success
    assert trained.objective == pytest.approx(twin.fun, rel=1e-3)
    assert trained.objective >= twin.fun * (1 - 1e-6)


def test_without_the_worst_case_it_is_logistic_regression(rng: MakeRng) -> None:
    """scikit-learn's with twice the strength, on the same standardised coordinates."""
    bags, labels, vectors, table = problem(rng())
    trained = train_linear(
        LinearTraining(0.5, robust=0.0, rounds=1000), bags, labels, vectors, table
    )
    twin = train(Learner(strength=1.0), bags, labels, vectors, rng(1))
    assert not trained.stopped
    assert np.allclose(trained.model.probabilities(bags), twin.probabilities(bags), atol=2e-3)


def test_certified_training_certifies_more(rng: MakeRng) -> None:
    bags, labels, vectors, table = problem(rng(), documents=200)
    plain, certified = (
        train_linear(LinearTraining(0.5, robust), bags, labels, vectors, table).model
        for robust in (0.0, 1.0)
    )
    shares = [certify_linear(m, bags, labels, table).accuracy for m in (plain, certified)]
    assert shares[1] > shares[0]
    assert certified.accuracy(bags, labels) >= shares[1]


def test_training_is_deterministic_and_reports(rng: MakeRng) -> None:
    bags, labels, vectors, table = problem(rng())
    seen = []
    first = train_linear(
        LinearTraining(rounds=5), bags, labels, vectors, table, lambda *step: seen.append(step)
    )
    again = train_linear(LinearTraining(rounds=5), bags, labels, vectors, table)
    assert np.array_equal(first.model.weights, again.model.weights)
    assert first.stopped
    assert seen == [("training", i + 1, 5) for i in range(5)]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"strength": 0.0}, "strength"),
        ({"strength": np.nan}, "strength"),
        ({"robust": 1.1}, "weight of the worst case"),
        ({"share": -0.1}, "share of words"),
        ({"rounds": 0}, "rounds"),
    ],
)
def test_bad_settings_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        LinearTraining(**changed)


def test_bad_labels_are_refused(rng: MakeRng) -> None:
    bags, labels, vectors, table = problem(rng())
    with pytest.raises(CorpusError, match="two classes"):
        train_linear(LinearTraining(), bags, np.zeros_like(labels), vectors, table)
    with pytest.raises(ParameterError, match="from 0"):
        train_linear(LinearTraining(), bags, labels - 1, vectors, table)
    with pytest.raises(ParameterError, match="needs a label"):
        train_linear(LinearTraining(), bags, labels[1:], vectors, table)
