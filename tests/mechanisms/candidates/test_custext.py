"""CusText: the partition against a plain one, its laws by hand, the guarantee of each form."""

import math

import numpy as np
import pytest

from dpcore.audit.exact import audit_mechanism
from dpcore.guarantee import Status
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import distances
from dpcore.mechanisms.candidates.clusters import clusters
from dpcore.mechanisms.candidates.custext import CusText
from tests.mechanisms import lexicons

N = 40
LEXICON = lexicons.cloud(N, 3)
APART = distances(LEXICON.vectors, LEXICON.vectors)


def plain_sets(lexicon: Lexicon, k: int) -> list[list[int]]:
    left, sets = list(range(len(lexicon))), []
    while left:
        away = distances(lexicon.vectors[left], lexicon.vectors[[left[0]]])[0]
        near = [left[i] for i in np.argsort(away, kind="stable")[:k]]
        sets.append(near)
        left = [word for word in left if word not in near]
    return sets


@pytest.mark.parametrize(
    ("lexicon", "k"),
    [
        (lexicons.cloud(40, 3), 7),
        (lexicons.cloud(700, 25), 20),
        (lexicons.crafted()["lattice"], 5),
        (lexicons.crafted()["near duplicates"], 3),
        (lexicons.crafted()["two words"], 20),
    ],
)
def test_the_partition_is_the_plain_one(lexicon: Lexicon, k: int) -> None:
    table, sets = clusters(lexicon, k), plain_sets(lexicon, k)
    assert len(table) == len(sets)
    assert table.seeds.tolist() == [members[0] for members in sets]
    for members in sets:
        assert table.set_of(members[-1]).tolist() == sorted(members)
    # And when it is read again.
    clusters.cache_clear()
    np.testing.assert_array_equal(clusters(lexicon, k).of, table.of)


def within(word: int, members: list[int], epsilon: float) -> np.ndarray:
    law, away = np.zeros(N), APART[word, members]
    u = 1 - (away - away.min()) / (away.max() - away.min())
    law[members] = np.exp(epsilon * u / 2)
    return law / law.sum()


@pytest.mark.parametrize("epsilon", [0.5, 6.0])
@pytest.mark.parametrize("word", [0, 13])
def test_the_laws_are_the_formulas(epsilon: float, word: int) -> None:
    sets = plain_sets(LEXICON, 7)
    (own,) = [members for members in sets if word in members]
    near = np.argsort(APART[word], kind="stable")[:7].tolist()
    away = APART[word, [members[0] for members in sets]]
    chance = np.exp(epsilon / 4 * (1 - (away - away.min()) / (away.max() - away.min())))
    drawn = [
        share * within(word, members, epsilon / 2)
        for share, members in zip(chance / chance.sum(), sets, strict=True)
    ]
    for form, by_hand in (
        ("conservative", within(word, own, epsilon)),
        ("aggressive", within(word, near, epsilon)),
        ("drawn", np.sum(drawn, axis=0)),
    ):
        mechanism = CusText(lexicon=LEXICON, k=7, form=form)
        law = mechanism.law(word, [epsilon]).dense(N)[0]
        np.testing.assert_allclose(law, by_hand, rtol=1e-12, err_msg=form)


def test_epsilon_holds_within_a_set_and_not_between_sets() -> None:
    mechanism = CusText(lexicon=LEXICON, k=7)
    assert mechanism.guarantee(2.0).status is Status.CONDITIONAL
    for members in plain_sets(LEXICON, 7):
        audit = audit_mechanism(mechanism, 2.0, words=np.array(members)).losses
        assert audit.holds
    whole = audit_mechanism(mechanism, 2.0, words=np.arange(N)).losses
    assert whole.epsilon_effective == math.inf
    assert whole.delta == pytest.approx(1.0)


def test_own_sets_tell_even_the_nearest_words_apart() -> None:
    mechanism = CusText(lexicon=LEXICON, k=7, form="aggressive")
    assert mechanism.guarantee(2.0).status is Status.REFUTED
    word = int(np.where(APART > 0, APART, np.inf).min(axis=1).argmin())
    other = int(np.where(APART[word] > 0, APART[word], np.inf).argmin())
    pair = audit_mechanism(mechanism, 2.0, words=np.array([word, other])).losses
    assert pair.epsilon_effective == math.inf


@pytest.mark.parametrize("epsilon", [0.3, 2.0, 12.0])
@pytest.mark.parametrize("name", ["cloud", "lattice", "collinear", "two words"])
def test_a_set_that_is_drawn_keeps_epsilon_between_any_two_words(name: str, epsilon: float) -> None:
    lexicon = LEXICON if name == "cloud" else lexicons.crafted()[name]
    for k in (2, 7, 100):
        mechanism = CusText(lexicon=lexicon, k=k, form="drawn")
        assert mechanism.guarantee(epsilon).status is Status.PROVED
        assert audit_mechanism(mechanism, epsilon, words=np.arange(len(lexicon))).losses.holds


def test_one_set_of_all_words_keeps_epsilon() -> None:
    for form in ("conservative", "aggressive"):
        mechanism = CusText(lexicon=LEXICON, k=N, form=form)
        assert mechanism.guarantee(2.0).status is Status.PROVED
        assert audit_mechanism(mechanism, 2.0, words=np.arange(N)).losses.holds


def test_what_the_set_gives_away_is_said() -> None:
    assert (
        f"{math.log2(6):.3g} of the {math.log2(40):.3g} bits"
        in CusText(lexicon=LEXICON, k=7).caution
    )
    assert CusText(lexicon=LEXICON, k=7, form="drawn").caution == ""
