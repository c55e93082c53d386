"""ADePT: its release is a function of the noisy vector, with the privacy of its form."""

import dataclasses
import inspect
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcore.errors import EpsilonError, MissingPackageError, ParameterError, TextError
from dpcore.learn import adept as adept_network
from dpcore.learn.adept import AutoEncoder, load_adept, save_adept
from dpcore.learn.checkpoint import load, save
from dpcore.mechanisms.clipped.adept import LatentForm, privatise
from tests.fixtures import MakeRng, Uninstall
from tests.learn.adept_cases import TEXTS, shared

FORMS = list(LatentForm)
FIRST, OTHER = "flights to lima today", "is there a bus from hanoi tomorrow morning"


def model() -> Any:
    return shared()[0]


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_the_text_is_a_function_of_the_noisy_vector_alone(
    form: LatentForm, rng: MakeRng, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two private utterances that come to one noisy vector come to one text."""
    result = model().rewrite([FIRST], 5.0, rng(), form)
    noisy = privatise(rng(), model().latents([FIRST]), 5.0, model().clip_norm(form), form)
    np.testing.assert_array_equal(result.latents.vectors, noisy.vectors)
    assert result.texts == model().decode(noisy.vectors)
    released = dataclasses.replace(noisy, vectors=noisy.vectors.copy())
    monkeypatch.setattr("dpcore.learn.adept.privatise", lambda *_: released)
    for private in (FIRST, OTHER, "unknown words only"):
        assert model().rewrite([private], 5.0, rng(1), form).texts == result.texts


def test_the_decoder_is_not_given_the_text(rng: MakeRng, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no argument for it, and the encoder and its rows are not asked again."""
    given = list(inspect.signature(adept_network.decode).parameters)
    assert given == ["network", "latents", "places"]
    assert list(inspect.signature(AutoEncoder.decode).parameters) == ["self", "latents"]
    noisy = privatise(rng(), model().latents([FIRST]), 5.0, 1.0).vectors
    expected = model().decode(noisy)

    def never(*_: object) -> None:
        raise AssertionError("the private text was read while decoding")

    monkeypatch.setattr("dpcore.learn.adept.encode", never)
    monkeypatch.setattr(type(model().vocabulary), "rows", never)
    assert model().decode(noisy) == expected


@pytest.mark.parametrize("form", FORMS)
def test_the_true_epsilon_comes_with_the_text(form: LatentForm, rng: MakeRng) -> None:
    result = model().rewrite([FIRST, OTHER], 2.0, rng(), form).latents
    published = form is LatentForm.PUBLISHED
    assert result.epsilon == pytest.approx(2.0 * math.sqrt(6) if published else 2.0)
    assert result.claimed_epsilon == 2.0
    norm = model().manhattan if form is LatentForm.MANHATTAN else 1.0
    assert model().clip_norm(form) == norm
    width = math.sqrt(6) if form is LatentForm.WIDE else 1.0
    assert result.scale == pytest.approx(norm * width)


@pytest.mark.parametrize("form", FORMS)
def test_a_seed_gives_the_text_again_and_little_noise_gives_the_utterance(
    form: LatentForm, rng: MakeRng
) -> None:
    first, second = (model().rewrite(TEXTS, 3.0, rng(4), form) for _ in range(2))
    assert first.texts == second.texts
    assert model().rewrite(TEXTS, 3.0, rng(5), form).texts != first.texts
    exact = model().rewrite(TEXTS, 1e9, rng(6), form).texts
    clipped = privatise(rng(), model().latents(TEXTS), 1e12, model().clip_norm(form), form)
    same = np.mean([a == b for a, b in zip(exact, model().decode(clipped.vectors), strict=True)])
    assert same > 0.9  # a tie of two words may fall otherwise


def test_latent_vectors_are_clipped() -> None:
    lengths = np.linalg.norm(model().latents(TEXTS), axis=1)
    assert lengths.max() <= 1.0 + 1e-6
    assert model().latents([]).shape == (0, 6)
    assert model().decode(np.zeros((0, 6))) == ()


def test_one_word_unknown_words_and_words_beyond_the_longest() -> None:
    texts = ["lima", "zzz qqq", " ".join(["lima"] * 50)]
    assert np.isfinite(model().latents(texts)).all()
    longest = model().latents([" ".join(["lima"] * n) for n in (8, 9)])
    np.testing.assert_allclose(longest[0], longest[1], atol=1e-6)


def test_refusals(rng: MakeRng) -> None:
    with pytest.raises(TextError, match="at least one word"):
        model().rewrite(["..."], 1.0, rng())
    for epsilon in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(EpsilonError, match="finite number > 0"):
            model().rewrite([FIRST], epsilon, rng())
    with pytest.raises(ParameterError, match=r"shape \(k, 6\), got \(2, 5\)"):
        model().decode(np.zeros((2, 5)))
    with pytest.raises(ParameterError, match="L1 norm to clip at"):
        dataclasses.replace(model(), manhattan=math.nan)


def test_a_checkpoint_gives_the_same_network(tmp_path: Path) -> None:
    path = tmp_path / "adept.safetensors"
    save_adept(path, model())
    again = load_adept(path)
    np.testing.assert_array_equal(again.latents(TEXTS), model().latents(TEXTS))
    assert again.decode(again.latents(TEXTS)) == model().decode(model().latents(TEXTS))
    assert (again.vocabulary, again.shape) == (model().vocabulary, model().shape)
    assert again.manhattan == model().manhattan
    assert again.facts == dict(model().facts)


def test_checkpoints_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "adept.safetensors"
    save_adept(path, model())
    loaded = load(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ParameterError, match="damaged"):
        load_adept(path)
    words = [*loaded.settings["words"][1:], loaded.settings["words"][0]]
    wider = dict(loaded.settings["shape"]) | {"latent": 7}
    for settings, message in (
        (dict(loaded.settings) | {"words": words}, "holds other words"),
        (dict(loaded.settings) | {"shape": wider}, "and the network needs"),
        (dict(loaded.settings) | {"shape": {"depth": 3}}, "lacks settings"),
        ({}, "lacks settings"),
    ):
        save(path, dataclasses.replace(loaded, settings=settings))
        with pytest.raises(ParameterError, match=message):
            load_adept(path)
    save(path, dataclasses.replace(loaded, architecture="cnn"))
    with pytest.raises(ParameterError, match="'adept' is needed"):
        load_adept(path)


def test_without_torch_a_checkpoint_says_how_to_install_it(
    tmp_path: Path, uninstalled: Uninstall
) -> None:
    path = tmp_path / "adept.safetensors"
    save_adept(path, model())
    uninstalled("torch")
    with pytest.raises(MissingPackageError, match=r"pip install -r requirements-learn\.txt"):
        load_adept(path)
