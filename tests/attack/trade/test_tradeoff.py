"""Leakage and utility of mechanisms: the definitions, and the theorem over all of them."""

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.attack.output.prior import content_words
from dpcore.attack.trade.attackers import measure_from_pairs
from dpcore.attack.trade.ground import (
    BAYES,
    KEPT,
    LEAKAGES,
    MEANT,
    REPEATS,
    UTILITIES,
    Amount,
    Ground,
)
from dpcore.attack.trade.tradeoff import amounts, left_of_words, tradeoff
from dpcore.errors import EpsilonError, ParameterError
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.bulk import outputs_at
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons
from tests.mechanisms.contract import SMALL, every_mechanism, make, typical

K = 4


def english(n: int, dimension: int, seed: int = 0) -> Lexicon:
    """Words whose kinds are known, at random places."""
    vectors = lexicons.cloud(n, dimension, seed).vectors
    words = load(None).words
    return Lexicon("english", words[:: len(words) // n][:n], vectors)


def by(rows: list[Amount], epsilon: float) -> dict[str, Amount]:
    return {row.quantity: row for row in rows if row.epsilon == epsilon}


def definitions(mechanism: Mechanism, ground: Ground, epsilon: float) -> dict[str, float]:
    """Every quantity from the laws of all words, as the module's first lines have it."""
    n = len(mechanism.lexicon)
    laws = [mechanism.law(word, [epsilon]).dense(n)[0] for word in range(n)]
    joint: NDArray[np.float64] = np.array(laws) / n
    vectors = mechanism.lexicon.vectors.astype(np.float64)
    distance = np.linalg.norm(vectors[:, None] - vectors, axis=2)
    spread = distance.mean()
    near = np.zeros((n, n))
    for word in range(n):
        near[word, np.argsort(distance[word], kind="stable")[:K]] = 1.0
    kinds = np.equal.outer(np.arange(len(ground.kinds.names)), ground.kinds.codes).astype(float)
    triples = ground.triples
    told = [
        np.mean([0.5 * np.maximum(joint[a], joint[b]).sum() * n for a, b in triples[:, [0, other]]])
        for other in (1, 2)
    ]
    return {
        "word": joint.max(axis=0).sum(),
        "near": (near.T @ joint).max(axis=0).sum(),
        "kind": (kinds @ joint).max(axis=0).sum(),
        "guess": 1.0 - (distance @ joint).min(axis=0).sum() / spread,
        "pair": told[0],
        "couple": told[1],
        "kept": np.trace(joint),
        "meaning": 1.0 - (distance * joint).sum() / spread,
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "epsilons"),
    [
        ("tem", (0.4, 3.0)),
        ("tem-calibrated", (0.4, 2.0)),
        ("optimal", (0.5, 1.5)),
        ("k-ary", (3.0, 7.0)),
        ("neighbour-response", (3.0, 7.0)),
        ("truncated-gumbel-repaired", (20.0, 60.0)),
    ],
)
@pytest.mark.parametrize("n", [60, 230])  # from laws, and from columns
def test_all_outputs_give_the_definitions(key: str, epsilons: tuple[float, ...], n: int) -> None:
    mechanism = create(key, english(n, 6))
    ground = Ground.of(mechanism.lexicon, near=K, pairs=7)
    rows = amounts(mechanism, epsilons, ground, outputs=None)
    for epsilon in epsilons:
        expected = definitions(mechanism, ground, epsilon)
        for name, row in by(rows, epsilon).items():
            assert row.low <= row.value <= row.high
            assert row.attacker == ("" if name in UTILITIES else BAYES)
            if name == "guess":  # some guesses of some outputs
                assert row.low <= expected[name] + 1e-9
            else:
                # Nothing told about two words is drawn here but the words themselves.
                off = 0.0 if name in ("pair", "couple") else row.high - row.value
                assert abs(row.value - expected[name]) <= off + 1e-7, name
                assert off < 2e-3
        assert by(rows, epsilon).keys() == set(LEAKAGES + UTILITIES)


def test_some_outputs_and_pairs_estimate_them() -> None:
    """Intervals of level 95 %, read as 6 standard errors: a false alarm in 10⁸."""
    lexicon = english(230, 6)
    ground = Ground.of(lexicon, near=K, pairs=200)
    for key, epsilon in (("tem", 2.0), ("neighbour-response", 5.0)):
        mechanism = create(key, lexicon)
        exact, drawn = (
            by(amounts(mechanism, [epsilon], ground, outputs), epsilon) for outputs in (None, 120)
        )
        # An attacker who repeats is tried on pairs where there are no columns: here as a twin.
        pairs = measure_from_pairs(mechanism, np.array([epsilon]), ground, 4000, 0, lambda *_: None)
        for row in [*drawn.values(), *pairs]:
            if row.attacker == REPEATS and row.quantity != "word":
                continue
            if row.quantity in ("pair", "couple", "guess"):
                continue
            half = max(row.high - row.value, row.value - row.low, 1e-9)
            value = exact[row.quantity if row.attacker != REPEATS else "kept"].value
            assert abs(row.value - value) < 3.1 * half, row
            assert not row.exact


@pytest.mark.slow
@every_mechanism
def test_repeating_the_output_comes_as_near_as_the_reader(key: str) -> None:
    """Theorem 4: for every mechanism of the registry, word ≥ kept and guess ≥ meaning."""
    mechanism = make(key)
    ground = Ground.of(SMALL, near=K, pairs=5)
    epsilon = typical(mechanism)
    rows = by(amounts(mechanism, [epsilon], ground, None), epsilon)
    assert rows["word"].value >= rows["kept"].value - 1e-12
    assert rows["guess"].value >= rows["meaning"].value - 1e-12
    assert rows["near"].value >= rows["word"].value - 1e-12
    if rows["word"].attacker == BAYES:  # with an output no less is guessed than without one
        for name, before in ground.before().items():
            if name in ("word", "near", "kind"):
                assert rows[name].value >= before - 1e-9


def test_an_output_that_has_nothing_to_do_with_the_word_leaves_what_was_known_before() -> None:
    lexicon = english(60, 6)
    ground = Ground.of(lexicon, near=K, pairs=5)
    rows = by(amounts(create("k-ary", lexicon), [1e-9], ground, None), 1e-9)
    for name, value in ground.before().items():
        # The centre is found by distances that the mean distance is not made of.
        assert rows[name].value == pytest.approx(value, abs=1e-4), name
    everything = by(amounts(create("k-ary", lexicon), [60.0], ground, None), 60.0)
    assert {round(row.value, 9) for row in everything.values()} == {1.0}


def test_a_table_of_several_mechanisms() -> None:
    asked = [(create("k-ary", SMALL), (2.0, 3.0)), (create("madlib", SMALL), (4.0,))]
    table = tradeoff(asked, outputs=100, near=K, pairs=3)
    frame = table.to_pandas()
    assert set(frame["mechanism"]) == {"k-ary", "madlib"}
    assert len(frame) == 3 * len(LEAKAGES + UTILITIES)
    assert table.before["word"] == 1 / len(SMALL)
    assert (frame["low"] <= frame["value"]).all()
    assert (frame["value"] <= frame["high"]).all()


def test_nonsense_is_refused() -> None:
    k_ary = create("k-ary", SMALL)
    with pytest.raises(EpsilonError, match="epsilon"):
        tradeoff(k_ary, [-1.0])
    with pytest.raises(ParameterError, match="at least one mechanism"):
        tradeoff([])
    with pytest.raises(ParameterError, match="one lexicon"):
        tradeoff([(k_ary, [1.0]), (create("k-ary", lexicons.cloud(5, 2)), [1.0])])
    with pytest.raises(ParameterError, match="outputs must be"):
        tradeoff(k_ary, [1.0], outputs=5)
    for near, pairs in ((1, 5), (41, 5), (4, 1)):
        with pytest.raises(ParameterError, match="must be"):
            tradeoff(k_ary, [1.0], near=near, pairs=pairs)


@pytest.mark.parametrize("key", ["k-ary", "tem", "madlib", "truncated-gumbel"])
def test_what_is_left_counts_words_as_often_as_they_occur(key: str, rng: MakeRng) -> None:
    """From the laws of all words; Hoeffding, for values in [−1, 1], at one in a million."""
    mechanism = make(key, english(60, 6))
    lexicon, epsilon, count, draws = mechanism.lexicon, typical(mechanism), 20_000, 4_000
    weights = content_words(lexicon).probability
    if mechanism.exact_law:
        laws = [mechanism.law(w, [epsilon]).dense(60)[0] for w in range(60)]
    else:
        words = np.repeat(np.arange(60), draws)
        outputs = outputs_at(mechanism, rng(), words, np.array([epsilon]))[:, 0]
        laws = [np.bincount(part, minlength=60) / draws for part in np.split(outputs, 60)]
    vectors = lexicon.vectors.astype(np.float64)
    distance = np.linalg.norm(vectors[:, None] - vectors, axis=2)
    joint = weights[:, None] * np.array(laws)
    stays = np.trace(joint)
    meaning = 1.0 - (distance * joint).sum() / (weights @ distance.mean(axis=1))
    rows = {row.quantity: row for row in left_of_words(mechanism, [epsilon], count, 0)}
    slack = 2.0 * np.sqrt(np.log(2e6) / (2 * count))
    slack += 0.0 if mechanism.exact_law else np.sqrt(np.log(2e6) / draws)
    assert rows[MEANT].value == pytest.approx(meaning, abs=2 * slack)
    assert rows[KEPT].exact == (key in {"k-ary", "tem", "truncated-gumbel"})
    assert rows[KEPT].value == pytest.approx(stays, abs=1e-6 if rows[KEPT].exact else slack)
    assert all(row.low <= row.value <= row.high for row in rows.values())


def test_an_output_that_has_nothing_to_do_with_the_word_leaves_nothing() -> None:
    rows = left_of_words(make("k-ary", english(60, 6)), [1e-9], 20_000, 0)
    left = {row.quantity: row.value for row in rows}
    assert left[KEPT] == pytest.approx(1 / 60, rel=1e-6)
    assert abs(left[MEANT]) < 0.02
