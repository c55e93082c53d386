import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dpcore.errors import CorpusError, MissingPackageError, ParameterError, TextError
from dpcore.learn.adept import AdeptSettings, train_adept
from dpcore.learn.tensors import array
from dpcore.learn.training import Training
from tests.learn.adept_cases import SETTINGS, TEXTS, shared

SHORT = dataclasses.replace(SETTINGS, training=Training(epochs=3, batch=8, rate=2e-2))


def test_a_tiny_network_learns_its_utterances() -> None:
    model, fitted = shared()
    first, best = fitted.epochs[0], fitted.epochs[fitted.best]
    assert best.held_out < 0.5 * first.held_out
    written = model.decode(model.latents(TEXTS))
    right = np.mean([a == b for a, b in zip(TEXTS, written, strict=True)])
    assert right > 0.2  # 36 utterances: one and the same text for all gives 1/36
    assert model.facts["epochs"] == len(fitted.epochs)
    assert model.facts["texts"] == len(TEXTS)
    norms = np.abs(model.latents(TEXTS)).sum(axis=1)
    assert model.manhattan == pytest.approx(np.median(norms))
    assert 1.0 <= model.manhattan <= np.sqrt(6)  # vectors of Euclidean norm 1


def test_one_seed_gives_the_same_bits_and_another_gives_others() -> None:
    seeded = dataclasses.replace(SHORT, training=dataclasses.replace(SHORT.training, seed=1))
    first, second, third = (train_adept(TEXTS, settings)[0] for settings in (SHORT, SHORT, seeded))
    again = dict(second.network.named_parameters())
    for name, value in first.network.named_parameters():
        np.testing.assert_array_equal(array(value), array(again[name]))
    assert first.manhattan == second.manhattan
    assert not np.array_equal(first.latents(TEXTS), third.latents(TEXTS))


def test_a_run_that_was_stopped_goes_on(tmp_path: Path) -> None:
    state = tmp_path / "state.safetensors"
    whole = train_adept(TEXTS, SHORT)[0].latents(TEXTS)
    short = dataclasses.replace(SHORT, training=dataclasses.replace(SHORT.training, epochs=1))
    train_adept(TEXTS, short, state=state)
    resumed, fitted = train_adept(TEXTS, SHORT, state=state)
    assert len(fitted.epochs) == 3
    np.testing.assert_array_equal(resumed.latents(TEXTS), whole)


def test_refusals() -> None:
    for texts in ([], ["one"]):
        with pytest.raises(CorpusError, match="two utterances or more"):
            train_adept(texts, SHORT)
    with pytest.raises(TextError, match="at least one word"):
        train_adept(["lima", "?"], SHORT)
    for wrong in ({"most": 0}, {"noise": -1.0}, {"noise": float("nan")}, {"hidden_words": 1.5}):
        with pytest.raises(ParameterError):
            AdeptSettings(**wrong)


def test_without_torch_it_says_how_to_install_it(uninstalled: Callable[[str], None]) -> None:
    uninstalled("torch")
    with pytest.raises(MissingPackageError, match=r"pip install -r requirements-learn\.txt"):
        train_adept(TEXTS, SHORT)
