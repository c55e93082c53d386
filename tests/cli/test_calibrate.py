"""The command that computes certificates."""

import json
from pathlib import Path

import numpy as np
import pytest

from dpcore.cli.main import main
from dpcore.mechanisms.certificate import known_certificate
from tests.mechanisms import lexicons


@pytest.fixture
def vectors(tmp_path: Path) -> str:
    rows = lexicons.cloud(50, 4).vectors
    path = tmp_path / "small.txt"
    lines = [f"w{i} " + " ".join(f"{x:.6f}" for x in row) for i, row in enumerate(rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", ["tem-calibrated", "truncated-gumbel-repaired"])
def test_it_prints_keeps_and_writes(
    name: str, vectors: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "certificates.json"
    command = ["calibrate", "--mechanism", name, "--lexicon", vectors]
    assert main([*command, "--again", "--file", str(file), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    rows = [[row["epsilon"], row["strength"]] for row in answer["certificate"]]
    kept = known_certificate(answer["fingerprint"], answer["mechanism"], answer["parameters"])
    assert kept is not None
    assert kept.to_json() == rows
    assert json.loads(file.read_text(encoding="utf-8"))[0]["rows"] == rows
    assert np.all(np.diff(rows, axis=0) > 0)
    assert main(command) == 0
    assert f"{rows[-1][0]:.5g}" in capsys.readouterr().out


def test_other_mechanisms_have_none(vectors: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "--mechanism", "madlib", "--lexicon", vectors]) == 2
    assert "madlib has no certificate" in capsys.readouterr().err
