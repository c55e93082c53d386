"""The command `tradeoff`, over a small vector file."""

import json
import math
from pathlib import Path

import pytest

from dpcore.attack.trade.ground import LEAKAGES, UTILITIES
from dpcore.cli.main import main
from dpcore.lexicon.catalogue import load
from tests.shell import small_vectors


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> str:
    return small_vectors(tmp_path_factory.mktemp("lexicon") / "small.vec")


def few(vectors: str) -> list[str]:
    asked = ["--outputs", "100", "--pairs", "2", "--mechanism", "k-ary", "--epsilon", "k-ary=2,9"]
    return ["tradeoff", *asked, "--lexicon", vectors]


def test_it_prints_what_leaks_and_what_is_left(
    capsys: pytest.CaptureFixture[str], vectors: str
) -> None:
    assert main([*few(vectors), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    lexicon = load(vectors)
    assert result["fingerprint"] == lexicon.fingerprint
    assert result["mechanisms"] == [{"mechanism": "k-ary.v1", "parameters": {}}]
    rows = {(row["epsilon"], row["quantity"]): row for row in result["rows"]}
    assert set(rows) == {(e, name) for e in (2, 9) for name in LEAKAGES + UTILITIES}
    stays = 1 / (1 + (len(lexicon) - 1) * math.exp(-9))
    assert rows[9, "kept"]["value"] == pytest.approx(stays)
    assert rows[9, "word"]["attacker"] == "bayes"


def test_optimal_stands_beside_its_bound(capsys: pytest.CaptureFixture[str], vectors: str) -> None:
    asked = ["tradeoff", "--outputs", "100", "--pairs", "2", "--lexicon", vectors]
    command = [*asked, "--mechanism", "optimal", "--epsilon", "0.5,8"]
    assert main([*command, "--json"]) == 0
    below, above = json.loads(capsys.readouterr().out)["bounds"]
    assert below["kept"] < 0.999 * below["bound"]
    assert above["kept"] == pytest.approx(above["bound"], rel=1e-4)
    assert main(command) == 0
    out = capsys.readouterr().out
    assert out.count("below the critical ε of the lexicon another mechanism may keep more") == 1
    assert out.count("here it is optimal") == 1


def test_a_page_with_the_picture(
    capsys: pytest.CaptureFixture[str], vectors: str, tmp_path: Path
) -> None:
    page = tmp_path / "trade.html"
    more = ("--mechanism", "madlib", "--epsilon", "madlib=0.1,1,10,100", "--across", "kind")
    assert main([*few(vectors), *more, "--figure", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert text.count("plotly-graph-div") == 5  # the trade-off, and two lines for each meaning of ε
    assert "No mechanism is above it." in text
    assert "this many times the least: k-ary 1 to 1.58." in text
    assert "madlib (he says what came out: at least this leaks)" in capsys.readouterr().out
    assert main([*few(vectors), "--figure", str(page / "in-a-file.html")]) == 2
