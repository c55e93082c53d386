"""Training an auto-encoder: one result a seed, resumed to the bit, its file refused when wrong."""

import dataclasses
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcore.errors import MissingPackageError, ParameterError
from dpcore.learn.autoencoder import (
    Architecture,
    Autoencoder,
    build_untrained,
    draw_vectors,
    frequent_words,
    load_autoencoder,
    part_of,
    save_autoencoder,
    train,
)
from dpcore.learn.checkpoint import load, save
from dpcore.learn.tensors import array
from dpcore.learn.training import Training
from dpcore.mechanisms.registry import create
from dpcore.rewrite.documents import encode_all
from tests import needs
from tests.fixtures import Uninstall
from tests.mechanisms import lexicons

needs.torch()

LEXICON = lexicons.cloud(30, 8)
ARCHITECTURE = Architecture(hidden=6, dropout=0.3, norm=1.0)
TRAINING = Training(epochs=3, batch=8, rate=0.02, seed=1, threads=1)


def texts(count: int = 40) -> list[str]:
    rng = np.random.default_rng(0)
    return [
        " ".join(f"w{i}" for i in rng.integers(30, size=rng.integers(1, 7))) for _ in range(count)
    ]


def bits(autoencoder: Any) -> bytes:
    parameters = autoencoder.network.parameters
    return b"".join(array(parameters[name]).tobytes() for name in sorted(parameters))


def test_one_seed_has_one_result() -> None:
    first, told = train(texts(), LEXICON, ARCHITECTURE, TRAINING)
    second, again = train(texts(), LEXICON, ARCHITECTURE, TRAINING)
    other, _ = train(texts(), LEXICON, ARCHITECTURE, dataclasses.replace(TRAINING, seed=2))
    assert bits(first) == bits(second)
    assert [epoch.loss for epoch in told.epochs] == [epoch.loss for epoch in again.epochs]
    assert bits(other) != bits(first) != bits(build_untrained(LEXICON, ARCHITECTURE, 1))


@pytest.mark.slow
def test_it_learns_to_write_what_it_reads() -> None:
    settings = dataclasses.replace(TRAINING, epochs=25)
    autoencoder, fitted = train(
        texts(200), LEXICON, dataclasses.replace(ARCHITECTURE, hidden=24), settings
    )
    read = encode_all(texts(200), LEXICON)
    vectors = autoencoder.origins[read.words].astype(np.float64)
    assert (autoencoder.decode(vectors, read.offsets) == read.words).mean() > 0.9
    assert fitted.epochs[-1].held_out < 0.3 * fitted.epochs[0].held_out


@pytest.mark.parametrize("noisy", [False, True])
def test_a_run_that_was_stopped_goes_on_to_the_bit(tmp_path: Path, noisy: bool) -> None:
    mechanism = create("gaussian", LEXICON, {"clip_norm": 1.0})
    noise = partial(draw_vectors, mechanism, 5.0) if noisy else None
    whole, _ = train(texts(), LEXICON, ARCHITECTURE, TRAINING, noise=noise)
    state = tmp_path / "state.safetensors"
    short = dataclasses.replace(TRAINING, epochs=1)
    train(texts(), LEXICON, ARCHITECTURE, short, noise=noise, state=state)
    on, told = train(texts(), LEXICON, ARCHITECTURE, TRAINING, noise=noise, state=state)
    assert len(told.epochs) == 3
    assert bits(on) == bits(whole)


@pytest.mark.parametrize(
    "change",
    [
        {"architecture": dataclasses.replace(ARCHITECTURE, dropout=0.2)},
        {"lexicon": lexicons.cloud(30, 8, seed=1)},
        {"texts": texts()[::-1]},
        {"noise_name": "gaussian 5"},
    ],
)
def test_another_run_is_not_gone_on_with(tmp_path: Path, change: dict[str, Any]) -> None:
    state = tmp_path / "state.safetensors"
    train(texts(), LEXICON, ARCHITECTURE, dataclasses.replace(TRAINING, epochs=1), state=state)
    given: dict[str, Any] = {
        "texts": texts(),
        "lexicon": LEXICON,
        "architecture": ARCHITECTURE,
    } | change
    with pytest.raises(ParameterError, match="begun with other settings"):
        train(training=TRAINING, state=state, **given)


def test_noise_in_training_changes_what_is_learned() -> None:
    mechanism = create("laplace", LEXICON, {"clip_norm": 1.0})
    clean, _ = train(texts(), LEXICON, ARCHITECTURE, TRAINING)
    loud, _ = train(
        texts(), LEXICON, ARCHITECTURE, TRAINING, noise=partial(draw_vectors, mechanism, 0.5)
    )
    assert bits(clean) != bits(loud)


@pytest.mark.parametrize("few", [[], ["…", ""], ["w1 w2"]])
def test_too_little_text_is_refused(few: list[str]) -> None:
    with pytest.raises(ParameterError, match="two sentences"):
        train(few, LEXICON, ARCHITECTURE, TRAINING)


def test_the_frequent_words_keep_the_order_of_the_lexicon() -> None:
    result = frequent_words(["w9 w9 w3 w3 w3 w5", "unheard w9 w1"], LEXICON, 2)
    assert result.words == ("w3", "w9")
    assert np.array_equal(result.vectors, LEXICON.vectors[[3, 9]])
    with pytest.raises(ParameterError, match="two words"):
        frequent_words(["w1 w1"], LEXICON, 5)


@pytest.fixture
def file(tmp_path: Path) -> tuple[Path, Autoencoder]:
    autoencoder, _ = train(texts(), LEXICON, ARCHITECTURE, TRAINING)
    save_autoencoder(tmp_path / "net.safetensors", autoencoder, {"seed": 1})
    return tmp_path / "net.safetensors", autoencoder


def test_what_was_written_is_read(file: tuple[Path, Autoencoder]) -> None:
    path, autoencoder = file
    loaded, checkpoint = load_autoencoder(path, LEXICON)
    assert bits(loaded) == bits(autoencoder)
    assert loaded.architecture == ARCHITECTURE
    assert loaded.lexicon.fingerprint == LEXICON.fingerprint
    assert checkpoint.facts == {"seed": 1}
    larger = part_of(LEXICON, LEXICON.words[::-1])
    assert bits(load_autoencoder(path, larger)[0]) == bits(autoencoder)


def test_damage_other_shapes_and_other_vectors_are_refused(file: tuple[Path, Autoencoder]) -> None:
    path, _ = file
    with pytest.raises(ParameterError, match="lacks words"):
        load_autoencoder(path, part_of(LEXICON, LEXICON.words[:20]))
    with pytest.raises(ParameterError, match="another vocabulary"):
        load_autoencoder(path, lexicons.cloud(30, 8, seed=1))
    loaded = load(path)
    for settings, message in (
        (dict(loaded.settings) | {"hidden": 7}, "shape"),
        (dict(loaded.settings) | {"depth": 2}, "does not say"),
        ({"hidden": 6}, "does not say"),
    ):
        save(path, dataclasses.replace(loaded, settings=settings))
        with pytest.raises(ParameterError, match=message):
            load_autoencoder(path, LEXICON)
    save(path, dataclasses.replace(loaded, architecture="adept"))
    with pytest.raises(ParameterError, match="'word-autoencoder' is needed"):
        load_autoencoder(path, LEXICON)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ParameterError, match="damaged"):
        load_autoencoder(path, LEXICON)


def test_without_torch_it_says_how_to_install_it(
    uninstalled: Uninstall, file: tuple[Path, Autoencoder]
) -> None:
    uninstalled("torch")
    with pytest.raises(MissingPackageError, match=r"pip install -r requirements-learn\.txt"):
        train(texts(), LEXICON, ARCHITECTURE, TRAINING)
