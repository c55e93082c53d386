"""The model adept of the command `autoencoder`: training, use, and refusals."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from dpcore.attack.latent import read_examples
from dpcore.cli import main as cli
from dpcore.papers.habernal2021 import plans as adept2021_examples
from dpcore.papers.habernal2021.plans import own_utterances
from tests import needs
from tests.learn.adept_cases import TEXTS, shared
from tests.shell import result

needs.torch()

PAGE = (Path(__file__).parents[2] / "docs/commands.md").read_text(encoding="utf-8")
UTTERANCE = "show me a train to oslo today"


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "public.txt"
    path.write_text("\n".join([*TEXTS, "", "..."]), encoding="utf-8")
    return path


def train(tmp_path: Path, texts: Path, *more: Any) -> tuple[Any, ...]:
    return (
        "autoencoder", "train", "--model", "adept", "--data", str(texts), "--hidden", "12",
        "--latent", "5", "--longest", "8", "--epochs", "2", "--rate", "0.02",
        "--out", str(tmp_path / "net.safetensors"), *more,
    )  # fmt: skip


def rewrite(tmp_path: Path, *more: Any) -> tuple[Any, ...]:
    file = str(tmp_path / "net.safetensors")
    return ("autoencoder", "rewrite", "--checkpoint", file, *more)


def promised(command: str) -> set[str]:
    row = re.search(rf"^\| `autoencoder {command}`, adept \| `(.*?)`", PAGE, re.MULTILINE)[1]
    return set(re.sub(r" \[\{.*?\}\]", "", row).split(", "))


def refused(capsys: pytest.CaptureFixture[str], *arguments: Any) -> str:
    assert cli.main(list(arguments)) == 2
    return capsys.readouterr().err


def test_it_is_trained_and_rewrites(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, texts: Path
) -> None:
    told = result(capsys, *train(tmp_path, texts))
    assert set(told) == promised("train")
    assert told["texts"] == len(TEXTS)  # a line without a word is left out
    assert len(told["epochs"]) == 2
    assert {path.name for path in tmp_path.glob("*.safetensors")} == {"net.safetensors"}
    noise = ("--mechanism", "adept", "--epsilon", "4", "--seed", "1")
    answer = result(capsys, *rewrite(tmp_path, *noise, "--text", UTTERANCE))
    assert set(answer) == promised("rewrite")
    assert answer["true_epsilon"] == pytest.approx(4 * 5**0.5)
    assert (answer["status"], answer["experiment"]) == ("refuted", True)
    assert answer == result(capsys, *rewrite(tmp_path, *noise, "--text", UTTERANCE))
    assert cli.main(list(rewrite(tmp_path, *noise[:4], "--text", UTTERANCE))) == 0
    printed = capsys.readouterr()
    assert "√5 times as much, 8.944, is true" in printed.err
    assert "says nothing of the texts" in printed.err
    assert "fixed seed" not in printed.err


def test_each_line_is_rewritten_and_empty_ones_stay(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, texts: Path
) -> None:
    assert cli.main(list(train(tmp_path, texts))) == 0
    capsys.readouterr()
    private = tmp_path / "private.txt"
    private.write_text(f"{UTTERANCE}\n\n...\nflights", encoding="utf-8")
    noise = ("--mechanism", "l2-laplace", "--epsilon", "1e6", "--in", str(private))
    answer = result(capsys, *rewrite(tmp_path, *noise))
    assert [bool(text) for text in answer["texts"]][1:3] == [False, False]
    assert len(answer["texts"]) == 4
    assert "stays empty, and that is seen" in answer["statement"]
    assert (answer["status"], answer["true_epsilon"]) == ("proved", 1e6)
    assert answer["parameters"] == {"clip_norm": 1.0, "latent": 5}


def test_refusals(capsys: pytest.CaptureFixture[str], tmp_path: Path, texts: Path) -> None:
    for name, value in (("vectors", "random"), ("norm", "1"), ("mechanism", "tem")):
        assert f"leave out --{name}" in refused(capsys, *train(tmp_path, texts, f"--{name}", value))
    told = refused(capsys, *train(tmp_path, texts, "--latent", "0"))
    assert "latent must be a whole number" in told
    assert cli.main(list(train(tmp_path, texts))) == 0
    capsys.readouterr()
    text = ("--text", UTTERANCE)
    for more, message in (
        (("--epsilon", "1"), "give both"),
        (("--mechanism", "tem", "--epsilon", "1"), "one of adept, adept-l1, laplace, l2-laplace"),
        (("--mechanism", "adept", "--epsilon", "much"), "epsilon must be a number, got 'much'"),
        (("--mechanism", "adept", "--epsilon", "-1"), "finite number > 0"),
    ):
        assert message in refused(capsys, *rewrite(tmp_path, *more, *text))
    (tmp_path / "net.safetensors").write_bytes(b"no network")
    noise = ("--mechanism", "adept", "--epsilon", "1")
    assert "damaged" in refused(capsys, *rewrite(tmp_path, *noise, *text))
    wanted = ("autoencoder", "examples", "--model", "adept")
    assert "give --data" in refused(capsys, *wanted)


@pytest.mark.slow
def test_examples_are_written_and_hide_what_stands_in_the_corpus(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = shared()[0]
    utterances = TEXTS[:10]

    class Corpus:
        all_texts = (*TEXTS[5:], *model.decode(model.latents(utterances[:1])))

    monkeypatch.setattr(adept2021_examples, "trained", lambda *_: (Corpus, model))
    monkeypatch.setattr(adept2021_examples, "own_utterances", lambda: utterances)
    (tmp_path / "atis.parquet").write_bytes(b"any")
    out = tmp_path / "new" / "adept.json"
    command = ("autoencoder", "examples", "--model", "adept", "--data", str(tmp_path))
    told = result(capsys, *command, "--out", str(out))
    examples = read_examples(out)
    assert examples.texts == tuple(text for text in utterances if text not in Corpus.all_texts)
    assert told["texts"] == len(examples.texts) <= 5
    assert {rewrite.in_corpus for rewrite in examples.rewrites} == {True, False}
    for rewrite in examples.rewrites:
        assert rewrite.output == "" if rewrite.in_corpus else rewrite.output not in Corpus.all_texts
    assert json.loads(out.read_text(encoding="utf-8"))["facts"] == examples.facts


def test_our_utterances_are_distinct_and_short() -> None:
    utterances = own_utterances()
    assert len(set(utterances)) == len(utterances) == 60
    assert max(len(text.split()) for text in utterances) <= 15
