"""Downloads from a local server that cuts, lies, refuses and resumes."""

import hashlib
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpcore.errors import LexiconError
from dpcore.lexicon.cache import alone
from dpcore.lexicon.download import download
from tests.lexicon.serving import CONTENT, Behaviour

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


def test_a_server_that_cannot_resume_begins_anew(
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


def test_a_wrong_beginning_is_thrown_away_and_taken_anew(
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
