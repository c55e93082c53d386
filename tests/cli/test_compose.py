"""The command `compose`."""

import json
from pathlib import Path

import pytest

from dpcore.cli.main import main
from dpcore.outwards import at_most

OPTIMAL = (Path(__file__).parents[2] / "docs/optimal.md").read_text(encoding="utf-8")
COMMANDS = (Path(__file__).parents[2] / "docs/commands.md").read_text(encoding="utf-8")
TEXTS = ("--text", "my doctor said so", "--other", "my lawyer said nothing")


def test_the_losses_of_two_texts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compose", "--mechanism", "tem", "--epsilon", "1", *TEXTS, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["places"], result["different"]) == (4, 2)
    deltas = [row["delta"] for row in result["rows"]]
    assert deltas == sorted(deltas, reverse=True)
    assert deltas[-1] == 0.0
    assert 0 < result["mean_loss"] < result["least_epsilon"] < result["sum"]
    worst = result["worst"]
    assert (worst["words"], worst["delta"]) == (2, 1e-6)
    assert result["least_epsilon"] < worst["epsilon"] <= worst["sum"]


def test_a_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compose", "--mechanism", "k-ary", "--epsilon", "9", *TEXTS]) == 0
    assert "2 of 4 words differ" in capsys.readouterr().out


def test_the_best_test_is_added_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["compose", "--mechanism", "k-ary", "--epsilon", "8", *TEXTS, "--curve"]
    assert main([*arguments, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    powers = [[row["power"] for row in result[name]] for name in ("tests", "worst_tests")]
    assert all(
        two == pytest.approx(any_two, abs=2e-3) for two, any_two in zip(*powers, strict=True)
    )
    assert [row["false_positive_rate"] for row in result["tests"]] == sorted(
        row["false_positive_rate"] for row in result["tests"]
    )
    assert 0.5 < result["auc"] < 1.0
    assert result["gaussian"] > 0.0
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "The best test between the two" in printed
    assert at_most(powers[0][2], 3) in printed
    assert main(arguments[:-1]) == 0
    assert "best test" not in capsys.readouterr().out


def test_any_two_texts_need_not_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["compose", "--mechanism", "gaussian", "--epsilon", "8", "--differing", "25"]
    assert main([*arguments, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    worst = result["worst"]
    assert worst["method"] == "gaussian"
    least = at_most(worst["epsilon"])
    assert f"ε = {least} for δ = 1e-6; the sum is {worst['sum']:g}" in OPTIMAL
    assert "places" not in result
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert said == f"Of any two texts that differ in 25 words: {worst['statement']}\n"


def test_a_bag_says_what_shuffling_adds(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["compose", "--mechanism", "k-ary", "--epsilon", "7.92", "--differing", "12"]
    assert main([*arguments, "--bag", "10000000", "--json"]) == 0
    bag = json.loads(capsys.readouterr().out)["bag"]
    assert (bag["bag"], bag["words"]) == (10_000_000, 12)
    assert at_most(bag["epsilon"]) in COMMANDS
    assert bag["epsilon"] < 0.01 * bag["alone"]
    assert main([*arguments, "--bag", "11"]) == 2  # fewer than those that are in it


def test_more_words_may_differ_than_in_the_two_texts(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["compose", "--mechanism", "k-ary", "--epsilon", "8", *TEXTS, "--differing", "25"]
    assert main([*arguments, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["different"], result["worst"]["words"]) == (2, 25)
    assert result["worst"]["epsilon"] < result["worst"]["sum"] == 200


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--differing"),
        (["--text", "my doctor"], "give both"),
        (["--differing", "0"], "--differing"),
        (["--text", "my doctor", "--other", "my"], "same number of words"),
        (["--text", "my doctor", "--other", "my doctor"], "nothing to tell apart"),
        (["--text", "my doctor", "--other", "my xqzyt"], "not among"),
        (["--text", "my doctor", "--other", "my nurse", "--delta", "2"], "delta"),
        (["--text", "", "--other", ""], "text"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compose", "--mechanism", "tem", "--epsilon", "1", *arguments]) == 2
    output = capsys.readouterr()
    assert message in output.err
    assert output.err.count("\n") == 1
