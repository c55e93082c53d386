"""The command `attack` prints what `compare` finds."""

import json

import numpy as np
import pytest

from dpcore import cli
from dpcore.attack.compare import compare
from dpcore.lexicon.catalogue import load
from dpcore.measure.pair import Pair
from dpcore.mechanisms.registry import create
from dpcore.mechanisms.shared import SharedDirections


def test_json_rows_are_those_of_compare(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["attack", "--words", "monday,garage", "--mechanism", "tem", "--epsilon", "2,3"]
    assert cli.main([*arguments, "--runs", "100", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    lexicon = load()
    pair = Pair.of(lexicon, "monday", "garage")
    epsilons = np.array([2.0, 3.0])
    found = compare(
        create("tem", lexicon), pair, epsilons, SharedDirections(), runs=100, seed=0
    )  # fmt: skip
    assert answer["rows"] == found.rows()
    assert answer["distance"] == pair.distance
    assert answer["selection"]["words"] == 2


def test_the_table_names_both_words(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["attack", "--words", "monday,garage", "--mechanism", "tem", "--epsilon", "3"]
    assert cli.main(arguments) == 0
    said = capsys.readouterr().out
    assert said.count("\n      ") >= 2
    assert "monday and garage: 7.4" in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("monday", "two different words, got 1"),
        ("monday,monday", "two different words, got 1"),
        ("monday,garage,city", "got 3"),
        ("monday,qqzzyyxx", "qqzzyyxx"),
        ("", "empty"),
    ],
)
def test_refusals(capsys: pytest.CaptureFixture[str], words: str, message: str) -> None:
    assert cli.main(["attack", "--words", words, "--mechanism", "tem", "--epsilon", "3"]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said
