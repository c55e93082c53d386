"""Samplers for many documents equal `sample` on each of them, to the bit."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.errors import DpcoreError, EpsilonError, ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import silent
from dpcore.mechanisms.bulk import OneByOne, WordCache, bulk, by_law, by_paths, outputs_at
from dpcore.mechanisms.exponential.tem_bulk import TemBulk
from dpcore.mechanisms.gumbel.algorithm import RepairedBulk, TruncatedGumbelBulk
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import MECHANISMS, create
from dpcore.noise.streams import document_generator
from tests.chance import assert_law, assert_same_law
from tests.fixtures import MakeRng
from tests.mechanisms import contract, lexicons
from tests.mechanisms.contract import every_mechanism, make, typical

SHORT = [kind.short for kind in MECHANISMS.values()]
SMALL = lexicons.cloud(300, 8)
LARGE = lexicons.cloud(3_000, 8)
SECRET = bytes(range(32))
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "tem, angular": ("tem", {"metric": "angular"}),
    "tem, manhattan": ("tem", {"metric": "manhattan", "beta": 0.2}),
    "vickrey, mahalanobis": ("vickrey", {"noise": "mahalanobis", "t": 0.5}),
    "laplace, clipped": ("laplace", {"clip_norm": 1.0, "compare_with": "unclipped"}),
    "trlaplace, clipped": ("trlaplace", {"clip_norm": 1.0}),
}


def useful(mechanism: Mechanism, factor: float = 1.0) -> float:
    """An ε at which words sometimes stay, or more."""
    return min(typical(mechanism) * factor, 0.99 * mechanism.admissible.high)


def documents(
    rng: np.random.Generator, n: int, sizes: list[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Words of documents, frequent ones often; some documents are empty."""
    words = np.minimum(rng.zipf(1.3, sum(sizes)) - 1, n - 1).astype(np.int64)
    return words, np.concatenate(([0], np.cumsum(sizes)))


def rngs(count: int, first: int = 0) -> list[np.random.Generator]:
    return [document_generator(SECRET, first + i) for i in range(count)]


def assert_as_plain(
    mechanism: Mechanism, epsilon: float, words: NDArray[np.int64], offsets: NDArray[np.int64]
) -> NDArray[np.int64]:
    count = len(offsets) - 1
    plain = OneByOne(mechanism, epsilon)(rngs(count), words, offsets)
    fast = bulk(mechanism, epsilon)
    assert np.array_equal(fast(rngs(count), words, offsets), plain)
    # Once more, with what was kept, in other batches and in another order.
    for first in range(0, count, 3):
        part = slice(first, min(first + 3, count))
        some = words[offsets[part.start] : offsets[part.stop]]
        ends = offsets[part.start : part.stop + 1] - offsets[part.start]
        outputs = fast(rngs(part.stop - part.start, first), some, ends)
        assert np.array_equal(outputs, plain[offsets[part.start] : offsets[part.stop]])
    return plain


@pytest.mark.slow
@pytest.mark.parametrize("name", SHORT)
def test_every_mechanism_gives_what_it_gives_one_by_one(name: str, rng: MakeRng) -> None:
    mechanism = create(name, SMALL)
    words, offsets = documents(rng(), len(SMALL), [1, 0, 40, 700, 5, 0, 3, 90])
    for factor in (1.0, 10.0):
        outputs = assert_as_plain(mechanism, useful(mechanism, factor), words, offsets)
    assert len(set(outputs.tolist())) > 10


@pytest.mark.parametrize("name", SETTINGS)
def test_so_it_does_with_other_settings(name: str, rng: MakeRng) -> None:
    short, settings = SETTINGS[name]
    mechanism = create(short, SMALL, settings)
    words, offsets = documents(rng(), len(SMALL), [30, 2, 600])
    assert_as_plain(mechanism, useful(mechanism), words, offsets)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tem", "truncated-gumbel", "truncated-gumbel-repaired"])
def test_a_law_of_many_blocks(name: str, rng: MakeRng) -> None:
    mechanism = create(name, LARGE)
    words, offsets = documents(rng(), len(LARGE), [4_000, 10, 2_000])
    for factor in (1.0, 30.0):
        assert_as_plain(mechanism, useful(mechanism, factor), words, offsets)


@pytest.mark.parametrize("kind", [TemBulk, RepairedBulk, TruncatedGumbelBulk])
def test_little_memory_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, kind: type[Any], rng: MakeRng
) -> None:
    names = {TemBulk: "tem", RepairedBulk: "truncated-gumbel-repaired"}
    mechanism = create(names.get(kind, "truncated-gumbel"), SMALL)
    words, offsets = documents(rng(), len(SMALL), [500, 300])
    plain = OneByOne(mechanism, useful(mechanism))(rngs(2), words, offsets)
    monkeypatch.setattr(WordCache.__init__, "__defaults__", (1,))
    fast = kind(mechanism, useful(mechanism))
    for _ in range(2):
        assert np.array_equal(fast(rngs(2), words, offsets), plain)
    assert len(fast._kept._things) == 1


def test_laws_that_were_computed_elsewhere_change_nothing(rng: MakeRng) -> None:
    mechanism: Any = create("tem", LARGE)
    words, offsets = documents(rng(), len(LARGE), [900, 300])
    plain = OneByOne(mechanism, 3.0)(rngs(2), words, offsets)
    first, second = TemBulk(mechanism, 3.0), TemBulk(mechanism, 3.0)
    second.use([first.ends_of(range(i, min(i + 700, 3_000))) for i in range(0, 3_000, 700)], 700)
    assert np.array_equal(second(rngs(2), words, offsets), plain)


@pytest.mark.parametrize("name", SHORT)
def test_nothing_to_do(name: str) -> None:
    mechanism = create(name, SMALL)
    empty = np.empty(0, dtype=np.int64)
    outputs = bulk(mechanism, useful(mechanism))(rngs(2), empty, np.zeros(3, dtype=np.int64))
    assert outputs.shape == (0,)


@every_mechanism
def test_repeated_words_get_fresh_noise(key: str) -> None:
    """One word 400 times under much noise: outputs differ, within a document and between two."""
    mechanism = make(key)
    epsilon = max(1.0001 * mechanism.admissible.low, 0.01)
    words = np.full(1_200, 7)
    offsets = np.array([0, 400, 800, 1_200])
    outputs = bulk(mechanism, epsilon)(rngs(3), words, offsets).reshape(3, 400)
    assert len(set(outputs[0].tolist())) > 1
    assert not np.array_equal(outputs[0], outputs[1])
    assert not np.array_equal(outputs[1], outputs[2])


def test_a_wrong_epsilon_word_or_index_is_refused() -> None:
    tem = create("tem", SMALL)
    with pytest.raises(DpcoreError):
        bulk(tem, 0.0)
    with pytest.raises(ParameterError):
        bulk(tem, 1.0)(rngs(1), np.array([300]), np.array([0, 1]))

    class Approximate:
        exact = False

    with pytest.raises(ParameterError, match="would break its guarantee"):
        bulk(tem, 1.0, Approximate())  # type: ignore[arg-type]


# Outputs at several ε from one draw: the law of `sample` at each, and the same as the ε-paths.


DRAWS = 4_000
RADIAL = ("madlib", "mahalanobis", "random-projection", "laplace", "l2-laplace", "gaussian")
VICKREY: tuple[dict[str, str | float], ...] = (
    {}, {"t": 0.0}, {"t": 1.0}, {"noise": "mahalanobis", "t": 0.5}
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("key", MECHANISMS)
def test_each_column_has_the_law_of_a_release(
    key: str, typicals: dict[str, float], rng: MakeRng
) -> None:
    """False alarm 1e-6 a chi-square test, two tests a mechanism."""
    mechanism = contract.make(key)
    epsilon = typicals[key]
    words = np.full(DRAWS, 3)
    other = min(1.2 * epsilon, 0.5 * (epsilon + mechanism.admissible.high))
    outputs = outputs_at(mechanism, rng(), words, [other, epsilon])
    if mechanism.exact_law:
        law = mechanism.law(3, [epsilon])
        whole = np.zeros(len(mechanism.lexicon))
        whole[law.outputs] = law.probabilities[0]
        assert_law(outputs[:, 1], whole)
    else:
        assert_same_law(outputs[:, 1], mechanism.sample(rng(1), words, epsilon))
    assert_same_law(outputs[:, 0], mechanism.sample(rng(2), words, other))


@pytest.mark.parametrize("key", RADIAL)
def test_it_is_the_path_of_the_same_noise(key: str, small: Lexicon, rng: MakeRng) -> None:
    """The plain twin; only a tie within float32 may be decided otherwise."""
    mechanism = create(key, small)
    words = np.repeat(np.arange(0, 40, 2), 20)
    epsilons = np.geomspace(0.2, 200, 9)
    outputs = outputs_at(mechanism, rng(), words, epsilons)
    plain = mechanism.paths(rng(), words).at(epsilons)
    assert (outputs != plain).mean() < 1e-3
    assert len(np.unique(outputs)) > 10


@pytest.mark.parametrize("settings", VICKREY, ids=str)
def test_the_second_nearest_is_that_of_its_paths(
    settings: dict[str, str | float], small: Lexicon, rng: MakeRng
) -> None:
    mechanism = create("vickrey", small, settings)
    words = np.repeat(np.arange(0, 40, 2), 50)  # more than one batch
    epsilons = np.geomspace(1e-3, 2_000, 9)
    outputs = outputs_at(mechanism, rng(), words, epsilons)
    plain = by_paths(mechanism, rng(), words, epsilons, silent)
    assert (outputs != plain).mean() < 1e-3
    assert len(np.unique(outputs)) > 10


def test_truncated_noise_is_that_of_its_paths(small: Lexicon, rng: MakeRng) -> None:
    mechanism = create("trlaplace", small, {"clip_norm": 0.5, "delta_root": 0.25})
    words = np.arange(40)
    epsilons = np.array([0.3, 0.05, 0.8])
    outputs = outputs_at(mechanism, rng(), words, epsilons)
    order = np.sort(epsilons)
    plain = mechanism.paths(rng(), words, epsilons=order).at(epsilons)
    assert (outputs != plain).mean() < 0.02


@pytest.mark.parametrize("settings", [None, {"k": 1}, {"k": 7}, {"k": 39}, {"k": None}], ids=str)
def test_a_response_is_the_inversion_of_its_law(
    settings: dict[str, int | None] | None, small: Lexicon, rng: MakeRng
) -> None:
    """The plain twin: the same outputs, also where e^−ε underflows."""
    name = "k-ary" if settings is None else "neighbour-response"
    mechanism = create(name, small, settings or {})
    words = np.tile(np.arange(40), 100)
    epsilons = np.array([1e-9, 1.0, 4.0, 2.5, 30.0, 2_000.0])
    plain = by_law(mechanism, rng(), words, epsilons, silent)
    assert np.array_equal(outputs_at(mechanism, rng(), words, epsilons), plain)
    assert len(np.unique(plain[:, 0])) == 40


def test_words_in_any_order_are_independent_draws(small: Lexicon, rng: MakeRng) -> None:
    mechanism = create("madlib", small)
    words = np.array([5, 1, 5, 39, 0, 5])
    outputs = outputs_at(mechanism, rng(), words, [1e6])
    assert outputs[:, 0].tolist() == words.tolist()  # almost no noise: each stays in its place
    wild = outputs_at(mechanism, rng(), np.full(300, 5), [0.5])
    assert len(np.unique(wild)) > 3


def test_nothing_in_nothing_out_and_refusals(small: Lexicon, rng: MakeRng) -> None:
    mechanism = create("tem", small)
    assert outputs_at(mechanism, rng(), [], [1.0, 2.0]).shape == (0, 2)
    with pytest.raises(EpsilonError, match="finite number > 0"):
        outputs_at(mechanism, rng(), [1], [float("nan")])
    with pytest.raises(ParameterError, match="word indices"):
        outputs_at(mechanism, rng(), [40], [1.0])


def test_progress_comes_to_its_end(small: Lexicon, rng: MakeRng) -> None:
    seen = []
    for key in ("tem", "madlib", "trlaplace", "vickrey"):
        mechanism = create(key, small)
        words = np.arange(40)
        epsilons = [0.5 * min(1.0, mechanism.admissible.high)]
        outputs_at(mechanism, rng(), words, epsilons, lambda *step: seen.append(step))
        assert seen[-1] == (key, 40, 40)
