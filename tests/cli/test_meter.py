"""The command `meter`, on a small lexicon."""

import json
from pathlib import Path
from typing import Any

import pytest

from dpcore.attack.bounds.least_distance import least_distance
from dpcore.attack.bounds.meter import meter
from dpcore.cli.main import main
from dpcore.lexicon.catalogue import load
from tests.shell import small_vectors


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """Return the JSON that the command prints."""
    assert main(["meter", *arguments, "--json"]) == 0
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def test_it_prints_what_the_engine_computes(capsys: pytest.CaptureFixture[str]) -> None:
    result = printed(capsys, "--epsilon", "1,1.25,1.5")
    assert result["fingerprint"] == load(None).fingerprint
    assert result["meaning"] == "euclidean"
    assert result["rows"] == meter(load(None), [1, 1.25, 1.5]).to_pandas().to_dict("records")
    assert [round(row["low"], 4) for row in result["rows"]] == [0.0731, 0.34, 0.7686]
    assert all(0 <= row["high"] - row["low"] < 3e-6 for row in result["rows"])


def test_local_privacy_and_backwards(capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = printed(capsys, "--local", "--guessed-at-most", "0.05")["rows"]
    assert row["high"] <= 0.05 < row["high"] * 1.001
    (again,) = printed(capsys, "--local", "--epsilon", repr(row["epsilon"]))["rows"]
    assert again == row
    (metric,) = printed(capsys, "--guessed-at-most", "0.05")["rows"]
    assert metric["high"] <= 0.05


def test_how_near_outputs_can_be(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    vectors = small_vectors(tmp_path / "small.vec")
    for local in (True, False):
        options = ["--local"] * local
        result = printed(capsys, "--distance", "--epsilon", "1,4", "--lexicon", vectors, *options)
        expected = least_distance(load(vectors), [1, 4], local=local)
        assert result["rows"] == expected.to_pandas().to_dict("records")
        assert result["meaning"] == ("local" if local else "euclidean")
    assert main(["meter", "--distance", "--epsilon", "1", "--lexicon", vectors]) == 0
    assert "at least" in capsys.readouterr().out


def test_a_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["meter", "--epsilon", "2", "--prior", "doctor=0.5,nurse=0.5", "--local"]) == 0
    lines = capsys.readouterr().out
    assert "0.880797" in lines  # e^2/(e^2 + 1)
    assert "0.500000" in lines


def test_optimal_is_called_best_on_its_conditions(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    vectors = small_vectors(tmp_path / "small.vec")
    epsilons = [0.5, 8.0]
    assert main(["meter", "--epsilon", "0.5,8", "--lexicon", vectors]) == 0
    out = capsys.readouterr().out
    assert "equally likely and ε is at or above the critical" in out
    below, above = meter(load(vectors), epsilons).rows
    assert below.attained_by == "optimal"
    reached = 100 * below.low / below.high
    assert reached < 99.9
    said = float(out.split("At ε = 0.5 it reaches ")[1].split(" %")[0])
    assert said <= reached < said + 0.1
    assert above.low > 0.9999 * above.high
    assert "At ε = 8" not in out
    assert main(["meter", "--local", "--epsilon", "8", "--lexicon", vectors]) == 0
    assert "optimal" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epsilon", "0"], "finite number > 0"),
        (["--epsilon", "abc"], "finite number > 0"),
        (["--epsilon", "1", "--guessed-at-most", ".1"], "one of"),
        ([], "--guessed-at-most"),
        (["--epsilon", "1", "--delta", "0.1"], "local"),
        (["--guessed-at-most", "2"], "share"),
        (["--guessed-at-most", "0.00001", "--local"], "no ε guarantees"),
        (["--epsilon", "1", "--prior", "nosuchword=1"], "nosuchword"),
        (["--epsilon", "1", "--distance", "--delta", "0.1"], "--distance goes with"),
        (["--guessed-at-most", ".1", "--distance"], "--distance goes with"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["meter", *arguments]) == 2
    output = capsys.readouterr()
    assert not output.out
    assert message in output.err
    assert output.err.count("\n") == 1
