"""Fetching one of the public sources, here served by a local server."""

import dataclasses
import hashlib
import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from dpcore.errors import LexiconError
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.fetch import fetch
from dpcore.lexicon.sources import SOURCES, Source, source_named
from tests.lexicon.serving import Behaviour


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as zipped:
        for d in (2, 3):
            lines = [f"w{i} " + " ".join(str(i + j) for j in range(d)) for i in range(9)]
            zipped.writestr(f"vectors.{d}d.txt", "\n".join(lines) + "\n")
    return buffer.getvalue()


def source(content: bytes, *urls: str) -> Source:
    return dataclasses.replace(
        SOURCES["glove-6b"],
        urls=urls,
        file="vectors.zip",
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        members={d: f"vectors.{d}d.txt" for d in (2, 3)},
        dimension=3,
        words=9,
    )


def test_a_source_is_fetched_checked_converted_and_loads_by_name(
    serve: Callable[..., str], cache: Path
) -> None:
    content = archive()
    behaviour = Behaviour(content, cut_after=[100, 200])
    table = {"glove-6b": source(content, serve(behaviour))}
    seen = []
    added = fetch("glove-6b", sources=table, pause=0, progress=lambda stage, *_: seen.append(stage))
    assert (added.name, added.words, added.dimension) == ("glove-6b", 9, 3)
    assert load("glove-6b").words[:2] == ("w0", "w1")
    assert list(dict.fromkeys(seen)) == ["downloading", "checking", "reading"]
    assert list((cache / "downloads").iterdir()) == []
    small = fetch("glove-6b", dimension=2, limit=4, sources=table, pause=0)
    assert (small.name, small.words, small.dimension) == ("glove-6b-2d", 4, 2)
    with pytest.raises(LexiconError, match="already"):
        fetch("glove-6b", sources=table)
    requests = len(behaviour.ranges)
    fetch("glove-6b", name="mine", sources=table, pause=0)
    assert len(behaviour.ranges) == requests + 1


def test_refusals_come_before_any_byte_is_downloaded(
    serve: Callable[..., str], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = archive()
    behaviour = Behaviour(content)
    table = {"glove-6b": source(content, serve(behaviour))}
    with pytest.raises(LexiconError, match="no source is called 'glove-7b': there are glove-6b"):
        fetch("glove-7b", sources=table)
    with pytest.raises(LexiconError, match="no 25-dimensional vectors: use 2, 3"):
        fetch("glove-6b", dimension=25, sources=table)
    with pytest.raises(LexiconError, match="name has 1 to 64"):
        fetch("glove-6b", name="../x", sources=table)
    usage = type("Usage", (), {"free": 10})
    monkeypatch.setattr("dpcore.lexicon.fetch.shutil.disk_usage", lambda _: usage)
    with pytest.raises(LexiconError, match=r"0\.0 GB free"):
        fetch("glove-6b", sources=table)
    assert behaviour.ranges == []


def test_a_wrong_file_adds_nothing(serve: Callable[..., str], cache: Path) -> None:
    content = archive()
    table = {"glove-6b": source(content, serve(Behaviour(content[:-1] + b"!")))}
    with pytest.raises(LexiconError, match="wrong file"):
        fetch("glove-6b", sources=table, pause=0)
    assert not list(cache.rglob("*.npy"))


def test_the_table_of_sources_is_well_formed() -> None:
    assert list(SOURCES) == ["glove-6b", "glove-840b", "fasttext-wiki-news", "word2vec-googlenews"]
    for key, entry in SOURCES.items():
        assert entry.key == key
        assert len(bytes.fromhex(entry.sha256)) == 32
        assert entry.size > 600_000_000
        assert all(url.startswith("https://") for url in entry.urls)
        assert all(url.endswith(entry.file) for url in entry.urls)
        assert entry.dimension in entry.members
        assert all(bool(name) == entry.file.endswith(".zip") for name in entry.members.values())
    assert source_named("glove-6b").member(50) == (50, "glove.6B.50d.txt")
