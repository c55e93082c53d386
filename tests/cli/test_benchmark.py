"""The command `benchmark`: on a small vector file from end to end, and on its records."""

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcore.attack.output.prior import parse_prior
from dpcore.cli.main import main
from dpcore.lexicon.catalogue import DEFAULT_NAME, load
from dpcore.papers.ours.benchmark.board import GUESSED, MEMBERSHIP, NEAR, PROMISED
from dpcore.papers.ours.benchmark.cells import LEVELS, LOCAL, METRIC, QUICK
from dpcore.papers.ours.benchmark.record import STUDIES
from tests.shell import small_vectors

ASKED = ("k-ary", "tem", "gaussian", "trlaplace")


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> str:
    return small_vectors(tmp_path_factory.mktemp("lexicon") / "small.vec")


def few(vectors: str) -> list[str]:
    chosen = [part for name in ASKED for part in ("--mechanism", name)]
    # Who takes all for alike: most of these words were never counted.
    return ["benchmark", "--quick", "--stranger", "equal", "--lexicon", vectors, *chosen]


@pytest.fixture(scope="module")
def printed(vectors: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """JSON that one run prints, and the folder of finished parts and boards."""
    folder = tmp_path_factory.mktemp("run")
    out = folder / "answer.json"
    assert main([*few(vectors), "--work", str(folder / "work"), "--out", str(out)]) == 0
    return json.loads(out.read_text(encoding="utf-8")), folder


def lines(board: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {line["label"]: line for line in board["lines"]}


def boards(result: dict[str, Any], sense: str, bounds: str = "") -> dict[float, dict[str, Any]]:
    return {
        board["level"]: board
        for board in result["boards"]
        if (board["sense"], board["bounds"]) == (sense, bounds)
    }


@pytest.mark.slow
def test_what_is_guessed_is_the_level(vectors: str, printed: tuple[dict[str, Any], Path]) -> None:
    result, _ = printed
    n = len(load(vectors))
    for level, board in boards(result, GUESSED).items():
        there = {name: line for name, line in lines(board).items() if not line["why"]}
        assert {"k-ary", "tem"} <= set(there)
        for line in there.values():
            mean, low, high = line["guessed"]
            assert low <= mean <= high
            assert low <= (1 + NEAR) * level
            assert high >= (1 - NEAR) * level
        odds = math.exp(there["k-ary"]["epsilon"][0])
        assert odds / (odds + n - 1) == pytest.approx(level, rel=0.02)
        assert there["k-ary"]["guessed"][0] == pytest.approx(level, rel=0.02)
        assert there["k-ary"]["waste"] == pytest.approx(1.0, rel=0.02)


@pytest.mark.slow
def test_who_knows_counts_guesses_as_many_content_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = load(DEFAULT_NAME).words[3_000:3_300]  # none of them is a tenth of all of them
    rows = np.random.default_rng(0).standard_normal((300, 8))
    there = tmp_path / "counted.vec"
    vectors = [" ".join([w, *(f"{x:.4f}" for x in v)]) for w, v in zip(words, rows, strict=True)]
    there.write_text("\n".join(["300 8", *vectors, ""]), encoding="utf-8")
    asked = ("k-ary", "custext")
    chosen = [part for name in asked for part in ("--mechanism", name)]
    chosen += ["--lexicon", str(there)]
    assert main(["benchmark", "--quick", *chosen, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["stranger"] == "counts"
    prior = parse_prior(load(str(there)), "counts").probability
    found = boards(result, GUESSED)
    assert set(found) == set(LEVELS)
    for level, board in found.items():
        line = lines(board)["k-ary"]
        odds = math.exp(line["epsilon"][0])
        # Of each output: the word itself, or the most common one, whichever is likelier.
        guessed = np.maximum(odds * prior, prior.max()).sum() / (odds + prior.size - 1)
        assert line["guessed"][0] == pytest.approx(guessed, rel=1e-6)
        assert guessed == pytest.approx(level, rel=0.03)
        # Where some words are more common than others, not all that ε permits can be had.
        assert 0.98 < line["waste"] < 1.15


def test_every_mechanism_is_on_every_board_or_says_why(
    printed: tuple[dict[str, Any], Path],
) -> None:
    result, _ = printed
    assert [board["sense"] for board in result["boards"]].count(MEMBERSHIP) == 3
    for board in result["boards"]:
        wanted = set(ASKED)
        if board["sense"] == PROMISED:
            wanted = {name for name in wanted if lines(board).get(name)}
            assert {line["bounds"] for line in board["lines"]} == {board["bounds"]}
        assert set(lines(board)) == wanted
        for line in board["lines"]:
            assert bool(line["why"]) != bool(line["left"])
            assert line["status"]
            assert line["reason"]
    assert set(boards(result, PROMISED, METRIC)) | set(boards(result, PROMISED, LOCAL)) == {*LEVELS}


def test_a_refuted_guarantee_is_none(printed: tuple[dict[str, Any], Path]) -> None:
    result, _ = printed
    for board in result["boards"]:
        line = lines(board).get("trlaplace")
        if line is not None:
            assert line["status"] == "refuted"
            assert line["promised"] is None
            assert line["waste"] is None


def test_finished_parts_are_not_done_again_and_come_out_alike(
    vectors: str,
    printed: tuple[dict[str, Any], Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    result, folder = printed
    cells = {path.name for path in (folder / "work" / "cells").iterdir()}
    table = folder / "boards.csv"
    arguments = [*few(vectors), "--work", str(folder / "work"), "--out", str(table)]
    assert main(arguments) == 0
    assert {path.name for path in (folder / "work" / "cells").iterdir()} == cells
    text = capsys.readouterr().out
    assert "10 of 100 words are guessed:" in text
    assert "not here: trlaplace: " in text
    assert "Without privacy: accuracy, sentiment 0." in text
    with table.open(encoding="utf-8", newline="") as rows:
        read = list(csv.DictReader(rows))
    assert len(read) == sum(len(board["lines"]) for board in result["boards"])
    line = lines(boards(result, GUESSED)[0.1])["tem"]
    (row,) = (r for r in read if (r["sense"], r["level"], r["label"]) == (GUESSED, "0.1", "tem"))
    assert float(row["epsilon"]) == line["epsilon"][0]
    assert float(row["sentiment"]) == pytest.approx(line["left"]["sentiment"][0])


def test_the_json_has_the_fields_of_the_file(
    vectors: str, printed: tuple[dict[str, Any], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    result, folder = printed
    arguments = [*few(vectors), "--work", str(folder / "work"), "--json"]
    assert main(arguments) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["boards"] == result["boards"]
    assert set(again) == set(result)
    assert result["sizes"] == f"{QUICK.trials} trials"
    assert result["command"] == (
        f"python -m dpcore benchmark --lexicon {vectors} --stranger equal --quick"
    )
    assert any("is not known" in note for note in result["notes"]) == (
        not boards(result, PROMISED, METRIC)
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--lexicon", "nowhere"], "nowhere"),
        (["--mechanism", "nothing"], "unknown mechanism 'nothing'"),
        (["--out", "boards.pdf"], "--out ends in .md, .csv, .json"),
        (["--recorded", "nothing"], "nothing is recorded as 'nothing'"),
        (["--recorded", "trade-off"], "trade-off is no benchmark"),
        (["--set", "colour=red", "--mechanism", "k-ary"], "has a parameter 'colour'"),
        (["--data", "."], "holds neither sst2.parquet nor agnews.parquet"),
    ],
)
def test_refusals(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert main(["benchmark", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("name", [study.name for study in STUDIES])
def test_a_record_is_shown_as_it_is(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["benchmark", "--recorded", name, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["name"] == name
    assert result["seconds"] > 0
    assert main(["benchmark", "--recorded", name]) == 0
    text = capsys.readouterr().out
    assert "10 of 100 content words are guessed:" in text
    assert result["title"] in text
