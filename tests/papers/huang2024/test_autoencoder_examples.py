"""The examples of the private auto-encoder: ours, complete, and refused when damaged."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dpcore.errors import StudyError
from dpcore.learn.corpus import teaching_corpus
from dpcore.papers.huang2024 import autoencoder_examples
from dpcore.papers.huang2024.autoencoder_examples import examples_path, make_examples, read_examples
from dpcore.papers.huang2024.plans import NETWORK_ARMS
from dpcore.study.autoencoder_trial import sentences_of
from tests import needs
from tests.shell import run


def test_every_sentence_is_ours_and_has_every_noise() -> None:
    result = read_examples()
    bundled = set(sentences_of(teaching_corpus().part("test").texts, 1, 100))
    texts = [row.text for row in result.rows if row.label == ""]
    assert len(texts) == len(set(texts)) >= 10
    assert set(texts) <= bundled
    assert set(result.length_alone) == set(texts)
    noises = {(row.label, row.epsilon) for row in result.rows if row.label}
    assert len(result.rows) == len(texts) * (len(noises) + 1)
    assert {"laplace", "trlaplace", "gaussian-classical"} <= {label for label, _ in noises}
    assert result.facts["command"] == "python -m dpcore autoencoder examples"


def test_what_the_examples_show_is_so() -> None:
    """Without noise all is written back; at ε ≤ 20 no noise leaves a sentence as it was."""
    rows = read_examples().rows
    clean = [row for row in rows if not row.label]
    assert sum(row.network == row.text for row in clean) >= 0.9 * len(clean)
    paper = [row for row in rows if row.label and row.epsilon is not None and row.epsilon <= 20]
    assert paper
    assert not any(row.network == row.text for row in paper)
    lost = [row for row in rows if row.label == "laplace" and row.epsilon == 1000.0]
    assert sum(row.nearest == row.text for row in lost) >= 0.9 * len(lost)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.pop("rows"), "damaged"),
        (lambda f: f["rows"][0].pop("text"), "damaged"),
        (lambda f: f["rows"][0].update(network=3), "damaged"),
        (lambda f: f.update(rows=[]), "damaged"),
        (lambda f: f.update(length_alone=[]), "damaged"),
    ],
)
def test_a_damaged_file_is_refused(
    tmp_path: Path, change: Callable[..., Any], message: str
) -> None:
    parsed = json.loads(examples_path().read_text(encoding="utf-8"))
    change(parsed)
    path = tmp_path / "words.json"
    path.write_text(json.dumps(parsed), encoding="utf-8")
    with pytest.raises(StudyError, match=message):
        read_examples(path)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(StudyError, match=message):
        read_examples(path)
    with pytest.raises(StudyError, match="no examples"):
        read_examples(tmp_path / "absent.json")


@pytest.mark.full
def test_they_are_made_by_the_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs.torch()
    corpus = teaching_corpus()
    parts = {
        split: SimpleNamespace(texts=corpus.part(split).texts[:size])
        for split, size in (("train", 60), ("test", 400))
    }
    monkeypatch.setattr(
        autoencoder_examples, "teaching_corpus", lambda: SimpleNamespace(part=parts.get)
    )
    monkeypatch.setattr(autoencoder_examples, "NETWORK_ARMS", NETWORK_ARMS[2:5])
    training = replace(autoencoder_examples._TRAINING, epochs=1)
    monkeypatch.setattr(autoencoder_examples, "_TRAINING", training)
    out = tmp_path / "new" / "words.json"
    code, message, _ = run(capsys, "autoencoder", "examples", "--out", str(out))
    assert code == 0
    assert "examples of" in message
    first = out.read_bytes()
    result = make_examples(out)
    assert out.read_bytes() == first
    assert read_examples(out) == result
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StudyError, match="cannot write"):
        make_examples(tmp_path / "file" / "words.json")
