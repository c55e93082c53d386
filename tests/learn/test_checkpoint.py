"""Checkpoints: read back as written, refused when damaged, of another shape or vocabulary."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcore import __version__
from dpcore.errors import MissingPackageError, ParameterError
from dpcore.learn.checkpoint import Checkpoint, check_shapes, load, save
from dpcore.lexicon.lexicon import Lexicon
from tests.fixtures import Uninstall


def lexicon(scale: float = 1.0) -> Lexicon:
    vectors = scale * np.array([[0, 1], [2, 0], [1, 1]], np.float32)
    return Lexicon("three", ("one", "two", "three"), vectors)


def example() -> Checkpoint:
    tensors: dict[str, Any] = {
        "weight": np.arange(6, dtype=np.float32).reshape(2, 3),
        "count": np.array([2**40], np.int64),
        "exact": np.array(0.1),
    }
    settings = {"hidden": 3, "name": "ε"}
    return Checkpoint("cnn", settings, tensors, lexicon().fingerprint, {"accuracy": 0.5})


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    save(path, example())
    loaded = load(path, architecture="cnn", lexicon=lexicon())
    assert dict(loaded.settings) == {"hidden": 3, "name": "ε"}
    assert loaded.facts == {"accuracy": 0.5}
    assert loaded.version == __version__
    for name, array in example().tensors.items():
        assert loaded.tensors[name].dtype == array.dtype
        assert np.array_equal(loaded.tensors[name], array)
        assert not loaded.tensors[name].flags.writeable
    assert [path.name for path in tmp_path.iterdir()] == [path.name]


def test_every_flipped_byte_is_found_or_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    save(path, example())
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            loaded = load(path, architecture="cnn", lexicon=lexicon())
        except ParameterError:
            continue
        for name, array in example().tensors.items():
            assert np.array_equal(loaded.tensors[name], array)


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\x80\x04K\x01.", b"\xff" * 64])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "net.safetensors"
    path.write_bytes(content)
    with pytest.raises(ParameterError, match=r"damaged or not one of dpcore's; train again"):
        load(path)


def test_a_cut_file_and_one_of_another_program_are_refused(tmp_path: Path) -> None:
    from safetensors.numpy import save as foreign

    path = tmp_path / "net.safetensors"
    save(path, example())
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ParameterError, match="damaged"):
        load(path)
    path.write_bytes(foreign({"weight": np.zeros(2)}))
    with pytest.raises(ParameterError, match="damaged"):
        load(path)
    path.write_bytes(foreign({"weight": np.zeros(2)}, {"dpcore": json.dumps({"settings": 1})}))
    with pytest.raises(ParameterError, match="damaged"):
        load(path)


def test_another_network_vocabulary_or_shape_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    save(path, example())
    with pytest.raises(ParameterError, match="'cnn', and 'entailment' is needed"):
        load(path, architecture="entailment")
    with pytest.raises(ParameterError, match=r"another vocabulary .* 'three'"):
        load(path, lexicon=lexicon(2.0))
    good = {"weight": (2, 3), "count": (1,), "exact": ()}
    for shapes in (
        {**good, "weight": (3, 2)},
        {"weight": (2, 3), "count": (1,)},
        {**good, "more": (1,)},
    ):
        with pytest.raises(ParameterError, match=r"the checkpoint has .* and the network needs"):
            check_shapes(load(path), shapes)


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"ends in \.safetensors, got 'net\.bin'"):
        save(tmp_path / "net.bin", example())
    with pytest.raises(ParameterError, match="does not exist; make it first"):
        save(tmp_path / "none" / "net.safetensors", example())
    with pytest.raises(ParameterError, match="there is no checkpoint"):
        load(tmp_path / "net.safetensors")
    with pytest.raises(ParameterError, match="float16 for half"):
        dataclasses.replace(example(), tensors={"half": np.zeros(2, np.float16)})


def test_without_the_package_it_says_how_to_install_it(
    tmp_path: Path, uninstalled: Uninstall
) -> None:
    uninstalled("safetensors")
    with pytest.raises(MissingPackageError, match=r"pip install -r requirements-learn\.txt"):
        save(tmp_path / "net.safetensors", example())
