"""Fetching one of the public sources, here served by a local server."""

import dataclasses
import hashlib
import io
import socket
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpcore.errors import LexiconError
from dpcore.lexicon.cache import alone
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.fetch import SOURCES, Source, download, fetch, source_named
from tests.lexicon.serving import CONTENT, Behaviour

# Downloads from a local server that cuts, lies, refuses and resumes.


SIZE = len(CONTENT)
SHA = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def get(tmp_path: Path) -> Callable[..., Path]:
    def run(
        *urls: str, size: int = SIZE, sha: str = SHA, progress: Callable[..., Any] | None = None
    ) -> Path:
        return download(urls, tmp_path / "file.bin", size, sha, progress, pause=0.0)

    return run


def test_a_file_comes_whole_with_progress_and_is_not_asked_for_again(
    serve: Callable[..., str], get: Callable[..., Path], tmp_path: Path
) -> None:
    behaviour = Behaviour()
    seen = []
    url = serve(behaviour)
    path = get(url, progress=lambda *step: seen.append(step))
    assert path.read_bytes() == CONTENT
    assert seen[-1] == ("checking", SIZE, SIZE)
    assert ("downloading", SIZE, SIZE) in seen
    get(url)
    assert behaviour.ranges == [None]
    assert [p.name for p in tmp_path.iterdir()] == ["file.bin"]


def test_a_connection_that_is_cut_again_and_again_is_resumed(
    serve: Callable[..., str], get: Callable[..., Path]
) -> None:
    behaviour = Behaviour(cut_after=[1000] * 10 + [300_000])
    assert get(serve(behaviour)).read_bytes() == CONTENT
    starts = [None] + [f"bytes={1000 * i}-" for i in range(1, 11)] + ["bytes=310000-"]
    assert behaviour.ranges == starts


def test_a_server_that_cannot_resume_begins_again(
    serve: Callable[..., str], get: Callable[..., Path]
) -> None:
    behaviour = Behaviour(resumes=False, cut_after=[5000, 700_000])
    assert get(serve(behaviour)).read_bytes() == CONTENT
    assert behaviour.ranges == [None, "bytes=5000-", "bytes=700000-"]


def test_a_connection_that_brings_nothing_is_given_up_and_the_rest_is_kept(
    serve: Callable[..., str], get: Callable[..., Path], tmp_path: Path
) -> None:
    behaviour = Behaviour(cut_after=[4000, 0, 0, 0, 0])
    with pytest.raises(LexiconError, match=r"was cut.*; 4,000 of 1,024,000 bytes are kept"):
        get(serve(behaviour))
    assert not (tmp_path / "file.bin").exists()
    assert (tmp_path / "file.bin.part").stat().st_size == 4000
    assert get(serve(behaviour)).read_bytes() == CONTENT
    assert behaviour.ranges[-1] == "bytes=4000-"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (CONTENT[:-1] + b"!", "served a wrong file"),
        (CONTENT + b"!", "another file .*1,024,001 bytes instead of 1,024,000"),
        (CONTENT[:-1], "another file .*1,023,999 bytes"),
        (b"<html>not here</html>", "another file"),
    ],
)
def test_a_wrong_file_is_refused_and_not_kept(
    wrong: bytes, message: str, serve: Callable[..., str], get: Callable[..., Path], tmp_path: Path
) -> None:
    with pytest.raises(LexiconError, match=message):
        get(serve(Behaviour(content=wrong)))
    assert list(tmp_path.iterdir()) == []


def test_the_next_address_has_its_turn(serve: Callable[..., str], get: Callable[..., Path]) -> None:
    wrong = Behaviour(content=CONTENT[:-1] + b"!")
    right = Behaviour()
    absent = serve(Behaviour(), "/x").replace("/x", "/absent")
    path = get(absent, serve(wrong, "/wrong"), serve(right, "/right"))
    assert path.read_bytes() == CONTENT


def test_a_wrong_beginning_is_thrown_away_and_taken_again(
    serve: Callable[..., str], get: Callable[..., Path]
) -> None:
    liar = Behaviour(content=b"!" * SIZE, cut_after=[9000, 0, 0, 0, 0])
    right = Behaviour()
    assert get(serve(liar, "/liar"), serve(right, "/right")).read_bytes() == CONTENT
    assert right.ranges == ["bytes=9000-", None]


def test_a_partial_file_longer_than_the_file_is_thrown_away(
    serve: Callable[..., str], get: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "file.bin.part").write_bytes(CONTENT + b"more")
    assert get(serve(Behaviour())).read_bytes() == CONTENT


def test_a_resumed_file_of_another_size_is_refused(
    serve: Callable[..., str], get: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "file.bin.part").write_bytes(CONTENT[:100])
    with pytest.raises(LexiconError, match="wrong size"):
        get(serve(Behaviour(content=CONTENT * 2)))
    (tmp_path / "file.bin.part").write_bytes(CONTENT[:5000])
    with pytest.raises(LexiconError, match="another file"):
        get(serve(Behaviour(content=CONTENT[:4000])))


def test_a_busy_server_is_asked_again(serve: Callable[..., str], get: Callable[..., Path]) -> None:
    busy = Behaviour(status=[503, 429, 500])
    assert get(serve(busy)).read_bytes() == CONTENT
    assert len(busy.ranges) == 4


def test_a_refusal_is_final(serve: Callable[..., str], get: Callable[..., Path]) -> None:
    gone = Behaviour(status=[403] * 9)
    with pytest.raises(LexiconError, match=r"127\.0\.0\.1: HTTP status 403"):
        get(serve(gone))
    assert len(gone.ranges) == 1


def test_without_a_network_one_sentence_says_so(get: Callable[..., Path], tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with pytest.raises(
        LexiconError, match=r"127\.0\.0\.1, 127\.0\.0\.1: cannot be reached .*is there a network\?"
    ) as caught:
        get(f"http://127.0.0.1:{port}/file.bin", f"http://127.0.0.1:{port}/mirror.bin")
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(LexiconError, match="not an http address"):
        get((tmp_path / "x").as_uri())


def test_a_folder_that_cannot_be_written(serve: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(LexiconError, match="cannot write"):
        download([serve(Behaviour())], tmp_path / "taken" / "file.bin", SIZE, SHA)


def test_two_processes_do_not_write_one_file(
    serve: Callable[..., str], get: Callable[..., Path], tmp_path: Path
) -> None:
    with (
        alone(tmp_path / "file.bin.part.lock", LexiconError("not expected")),
        pytest.raises(LexiconError, match=r"another process is downloading file\.bin"),
    ):
        get(serve(Behaviour()))
    assert get(serve(Behaviour())).read_bytes() == CONTENT


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
