"""Leakage to strangers: brute force, the attackers without a law, and the numbers of the papers."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.attack import leak as leak_module
from dpcore.attack.leak import Leak, leak
from dpcore.attack.output.prior import GAINS, NEAR, Gain, Prior, parse_prior
from dpcore.attack.trade.ground import BAYES
from dpcore.errors import EpsilonError, ParameterError
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.kinds import kinds_of
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.mechanism import Mechanism, NoisyNearestForm
from dpcore.mechanisms.registry import create
from tests.mechanisms import lexicons
from tests.mechanisms.contract import every_mechanism, make, typical

Rng = Callable[..., np.random.Generator]
ALONE = ("counts", "counts-all", "equal")
"""Strangers who see one word at a time."""


def english(n: int, dimension: int = 6, seed: int = 0) -> Lexicon:
    """Words that are counted and have kinds, function words among them, at random places."""
    vectors = lexicons.cloud(n, dimension, seed).vectors
    words = load(None).words
    return Lexicon("english", words[:40] + words[40 :: len(words) // n][: n - 40], vectors)


FEW, MANY = english(60), english(205)
"""Words of which each has a law of its own, and words whose columns are taken in blocks."""


def gain_table(lexicon: Lexicon, gain: str) -> NDArray[np.float64]:
    """g(v, w) as the definition has it, shape (guesses, n)."""
    n = len(lexicon)
    if gain == "kind":
        kinds = kinds_of(lexicon)
        return np.equal.outer(np.arange(len(kinds.names)), kinds.codes).astype(float)
    if gain != "near":
        return np.eye(n)
    vectors = lexicon.vectors.astype(np.float64)
    distance = np.linalg.norm(vectors[:, None] - vectors, axis=2)
    nearest = np.argsort(distance, axis=1, kind="stable")[:, :NEAR]
    table = np.zeros((n, n))
    table[nearest.reshape(-1), np.repeat(np.arange(n), NEAR)] = 1.0
    return table


@lru_cache(maxsize=1)
def laws_of(mechanism: Mechanism, epsilon: float) -> NDArray[np.float64]:
    """P(y | w), a row a word."""
    n = len(mechanism.lexicon)
    return np.array([mechanism.law(word, [epsilon]).dense(n)[0] for word in range(n)])


def brute(
    mechanism: Mechanism, epsilon: float, belief: NDArray[np.float64], gain: str
) -> tuple[float, float]:
    """Before and after from the law of every word."""
    laws, table = laws_of(mechanism, epsilon), gain_table(mechanism.lexicon, gain)
    return float((table @ belief).max()), float(
        (table @ (belief[:, None] * laws)).max(axis=0).sum()
    )


def of_one(mechanism: Mechanism, epsilon: float, stranger: str, gain: str) -> Leak:
    return leak(mechanism, epsilon, stranger, gain, draws=2_000)


@pytest.mark.parametrize("lexicon", [FEW, MANY], ids=["laws", "columns"])
@every_mechanism
def test_every_gain_is_that_of_brute_force(key: str, lexicon: Lexicon) -> None:
    mechanism = make(key, lexicon)
    epsilon = typical(mechanism)
    if lexicon is MANY and not mechanism.column_form:
        return  # as over few words
    first, second = lexicon.words[50], lexicon.words[55]
    asked = list(itertools.product(ALONE, (*GAINS, f"pair={first},{second}")))
    if lexicon is MANY and isinstance(mechanism.column_form, NoisyNearestForm):
        asked = asked[:2]  # a column takes an integral for each word
    for stranger, gain in asked:
        prior = parse_prior(lexicon, stranger).probability
        if gain.startswith("pair"):
            prior = np.where(np.isin(np.arange(len(lexicon)), [50, 55]), prior, 0.0)
            prior /= prior.sum()
        found = of_one(mechanism, epsilon, stranger, gain)
        before, after = brute(mechanism, epsilon, prior, gain)
        assert found.before == pytest.approx(before, rel=1e-12)
        assert found.low <= found.after <= found.high
        assert found.after >= found.before * (1 - 1e-9)
        if found.exact:
            # The law of `brute` is off as well: by what it says, or a quadrature by 1e-5.
            assert found.after == pytest.approx(after, rel=3e-5)
            assert found.low * (1 - 3e-5) <= after <= found.high * (1 + 3e-5)
        elif mechanism.exact_law:
            assert found.low <= after + 1e-5
            assert found.attacker != BAYES or after <= found.high + 1e-5
        else:  # the laws of all words are estimated from the same directions, so errors add up
            assert found.low <= after + 5.0 * mechanism.law(0, [epsilon]).error


def test_a_curve_is_its_points() -> None:
    mechanism = create("tem", MANY)
    epsilons = [2.0, 8.0, 30.0]
    together = leak(mechanism, epsilons, "counts", "near")
    assert together == [of_one(mechanism, epsilon, "counts", "near") for epsilon in epsilons]
    assert [row.after for row in together] == sorted(row.after for row in together)


def test_the_capacity_is_the_largest_factor(rng: Rng) -> None:
    """Braun, Chatzikokolakis, Palamidessi 2009: no prior and no gain has a larger one."""
    mechanism = create("tem", FEW)
    capacity = of_one(mechanism, 10.0, "equal", "word").factor
    n = len(FEW)
    for i, gain in itertools.product(range(4), ("word", "near", "kind")):
        belief = rng(i).dirichlet(np.full(n, 0.3))
        found = leak(mechanism, 10.0, Prior("typed", belief, "drawn"), gain)
        assert found.factor <= capacity * (1 + 1e-9)


def test_what_was_computed_is_kept_for_the_same_law_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    near = {key: of_one(create("tem", MANY), 7.5, "counts", key) for key in ("word", "near")}
    assert near["word"].after < near["near"].after
    other = of_one(create("tem", MANY, {"beta": 0.1}), 7.5, "counts", "word")
    monkeypatch.setattr("dpcore.attack.leak._shares", lambda *_: pytest.fail("computed again"))
    for key, row in near.items():
        assert of_one(create("tem", MANY), 7.5, "counts", key) == row
    assert (
        of_one(create("tem", MANY, {"beta": 0.1}), 7.5, "counts", "word") == other != near["word"]
    )


def test_a_mechanism_of_other_people_is_computed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their code may change under the same key."""
    kind = type(create("k-ary", FEW))
    theirs = type("Theirs", (kind,), {"__module__": "somewhere"})(lexicon=FEW)
    of_one(theirs, 2.0, "equal", "word")
    monkeypatch.setattr(leak_module, "_shares", lambda *_: [(0.5, 0.5, 0.5, True, BAYES)])
    assert of_one(theirs, 2.0, "equal", "word").after == 0.5


@pytest.mark.slow
def test_who_reads_gains_on_who_does_not() -> None:
    """Over the bundled words, of which the texts consist: a reader guesses at least most of what
    the Bayes attacker on single words does, and all where nothing is hidden."""
    mechanism = create("k-ary", load(None))
    some, all_of_it = leak(mechanism, [9.0, 40.0], "reads", draws=3)
    assert some.before == leak(mechanism, 9.0).before
    assert not some.exact
    assert some.attacker == "bigram"
    assert some.low <= some.after <= some.high
    assert some.after < all_of_it.after == 1.0
    with pytest.raises(ParameterError, match="take another gain"):
        leak(mechanism, 9.0, "reads", "pair=june,may")
    with pytest.raises(ParameterError, match="texts for the stranger who reads"):
        leak(mechanism, 9.0, "reads", draws=50_000)
    with pytest.raises(ParameterError, match="no exact law"):
        leak(create("madlib", load(None)), 9.0, "reads")


def test_sentences_name_who_guesses_what_and_round_outwards() -> None:
    row = Leak("tem", 2.0, "counts", "word", 0.00444, 0.30525, 0.305249, 0.305251, True)
    assert row.sentence == (
        "someone who knows how common words are guesses 30.6 of 100 content words (0.5 before)"
    )
    near = replace(row, gain="near", stranger="equal")
    assert near.sentence == (
        "someone who takes all words for equally likely guesses the word or a near one for 30.6 of "
        "100 words of the vocabulary (0.5 before)"
    )
    read = replace(row, gain="kind", stranger="reads", exact=False, attacker="bigram")
    assert read.sentence == (
        "someone who reads on through the text guesses the kind of 30.5 to 30.6 of 100 content "
        "words (0.5 before)"
    )
    tried = replace(row, gain="pair=a,b", stranger="typed", exact=False, attacker="density")
    assert tried.sentence == (
        "someone with the given prior tells which of two words it was in at least 30.5 of 100 "
        "cases (0.5 before)"
    )


@pytest.mark.slow
def test_the_numbers_of_the_bundled_words() -> None:
    """A program of another author found them, with three digits."""
    mechanism = create("neighbour-response", load(None))
    found = [of_one(mechanism, 9.2, stranger, "word").after for stranger in ALONE]
    assert found == pytest.approx([0.305, 0.405, 0.080], abs=5e-4)


def test_who_has_no_law_is_not_flattered_by_the_choice_of_a_rule() -> None:
    """At the least ε nothing can be learned: the interval holds what is known before."""
    mechanism = create("madlib", FEW)
    found = of_one(mechanism, 1e-6, "equal", "word")
    assert not found.exact
    assert found.low <= 0.02
    assert found.after < 0.04
    much = of_one(mechanism, 1e4, "counts", "word")
    assert much.low > 0.99


def test_the_density_beats_repeating_where_some_words_are_common() -> None:
    """Under a skewed prior an output is often the neighbour of a common word."""
    belief = np.full(len(FEW), 0.1 / (len(FEW) - 1))
    belief[3] = 0.9
    found = leak(create("madlib", FEW), 2.0, Prior("typed", belief, "one word"), "word")
    assert found.after >= 0.9


@pytest.mark.parametrize("gain", ["word", "near"])
def test_outputs_that_are_drawn_give_the_sum_over_all(
    gain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where columns take integrals and the words are too many for a law of each."""
    # Another number of draws than elsewhere here: what was summed is in the cache of this run.
    mechanism, draws = create("truncated-gumbel", FEW), 2_500
    epsilon = typical(mechanism)
    exact = leak(mechanism, epsilon, "equal", gain)
    monkeypatch.setattr(leak_module, "MAX_ATTACK_PRIOR_WORDS", 0)
    drawn = leak(mechanism, epsilon, "equal", gain, draws=draws)
    assert (exact.exact, drawn.exact) == (True, False)
    # Hoeffding: the mean of shares in [0, 1] is farther off once in a million runs.
    assert abs(drawn.after - exact.after) <= np.sqrt(np.log(2e6) / (2 * draws))
    assert drawn.low <= drawn.after <= drawn.high
    assert drawn.low >= exact.after - 2 * np.sqrt(np.log(2e6) / (2 * draws))


@pytest.mark.parametrize(
    ("stranger", "gain", "message"),
    [
        ("nobody", "word", "not of the form"),
        ("counts", "letter", "a gain is word, near, kind or pair=a,b"),
        ("counts", "pair=a", "a gain is"),
        ("counts", "pair=the,the", "a gain is"),
    ],
)
def test_what_is_neither_stranger_nor_gain_is_refused(
    stranger: str, gain: str, message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        leak(create("tem", FEW), 3.0, stranger, gain)


def test_other_nonsense_is_refused() -> None:
    tem = create("tem", FEW)
    with pytest.raises(EpsilonError):
        leak(tem, [1.0, float("nan")])
    with pytest.raises(ParameterError):
        leak(tem, 1.0, draws=3)
    with pytest.raises(ParameterError, match="neither of the two words"):
        leak(tem, 1.0, "counts", "pair=the,of")
    german = Lexicon("german", FEW.words, FEW.vectors, language="de")
    with pytest.raises(ParameterError, match="no kinds of words are known"):
        Gain.of(german, "kind")
