"""The folder of a run: one identity, one owner, nothing of another run, no flipped bit unseen."""

import dataclasses
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from dpcore.errors import StudyError
from dpcore.lexicon.catalogue import open_lexicon
from dpcore.privatize import run as privatize_span
from dpcore.privatize.folder import alone_with, resume
from dpcore.privatize.order import Order
from dpcore.privatize.run import privatize
from tests.needs import ROOT
from tests.privatize.corpora import order, read, twin, write
from tests.shell import small_vectors


class StopError(Exception):
    """Ends a run where it is."""


def interrupted(asked: Order, share: float = 0.5, span_bytes: int = 300) -> Any:
    """A run that is stopped after this share of its spans."""

    def stop(stage: str, done: int, total: int) -> None:
        if stage.startswith("rewriting") and done > share * total:
            raise StopError

    with pytest.raises(StopError):
        privatize(asked, span_bytes=span_bytes, progress=stop)
    return resume(asked.folder)


@pytest.fixture
def asked(tmp_path: Path) -> Order:
    return order(write(tmp_path / "in.txt"), tmp_path / "out.txt", seed=None)


def test_parts_of_another_run_are_never_used(asked: Order) -> None:
    """Of a larger ε, under the same names, with their marks: the mistake that this is all about."""
    first = interrupted(dataclasses.replace(asked, epsilon=60.0))
    stolen = {p.name: p.read_bytes() for p in first.piece("spans", 0).parent.iterdir()}
    first.drop(asked.out)
    second = interrupted(asked, share=0.1)
    spans = second.piece("spans", 0).parent
    known = {p.name for p in spans.iterdir()}
    for name in (stolen.keys() - known, stolen.keys() & known):
        whole = {path.name: path.read_bytes() for path in spans.iterdir()}
        for path in name:
            (spans / path).write_bytes(stolen[path])
        with pytest.raises(StudyError, match=r"damaged: spans/.* is not as it was written; delete"):
            privatize(asked)
        for path in spans.iterdir():
            path.unlink()
        for path, data in whole.items():
            (spans / path).write_bytes(data)
    privatize(asked)
    assert [row["text"] for row in read(asked.out)] == [
        text.replace("\n", " ") for text in twin(secret=second.secret)
    ]


def test_a_part_in_the_place_of_another_is_noticed(asked: Order) -> None:
    run = interrupted(asked)
    first, second = (run.piece("spans", number) for number in (0, 1))
    for path in (first, first.with_suffix(".json")):
        path.write_bytes(second.with_suffix(path.suffix).read_bytes())
    with pytest.raises(StudyError, match=r"00000000\.part is not as it was written"):
        privatize(asked)


def test_every_flipped_bit_is_reported_with_what_to_do(asked: Order) -> None:
    """In each file that decides what is published; what the message says then helps."""
    run = interrupted(asked)
    part = run.piece("spans", 1)
    lexicon = next(asked.folder.glob("lexicons/*/vectors.npy"))
    for name in ("state.json", "secret", part, part.with_suffix(".json"), lexicon):
        path = asked.folder / name
        whole = path.read_bytes()
        for place in range(0, len(whole), max(1, len(whole) // 12)):
            data = bytearray(whole)
            data[place] ^= 4
            if data.decode("latin-1").split() == whole.decode("latin-1").split():
                continue  # white space of JSON
            path.write_bytes(bytes(data))
            for opened in (privatize_span._opened, open_lexicon):
                opened.cache_clear()  # as in the process of a later run
            with pytest.raises(StudyError, match=r"damaged.*(delete that folder and|begin again)"):
                privatize(asked)
        path.write_bytes(whole)
    mark = part.with_suffix(".json")
    part.write_bytes(part.read_bytes()[:-1])
    with pytest.raises(StudyError, match=re.escape(f"delete {mark} and give the same command")):
        privatize(asked)
    mark.unlink()
    privatize(asked)
    assert [row["text"] for row in read(asked.out)] == [
        text.replace("\n", " ") for text in twin(secret=run.secret)
    ]


@pytest.mark.parametrize("name", ["joined", "record", "complete.json", "state.json"])
def test_what_waits_to_be_published_is_checked(
    asked: Order, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Also after the secret has gone, when no seal can be checked any more."""

    def killed(*paths: Any) -> None:
        raise StopError

    monkeypatch.setattr("dpcore.privatize.folder.Run.publish", killed)
    with pytest.raises(StopError):
        privatize(asked)
    monkeypatch.undo()
    assert not (asked.folder / "secret").exists()
    path = asked.folder / name
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"2", b"3", 1).replace(b"w", b"v", 1))
    assert path.read_bytes() != whole
    with pytest.raises(StudyError, match=r"damaged .*delete that folder and begin again"):
        privatize(asked)
    assert not asked.out.exists()
    path.write_bytes(whole)
    with pytest.raises(StudyError, match="another epsilon"):
        privatize(dataclasses.replace(asked, epsilon=3.0))
    record = privatize(asked)
    assert record == json.loads(asked.record.read_text(encoding="utf-8"))
    assert len(record["run"]) == 16


def test_a_second_run_is_refused_while_the_first_is_there(asked: Order) -> None:
    """By thread and by process; the first goes on as if nothing had been."""
    refusals: list[str] = []

    def second(stage: str, done: int, total: int) -> None:
        if stage.startswith("rewriting") and not refusals:
            for epsilon in (2.0, 0.05):
                with pytest.raises(StudyError, match=r"another run is writing .* wait until") as no:
                    privatize(dataclasses.replace(asked, epsilon=epsilon))
                refusals.append(str(no.value))

    privatize(asked, span_bytes=300, progress=second)
    assert len(refusals) == 2
    assert sorted(path.name for path in asked.out.parent.iterdir()) == [
        "in.txt", "out.txt", "out.txt.run.json",
    ]  # fmt: skip


def test_only_one_of_many_threads_is_let_in(tmp_path: Path) -> None:
    out, inside, most, refused = tmp_path / "out.txt", [], [], []

    def enter() -> None:
        for _ in range(50):
            try:
                with alone_with(out):
                    inside.append(1)
                    most.append(len(inside))
                    inside.pop()
            except StudyError:
                refused.append(1)

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
    assert len(most) + len(refused) == 200
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_two_runs_that_are_started_together_leave_a_true_record(tmp_path: Path) -> None:
    """Real processes, ε = 60 (the words stay) and 0.05; that 360 words stay there is impossible."""
    vectors, source, out = small_vectors(tmp_path / "v"), tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("".join(f"word{i} weather doctor\n" for i in range(120)), encoding="utf-8")
    for _ in range(2):
        both = [
            subprocess.Popen(
                [
                    sys.executable, "-m", "dpcore", "privatize", str(source), "--out", str(out),
                    "--mechanism", "tem", "--epsilon", epsilon, "--lexicon", vectors,
                    "--set", "beta=1e-12", "--json",
                ],
                cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            for epsilon in ("60", "0.05")
        ]  # fmt: skip
        answers = [(*process.communicate(timeout=240), process.returncode) for process in both]
        codes = sorted(code for _, _, code in answers)
        assert codes == [0, 2], answers
        won = next(json.loads(text) for text, _, code in answers if code == 0)
        (error,) = [error for _, error, code in answers if code]
        # The slower one may come when the other has ended.
        assert re.search(r"another run is writing|exists already|another epsilon", error)
        record = json.loads(out.with_name("out.txt.run.json").read_text(encoding="utf-8"))
        assert record == won
        same = out.read_text(encoding="utf-8") == source.read_text(encoding="utf-8")
        assert same == (record["epsilon"] == 60.0)
        assert not [path for path in tmp_path.iterdir() if path.name.startswith("out.txt.u")]
        out.unlink()
        out.with_name("out.txt.run.json").unlink()


def test_a_folder_without_locks_is_refused_with_what_to_do(
    asked: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*arguments: Any) -> None:
        raise OSError(38, os.strerror(38))

    pytest.importorskip("fcntl")
    monkeypatch.setattr("fcntl.flock", none)
    with pytest.raises(StudyError, match=r"choose an --out in .* on a file system with locks"):
        privatize(asked)
    monkeypatch.undo()
    privatize(asked)
