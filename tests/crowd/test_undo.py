"""The channel undone: exact means, variances and bounds, by enumeration on a small lexicon."""

import numpy as np
import pytest

from dpcore.arrays import FloatArray
from dpcore.attack.output.operators import (
    ColumnOperator,
    DenseOperator,
    KernelOperator,
    operator_of,
)
from dpcore.crowd import undo as undoing
from dpcore.crowd.queries import Queries, of_indices, of_numbers
from dpcore.crowd.undo import EXACT, Estimators, residual_steps, undo
from dpcore.errors import ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import silent
from dpcore.mechanisms import distances
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import MECHANISMS, create
from tests.mechanisms.contract import SMALL, make, typical

COUNTABLE: tuple[tuple[str, dict[str, object]], ...] = (
    ("tem", {}), ("tem-calibrated", {}), ("optimal", {}), ("budget", {}), ("k-ary", {}),
    ("neighbour-response", {"k": 3}), ("santext", {}), ("santext", {"metric": "angular"}),
    ("santext-plus", {}), ("custext", {}), ("custext", {"form": "drawn"}), ("diffractor", {}),
    ("truncated-gumbel-repaired", {}), ("wbb", {"form": "floor"}), ("syntf", {}),
)  # fmt: skip
REFUSED = (
    "madlib", "gaussian", "vickrey", "truncated-gumbel", "rantext", "wbb", "trlaplace",
)  # fmt: skip
TOTAL = 10_000.0


def queries(n: int) -> Queries:
    """A word, a list, and numbers of both signs."""
    one, numbers = of_indices(SMALL, np.array([3])), np.linspace(-1.0, 2.0, n)[:, None]
    several = Queries(("list",), n, (np.array([1, 5, 9]),), (np.ones(3),))
    return one.and_then(several).and_then(of_numbers(SMALL, ["numbers"], numbers))


def law(mechanism: Mechanism, epsilon: float) -> FloatArray:
    """P, word by word, in double precision."""
    n = len(mechanism.lexicon)
    return np.array([mechanism.law(word, [epsilon]).dense(n)[0] for word in range(n)])


def solved(name: str, settings: dict[str, object]) -> tuple[FloatArray, Queries, Estimators]:
    mechanism = create(name, SMALL, settings)
    epsilon = typical(mechanism)
    asked = queries(len(SMALL))
    return law(mechanism, epsilon), asked, undo(mechanism, epsilon, asked, TOTAL)


@pytest.fixture(autouse=True)
def _fresh(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path))


@pytest.mark.parametrize(("name", "settings"), COUNTABLE)
def test_the_mean_of_h_is_the_query_up_to_what_is_stated(
    name: str, settings: dict[str, object]
) -> None:
    channel, asked, estimators = solved(name, settings)
    h, over = estimators.values.astype(float), estimators.over.astype(float)
    left = np.abs(channel @ h - asked.matrix())
    # 1e-7: the law that is compared with has an error of its own.
    assert np.all(left.max(axis=0) <= estimators.worst + 1e-7)
    assert np.all(channel @ over >= left - 1e-7)
    assert estimators.unbiased.tolist() == (estimators.worst <= EXACT).tolist()


@pytest.mark.parametrize(
    ("name", "settings"), [row for row in COUNTABLE if row[1].get("form") is None]
)
def test_the_variance_is_estimated_without_bias(name: str, settings: dict[str, object]) -> None:
    channel, asked, estimators = solved(name, settings)
    h, g = estimators.values.astype(float), asked.matrix()
    exact = channel @ h**2 - (channel @ h) ** 2
    assert estimators.squares is not None
    estimated = channel @ (h**2 - estimators.squares.astype(float))
    good = estimators.unbiased
    assert good.any()
    np.testing.assert_allclose(estimated[:, good], exact[:, good], atol=2e-4 * np.abs(g).max() ** 2)


def test_nearly_all_mechanisms_answer_without_bias() -> None:
    biased = {
        (name, *settings.values())
        for name, settings in COUNTABLE
        if not solved(name, settings)[2].unbiased.all()
    }
    # Their laws are singular or nearly so, or have errors of their own.
    assert biased <= {
        ("neighbour-response", 3), ("wbb", "floor"), ("custext", "drawn"), ("diffractor",),
        ("truncated-gumbel-repaired",), ("syntf",), ("santext-plus",),
    }  # fmt: skip


@pytest.mark.parametrize(("name", "settings"), COUNTABLE)
def test_every_form_of_a_law_is_the_law(name: str, settings: dict[str, object]) -> None:
    mechanism = create(name, SMALL, settings)
    epsilon = typical(mechanism)
    channel, operator = law(mechanism, epsilon), operator_of(mechanism, epsilon)
    values = np.random.default_rng(0).normal(size=(len(SMALL), 2))
    reached, off = operator.enclosed(values)
    assert np.all(np.abs(reached - channel @ values) <= off + 1e-10)
    np.testing.assert_allclose(operator.transposed(values), channel.T @ values, atol=1e-9)
    np.testing.assert_allclose(operator.stays(), channel.diagonal(), atol=1e-9)
    # Few large numbers, as in functions that undo a channel: the split in two precisions.
    values *= 1e-2 / np.abs(values).max()
    values[[3, 5], [0, 1]] = 10.0, -10.0
    near, unsure = operator.nearly_times(values)
    assert np.all(np.abs(near - channel @ values).max(axis=0) <= unsure + 1e-10)
    if operator.weights is not None and operator.scale is not None:
        kernel = operator.scale[:, None] * channel / operator.weights
        np.testing.assert_allclose(kernel, kernel.T, rtol=1e-6)
        np.testing.assert_allclose(operator.kernel(values), kernel @ values, atol=1e-4)


@pytest.mark.parametrize("name", ["tem", "optimal"])
@pytest.mark.parametrize("share", [1.0, 0.6])
def test_the_approximate_inverse_is_positive_and_near(name: str, share: float) -> None:
    mechanism = create(name, SMALL)
    n = len(SMALL)
    epsilon = typical(mechanism)
    law_of_it = mechanism.kernel_law(epsilon)
    assert law_of_it is not None
    operator = KernelOperator(mechanism, law_of_it, silent)
    used = np.random.default_rng(0).random(n) < share
    near = operator.near_inverse(used)(np.eye(n)[:, used])[used]
    np.testing.assert_allclose(near, near.T, atol=1e-4)
    assert np.linalg.eigvalsh((near + near.T) / 2).min() > 0
    assert operator.scale is not None
    assert operator.weights is not None
    whole = operator.scale[:, None] * law(mechanism, epsilon) / operator.weights
    kernel = whole[np.ix_(used, used)]
    smooth = (operator.weights[:, None] * SMALL.vectors)[used]
    np.testing.assert_allclose(near @ kernel @ smooth, smooth, atol=1e-3)
    spread = np.linalg.eigvals(near @ kernel).real
    alone = np.linalg.eigvalsh(kernel)
    assert spread.max() / spread.min() < 0.5 * alone.max() / alone.min()


def test_what_single_precision_reached_is_not_taken_for_exact() -> None:
    """Only a residual in double precision, or one of a part that is small by then, counts."""
    mechanism = create("tem", SMALL)
    law_of_it = mechanism.kernel_law(2.0)
    assert law_of_it is not None
    operator, used = KernelOperator(mechanism, law_of_it, silent), np.ones(len(SMALL), dtype=bool)
    channel, targets = law(mechanism, 2.0), queries(len(SMALL)).matrix()
    seen = []
    for values, residual, unsure in residual_steps(operator, targets, used, silent):
        off = np.abs(np.abs(channel @ values - targets).max(axis=0) - np.abs(residual).max(axis=0))
        assert np.all(off <= unsure + 1e-9)
        seen.append(unsure.max() > 0.3 * EXACT)
        if np.abs(residual).max() < 0.3 * EXACT and not seen[-1]:
            break
    assert seen[0]


def test_words_with_nearly_one_vector_have_an_approximate_inverse() -> None:
    vectors = np.repeat(np.random.default_rng(0).normal(size=(20, 3)), 2, axis=0)
    vectors[1::2] += 1e-6
    lexicon = Lexicon("twins", tuple(f"w{i}" for i in range(40)), vectors.astype(np.float32))
    mechanism = create("tem", lexicon)
    law_of_it = mechanism.kernel_law(5.0)
    assert law_of_it is not None
    operator = KernelOperator(mechanism, law_of_it, silent)
    near = operator.near_inverse(np.ones(40, dtype=bool))(np.eye(40))
    assert np.isfinite(near).all()
    assert np.linalg.eigvalsh((near + near.T) / 2).min() > 0


@pytest.mark.parametrize("key", list(MECHANISMS))
def test_a_law_with_few_exceptions_or_a_kernel_is_said_rightly(key: str) -> None:
    """Every mechanism that has one, refused or not: what a new one must keep to."""
    mechanism = make(key)
    if not mechanism.exact_law:
        assert mechanism.sparse_law(typical(mechanism)) is None
        assert mechanism.kernel_law(typical(mechanism)) is None
        return
    epsilon = typical(mechanism)
    channel = law(mechanism, epsilon)
    sparse = mechanism.sparse_law(epsilon)
    if sparse is not None:
        dense = np.repeat(sparse.base[:, None], len(SMALL), axis=1)
        np.add.at(dense, (sparse.words, sparse.outputs), sparse.excess)
        np.testing.assert_allclose(dense, channel, rtol=1e-6, atol=1e-12)
    if mechanism.symmetric_law:
        relative = channel / channel.diagonal()[:, None]
        np.testing.assert_allclose(relative, relative.T, rtol=1e-9)


@pytest.mark.parametrize("name", REFUSED)
def test_noise_without_a_law_and_refuted_promises_are_refused(name: str) -> None:
    mechanism = make(next(key for key in MECHANISMS if key.startswith(f"{name}.")))
    with pytest.raises(ParameterError, match="nothing"):
        undo(mechanism, typical(mechanism), queries(len(SMALL)), TOTAL)


def test_words_that_no_output_tells_apart_have_a_stated_bias() -> None:
    """Two words with one set of neighbours: their sum is counted, neither of them is."""
    rows = np.array([[0.0, 0.0], [1.0, 0.0], [40.0, 0.0], [42.0, 0.0]], dtype=np.float32)
    lexicon, _ = Lexicon.build("pairs", ["a", "b", "c", "d"], rows)
    mechanism = create("neighbour-response", lexicon, {"k": 2})
    one = of_indices(lexicon, np.array([0]))
    both = Queries(("both",), 4, (np.array([0, 1]),), (np.ones(2),))
    estimators = undo(mechanism, 3.0, one.and_then(both), 1_000)
    assert estimators.worst[0] >= 0.5 - 1e-6
    assert estimators.worst[1] <= EXACT
    channel = law(mechanism, 3.0)
    left = np.abs(channel @ estimators.values - one.and_then(both).matrix())
    assert np.all(channel @ estimators.over >= left - 1e-7)


def test_words_that_were_kept_are_no_outputs() -> None:
    """With function words kept, h is 0 for them, and the rest is undone as before."""
    mechanism = create("k-ary", SMALL)
    used = np.arange(len(SMALL)) >= 4
    asked = of_indices(SMALL, np.array([10]))
    estimators = undo(mechanism, 3.0, asked, TOTAL, used=used)
    assert not estimators.values[~used].any()
    left = (law(mechanism, 3.0) @ estimators.values)[used] - asked.matrix()[used]
    assert np.abs(left).max() <= estimators.worst[0] <= EXACT


def test_a_solution_is_kept_and_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = create("tem", SMALL)
    first = undo(mechanism, 2.0, queries(len(SMALL)), TOTAL)
    monkeypatch.setattr(undoing, "operator_of", lambda *_: pytest.fail("solved again"))
    again = undo(mechanism, 2.0, queries(len(SMALL)), TOTAL)
    np.testing.assert_array_equal(first.values, again.values)
    np.testing.assert_array_equal(first.worst, again.worst)


def test_many_queries_are_solved_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = create("k-ary", SMALL)
    asked = of_indices(SMALL, np.arange(len(SMALL)))
    whole = undo(mechanism, 3.0, asked, TOTAL)
    monkeypatch.setattr(undoing, "_TOGETHER", 7)
    np.testing.assert_allclose(
        undo(mechanism, 3.0, asked, TOTAL).values, whole.values, atol=1e-6
    )  # fmt: skip


def test_k_ary_response_is_the_closed_form() -> None:
    mechanism, epsilon = create("k-ary", SMALL), 2.5
    estimators = undo(mechanism, epsilon, of_indices(SMALL, np.array([7])), TOTAL)
    p, q = law(mechanism, epsilon)[0, :2]
    expected = (np.eye(len(SMALL))[7] - q) / (p - q)
    np.testing.assert_allclose(estimators.values[:, 0], expected, rtol=1e-6)


@pytest.mark.parametrize("tile", [7, 1_000])
def test_a_dense_operator_is_the_plain_twin(tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distances, "TILE", tile)
    mechanism = create("tem", SMALL)
    operator, twin = operator_of(mechanism, 2.0), DenseOperator(mechanism, 2.0)
    values = np.eye(len(SMALL))
    np.testing.assert_allclose(operator.times(values), twin.times(values), rtol=1e-9)


@pytest.mark.parametrize(("name", "settings"), [("neighbour-response", {"k": 3}), ("tem", {})])
def test_what_else_is_asked_does_not_change_an_answer(
    name: str, settings: dict[str, object]
) -> None:
    mechanism = create(name, SMALL, settings)
    epsilon = typical(mechanism)
    together = undo(mechanism, epsilon, of_indices(SMALL, np.arange(6)), TOTAL)
    for word in range(6):
        alone = undo(mechanism, epsilon, of_indices(SMALL, np.array([word])), TOTAL)
        np.testing.assert_allclose(alone.values[:, 0], together.values[:, word], atol=1e-6)
        assert alone.worst[0] == pytest.approx(together.worst[word], abs=1e-6)


@pytest.mark.parametrize(
    "name",
    [
        "budget", "custext", "diffractor", "santext", "santext-plus", "syntf", "tem",
        "truncated-gumbel-repaired",
    ],
)  # fmt: skip
def test_a_law_read_column_by_column_is_that_of_its_matrix(name: str) -> None:
    """So a large lexicon is undone whose law is neither sparse nor a kernel of one distance."""
    mechanism, values = create(name, SMALL), np.random.default_rng(0).normal(size=(len(SMALL), 3))
    epsilon = typical(mechanism)
    columns = ColumnOperator(mechanism, epsilon, silent)
    matrix = DenseOperator(mechanism, epsilon)
    assert columns.times(values) == pytest.approx(matrix.times(values), abs=1e-12)
    assert columns.transposed(values) == pytest.approx(matrix.transposed(values), abs=1e-12)
    assert columns.stays() == pytest.approx(matrix.stays(), abs=1e-12)
    assert (columns.weights is None) == (not mechanism.symmetric_law)
    means, off = columns.enclosed(values)
    assert np.all(np.abs(means - matrix.times(values)) <= off)
    assert off.max() < 1e-5


@pytest.mark.parametrize("name", ["tem", "neighbour-response"])
def test_queries_with_a_number_of_words_each_are_undone_as_by_themselves(name: str) -> None:
    mechanism = create(name, SMALL, {"k": 3} if name == "neighbour-response" else {})
    asked, totals = queries(len(SMALL)), np.array([300.0, 10_000.0, 1e6])
    together = undo(mechanism, 1.0, asked, totals)
    for i, total in enumerate(totals.tolist()):
        alone = undo(mechanism, 1.0, asked.only(np.array([i])), total)
        np.testing.assert_allclose(together.values[:, i], alone.values[:, 0], rtol=1e-4, atol=1e-4)
        assert together.worst[i] == pytest.approx(alone.worst[0], rel=1e-3, abs=1e-6)
