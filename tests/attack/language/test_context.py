"""The context attacker against the sum over all sentences, and against samples."""

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.attack.language.context import (
    Place,
    context_attack,
    context_prior,
    places_of,
)
from dpcore.attack.language.language import UNKNOWN, Bigram, forward_backward, language
from dpcore.attack.output.channel import open_channel
from dpcore.errors import ParameterError
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import create
from dpcore.rewrite.policy import Treatment
from dpcore.rewrite.sentence import prepare
from tests.attack.language.chains import N, random_bigram
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons


@pytest.fixture
def model() -> Bigram:
    return random_bigram(0)


def brute(model: Any, evidence: list[Any]) -> NDArray[np.float64]:
    """P(w_i | all) by summing over every sentence."""
    rows = np.stack([model.after(w) for w in range(N + 1)])
    beliefs = np.zeros((len(evidence), N))
    choices = [
        range(N) if isinstance(seen, np.ndarray) else [seen] if seen != UNKNOWN else [UNKNOWN]
        for seen in evidence
    ]
    for words in itertools.product(*choices):
        weight, before = 1.0, N
        for word, seen in zip(words, evidence, strict=True):
            if word == UNKNOWN:
                before = UNKNOWN
                continue
            weight *= model.fallback[word] if before == UNKNOWN else rows[before, word]
            if isinstance(seen, np.ndarray):
                weight *= seen[word]
            before = word
        weight *= 1.0 if before == UNKNOWN else rows[before, N]
        for i, word in enumerate(words):
            if 0 <= word < N:
                beliefs[i, word] += weight
    return beliefs


@pytest.mark.parametrize("shape", ["www", "w", "wukw", "uw", "wku", "wbw", "kwwk"])
def test_it_is_the_sum_over_all_sentences(model: Bigram, rng: MakeRng, shape: str) -> None:
    kinds = {"u": UNKNOWN, "k": 2, "b": N}
    evidence = [
        rng(i).random(N) ** 4 if kind == "w" else kinds[kind] for i, kind in enumerate(shape)
    ]
    beliefs = forward_backward(model, evidence)
    true = brute(model, evidence)
    for i, seen in enumerate(evidence):
        if isinstance(seen, np.ndarray):
            assert np.allclose(beliefs[i], true[i] / true[i].sum(), atol=1e-12)


def test_long_texts_neither_over_nor_underflow(model: Bigram, rng: MakeRng) -> None:
    evidence = [1e-200 * rng(i).random(N) for i in range(400)]
    for row in forward_backward(model, evidence):
        assert row.sum() == pytest.approx(1.0)


def test_context_prior_is_bayes_rule_between_two_words() -> None:
    lexicon = load()
    model = language(lexicon)
    prior = context_prior(lexicon, "new", "city")
    left, right = lexicon.index("new"), lexicon.index("city")
    for name in ("york", "the"):
        word = lexicon.index(name)
        true = model.after(left)[word] * model.after(word)[right]
        assert prior.probability[word] == pytest.approx(
            true / (model.after(left)[:-1] * model.before(right)[:-1]).sum()
        )
    assert lexicon.words[int(prior.probability.argmax())] == "york"
    begin = context_prior(lexicon, None, "nobodysaysthis")
    assert np.allclose(begin.probability, model.after(model.boundary)[:-1], atol=1e-3)
    assert "york" not in prior.sentence


def test_places_of_a_sentence() -> None:
    lexicon = load()
    sentence = prepare("The cat, xyzzyq. Sat!", lexicon)
    end = len(lexicon)
    places = places_of(sentence, [1, 2, 3, 4])
    assert places == [
        Place(1), Place(2), Place(UNKNOWN), Place(end, True), Place(4), Place(end, True)
    ]  # fmt: skip
    kept = places_of(prepare("the cat", lexicon, Treatment(keep_stop_words=True)), [9])
    assert kept == [Place(lexicon.index("the"), True), Place(9)]
    with pytest.raises(ParameterError, match="4 places are protected, got 1"):
        places_of(sentence, [1])


def test_the_whole_attack_on_a_small_lexicon(
    model: Bigram, monkeypatch: pytest.MonkeyPatch
) -> None:
    lexicon = lexicons.cloud(N, 3)
    mechanism = create("tem", lexicon)
    channel = open_channel(mechanism)
    attack = context_attack(channel, [Place(1), Place(3, True), Place(4)], 1.0, model=model)
    laws = np.stack([mechanism.law(w, [1.0]).probabilities[0] for w in range(N)])
    true = brute(model, [laws[:, 1], 3, laws[:, 4]])
    assert attack.places.tolist() == [0, 2]
    assert np.allclose(attack.context, true[[0, 2]] / true[[0, 2]].sum(axis=1)[:, None], atol=1e-9)
    alone = laws[:, [1, 4]].T * model.frequency
    assert np.allclose(attack.alone, alone / alone.sum(axis=1)[:, None], atol=1e-9)
    assert attack.likeliest.tolist() == laws[:, [1, 4]].argmax(axis=0).tolist()
    assert attack.guesses.tolist() == true[[0, 2]].argmax(axis=1).tolist()
    assert attack.guesses_alone.tolist() == alone.argmax(axis=1).tolist()


def test_refusals(model: Bigram) -> None:
    channel = open_channel(create("tem", lexicons.cloud(N, 3)))
    with pytest.raises(ParameterError, match="got 0"):
        context_attack(channel, [Place(UNKNOWN), Place(1, True)], 1.0, model=model)
    some = open_channel(create("tem", lexicons.cloud(N, 3)), [1, 2])
    with pytest.raises(ParameterError, match="whole lexicon"):
        context_attack(some, [Place(1)], 1.0, model=model)


def test_guesses_from_context_are_right_more_often(model: Bigram) -> None:
    """Over all sentences of two words and all outputs, summed: no drawing."""
    lexicon = lexicons.cloud(N, 3)
    mechanism = create("tem", lexicon)
    channel = open_channel(mechanism)
    laws = np.stack([mechanism.law(w, [0.7]).probabilities[0] for w in range(N)])
    rows = np.stack([model.after(w) for w in range(N + 1)])
    joint = rows[N, :N, None] * rows[:N, :N] * rows[:N, N]
    joint /= joint.sum()
    right = np.zeros(2)
    for y, z in itertools.product(range(N), repeat=2):
        attack = context_attack(channel, [Place(y), Place(z)], 0.7, model=model)
        both = joint * laws[:, y, None] * laws[:, z]
        each = both.sum(axis=1), both.sum(axis=0)
        for i, guesses in enumerate((attack.guesses, attack.guesses_alone)):
            right[i] += each[0][guesses[0]] + each[1][guesses[1]]
    assert 0 < right[1] + 0.01 < right[0] <= 2
