"""The command `autoencoder`: trained, resumed and used; refusals are one sentence."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests import needs
from tests.fixtures import Uninstall
from tests.shell import result, run, small_vectors

needs.torch()

PAGE = (Path(__file__).parents[2] / "docs/commands.md").read_text(encoding="utf-8")
NOISE = ("--mechanism", "gaussian", "--epsilon", "5")


@pytest.fixture
def vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))
    return small_vectors(tmp_path / "small.txt")


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    lines = [" ".join(f"word{i}" for i in rng.integers(40, size=5)) for _ in range(60)]
    path = tmp_path / "public.txt"
    path.write_text("\n".join(["the doctor said terrible weather", *lines]), encoding="utf-8")
    return path


def train(tmp_path: Path, texts: Path, vectors: str, *more: Any) -> tuple[Any, ...]:
    return (
        "autoencoder", "train", "--data", str(texts), "--vectors", vectors, "--hidden", "4",
        "--epochs", "2", "--out", str(tmp_path / "net.safetensors"), *more,
    )  # fmt: skip


def rewrite(tmp_path: Path, vectors: str, *more: Any) -> tuple[Any, ...]:
    file = str(tmp_path / "net.safetensors")
    return ("autoencoder", "rewrite", "--checkpoint", file, "--vectors", vectors, *more)


def promised(command: str) -> set[str]:
    row = re.search(rf"^\| `autoencoder {command}` \| `(.*?)`", PAGE, re.MULTILINE)[1]
    return set(re.sub(r" \[\{.*?\}\]", "", row).split(", "))


@pytest.mark.slow
def test_it_is_trained_and_writes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, texts: Path, vectors: str
) -> None:
    told = result(capsys, *train(tmp_path, texts, vectors))
    assert set(told) == promised("train")
    assert told["texts"] == 61
    assert len(told["epochs"]) == 2
    assert {path.name for path in tmp_path.glob("*.safetensors")} == {"net.safetensors"}
    text = ("--text", "The doctor, unheard!", "--seed", "1")
    answer = result(capsys, *rewrite(tmp_path, vectors, *NOISE, *text))
    assert set(answer) == promised("rewrite")
    assert answer["protected_words"] == answer["longest_text"] == 3
    assert answer["experiment"]
    assert re.fullmatch(r"\w+ \w+, \w+!", answer["texts"][0])
    assert answer == result(capsys, *rewrite(tmp_path, vectors, *NOISE, *text))
    fresh = [
        result(capsys, *rewrite(tmp_path, vectors, *NOISE, "--text", "word1 " * 12))["texts"]
        for _ in range(2)
    ]
    assert fresh[0] != fresh[1]  # equal with probability below 40^-12 or so


def test_a_person_is_told_the_losses_and_the_guarantee(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, texts: Path, vectors: str
) -> None:
    code, out, _ = run(capsys, *train(tmp_path, texts, vectors))
    assert code == 0
    assert out.count("nats a word") == 2
    private = tmp_path / "private.txt"
    private.write_text("word1 word2\n\nword3\n", encoding="utf-8")
    code, out, err = run(capsys, *rewrite(tmp_path, vectors, *NOISE, "--in", str(private)))
    assert code == 0
    assert [len(line.split()) for line in out.splitlines()] == [2, 0, 1]
    assert err.startswith("proved: ")
    assert "2 protected words" in err
    assert "experiment" not in err


def test_a_run_that_was_stopped_goes_on(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    texts: Path,
    vectors: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = result(capsys, *train(tmp_path, texts, vectors))
    content = (tmp_path / "net.safetensors").read_bytes()
    from dpcore.learn import training

    class Stopped(training._Loop):
        def pass_over(self: Any, number: int) -> Any:
            if number:
                raise KeyboardInterrupt
            return super().pass_over(number)

    with monkeypatch.context() as patch:
        patch.setattr(training, "_Loop", Stopped)
        assert run(capsys, *train(tmp_path, texts, vectors))[0] == 130
    assert (tmp_path / "net.unfinished.safetensors").is_file()
    again = result(capsys, *train(tmp_path, texts, vectors, "--resume"))
    assert [epoch["loss"] for epoch in again["epochs"]] == [
        epoch["loss"] for epoch in whole["epochs"]
    ]
    from dpcore.learn.checkpoint import load

    (tmp_path / "old.safetensors").write_bytes(content)
    old, new = (load(tmp_path / f"{name}.safetensors") for name in ("old", "net"))
    for name, array in old.tensors.items():
        assert np.array_equal(array, new.tensors[name])
    assert not (tmp_path / "net.unfinished.safetensors").exists()


def test_it_learns_with_noise_from_a_parquet_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, texts: Path, vectors: str
) -> None:
    table = tmp_path / "public.parquet"
    pd.DataFrame({"said": texts.read_text(encoding="utf-8").splitlines()}).to_parquet(table)
    result(capsys, *train(tmp_path, table, vectors, "--text-column", "said", *NOISE, "--norm", "1"))
    answer = result(capsys, *rewrite(tmp_path, vectors, *NOISE, "--text", "word1"))
    assert answer["parameters"]["clip_norm"] == 1.0
    code, _, err = run(capsys, *train(tmp_path, table, vectors))
    assert code == 2
    assert "the column 'text'" in err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--text", "w"), "give both"),
        (("--text", "w", "--mechanism", "tem", "--epsilon", "1"), "chooses among words"),
        (("--text", "", *NOISE), "empty"),
        (("--text", "w", "--mechanism", "gaussian", "--epsilon", "nan"), "epsilon must be"),
        (("--text", "w", *NOISE, "--device", "tpu"), "cpu, cuda or auto"),
        (("--in", "nowhere.txt", *NOISE), "cannot read nowhere.txt"),
        (("--text", "w", *NOISE, "--set", "clip_norm=2"), "other vectors"),
    ],
)
def test_what_cannot_be_is_refused(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    texts: Path,
    vectors: str,
    more: tuple[str, ...],
    message: str,
) -> None:
    assert run(capsys, *train(tmp_path, texts, vectors))[0] == 0
    code, out, err = run(capsys, *rewrite(tmp_path, vectors, *more))
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_text_without_end_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, texts: Path, vectors: str
) -> None:
    assert run(capsys, *train(tmp_path, texts, vectors))[0] == 0
    (tmp_path / "long.txt").write_text("word1 " * 2_001, encoding="utf-8")
    more = (*NOISE, "--in", str(tmp_path / "long.txt"))
    code, _, err = run(capsys, *rewrite(tmp_path, vectors, *more))
    assert code == 2
    assert "2,001 words is too long" in err


def test_what_cannot_be_trained_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, texts: Path, vectors: str
) -> None:
    for more, message in (
        (("--resume",), "leave out --resume"),
        (("--out", str(tmp_path / "net.txt")), "ends in .safetensors"),
        (("--out", str(tmp_path / "no" / "net.safetensors")), "does not exist"),
        (("--vocabulary", "1"), "two words"),
        (("--epsilon", "1"), "give both"),
    ):
        code, _, err = run(capsys, *train(tmp_path, texts, vectors, *more))
        assert code == 2
        assert message in err


def test_without_torch_it_says_how_to_install_it(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    texts: Path,
    vectors: str,
    uninstalled: Uninstall,
) -> None:
    uninstalled("torch")
    code, _, err = run(capsys, *train(tmp_path, texts, vectors))
    assert code == 2
    assert "pip install -r requirements-learn.txt" in err


@pytest.mark.slow
def test_random_vectors_can_be_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    english = tmp_path / "english.txt"
    english.write_text("a good day\na bad day\n", encoding="utf-8")
    told = result(capsys, *train(tmp_path, english, "random"))
    assert "random" in told["lexicon"]
    assert told["words"] == 4
