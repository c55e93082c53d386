"""`privatize` from the shell: nothing fails late, and a published copy is never called refused."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dpcore.cli.privatize as command
from dpcore.jobs.worker import THREADS
from dpcore.privatize.run import privatize
from tests.fixtures import Uninstall
from tests.needs import ROOT
from tests.shell import run, small_vectors


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> str:
    return small_vectors(tmp_path_factory.mktemp("lexicon") / "small.vec")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    path.write_text("terrible weather\nthe doctor\n", encoding="utf-8")
    return path


def words(corpus: Path, vectors: str | None = None) -> list[str]:
    more = [] if vectors is None else ["--lexicon", vectors]
    out = corpus.with_name("out.txt")
    return [
        "privatize", str(corpus), "--out", str(out), "--mechanism", "tem", "--epsilon", "2", *more,
    ]  # fmt: skip


def published(corpus: Path) -> bool:
    names = [corpus.with_name(name) for name in ("out.txt", "out.txt.run.json")]
    return all(path.exists() for path in names)


def test_without_pandas_a_copy_is_made_and_a_label_is_refused_before(
    capsys: pytest.CaptureFixture[str], uninstalled: Uninstall, corpus: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    from dpcore.papers.ours import tradeoff

    for known in (tradeoff.recorded_curves, tradeoff._recorded_on):
        known.cache_clear()
    uninstalled("pandas")
    code, out, err = run(capsys, *words(corpus), "--label", str(corpus.with_name("l.html")))
    assert (code, out) == (2, "")
    assert "the package pandas" in err
    assert "leave out --label" in err
    assert list(corpus.parent.iterdir()) == [corpus]
    code, out, err = run(capsys, *words(corpus), "--json")
    assert code == 0, err
    assert json.loads(out) == json.loads(corpus.with_name("out.txt.run.json").read_text("utf-8"))
    assert published(corpus)


def test_without_pandas_the_label_of_other_vectors_is_written(
    capsys: pytest.CaptureFixture[str], uninstalled: Uninstall, corpus: Path, vectors: str
) -> None:
    uninstalled("pandas")
    label = corpus.with_name("l.html")
    code, _, err = run(capsys, *words(corpus, vectors), "--label", str(label))
    assert code == 0, err
    assert label.exists()


def test_a_label_never_lies_in_the_place_of_what_the_run_writes(
    capsys: pytest.CaptureFixture[str], corpus: Path, vectors: str
) -> None:
    folder = corpus.parent
    (folder / "link").symlink_to(folder)
    (folder / "out.txt.unfinished").mkdir()  # of a run that was interrupted
    before = sorted(folder.rglob("*"))
    for name in (
        "out.txt.run.json", "OUT.txt.Run.JSON", "link/out.txt.run.json",
        "out.txt.unfinished/label.json",
    ):  # fmt: skip
        code, _, err = run(capsys, *words(corpus, vectors), "--label", str(folder / name))
        assert code == 2
        assert "the run itself writes to" in err
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("name", ["label.txt", "nowhere/label.html", "l" * 245 + ".html"])
def test_a_label_that_cannot_be_written_is_refused_before_the_first_word(
    capsys: pytest.CaptureFixture[str], corpus: Path, vectors: str, name: str
) -> None:
    code, _, err = run(capsys, *words(corpus, vectors), "--label", str(corpus.parent / name))
    assert code == 2
    assert err.startswith("error: ")
    assert list(corpus.parent.iterdir()) == [corpus]


def vanishing(
    monkeypatch: pytest.MonkeyPatch, folder: Path, stop: BaseException | None = None
) -> None:
    """Take a folder away as soon as the copy is published."""
    whole = privatize

    def then(*given: Any, **more: Any) -> Any:
        record = whole(*given, **more)
        folder.rmdir()
        if stop is not None:
            raise stop
        return record

    monkeypatch.setattr(command, "privatize", then)


def test_a_label_whose_folder_vanishes_is_written_later_and_spends_nothing(
    capsys: pytest.CaptureFixture[str], corpus: Path, vectors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = corpus.with_name("labels")
    folder.mkdir()
    label = folder / "label.json"
    given = [*words(corpus, vectors), "--label", str(label), "--json"]
    vanishing(monkeypatch, folder)
    code, out, err = run(capsys, *given)
    assert code == 3
    assert "error" not in err
    assert "is released" in err
    assert "the same command writes it, from the record" in err
    record = json.loads(out)
    monkeypatch.undo()
    copy = corpus.with_name("out.txt").read_bytes()
    folder.mkdir()
    for changed in (["--epsilon", "3"], ["--unknown", "mask"], ["--set", "beta=0.5"]):
        code, _, err = run(capsys, *given, *changed)
        assert code == 2
        assert "exists already, made with another" in err
    text = corpus.read_bytes()
    corpus.unlink()  # how it is read is part of the order
    code, _, err = run(capsys, *given)
    assert code == 2
    assert err.startswith("error: there is no file")
    corpus.write_bytes(text)
    code, out, err = run(capsys, *given)
    assert code == 0, err
    assert json.loads(out) == record
    assert json.loads(label.read_text("utf-8"))["run"] == record["run"]
    assert corpus.with_name("out.txt").read_bytes() == copy


def test_an_interrupt_after_the_release_says_that_it_is_released(
    capsys: pytest.CaptureFixture[str], corpus: Path, vectors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = corpus.with_name("gone")
    folder.mkdir()
    vanishing(monkeypatch, folder, KeyboardInterrupt())
    code, _, err = run(capsys, *words(corpus, vectors))
    assert code == 130
    assert "is published already" in err
    assert "nothing is kept" not in err


def test_a_folder_that_fails_after_the_release_is_no_refusal(
    capsys: pytest.CaptureFixture[str], corpus: Path, vectors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that says nothing but errors once the copy has its name."""
    out, replace = corpus.with_name("out.txt"), os.replace

    def fail(*given: Any, **more: Any) -> Any:
        raise OSError(5, "Input/output error")

    def then(source: Any, target: Any) -> None:
        replace(source, target)
        if Path(target) == out:
            for name in ("os.rename", "os.scandir", "os.fsync"):
                monkeypatch.setattr(name, fail)

    monkeypatch.setattr(os, "replace", then)
    code, _, err = run(capsys, *words(corpus, vectors))
    monkeypatch.undo()
    assert code == 0, err
    assert published(corpus)
    code, _, err = run(capsys, *words(corpus, vectors), "--label", str(corpus.with_name("l.html")))
    assert code == 0, err
    assert {path.name for path in corpus.parent.iterdir()} == {
        "in.txt", "out.txt", "out.txt.run.json", "l.html",
    }  # fmt: skip


STREAMS = {
    "a full disk": ("--json >/dev/full", 3),
    "a closed output": ("--json >&-", 3),
    "lines on a full disk": (">/dev/full", 3),
    "closed errors": ("2>&- >/dev/null", 0),
    "errors on a full disk": ("2>/dev/full >/dev/null", 0),
    "both": (">/dev/full 2>/dev/full", 3),
    "all closed": ("<&- >&- 2>&-", 3),
    "workers of a process without streams": ("--workers 2 <&- >&- 2>&-", 3),
}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("name", STREAMS)
def test_an_answer_that_no_one_can_read_leaves_a_copy_with_its_label(
    corpus: Path, vectors: str, name: str
) -> None:
    end, code = STREAMS[name]
    label = corpus.with_name("l.html")
    given = [*words(corpus, vectors), "--label", str(label)]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {end}', "sh", sys.executable, "-m", "dpcore", *given],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert published(corpus)
    assert label.exists()
    assert "Traceback" not in done.stderr
    assert "error" not in done.stderr
    if code and "2>" not in end:
        assert "is released" in done.stderr
        assert "the answer could not be written" in done.stderr
    assert corpus.with_name("out.txt").read_text("utf-8").count("\n") == 2


def test_a_folder_that_may_not_be_read_is_one_sentence(
    capsys: pytest.CaptureFixture[str], corpus: Path, vectors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Any) -> Any:
        raise PermissionError(13, "Permission denied", os.fspath(path))

    monkeypatch.setattr(os, "scandir", refuse)
    code, _, err = run(capsys, *words(corpus, vectors))
    monkeypatch.undo()
    assert code == 2
    assert err.startswith(f"error: the folder {corpus.parent} cannot be read (Permission denied)")
    assert list(corpus.parent.iterdir()) == [corpus]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="runs are forks")
def test_a_kill_after_the_release_loses_no_label() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.privatize.crash_label"],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env=os.environ | dict.fromkeys(THREADS, "1"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["failures"] == []
    assert answer["points"] > 10
