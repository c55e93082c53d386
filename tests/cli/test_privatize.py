"""The command `privatize`: killed, interrupted, on a cluster, and with wrong options."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

from dpcore.jobs.cluster import Cluster
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import create
from dpcore.privatize.order import Order
from dpcore.privatize.run import privatize
from dpcore.rewrite.policy import Treatment
from dpcore.tables.files import Columns
from tests.needs import ROOT
from tests.shell import result, run, small_vectors
from tests.study.tasks import KILL

LINES = 9_000


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> str:
    return small_vectors(tmp_path_factory.mktemp("lexicon") / "small.vec")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """About 8 MB, most of it spaces: eight spans, of few words each."""
    path = tmp_path_factory.mktemp("corpus") / "in.txt"
    line = f"weather{' ' * 900}terrible"
    path.write_text("".join(f"word{i % 297} {line}\n" for i in range(LINES)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def undisturbed(vectors: str, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The output of seed 5, in this process."""
    out = tmp_path_factory.mktemp("whole") / "out.txt"
    privatize(order(vectors, corpus, out))
    return out.read_bytes()


def order(vectors: str, corpus: Path, out: Path) -> Order:
    mechanism = create("tem", load(vectors))
    return Order(corpus, out, mechanism, 2.0, Columns(original=True), Treatment(), seed=5)


def started(vectors: str, corpus: Path, out: Path, *more: Any) -> subprocess.Popen[str]:
    command = [
        sys.executable, "-m", "dpcore", "privatize", str(corpus), "--out", str(out),
        "--mechanism", "tem", "--epsilon", "2", "--lexicon", vectors, *more,
    ]  # fmt: skip
    # Started by a shell in the background, this process ignores Ctrl-C, and its children with it.
    was = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    finally:
        signal.signal(signal.SIGINT, was)


def until_some_are_done(process: subprocess.Popen[str], out: Path) -> Path:
    """Wait until a span is finished and the run is not."""
    folder = out.with_name(f"{out.name}.unfinished")
    end = time.monotonic() + 60
    while (
        not list(folder.glob("*/spans/*.json"))
        and process.poll() is None
        and time.monotonic() < end
    ):
        time.sleep(0.005)
    assert process.poll() is None
    return next(folder.glob("*/spans"))


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_run_that_is_killed_goes_on_and_gives_the_same_bytes(
    vectors: str, corpus: Path, undisturbed: bytes, tmp_path: Path, workers: str
) -> None:
    out = tmp_path / "out.txt"
    more = ("--experiment", "--seed", "5", "--workers", workers)
    process = started(vectors, corpus, out, *more)
    spans = until_some_are_done(process, out)
    process.kill()
    process.communicate()
    assert not out.exists()
    time.sleep(0.3)  # its workers end with it
    kept = {path.name: path.stat().st_mtime_ns for path in spans.glob("*.json")}
    assert 1 <= len(kept) < 9
    again = started(vectors, corpus, out, *more)
    _, err = again.communicate(timeout=120)
    assert again.returncode == 0, err
    assert "never release this file" in err
    assert out.read_bytes() == undisturbed


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
def test_ctrl_c_says_how_to_go_on(vectors: str, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    process = started(vectors, corpus, out, "--workers", "2")
    until_some_are_done(process, out)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "give the same command again" in err
    assert "Traceback" not in err
    again = started(vectors, corpus, out, "--json")
    answer, err = again.communicate(timeout=120)
    assert again.returncode == 0, err
    record = json.loads(answer)
    assert (record["documents"], record["kind"]) == (LINES, "release")
    assert out.read_bytes().count(b"\n") == LINES
    assert not out.with_name("out.txt.unfinished").exists()


@pytest.mark.slow
def test_dask_workers_give_the_same_bytes_though_one_is_killed(
    vectors: str, corpus: Path, undisturbed: bytes, tmp_path: Path
) -> None:
    out = tmp_path / "out.txt"
    killed: list[int] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Dask about itself
        with Cluster(workers=2) as cluster:
            jobs = [{"x": 1}] * 8
            pids = {r["pid"] for _, r in cluster.run("tests.study.tasks:square", jobs)}

            def kill_one(stage: str, done: int, total: int) -> None:
                if stage.startswith("rewriting") and 0 < done < total and not killed:
                    killed.append(min(pids))
                    os.kill(killed[0], KILL)

            asked = order(vectors, corpus, out)
            privatize(asked, executor=cluster, progress=kill_one, span_bytes=200_000)
    assert killed
    assert out.read_bytes() == undisturbed


def test_the_command_prints_the_record(
    capsys: pytest.CaptureFixture[str], vectors: str, tmp_path: Path
) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("text,label\nterrible weather,1\nweather,0\n", encoding="utf-8")
    options = (
        "privatize", str(source), "--out", str(out), "--mechanism", "madlib", "--epsilon", "9",
        "--lexicon", vectors,
    )  # fmt: skip
    record = result(capsys, *options, "--keep", "label", "--unknown", "mask")
    assert record["mechanism"] == "madlib.v1"
    assert record["unknown_words"] == "mask"
    assert record["documents"] == 2
    assert record["protected_words"] == 3
    page = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    promised = re.search(r"^\| `privatize` \| `(.*?)`", page, re.MULTILINE)[1]
    assert list(record) == promised.split(", ")
    assert any("label, unchanged" in sentence for sentence in record["released"])
    assert out.read_text(encoding="utf-8").startswith("text,label\n")
    code, _, err = run(capsys, *options)
    assert code == 2
    assert re.fullmatch(r"error: \S+out\.csv exists already: [^\n]+\n", err)


def test_a_vocabulary_that_does_not_fit_is_told_before_there_is_noise(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    vectors, source = Path(small_vectors(tmp_path / "small.vec")), tmp_path / "in.csv"
    source.write_text("text\nweather terrible\ndoctor\n", encoding="utf-8")
    capitals = vectors.with_name("capitals.vec")
    capitals.write_text(vectors.read_text("utf-8").upper(), encoding="utf-8")
    for lexicon, told in ((vectors, False), (capitals, True)):
        options = ["--mechanism", "tem", "--epsilon", "2", "--lexicon", str(lexicon)]
        out = tmp_path / f"{lexicon.stem}.csv"
        code, _, err = run(capsys, "privatize", str(source), "--out", str(out), *options)
        assert code == 0
        assert err.startswith(
            "in.csv is read as CSV, utf-8, 1 column, the first line holds names\n"
        )
        assert ("\nwarning: most words of the first texts are not in this" in err) == told
        record = out.with_name(f"{out.name}.run.json").read_text("utf-8")
        assert "most words" not in record


WRONG = {
    "a seed of a release": (["--seed", "3"], "--seed needs --experiment.*"),
    "a negative seed": (["--experiment", "--seed", "-3"], "a seed is a whole number.*"),
    "no workers": (["--workers", "0"], "workers must be a whole number from 1 to 256"),
    "a missing column": (["--text-column", "body"], ".*no column 'body'; its first line.*"),
    "a missing column to keep": (["--keep", "text2"], ".*no column 'text2'.*"),
    "an ε that is none": (["--epsilon", "nan"], "epsilon must be a finite number.*"),
    "an unknown mechanism": (["--mechanism", "magic"], "unknown mechanism 'magic'.*"),
    "an unknown lexicon": (["--lexicon", "no-such"], "unknown lexicon 'no-such'.*"),
    "a scheduler that is not there": (
        ["--scheduler", "tcp://127.0.0.1:1"], "no Dask scheduler answers at tcp://127.0.0.1:1.*",
    ),
    "a refused word": (["--unknown", "reject"], "document 2: word 1 of the text is not among.*"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_option_is_one_sentence(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    vectors: str,
    tmp_path: Path,
    name: str,
) -> None:
    monkeypatch.setattr("dpcore.jobs.cluster._PATIENCE", 0.5)
    more, message = WRONG[name]
    source = tmp_path / "in.csv"
    source.write_text("text\nweather\nqwertz\n", encoding="utf-8")
    base = {"--out": str(tmp_path / "out.csv"), "--mechanism": "tem", "--epsilon": "2"}
    base["--lexicon"] = vectors
    arguments = [x for pair in base.items() for x in pair if pair[0] not in more]
    code, out, err = run(capsys, "privatize", str(source), *arguments, *more)
    assert (code, out) == (2, "")
    assert re.fullmatch(f"(in.csv is read as CSV, [^\n]+\n)?error: {message}\n", err), err
    assert not Path(base["--out"]).exists()


def test_its_label_says_what_the_record_says(
    vectors: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("text,stars\nterrible weather,1\nweather,2\n", encoding="utf-8")
    command = ["privatize", str(source), "--out", str(out), "--mechanism", "tem", "--epsilon", "2"]
    command += ["--lexicon", vectors, "--keep", "stars", "--label"]
    code, _, err = run(capsys, *command, str(tmp_path / "label.txt"))
    assert (code, out.exists()) == (2, False)
    assert "*.html or *.json" in err
    code, said, notes = run(capsys, *command, str(tmp_path / "label.json"))
    assert code == 0
    assert f"{tmp_path / 'label.json'}: the privacy label" in said
    label = json.loads((tmp_path / "label.json").read_text("utf-8"))
    record = json.loads((tmp_path / "out.csv.run.json").read_text("utf-8"))
    assert label["run"] == record["run"]
    assert label["longest_text"] == record["composed"]
    assert label["median_text"] == record["composed_median"]
    sentences = [each for part in label["sections"] for each in part["sentences"]]
    assert record["guarantee"]["statement"] in sentences
    assert "the column stars, unchanged" in sentences
    assert any("was not measured" in each for each in sentences)  # this lexicon was not
    assert "was not measured" in notes
