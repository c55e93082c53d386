"""Commands with noise that is certified on the lexicon, where no certificate exists yet."""

import json
import shlex
from pathlib import Path

import pytest

from dpcore.cli.main import main
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms import certificate
from dpcore.mechanisms.exponential import optimal
from dpcore.mechanisms.exponential.optimal import Optimal
from tests.mechanisms import lexicons
from tests.shell import result, run

EPSILON = "2.5"


@pytest.fixture
def vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A lexicon that is too large for a certificate at first use, and has none."""
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))
    for module in (certificate, optimal):
        monkeypatch.setattr(module, "CERTIFIED_AT_ONCE_WORDS", 10)
    monkeypatch.setattr("dpcore.cli.construction.CERTIFIED_AT_ONCE_WORDS", 10)
    monkeypatch.setattr("dpcore.attack.bounds.least_distance.CERTIFIED_AT_ONCE_WORDS", 10)
    return _written(tmp_path / "small.txt")


def _written(path: Path) -> str:
    rows = lexicons.cloud(60, 6, 4).vectors
    lines = [f"w{i} " + " ".join(f"{x:.6f}" for x in row) for i, row in enumerate(rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def large(vectors: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same lexicon, too large for a certificate by a command."""
    monkeypatch.setattr(Optimal, "certified_by_command", 10)
    return vectors


def test_the_meter_computes_the_weights_of_few_words(
    capsys: pytest.CaptureFixture[str], vectors: str
) -> None:
    command = ["meter", "--epsilon", EPSILON, "--lexicon", vectors]
    answer = result(capsys, *command)
    (row,) = answer["rows"]
    assert row["high"] - row["low"] < 1e-4
    assert "calibrate" not in answer
    assert "calibrate" not in run(capsys, *command)[2]


def test_the_meter_names_the_command_for_many_words(
    capsys: pytest.CaptureFixture[str], large: str
) -> None:
    command = ["meter", "--epsilon", EPSILON, "--lexicon", large]
    answer = result(capsys, *command)
    (weak,) = answer["rows"]
    (calibrate,) = answer["calibrate"]
    assert calibrate.startswith("python -m dpcore calibrate --mechanism optimal")
    _, out, err = run(capsys, *command)
    assert calibrate in err
    assert "the best mechanism" not in out  # not without its weights
    assert main(shlex.split(calibrate)[3:]) == 0
    capsys.readouterr()
    again = result(capsys, *command)
    assert "calibrate" not in again
    assert again["rows"][0]["high"] - again["rows"][0]["low"] < 1e-4
    assert again["rows"][0]["low"] > weak["low"]


def test_local_privacy_needs_no_weights(capsys: pytest.CaptureFixture[str], large: str) -> None:
    answer = result(capsys, "meter", "--local", "--epsilon", "2", "--lexicon", large)
    assert "calibrate" not in answer
    assert not Optimal(lexicon=load(large)).is_known


def test_distances_of_the_time_before_the_weights_are_not_kept(
    capsys: pytest.CaptureFixture[str], large: str
) -> None:
    command = ["meter", "--distance", "--epsilon", EPSILON, "--lexicon", large]
    weak = result(capsys, *command)
    (calibrate,) = weak["calibrate"]
    assert main(shlex.split(calibrate)[3:]) == 0
    capsys.readouterr()
    assert result(capsys, *command)["rows"][0]["high"] < weak["rows"][0]["high"]


def test_backwards_knows_the_bounds_of_few_words(
    capsys: pytest.CaptureFixture[str], vectors: str
) -> None:
    (row,) = result(capsys, "meter", "--guessed-at-most", "0.5", "--lexicon", vectors)["rows"]
    assert row["high"] <= 0.5


@pytest.mark.parametrize("name", ["optimal", "tem-calibrated"])
def test_a_text_is_rewritten_with_a_certificate(
    name: str, capsys: pytest.CaptureFixture[str], vectors: str
) -> None:
    command = ["rewrite", "--mechanism", name, "--epsilon", EPSILON, "--text", "w1 w2", "--seed"]
    answer = result(capsys, *command, "1", "--lexicon", vectors)
    assert "calibrate" not in answer
    assert "no certificate" not in json.dumps(answer["guarantee"])


def test_a_text_is_rewritten_without_one_and_says_so(
    capsys: pytest.CaptureFixture[str], large: str
) -> None:
    command = ["rewrite", "--mechanism", "optimal", "--epsilon", EPSILON, "--text", "w1 w2"]
    answer = result(capsys, *command, "--lexicon", large)
    (calibrate,) = answer["calibrate"]
    assert calibrate in run(capsys, *command, "--lexicon", large)[2]


def test_nothing_is_computed_where_it_cannot_be_kept(
    capsys: pytest.CaptureFixture[str],
    vectors: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Other processes that draw for this command would not have the certificate."""
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    monkeypatch.setenv("DPCORE_CACHE", str(blocked))
    answer = result(capsys, "meter", "--epsilon", EPSILON, "--lexicon", vectors)
    assert answer["calibrate"]


def test_refused_values_are_refused_before_the_work(
    capsys: pytest.CaptureFixture[str], vectors: str
) -> None:
    assert run(capsys, "meter", "--epsilon", "0", "--lexicon", vectors)[0] == 2
    assert run(capsys, "meter", "--epsilon", "1", "--delta", ".1", "--lexicon", vectors)[0] == 2
    assert run(capsys, "meter", "--guessed-at-most", "2", "--lexicon", vectors)[0] == 2
    assert not Optimal(lexicon=load(vectors)).is_known


def test_the_list_of_mechanisms_names_the_commands(
    capsys: pytest.CaptureFixture[str], vectors: str
) -> None:
    commands = result(capsys, "mechanisms", "--lexicon", vectors)["calibrate"]
    assert {command.split()[5] for command in commands} == {
        "optimal",
        "tem-calibrated",
        "truncated-gumbel-repaired",
    }
