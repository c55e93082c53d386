"""Uploaded vectors: files that are read, files that are refused, and nothing of them is kept."""

import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from dpcore.errors import LexiconError
from dpcore.lexicon import readers
from dpcore.lexicon.cache import CacheEntry, keep, keep_nothing_of, recall
from dpcore.lexicon.catalogue import load, only_here
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.readers import read_lexicon, read_uploaded

TEXT = b"sun 1 0.5\nmoon 0.5 1\nsun 2 2\nstar -1 0\nrock 0.5 1\n"


def binary(words: list[str], vectors: np.ndarray) -> bytes:
    rows = (f"{word} ".encode() + row.tobytes() for word, row in zip(words, vectors, strict=True))
    return f"{len(words)} {vectors.shape[1]}\n".encode() + b"".join(rows)


@pytest.mark.parametrize("kind", ["text", "binary"])
def test_it_is_what_the_same_file_gives_from_disk(kind: str, tmp_path: Path) -> None:
    vectors = np.random.default_rng(1).normal(size=(30, 5)).astype("<f4")
    data = TEXT if kind == "text" else binary([f"w{i}" for i in range(30)], vectors)
    path = tmp_path / "vectors.txt"
    path.write_bytes(data)
    sent, report = read_uploaded(data, "vectors.txt", "yours")
    read, from_disk = read_lexicon(path, name="yours")
    assert sent.words == read.words
    assert sent.fingerprint == read.fingerprint
    assert report == from_disk
    if kind == "text":
        assert sent.words == ("sun", "moon", "star")  # a word and a vector occur twice


def packed(data: bytes) -> list[bytes]:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("vectors.txt", data)
    return [gzip.compress(data), archive.getvalue()]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b"sun\n", "0 numbers"),
        (b"sun 1 2\nmoon 1\n", "line 2"),
        (b"sun 1 x\nmoon 1 2\n", "'x'"),
        (b"sun 1 nan\nmoon 1 2\n", "NaN"),
        (b"sun 1 2\n", "2 to"),
        (packed(TEXT)[0], "packed"),
        (packed(TEXT)[1], "packed"),
        (bytes(range(256)) * 50, "passwd"),
    ],
    ids=["empty", "word", "short", "letters", "nan", "one", "gzip", "zip", "noise"],
)
def test_anything_but_a_file_of_vectors_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(LexiconError, match=said):
        read_uploaded(data, "../../etc/passwd", "yours")


def test_a_file_past_the_limit_is_refused_with_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "MAX_OWN_VECTOR_BYTES", 20)
    with pytest.raises(LexiconError, match=r"takes up to 20.*lexicon add"):
        read_uploaded(TEXT, "vectors.txt", "yours")


def test_a_name_is_no_place_on_this_machine(tmp_path: Path) -> None:
    path = tmp_path / "secret.txt"
    path.write_text("secret 1 2\n")
    lexicon, _ = read_uploaded(TEXT, str(path), "yours")
    assert "secret" not in lexicon.words


def test_nothing_of_it_is_kept_on_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))
    lexicon, _ = read_uploaded(TEXT.replace(b"star", b"comet"), "v.txt", "yours")
    facts = CacheEntry({}, {"a": 1})
    only_here(lexicon)
    for metric in (Metric.EUCLIDEAN, Metric.ANGULAR, Metric.MANHATTAN):
        fingerprint = lexicon.with_metric(metric).fingerprint
        assert not keep(fingerprint, "extent", facts)
        assert recall(fingerprint, "extent") is None
    assert lexicon.extent.diameter > 0  # computed all the same
    assert not list((tmp_path / "cache").rglob("*.bin"))


def test_a_lexicon_of_the_catalogue_stays_as_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))
    only_here(load(None))
    assert keep(load(None).fingerprint, "test", CacheEntry({}, {"a": 1}))
    keep_nothing_of("0" * 64)
    assert not keep("0" * 64, "test", CacheEntry({}, {}))
