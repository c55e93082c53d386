"""A private copy of a corpus: the same bits however it is made, and nothing of the original."""

import dataclasses
import errno
import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from dpcore.audit.composition import composition
from dpcore.errors import StudyError
from dpcore.jobs import executors
from dpcore.mechanisms.registry import create
from dpcore.privatize import run
from dpcore.privatize.run import privatize
from dpcore.rewrite.policy import Treatment, UnknownWordPolicy
from dpcore.tables.detection import format_of
from dpcore.tables.files import Columns
from tests.mechanisms import lexicons
from tests.privatize.corpora import KINDS, LEXICON, TEXTS, order, read, twin, write


@pytest.fixture(scope="module")
def expected() -> list[str]:
    return twin()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("span_bytes", [150, 10**6])
def test_every_format_and_span_gives_the_same_texts(
    tmp_path: Path, kind: str, span_bytes: int, expected: list[str]
) -> None:
    source, out = write(tmp_path / f"in.{kind}"), tmp_path / f"out.{kind}"
    spans = list(format_of(source, typed=["text"]).spans(source, span_bytes))
    assert [span.start for span in spans[1:]] == [span.stop for span in spans[:-1]]
    assert len(spans) > 3 or span_bytes > 150
    keep = () if kind == "txt" else ("label",)
    asked = order(source, out, columns=Columns(keep=keep))
    record = privatize(asked, span_bytes=span_bytes)
    rows = read(out)
    assert [row["text"].replace("\n", " ") for row in rows] == [
        text.replace("\n", " ") for text in expected
    ]
    assert set(rows[0]) == {"text", *keep}
    if keep:
        assert [row["label"] for row in rows] == [f"l{i % 3}" for i in range(len(TEXTS))]
    assert record == json.loads(asked.record.read_text(encoding="utf-8"))
    assert record["documents"] == len(TEXTS)
    longest = composition(asked.mechanism, asked.epsilon, 400).to_dict()  # of "w9 w9 …"
    assert record["composed"] == longest
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        f"in.{kind}", f"out.{kind}", f"out.{kind}.run.json",
    ]  # fmt: skip


@pytest.mark.slow
def test_any_number_of_workers_and_order_gives_the_same_bytes(tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl")
    outputs = []
    for name, workers, span_bytes in (("a", 1, 10**6), ("b", 2, 300), ("c", 3, 1_000)):
        out = tmp_path / f"{name}.jsonl"
        with executors.of(workers) as pool:
            privatize(order(source, out), executor=pool, span_bytes=span_bytes)
        outputs.append(out.read_bytes())
    assert outputs[0] == outputs[1] == outputs[2]


@pytest.mark.parametrize(
    ("lines", "workers", "parts"), [(99, 1, 1), (75_000, 1, 16), (150_000, 2, 32)]
)
def test_every_worker_gets_several_parts_and_a_small_corpus_is_one(
    tmp_path: Path, lines: int, workers: int, parts: int
) -> None:
    source, out = tmp_path / "texts.txt", tmp_path / "out.txt"
    source.write_text("good water\n" * lines, encoding="utf-8")
    pool = executors.Serial()
    pool.workers = workers  # in this process all the same
    steps: list[int] = []

    def see(stage: str, position: int, _: int) -> None:
        if stage.startswith("rewriting"):
            steps.append(position)

    privatize(order(source, out), executor=pool, progress=see)
    assert len(set(steps)) == parts + 1  # and the beginning


@pytest.mark.slow
def test_laws_that_workers_share_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: list[str]
) -> None:
    """Computed in parts of 512 words by two workers; here a part is the whole lexicon."""
    monkeypatch.setattr("dpcore.privatize.run.SHARED_BYTES", 0)
    source, out, stages = write(tmp_path / "in.txt"), tmp_path / "out.txt", []
    with executors.of(2) as pool:
        asked = order(source, out)
        privatize(
            asked, executor=pool, progress=lambda *stage: stages.append(stage), span_bytes=500
        )
    assert ("laws of the words", 1, 1) in stages
    assert [row["text"] for row in read(out)] == [text.replace("\n", " ") for text in expected]


def test_a_release_is_unpredictable_and_says_nothing_of_the_original(tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl")
    outputs = []
    for name in ("a", "b"):
        out = tmp_path / f"{name}.jsonl"
        record = privatize(order(source, out, seed=None))
        outputs.append(out.read_bytes())
        assert record["kind"] == "release"
        assert "seed" not in record
        printed = json.dumps(record)
        assert "original" not in printed.replace('"original": false', "").lower()
        assert hashlib.sha256(source.read_bytes()).hexdigest() not in printed
        assert {*read(out)[0]} == {"text"}
        assert b"secretword" not in out.read_bytes().lower()
    assert outputs[0] != outputs[1]


def test_an_experiment_holds_the_original_and_says_so(tmp_path: Path) -> None:
    for kind in KINDS:
        source, out = write(tmp_path / f"in.{kind}"), tmp_path / f"out.{kind}"
        record = privatize(order(source, out, seed=None, columns=Columns(original=True)))
        assert record["kind"] == "experiment"
        assert "never to be released" in record["released"][-1]
        if kind == "txt":
            lines = [row["text"].split("\t", 1) for row in read(out)]
            assert [old for _, old in lines] == [text.replace("\t", " ") for text in TEXTS]
        else:
            assert [row["original"] for row in read(out)] == TEXTS


def test_an_interrupted_run_goes_on_with_the_same_noise(tmp_path: Path) -> None:
    """Stopped in the middle, as by Ctrl-C; the finished spans stay, and the secret is the same."""
    source, out = write(tmp_path / "in.txt"), tmp_path / "out.txt"
    asked = order(source, out, seed=None)
    stages = []

    def stop(stage: str, done: int, total: int) -> None:
        stages.append(done)
        if stage.startswith("rewriting") and done > total / 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        privatize(asked, span_bytes=300, progress=stop)
    secret = (asked.folder / "secret").read_bytes()
    assert stat.S_IMODE((asked.folder / "secret").stat().st_mode) == 0o600
    assert stat.S_IMODE(asked.folder.stat().st_mode) == 0o700
    parts = {p.name: p.read_bytes() for p in asked.folder.glob("*/spans/*.part")}
    assert 3 < len(parts) < 40
    assert not out.exists()
    (spans,) = asked.folder.glob("*/spans")
    (spans / ".x.part").write_text("left by a kill", encoding="utf-8")
    privatize(asked)  # another span size than it began with changes nothing
    texts = [row["text"] for row in read(out)]
    assert texts == [text.replace("\n", " ") for text in twin(secret=secret)]
    assert (
        b"".join(parts[name] for name in sorted(parts))
        == out.read_bytes()[: sum(map(len, parts.values()))]
    )
    assert not asked.folder.exists()


def test_no_noise_serves_twice(tmp_path: Path) -> None:
    """An unfinished run is finished as it began, or deleted: never with another ε or text."""
    source, out = write(tmp_path / "in.txt"), tmp_path / "out.txt"
    asked = order(source, out, seed=None)

    def stop(stage: str, done: int, total: int) -> None:
        if stage.startswith("rewriting") and done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        privatize(asked, span_bytes=300, progress=stop)
    changes: dict[str, dict[str, Any]] = {
        "epsilon": {"epsilon": 3.0},
        "mechanism": {"mechanism": create("madlib", LEXICON)},
        "fingerprint": {"mechanism": create("tem", lexicons.cloud(300, 6, seed=1))},
        "unknown_words": {"treatment": Treatment(UnknownWordPolicy.MASK)},
        "columns": {"columns": Columns(original=True)},
        "seed": {"seed": 4},
    }
    for name, change in changes.items():
        with pytest.raises(StudyError, match=f"another.*{name}"):
            privatize(dataclasses.replace(asked, **change))
    source.write_text("another text\n" * 80, encoding="utf-8")
    with pytest.raises(StudyError, match="another input"):
        privatize(asked)
    write(source)
    (asked.folder / "secret").unlink()
    with pytest.raises(StudyError, match="lost its secret"):
        privatize(asked)


def test_a_run_that_was_deleted_and_begun_again_has_another_secret(tmp_path: Path) -> None:
    """Also in the process that remembers the first."""
    source = write(tmp_path / "in.txt")
    asked = order(source, tmp_path / "out.txt", seed=None)
    outputs = []
    for _ in range(2):
        privatize(asked)
        outputs.append(asked.out.read_bytes())
        asked.out.unlink()
        asked.record.unlink()
    assert outputs[0] != outputs[1]


@pytest.mark.parametrize("kind", ["txt", "parquet"])
def test_a_full_disk_is_one_sentence_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, expected: list[str]
) -> None:
    source, out = write(tmp_path / f"in.{kind}"), tmp_path / f"out.{kind}"
    real, left = os.replace, [2]

    def full(first: Any, second: Any, **more: Any) -> Any:
        left[0] -= str(second).endswith(".part")
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(first, second, **more)

    monkeypatch.setattr(os, "replace", full)
    asked = order(source, out)
    with pytest.raises(StudyError, match=r"the disk of .* is full; make room and run the same"):
        privatize(asked, span_bytes=300)
    monkeypatch.undo()
    assert len(list(asked.folder.glob("*/spans/*.json"))) == 2
    privatize(asked, span_bytes=300)
    assert [row["text"].replace("\n", " ") for row in read(out)] == [
        text.replace("\n", " ") for text in expected
    ]


def test_a_worker_with_another_mechanism_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(tmp_path / "in.txt")
    answers = iter(([1], [0]))  # of the run, then of its worker
    monkeypatch.setattr(run, "canary", lambda mechanism, epsilon: next(answers))
    asked = order(source, tmp_path / "out.txt", seed=11)
    with pytest.raises(StudyError, match="not that of the run"):
        privatize(asked)


def test_a_failure_names_no_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write(tmp_path / "in.txt")

    def broken(*given: Any) -> None:
        raise ValueError("secretword5")

    monkeypatch.setattr(run, "_private", broken)
    with pytest.raises(StudyError, match="begins with document 1 ") as caught:
        privatize(order(source, tmp_path / "out.txt"))
    assert "secretword" not in str(caught.value)
