"""The command `compose`."""

import json

import pytest

from dpcore.cli.main import main

TEXTS = ("--text", "my doctor said so", "--other", "my lawyer said nothing")


def test_the_losses_of_two_texts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compose", "--mechanism", "tem", "--epsilon", "1", *TEXTS, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["places"], result["different"]) == (4, 2)
    deltas = [row["delta"] for row in result["rows"]]
    assert deltas == sorted(deltas, reverse=True)
    assert deltas[-1] == 0.0
    assert 0 < result["mean_loss"] < result["least_epsilon"] < result["sum"]


def test_a_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compose", "--mechanism", "k-ary", "--epsilon", "9", *TEXTS]) == 0
    assert "2 of 4 words differ" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
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
