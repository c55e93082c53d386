"""Damaged vector files, stored lexicons and kept files: one sentence, or None for a cache."""

import gzip
import hashlib
import io
import json
import time
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.errors import LexiconError
from dpcore.lexicon import cache
from dpcore.lexicon.catalogue import MANIFEST, VECTORS, WORDS, read_stored, write_stored
from dpcore.lexicon.readers import binary as array_reader
from dpcore.lexicon.readers import read_lexicon
from dpcore.lexicon.readers import text as rows_reader
from tests.fuzzing import answered, damaged, distorted, many_damaged, repeated
from tests.lexicon import test_readers as files

# NumPy says so of a header that was damaged in one way.
pytestmark = pytest.mark.filterwarnings("ignore:Reading `.npy`:UserWarning")

MEGABYTE = 2**20
BOMB_MEGABYTES = 512
PEAK = 60 * MEGABYTE  # a block read, split and joined, whatever a packed file holds


def npz() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, vectors=files.VECTORS, words=np.array(files.WORDS))
    return buffer.getvalue()


WHOLE = {
    "text": files.text(),
    "header": files.text(header=True, end="\r\n"),
    "binary": files.binary(),
    "gzip": gzip.compress(files.text(), mtime=0),
    "packed binary": gzip.compress(files.binary(), mtime=0),
    "zip": files.zipped(**{"one.vec": files.text()}),
    "npz": npz(),
    "npy": files.npy(files.VECTORS),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", WHOLE)
def test_a_damaged_vector_file_is_read_or_refused(kind: str, tmp_path: Path) -> None:
    path, kept = tmp_path / "v.npy", tmp_path / "kept"
    (tmp_path / "v.vocab.txt").write_text("\n".join(files.WORDS), encoding="utf-8")

    @repeated(150)
    @given(damaged(WHOLE[kind]))
    def check(data: bytes) -> None:
        path.write_bytes(data)
        answer = answered(read_lexicon, path)
        if answer is not None:
            write_stored(answer[0], kept, {})
            assert read_stored(kept).words == answer[0].words

    check()


MANY = 10_000 // len(WHOLE)


@pytest.mark.slow
@pytest.mark.parametrize("kind", WHOLE)
def test_ten_thousand_damaged_files_are_read_or_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "v.npy"
    (tmp_path / "v.vocab.txt").write_text("\n".join(files.WORDS), encoding="utf-8")
    read = 0
    for data in many_damaged(WHOLE[kind], MANY):
        path.write_bytes(data)
        answer = answered(read_lexicon, path)
        if answer is not None:
            read += 1
            assert np.isfinite(answer[0].vectors).all()
            assert len(set(answer[0].words)) == len(answer[0].words)
    assert 0 < read < MANY


def test_an_archive_with_broken_names_is_refused(tmp_path: Path) -> None:
    whole = files.zipped(**{"oneé.vec": files.text()})
    path, name = tmp_path / "v.zip", "oneé.vec".encode()
    path.write_bytes(whole.replace(name, name.replace(b"\xc3", b"\xff"), 1))
    with pytest.raises(LexiconError, match="damaged"):
        read_lexicon(path)
    nameless = files.zipped(**{"one.vec": files.text()}).replace(b"one.vec", b"\0ne.vec")
    path.write_bytes(nameless)
    with pytest.raises(LexiconError, match="holds 0 files"):
        read_lexicon(path)


def test_words_that_no_file_can_hold_are_refused(tmp_path: Path) -> None:
    words = np.array(["a", "\ud800", "b", "c", "d"])
    np.savez(tmp_path / "v.npz", vectors=files.VECTORS, words=words)
    with pytest.raises(LexiconError, match="UTF-8"):
        read_lexicon(tmp_path / "v.npz")


def bomb(unit: bytes, packed: str) -> bytes:
    """A small file that unpacks to `BOMB_MEGABYTES` of one unit."""
    block = unit * (4 * MEGABYTE // len(unit))
    if packed == "gzip":
        return gzip.compress(block) * (BOMB_MEGABYTES // 4)
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("one.vec", "w") as member,
    ):
        for _ in range(BOMB_MEGABYTES // 4):
            member.write(block)
    return buffer.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("packed", ["gzip", "zip"])
@pytest.mark.parametrize("unit", [b"\0", b"word ", b"0 " * 8, b"x\xff"])
def test_a_packed_bomb_is_refused_in_little_memory(
    unit: bytes, packed: str, tmp_path: Path
) -> None:
    data = bomb(unit, packed)
    assert len(data) < 6 * MEGABYTE
    path = tmp_path / "bomb"
    path.write_bytes(data)
    tracemalloc.start()
    try:
        with pytest.raises(LexiconError, match="longer than"):
            read_lexicon(path)
        assert tracemalloc.get_traced_memory()[1] < PEAK
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("start", [b"", b"a 1 2\n" * 9])
@pytest.mark.parametrize("line", [b"\n", b" \r\n", b" \t \n"])
def test_a_bomb_of_blank_lines_is_refused_at_once(
    start: bytes, line: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "blank"
    path.write_bytes(gzip.compress(start) + bomb(line, "gzip"))
    tracemalloc.start()
    begin = time.thread_time()
    try:
        with pytest.raises(LexiconError, match=r"blank|empty"):
            read_lexicon(path)
        assert tracemalloc.get_traced_memory()[1] < 2 * PEAK
    finally:
        tracemalloc.stop()
    assert time.thread_time() - begin < 10


def test_blank_lines_between_rows_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_bytes(b"\n".join(b"w%d 1 %d\n\n" % (i, i) for i in range(300)))
    assert len(read_lexicon(path)[0]) == 300


def test_a_bomb_of_good_rows_ends_at_the_largest_lexicon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows_reader, "MAX_LEXICON_NUMBERS", 100_000)
    path = tmp_path / "rows.gz"
    path.write_bytes(gzip.compress(b"w 1 2 3 4 5 6 7 8\n" * 2_000) * 50)
    with pytest.raises(LexiconError, match="at most 100,000 are held: use a limit"):
        read_lexicon(path)
    assert answered(lambda: read_lexicon(path, limit=2_000)) is None  # one word, many times
    path.write_bytes(b"50 4000\n" + (b"w " + b"\0" * 16_000) * 50)
    with pytest.raises(LexiconError, match="use a limit"):
        read_lexicon(path)


@pytest.mark.slow
def test_an_archive_of_arrays_says_how_much_it_holds_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb.npz"
    with path.open("wb") as file:
        vectors = np.zeros((1_000_000, 64), dtype=np.float32)
        np.savez_compressed(file, vectors=vectors)
        del vectors
    monkeypatch.setattr(array_reader, "MAX_LEXICON_NUMBERS", 1_000_000)
    tracemalloc.start()
    try:
        with pytest.raises(LexiconError, match="use a limit"):
            read_lexicon(path)
        assert tracemalloc.get_traced_memory()[1] < PEAK
    finally:
        tracemalloc.stop()


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_bytes(files.text())
    write_stored(read_lexicon(path)[0], tmp_path / "kept", {"source": "a test"})
    return tmp_path / "kept"


def test_a_distorted_manifest_of_a_lexicon_is_refused(stored: Path) -> None:
    whole = json.loads((stored / MANIFEST).read_text(encoding="utf-8"))

    @repeated(150)
    @given(distorted(whole))
    def check(fields: object) -> None:
        (stored / MANIFEST).write_text(json.dumps(fields), encoding="utf-8")
        answered(read_stored, stored)

    check()
    for text in ("[" * 100_000, "", "nonsense", '{"name": "a", "words": 1e999}'):
        (stored / MANIFEST).write_text(text, encoding="utf-8")
        with pytest.raises(LexiconError, match="damaged"):
            read_stored(stored)


@pytest.mark.parametrize("name", [VECTORS, WORDS])
def test_damage_under_a_right_digest_is_refused(name: str, stored: Path) -> None:
    whole = (stored / name).read_bytes()
    manifest = json.loads((stored / MANIFEST).read_text(encoding="utf-8"))

    @repeated(150)
    @given(damaged(whole))
    def check(data: bytes) -> None:
        (stored / name).write_bytes(data)
        manifest["sha256"][name] = hashlib.sha256(data).hexdigest()
        (stored / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
        answer = answered(read_stored, stored)
        assert answer is None or np.isfinite(answer.vectors).all()

    check()


def test_a_zero_byte_in_a_header_is_refused(stored: Path) -> None:
    """Python 3.13.0 has an error of its own for this header."""
    shape = "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 3), }"
    header = f"{shape:<86}\n       ;                 \n\0\0\0?\0\0".encode()
    data = b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + bytes(60)
    manifest = json.loads((stored / MANIFEST).read_text(encoding="utf-8"))
    manifest["sha256"][VECTORS] = hashlib.sha256(data).hexdigest()
    (stored / VECTORS).write_bytes(data)
    (stored / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(LexiconError, match="cannot be read"):
        read_stored(stored)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path))
    arrays: dict[str, Any] = {"a": np.arange(6).reshape(2, 3), "b": np.ones(3, np.float32)}
    assert cache.keep("f" * 64, "extent", cache.CacheEntry(arrays, {"x": 1}))
    assert cache.recall("f" * 64, "extent") is not None
    (path,) = tmp_path.rglob("extent.bin")
    return path


def test_a_damaged_kept_file_counts_as_absent(kept: Path) -> None:
    whole = kept.read_bytes()
    line, rest = whole.split(b"\n", 1)

    def recall(data: bytes) -> None:
        kept.unlink()  # what is mapped stays as it was
        kept.write_bytes(data)
        answer = cache.recall("f" * 64, "extent")
        assert answer is None or (answer.arrays["b"] == 1).all()

    @repeated(150)
    @given(damaged(whole) | distorted(json.loads(line)).map(lambda it: _line(it, rest)))
    def check(data: bytes) -> None:
        recall(data)

    check()
    recall(b"[" * 100_000 + b"\n")
    assert cache.recall("f" * 64, "extent") is None


def _line(header: object, rest: bytes) -> bytes:
    return json.dumps(header).encode() + b"\n" + rest


@repeated(100)
@given(st.binary(max_size=200))
def test_any_bytes_at_all(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(data)
    answered(read_lexicon, path)
