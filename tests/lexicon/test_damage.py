"""Temporary failures of the system are never taken for damage, or for absence."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcore.attack.language.language as language
import dpcore.attack.output.spectrum as spectrum
import dpcore.lexicon.cache as cache
import dpcore.lexicon.catalogue as stored
import dpcore.lexicon.kinds as kinds
import dpcore.measure.density as density
import dpcore.measure.maps.store as maps
import dpcore.mechanisms.certificate as certificate
import dpcore.mechanisms.exponential.packing as weights
import dpcore.papers.claims as verdicts
import dpcore.papers.packages as packages
from dpcore.attack import latent
from dpcore.attack.language import reader_training, recovered
from dpcore.errors import DpcoreError, ResourceError
from dpcore.lexicon import cache as bundled
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.metric import Metric

FINGERPRINT = "5" * 64

READERS: dict[str, Callable[[], object]] = {
    "a kept file": lambda: cache.recall(FINGERPRINT, "x"),
    "the extents": lambda: bundled.bundled_extent(FINGERPRINT),
    "the certificates": lambda: certificate._bundled.__wrapped__(),
    "the weights": lambda: weights._bundled.__wrapped__(),
    "the bounds": lambda: bundled.bundled_bounds.__wrapped__("meter.json"),
    "the counts": lambda: language._bundled.__wrapped__(),
    "the kinds": lambda: kinds._bundled.__wrapped__(),
    "the density": lambda: density.read_density(FINGERPRINT, 10, 100),
    "the maps": lambda: maps._bundle(FINGERPRINT),
    "a spectrum": lambda: spectrum._bundled(load("default"), Metric.EUCLIDEAN),
    "a stored lexicon": lambda: stored.read_stored(bundled.bundled_folder()),
    "a manifest": lambda: stored.read_manifest(bundled.bundled_folder()),
    "the reader": reader_training.reader_manifest,
    "a recorded trial": recovered.read_recorded_trial,
    "the examples": lambda: latent.read_examples(latent.examples_path()),
    "the packages": packages.read_packages,
    "the verdicts": verdicts.read_recorded,
}
SHORT = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO, errno.ESTALE)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("number", SHORT)
def test_a_file_that_cannot_be_opened_now_is_not_damaged(
    monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    load("default")  # read before

    def fail(path: Any, *more: Any, **options: Any) -> Any:
        raise OSError(number, os.strerror(number), os.fspath(path))

    monkeypatch.setattr("builtins.open", fail)
    monkeypatch.setattr(Path, "open", fail)
    monkeypatch.setattr(Path, "read_text", fail)
    monkeypatch.setattr(Path, "read_bytes", fail)
    with pytest.raises(ResourceError, match="at the moment"):
        READERS[name]()


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_a_file_that_is_gone_is_said_to_be(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    load("default")

    def fail(path: Any, *more: Any, **options: Any) -> Any:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", os.fspath(path))

    monkeypatch.setattr("builtins.open", fail)
    monkeypatch.setattr(Path, "open", fail)
    monkeypatch.setattr(Path, "read_text", fail)
    monkeypatch.setattr(Path, "read_bytes", fail)
    raised: list[type[DpcoreError]] = []
    try:
        assert not READERS[name]()
    except DpcoreError as error:
        raised.append(type(error))
    assert ResourceError not in raised


def test_a_shortage_of_memory_is_in_no_list_of_damage() -> None:
    for kinds_of in (bundled.PACKED, bundled.ARRAYS, bundled.FIELDS):
        assert not any(issubclass(MemoryError, kind) for kind in kinds_of)
        assert not any(issubclass(KeyboardInterrupt, kind) for kind in kinds_of)


def test_vectors_that_ask_for_more_than_memory_are_not_called_damaged(tmp_path: Path) -> None:
    from dpcore.errors import LexiconError
    from dpcore.lexicon.readers.binary import read_arrays

    path = tmp_path / "v.npz"
    np.savez(path, vectors=np.zeros((3, 2)), words=np.array(["a", "b", "c"]))
    huge = json.dumps([2**40, 2**10])[1:-1]
    data = path.read_bytes()
    assert data.count(b"(3, 2), }") == 1
    room = len("(3, 2), }") + 30
    place = data.index(b"(3, 2), }")
    assert data[place + 9 : place + room].strip() == b""
    patched = data[:place] + f"({huge}), }}".encode().ljust(room) + data[place + room :]
    path.write_bytes(patched)
    with pytest.raises(LexiconError) as caught:
        read_arrays(path)
    assert "v.npz" in str(caught.value)
