"""DP-Masked on a network of ten words, all laws written out; and on the bundled one."""

import itertools
from typing import Any

import numpy as np
import pytest

import dpcore
from dpcore.errors import EpsilonError, ParameterError, TextError
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.limits import MAX_WRITTEN_TOKENS
from dpcore.noise.streams import generator
from dpcore.rewrite.write.scores import FORMS
from dpcore.rewrite.write.writers import DpMasked, Writing, run_writer, writer_of
from tests.lexicon.masked_models import random_reader
from tests.rewrite.write.laws import (
    assert_losses_are_those_of_the_laws,
    assert_two_texts_explain_every_output,
)

NAMES = tuple("alpha beta gamma delta epsilon zeta eta theta iota kappa".split())
FIRST, SECOND = "Alpha, beta!", "kappa unheard"


def writer(form: str = "published", seed: int = 0) -> DpMasked:
    vectors = np.random.default_rng(7).normal(size=(10, 4)).astype(np.float32)
    return DpMasked(form, (Lexicon("ten", NAMES, vectors), random_reader(seed)))


def wrote(form: str, text: str, tokens: int | None, epsilon: float = 3.0, seed: int = 1) -> Writing:
    return run_writer(writer(form), text, epsilon, tokens, generator(seed, "test"))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("epsilon", [0.5, 6.0, 40.0])
def test_two_texts_explain_every_output_within_the_guarantee(form: str, epsilon: float) -> None:
    assert_two_texts_explain_every_output(writer(form), FIRST, SECOND, epsilon)


@pytest.mark.parametrize("form", FORMS)
def test_losses_are_those_of_the_written_out_laws(form: str) -> None:
    assert_losses_are_those_of_the_laws(writer(form), FIRST, SECOND)


def test_scores_are_the_context_less_the_distance_by_hand() -> None:
    mechanism = writer()
    assert mechanism.words is not None
    lexicon, reader = mechanism.words
    scored = mechanism.begin("beta gamma unheard", 3)

    def expected(row: list[int], word: int | None) -> np.ndarray:
        tokens = np.array([[reader.boundary, *row, reader.boundary]])
        place = np.array([row.index(reader.hidden) + 1])
        logits = reader.logits(reader.embedded(tokens), place)[0].astype(float)
        logs = logits - np.log(np.exp(logits).sum())
        if word is None:
            return logs
        return logs - np.linalg.norm(lexicon.vectors - lexicon.vectors[word], axis=1)

    hidden, unknown = reader.hidden, reader.unknown
    assert scored([]) == pytest.approx(expected([hidden, 2, unknown], 1), abs=1e-5)
    assert scored([9]) == pytest.approx(expected([9, hidden, unknown], 2), abs=1e-5)
    assert scored([0]) == pytest.approx(expected([9, 0, hidden], None), abs=1e-5)


def test_what_is_behind_a_public_length_is_cut_and_what_lacks_is_hidden() -> None:
    mechanism = writer()
    assert np.array_equal(mechanism.begin("beta gamma", 1)([]), mechanism.begin("beta", 1)([]))
    assert not np.array_equal(mechanism.begin("beta", 2)([]), mechanism.begin("beta", 1)([]))
    for tokens in (1, 5, 30):
        assert len(wrote("response", FIRST, tokens).tokens) == tokens
    assert len(wrote("response", FIRST, None).tokens) == 2


@pytest.mark.parametrize("place", [0, 3, 6, 11])
def test_a_long_text_is_read_through_a_window_that_moves(place: int) -> None:
    """Seven words are read at once: a word that far away from the place changes nothing."""
    mechanism = writer()
    first = min(max(place - 3, 0), 5)

    def scores(words: list[str]) -> np.ndarray:
        scored = mechanism.begin(" ".join(words), 12)
        said = scored([])
        for _ in range(place):
            said = scored([4])
        return said

    plain = scores(["beta"] * 12)
    for other in range(12):
        words = ["beta"] * 12
        words[other] = "iota"
        seen = first <= other < first + 7 and other >= place  # drawn words come before it
        assert np.array_equal(scores(words), plain) != seen, other


def test_marks_capitals_and_words_that_are_not_known_do_not_pass_through() -> None:
    for seed in range(20):
        text = wrote("calibrated", "Alpha!! UNHEARD 12,5 (beta)", None, seed=seed).text
        assert set(text.split(" ")) <= set(NAMES)
        assert text == text.lower().strip()


def test_at_a_large_epsilon_the_likeliest_word_comes_out_and_at_a_small_one_any() -> None:
    sure = wrote("calibrated", FIRST, None, epsilon=1e4)
    assert all(token.text == token.likeliest[0][0] for token in sure.tokens)
    for token in wrote("published", FIRST, None, epsilon=1e-6).tokens:
        assert token.probability == pytest.approx(0.1, rel=1e-4)


def test_what_was_typed_stays_out_of_tracebacks() -> None:
    assert FIRST not in repr(wrote("published", FIRST, 3))


@pytest.mark.parametrize(
    ("text", "more", "error", "message"),
    [
        (FIRST, {"epsilon": 0.0}, EpsilonError, "finite number > 0, got 0"),
        (FIRST, {"epsilon": float("nan")}, EpsilonError, "finite number > 0, got nan"),
        (FIRST, {"tokens": 0}, ParameterError, f"from 1 to {MAX_WRITTEN_TOKENS}, got 0"),
        (FIRST, {"tokens": MAX_WRITTEN_TOKENS + 1}, ParameterError, "whole number from 1"),
        ("beta-gamma " * 101, {"tokens": None}, ParameterError, "got 202: the text has more words"),
        ("", {}, TextError, "empty"),
        ("?!", {}, TextError, "no words"),
        ("a\x00b", {}, TextError, "binary"),
    ],
)
def test_refusals(text: str, more: dict[str, Any], error: type[Exception], message: str) -> None:
    settings: dict[str, Any] = {"epsilon": 1.0, "tokens": 3} | more
    with pytest.raises(error, match=message):
        run_writer(writer(), text, settings["epsilon"], settings["tokens"], generator(1, "test"))


def test_another_form_is_refused() -> None:
    with pytest.raises(ParameterError, match="form must be one of published, calibrated, response"):
        writer_of("dp-masked", "greedy")


@pytest.mark.slow
def test_the_bundled_network_writes_without_any_package_and_keeps_its_guarantee() -> None:
    text, other = "My doctor said that my back will heal.", "We sold the red car in London."
    for form, epsilon in itertools.product(FORMS, (5.0, 60.0)):
        writing = dpcore.write(text, "dp-masked", epsilon=epsilon, form=form, seed=1)
        assert len(writing.tokens) == 8
        losses = writing.losses(other)
        assert np.abs(losses).max() <= writing.draw.guarantee.epsilon <= epsilon * (1 + 1e-9)
        np.testing.assert_allclose(writing.losses(text), 0.0, atol=1e-9)
    assert isinstance(writer_of("dp-masked"), DpMasked)
    assert set(writing.text.split()) <= set(load().words)


def test_the_context_speaks_for_a_word_that_is_not_known() -> None:
    mechanism, words = writer_of("dp-masked"), load()
    law = mechanism.begin("the united zzyzzx of america", 5)(
        [words.index("the"), words.index("united")]
    )
    assert mechanism.named(int(law.argmax())) == "states"
