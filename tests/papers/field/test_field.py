"""Claims about mechanisms of others: their figures by hand, on a small vocabulary."""

import math
import re
from typing import Any

import numpy as np
import pytest

from dpcore.audit.report import AuditSettings
from dpcore.audit.verdict import Outcome, Verdict
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.candidates.clusters import clusters
from dpcore.mechanisms.candidates.rantext import RanText
from dpcore.papers.claims import read_recorded, verdict
from tests import needs
from tests.mechanisms import lexicons, plain

LEXICON = lexicons.cloud(50, 6)
SETTINGS = AuditSettings(words=4, draws=2000)


def judged(key: str, settings: AuditSettings = SETTINGS, lexicon: Lexicon = LEXICON) -> Verdict:
    return verdict(key, lexicon, settings)


def numbers(key: str, settings: AuditSettings = SETTINGS) -> dict[str, Any]:
    return dict(judged(key, settings).numbers)


def test_the_crafted_words_refute_the_cosine_by_hand() -> None:
    """At a large ε a word keeps itself, and the loss is that of the numerators alone."""
    angle, epsilon = 0.1, 1000.0
    loss = 0.5 * (math.sin(angle)) / (1.0 - math.cos(angle))
    figures = numbers("santext-cosine", AuditSettings(words=4, epsilon=epsilon))
    assert figures["true epsilon of crafted words"] == pytest.approx(epsilon * loss, rel=0.02)


def test_the_set_of_custext_is_given_away_in_bits() -> None:
    figures = numbers("custext")
    shares = np.bincount(clusters(LEXICON, 20).of) / 50
    assert figures["bits of a word that are given away"] == pytest.approx(
        -(shares * np.log2(shares)).sum()
    )
    together = sum(share * 50 * (share * 50 - 1) for share in shares) / (50 * 49)
    assert figures["pairs of words that share a set"] == pytest.approx(together)
    assert figures["true epsilon between two sets"] == "∞"
    assert figures["true epsilon within a set"] <= 1.0


def test_one_noise_vector_for_all_positions_cancels() -> None:
    figures = numbers("dp-bart-one-noise", AuditSettings(epsilon=2.0, delta=1e-4))
    assert figures["noise left in a difference of positions, at most"] < 1e-12
    assert figures["noise of a coordinate"] == pytest.approx(
        0.2 * math.sqrt(768 * 2 * math.log(1.25e4)) / 2.0
    )
    # Exactly, by Theorem 8 of Balle and Wang: shift .3·√768, deviation as above.
    from scipy.stats import norm

    shift = 0.3 * math.sqrt(768)
    a, b = shift / 2 / figures["noise of a coordinate"], 2.0 * figures["noise of a coordinate"]
    by_hand = norm.cdf(a - b / shift) - math.exp(2.0) * norm.cdf(-a - b / shift)
    assert figures["true delta, one position"] == pytest.approx(by_hand, rel=1e-6)
    assert by_hand > 1e-4


def test_the_deltas_of_rantext_are_those_of_its_laws() -> None:
    figures, mechanism = numbers("rantext"), RanText(lexicon=LEXICON)
    laws = [mechanism.law(word, [2.1]).dense(50)[0] for word in range(50)]
    largest = max(plain.delta_between(a, b, 2.1) for a in laws for b in laws)
    assert 0 < figures["true delta, median"] <= figures["true delta, largest"] <= largest + 1e-9


def test_a_split_of_the_budget_shows_at_words_that_did_not_change() -> None:
    figures = numbers("budget-from-text", AuditSettings(words=4, epsilon=0.5))
    # Eight words, 4 in all: 14 and .1 turned round are 1/14 and 10.
    total, inverse = 4.0, 10.0 + 7 / 14
    assert figures["epsilon of such a word, in one text"] == pytest.approx(total / 8)
    assert figures["epsilon of such a word, in the other"] == pytest.approx(total / 14 / inverse)
    promised = total * 10.0 / inverse * figures["places between the two words that differ"]
    assert figures["claimed loss of the whole text"] == pytest.approx(promised)
    assert figures["true loss at the words that did not change"] > promised


def test_a_token_that_is_drawn_keeps_what_the_greedy_one_does_not() -> None:
    figures = numbers("greedy-paraphrase", AuditSettings(words=4, epsilon=3.0))
    assert 0 < figures["largest loss if a token were drawn"] <= 3.0
    assert figures["pairs of texts told apart for certain"] > 0.5


def test_a_cluster_of_triples_is_given_away_unless_there_is_one() -> None:
    assert judged("dp-st-cluster").outcome is Outcome.REFUTED
    alone = judged("dp-st-cluster", lexicon=lexicons.cloud(15, 3))
    assert alone.outcome is Outcome.PROVED
    assert alone.numbers["true delta of two triples, largest"] == 0.0


@pytest.mark.parametrize(
    "key",
    ["santext", "santext-angle", "custext-drawn", "diffractor", "rantext-fixed", "wbb-floor",
     "syntf"],
)  # fmt: skip
@pytest.mark.parametrize("epsilon", [0.01, 5.0])
def test_what_is_proved_holds_at_other_epsilons(key: str, epsilon: float) -> None:
    settings = AuditSettings(words=4, epsilon=epsilon)
    result = judged(key, settings)
    assert result.outcome is Outcome.PROVED
    claimed, true = (
        float(result.numbers[name]) for name in ("claimed epsilon", "true epsilon of these words")
    )
    assert true <= claimed * (1 + 1e-9)


def test_sensitive_words_of_santext_plus_keep_epsilon_and_frequent_ones_none() -> None:
    figures = numbers("santext-plus")
    assert figures["true epsilon of these words"] <= 1.0
    assert figures["true epsilon of two frequent words"] == "∞"
    assert figures["P(sensitive | output is), from one half"] == pytest.approx(1 / 1.2)


# Methods as two other repositories have them: figures by hand, and those of the record.


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
def test_two_tokens_lose_twice_what_one_loses(epsilon: float) -> None:
    result = judged("tokens-in-parallel", AuditSettings(epsilon=epsilon, delta=1e-5))
    figures: dict[str, Any] = dict(result.numbers)
    assert result.outcome is Outcome.REFUTED
    assert figures["true epsilon of two tokens"] == pytest.approx(2 * epsilon, rel=1e-12)
    # Warner's randomised response: “yes” for “yes” with e^ε/(e^ε + 1), twice.
    kept = 1 / (1 + math.exp(-epsilon))
    assert figures["probability of that output after one text"] == pytest.approx(kept**2)
    assert figures["probability of that output after the other"] == pytest.approx((1 - kept) ** 2)
    # Of four outputs only this one loses more than ε: “no yes” and “yes no” lose nothing.
    delta = kept**2 - math.exp(epsilon) * (1 - kept) ** 2
    assert figures["true delta of two tokens at the claimed epsilon"] == pytest.approx(delta)
    assert figures["epsilon of the text, as a sum"] == pytest.approx(30 * epsilon)


def test_thirty_tokens_compose_as_binomial_responses_do() -> None:
    """Of 30 answers a binomial number k is true, which loses (2k − 30)·ε."""
    from scipy.stats import binom

    epsilon, delta = 0.1, 1e-5
    figures = numbers("tokens-in-parallel", AuditSettings(epsilon=epsilon, delta=delta))
    total = figures["epsilon of the text for this delta"]
    true = np.arange(31)
    law = binom.pmf(true, 30, 1 / (1 + math.exp(-epsilon)))

    def least(at: float) -> float:
        return float((law * np.maximum(1 - np.exp(at - (2 * true - 30) * epsilon), 0)).sum())

    assert least(total) <= delta < least(total - 1e-4)  # the bound is exact for two words
    assert epsilon < total < 30 * epsilon


def test_the_loss_at_a_temperature_grows_with_the_gap_of_two_logits() -> None:
    needs.writer()
    for epsilon in (0.5, 40.0):
        result = judged("hosted-temperature", AuditSettings(words=4, epsilon=epsilon))
        figures: dict[str, Any] = dict(result.numbers)
        assert result.outcome is Outcome.REFUTED
        gap = float(figures["gap between two logits that exceeds it"])
        law = np.exp(np.array([gap, 0.0]) / 0.7 - np.logaddexp(gap / 0.7, 0.0))
        loss = math.log(law[0] / law[1])  # the other text has the two the other way round
        assert figures["true epsilon of these two tokens"] == pytest.approx(loss)
        assert loss == pytest.approx(2 * epsilon)
    # 49,151 others: all logits at one end of 5 to 37, and one at the other end.
    h, m = 32 / 0.7, 49_151
    loss = math.log1p(m * math.exp(h)) - math.log1p(m * math.exp(-h))
    assert figures["true epsilon of a token within that range"] == pytest.approx(loss)
    assert figures["epsilon by the theorem if clipped to it"] == pytest.approx(2 * h)
    assert figures["that of a text"] == pytest.approx(800 * h)
    assert 5 < figures["true loss after two words"] < 2 * h


def test_dropped_words_show_how_many_are_left() -> None:
    """On a vocabulary with one word of the corpus the number left is how often that is in it."""
    from dpcore.learn.corpus import teaching_corpus

    words = Lexicon("few", ("the", "zzz", "yyy"), np.eye(3, dtype=np.float32))
    result = judged("dropped-words", lexicon=words)
    figures: dict[str, Any] = dict(result.numbers)
    assert result.outcome is Outcome.CONDITIONAL
    assert [condition.met for condition in result.conditions] == [True, False]
    texts = [re.findall(r"[^\W_]+(?:['’&/.-]+[^\W_]+)*", text) for text in teaching_corpus().texts]
    count = sum(word.lower() == "the" for text in texts for word in text)
    every = sum(map(len, texts))
    assert figures["words left out"] == pytest.approx(1 - count / every, abs=2e-3)
    assert figures["largest difference of two logarithms of a probability"] < 1e-12
    assert figures["true epsilon of these words"] <= figures["claimed epsilon"]
    # No text has a word of this one, so that all of one length look alike.
    nothing = judged("dropped-words", lexicon=lexicons.cloud(50, 6)).numbers
    assert nothing["words left out"] == 1.0
    assert nothing["of these, told apart by the number of words that are left"] == 0.0


def test_the_record_of_these_claims_is_what_docs_and_pages_print() -> None:
    def of(key: str, name: str) -> float:
        found = read_recorded().of(key)
        assert found is not None
        return float(found.numbers[name])

    assert of("tokens-in-parallel", "true epsilon of two tokens") == pytest.approx(2.0)
    assert of("hosted-temperature", "true epsilon of a token within that range") == pytest.approx(
        56.517, abs=1e-3
    )
    assert of("hosted-temperature", "true loss after two words") == pytest.approx(21.351, abs=1e-3)
    assert of("dropped-words", "words left out") == pytest.approx(0.0448, abs=1e-4)
    told = of("dropped-words", "of these, told apart by the number of words that are left")
    assert told == pytest.approx(0.723, abs=1e-3)
