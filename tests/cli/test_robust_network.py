"""`robust train`, and its checkpoint in `robust certify` and `robust attack`."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import needs
from tests.shell import result, run, small_vectors

needs.torch()

QUICK = ("--epochs", "2", "--hidden", "4", "--threads", "1", "--seed", "3")
ATTACK = ("--mechanism", "tem", "--epsilon", "1", "--share", "1")


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> str:
    return small_vectors(tmp_path_factory.mktemp("vectors") / "small.txt")


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table whose label says whether the weather or the doctor was terrible."""
    rng = np.random.default_rng(0)
    rows = ["text,label"]
    for i in range(80):
        word = ("weather", "doctor")[i % 2]
        rest = " ".join(f"word{k}" for k in rng.integers(50, size=4))
        rows.append(f"{word} {rest} terrible,{('rain', 'health')[i % 2]}")
    path = tmp_path_factory.mktemp("data") / "reviews.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    return str(path)


def train(
    capsys: pytest.CaptureFixture[str], vectors: str, out: Path, *more: Any
) -> dict[str, Any]:
    return result(capsys, "robust", "train", "--lexicon", vectors, "--out", str(out), *QUICK, *more)


@pytest.mark.slow
def test_a_trained_network_is_certified_and_attacked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, vectors: str, reviews: str
) -> None:
    out = tmp_path / "net.safetensors"
    trained = train(
        capsys, vectors, out, "--data", reviews, "--training", "ibp", "--neighbours", "2"
    )
    assert [row["number"] for row in trained["rows"]] == [0, 1]
    assert 0 <= trained["certified_accuracy"] <= trained["clean_accuracy"] <= 1
    assert trained["settings"]["classes"] == ["health", "rain"]
    assert [path.name for path in tmp_path.iterdir()] == [out.name]
    told = result(
        capsys, "robust", "certify", "--checkpoint", str(out), "--lexicon", vectors,
        "--data", reviews, "--seed", "3", "--neighbours", "2",
    )  # fmt: skip
    assert told["rows"][0]["clean_accuracy"] == trained["clean_accuracy"]
    assert told["rows"][0]["certified_accuracy"] == trained["certified_accuracy"]
    options = (
        "robust", "attack", "--checkpoint", str(out), "--lexicon", vectors, *ATTACK,
        "--text", "the weather was terrible",
    )  # fmt: skip
    attacked = result(capsys, *options)
    assert {row["old"] for row in attacked["rows"][1:]} <= {"weather", "terrible"}
    code, printed, _ = run(capsys, *options)
    assert code == 0
    assert "read as rain" in printed or "read as health" in printed


def test_one_seed_has_one_checkpoint_and_resumes_to_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, vectors: str, reviews: str
) -> None:
    first, second = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    options = ("--data", reviews, "--training", "augmented", "--mechanism", "madlib")
    trained = train(capsys, vectors, first, *options, "--epsilon", "5")
    again = train(capsys, vectors, second, *options, "--epsilon", "5")
    assert trained["settings"]["noise"] == "madlib.v1 at epsilon 5.0"
    assert [row["loss"] for row in trained["rows"]] == [row["loss"] for row in again["rows"]]
    from dpcore.learn.checkpoint import load

    before, after = load(first), load(second)
    assert all(np.array_equal(before.tensors[name], after.tensors[name]) for name in before.tensors)
    code, _, message = run(
        capsys, "robust", "train", "--lexicon", vectors, "--out", str(first), "--resume",
        "--data", reviews,
    )  # fmt: skip
    assert code != 0
    assert "no training was begun" in message


def test_the_teaching_corpus_is_read_where_no_data_are_given(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, vectors: str
) -> None:
    out = tmp_path / "net.safetensors"
    train(capsys, vectors, out, "--training", "normal", "--labels", "topic", "--words", "5")
    told = result(
        capsys, "robust", "certify", "--checkpoint", str(out), "--lexicon", vectors, "--words", "5"
    )
    assert told["rows"][0]["texts"] == 432
    assert told["rows"][0]["training"] == "normal"


def test_an_entailment_network_reads_a_premise(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, vectors: str
) -> None:
    data, out = tmp_path / "pairs.csv", tmp_path / "net.safetensors"
    rows = ["premise,hypothesis,label"]
    rows += [f"word{i} doctor,weather word{i},{('yes', 'no')[i % 2]}" for i in range(40)]
    data.write_text("\n".join(rows), encoding="utf-8")
    lists = tmp_path / "lists.json"
    lists.write_text(json.dumps({"weather": ["terrible", "nowhere"]}), encoding="utf-8")
    more = ("--network", "entailment", "--data", str(data), "--substitutions", str(lists))
    trained = train(capsys, vectors, out, *more)
    assert trained["texts"] == 4
    options = (
        "robust", "attack", "--checkpoint", str(out), "--lexicon", vectors, *ATTACK,
        "--text", "weather doctor",
    )  # fmt: skip
    assert run(capsys, *options)[0] != 0
    assert result(capsys, *options, "--premise", "a terrible doctor")["rows"]
    assert "no word of the lexicon" in run(capsys, *options, "--premise", "zzz")[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--network", "lstm"), "'lstm' is not one of 'cnn', 'entailment'"),
        (("--training", "hard"), "'hard' is not one of 'normal', 'augmented', 'ibp'"),
        (("--training", "augmented"), "give both for --training augmented"),
        (("--mechanism", "tem", "--epsilon", "1"), "give both for --training augmented"),
        (("--network", "entailment"), "the teaching corpus has no such pairs"),
        (("--epochs", "0"), "1 to 100,000 epochs"),
        (("--hidden", "0"), "vectors and layers"),
        (("--words", "0"), "Invalid value for '--words'"),
        (("--device", "tpu"), "cpu, cuda or auto"),
        (("--resume",), "no training was begun"),
        (("--data", "nowhere.csv"), "cannot be read"),
        (("--data", "nowhere.parquet"), "no parquet file with the columns text, label"),
        (("--substitutions", "nowhere.json"), "no list of substitutions"),
        (("--neighbours", "0"), "a word has 1 to"),
    ],
)
def test_wrong_input_is_refused_in_a_sentence(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    vectors: str,
    more: tuple[str, ...],
    message: str,
) -> None:
    options = ("robust", "train", "--lexicon", vectors, "--out", str(tmp_path / "n.safetensors"))
    code, out, err = run(capsys, *options, *QUICK, *more)
    assert code != 0
    assert not out
    assert err.count("\n") == 1
    assert message in err


def test_another_name_and_another_network_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, vectors: str, reviews: str
) -> None:
    code, _, err = run(capsys, "robust", "train", "--lexicon", vectors, "--out", "net.bin")
    assert code != 0
    assert "ends in .safetensors" in err
    out = tmp_path / "net.safetensors"
    train(capsys, vectors, out, "--data", reviews, "--training", "normal")
    code, _, err = run(
        capsys, "robust", "certify", "--checkpoint", str(out), "--lexicon", vectors,
        "--labels", "topic",
    )  # fmt: skip
    assert code != 0
    assert "give data of its kind" in err
    code, _, err = run(
        capsys, "robust", "attack", "--text", "weather", "--premise", "doctor", *ATTACK,
        "--lexicon", vectors,
    )  # fmt: skip
    assert code != 0
    assert "--premise is read by an entailment network" in err
