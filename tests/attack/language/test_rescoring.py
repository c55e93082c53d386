"""Sequences drawn from the chain, and posteriors after rescoring by a language model."""

from typing import Any

import numpy as np
import pytest

from dpcore.attack.language.context import rescore
from dpcore.attack.language.language import (
    UNKNOWN,
    Bigram,
    Seen,
    draw_chains,
    forward_backward,
    log_chance,
    parts_of,
)
from dpcore.lexicon.progress import Progress, silent
from tests.attack.language.chains import END, N, random_bigram
from tests.mechanisms import lexicons

LEXICON = lexicons.cloud(N, 3)


class Told:
    """A language model that knows how likely a text is, and remembers what it was asked."""

    def __init__(self, favoured: int | None = None, gain: float = 0.0) -> None:
        self.favoured, self.gain = favoured, gain
        self.texts: list[list[str]] = []

    def log_probabilities(self, texts: list[str], progress: Progress = silent) -> list[float]:
        self.texts.append(texts)
        progress("texts", 1, len(texts))
        name = None if self.favoured is None else LEXICON.words[self.favoured]
        return [self.gain * text.split().count(str(name)) for text in texts]


@pytest.fixture
def model() -> Bigram:
    return random_bigram(5)


def _model(told: Told) -> Any:
    return told


def _seen(*rows: int) -> list[np.ndarray]:
    return [np.random.default_rng(row).random(N) ** 3 for row in rows]


def test_drawn_sequences_have_the_posterior_and_keep_what_is_known(model: Bigram) -> None:
    first, second, third = _seen(1, 2, 3)
    first[3] = 0.0
    evidence: list[Seen] = [first, second, 2, third, UNKNOWN, first, END, second]
    count = 40_000
    words = draw_chains(model, evidence, count, np.random.default_rng(0))
    assert (words[:, 2] == 2).all()
    assert (words[:, 4] == UNKNOWN).all()
    assert (words[:, 6] == END).all()
    for i, law in enumerate(forward_backward(model, evidence)):
        if isinstance(evidence[i], np.ndarray):
            seen = np.bincount(words[:, i], minlength=N) / count
            # Five deviations of a frequency.
            assert np.all(np.abs(seen - law) <= 5 * np.sqrt(law * (1 - law) / count))
    # Neighbours together, too: the product of their own laws is not theirs.
    pairs = np.bincount(words[:, 0] * N + words[:, 1], minlength=N * N) / count
    joint = np.zeros((N, N))
    rows = np.stack([model.after(word) for word in range(N)])
    joint = (model.after(END)[:N] * first)[:, None] * rows[:, :N] * second * rows[:, 2]
    joint /= joint.sum()
    assert np.all(np.abs(pairs - joint.ravel()) <= 5 * np.sqrt(joint.ravel() / count) + 1e-12)
    assert np.abs(joint - np.outer(joint.sum(axis=1), joint.sum(axis=0))).max() > 0.01


def test_the_chance_of_a_sequence_is_the_product_of_its_steps(model: Bigram) -> None:
    words = np.array([[1, 2, UNKNOWN, 3], [0, 0, UNKNOWN, 4]])
    for row, log in zip(words.tolist(), log_chance(model, words), strict=True):
        a, b, _, d = row
        steps = [
            model.after(END)[a], model.after(a)[b], model.fallback[d], model.after(d)[END],
        ]  # fmt: skip
        assert log == pytest.approx(np.log(steps).sum())


def test_sentences_are_cut_at_their_ends_and_where_they_are_too_long() -> None:
    w = np.ones(N)
    assert parts_of([w, w, END, w], END, 9) == [range(2), range(3, 4)]
    assert parts_of([w, w, w, w, w, END], END, 2) == [range(2), range(2, 4), range(4, 5)]
    assert parts_of([END, END], END, 2) == []


def test_without_exponent_the_bigrams_are_left(model: Bigram) -> None:
    evidence: list[Seen] = [*_seen(1, 2, 3), END]
    beliefs = forward_backward(model, evidence)
    got = rescore(model, LEXICON, _model(Told(1, 50.0)), evidence, beliefs, exponent=0.0)
    for i in range(3):
        np.testing.assert_allclose(got[i], beliefs[i], atol=1e-12)
    assert got[3] is beliefs[3]


def test_a_model_that_is_the_bigram_with_one_word_favoured_moves_to_its_posterior(
    model: Bigram,
) -> None:
    """With γ = 1 and many sentences it is importance sampling, which finds that posterior."""
    evidence: list[Seen] = list(_seen(1, 2, 3))
    beliefs = forward_backward(model, evidence)

    class Favours(Told):
        def log_probabilities(self, texts: list[str], progress: Progress = silent) -> list[float]:
            words = np.array([[LEXICON.index(w) for w in text.split()[:-1]] for text in texts])
            extra = super().log_probabilities(texts)
            return list(log_chance(model, words) + np.array(extra))

    reader = Favours(2, 1.5)
    got = rescore(model, LEXICON, _model(reader), evidence, beliefs, draws=6000, exponent=1.0)
    # The same as outputs that speak for the word by the same factor.
    factor = np.where(np.arange(N) == 2, np.exp(1.5), 1.0)
    true = forward_backward(model, [row * factor for row in evidence])
    for found, law in zip(got, true, strict=True):
        np.testing.assert_allclose(found, law, atol=0.03)
    assert max(float(np.abs(b - t).max()) for b, t in zip(beliefs, true, strict=True)) > 0.1


def test_sentences_are_shown_one_by_one_without_what_is_not_known(model: Bigram) -> None:
    (seen,) = _seen(1)
    certain = np.zeros(N)
    certain[4] = 1.0
    evidence: list[Seen] = [certain, UNKNOWN, 2, END, seen]
    reader = Told()
    beliefs = forward_backward(model, evidence)
    steps: list[tuple[str, int, int]] = []
    got = rescore(
        model, LEXICON, _model(reader), evidence, beliefs, draws=5,
        progress=lambda *step: steps.append(step),
    )  # fmt: skip
    assert reader.texts[0] == [f"{LEXICON.words[4]} {LEXICON.words[2]} ."] * 5
    assert all(len(text.split()) == 2 for text in reader.texts[1])
    assert [done for _, done, _ in steps] == [1, 5, 6, 10]
    assert {(name, total) for name, _, total in steps} == {("sentences", 10)}
    again = rescore(model, LEXICON, _model(Told()), evidence, beliefs, draws=5)
    for first, second in zip(got, again, strict=True):
        np.testing.assert_array_equal(first, second)
