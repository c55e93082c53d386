"""The commands: JSON with stable fields, and one sentence for every wrong input."""

import json
import re
from pathlib import Path

import pytest

from dpcore.lexicon.catalogue import load
from dpcore.measure.deniability import measure
from dpcore.measure.words import select_words
from dpcore.mechanisms.registry import create
from dpcore.papers.xu2021.appendix_c import COLUMNS
from tests.shell import result, run, small_vectors

ROW = {
    "mechanism", "epsilon", "word", "weight", "nw", "nw_low", "nw_high", "sw", "effective",
    "method", "runs", "standard_error", "sw_standard_error", "effective_standard_error",
}  # fmt: skip
SUMMARY = {
    "mechanism", "epsilon", "quantity", "mean", "standard_deviation", "standard_error",
    "mean_low", "mean_high", "median", "worst", "worst_word", "q05", "q25", "q75", "q95", "words",
    "method", "runs",
}  # fmt: skip


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> str:
    return small_vectors(tmp_path_factory.mktemp("lexicon") / "small.vec")


def test_deniability_has_a_row_for_each_word_mechanism_and_epsilon(
    capsys: pytest.CaptureFixture[str], vectors: str
) -> None:
    answer = result(
        capsys, "deniability", "--mechanism", "tem", "--mechanism", "vickrey", "--mechanism",
        "trlaplace", "--epsilon", "1,2.5", "--epsilon", "trlaplace=0.1", "--set", "t=0.2",
        "--words", "doctor,weather", "--lexicon", vectors, "--runs", "50", "--seed", "4",
    )  # fmt: skip
    rows = answer["rows"]
    assert len(rows) == 2 * (2 + 2 + 1)
    assert all(row.keys() == ROW for row in rows)
    assert all(row.keys() == SUMMARY for row in answer["summary"])
    assert len(answer["summary"]) == 3 * 5
    by_name = {entry["mechanism"]: entry for entry in answer["mechanisms"]}
    assert {name: entry["method"] for name, entry in by_name.items()} == {
        "tem.v1": "exact", "vickrey.v1": "rao-blackwell", "trlaplace.v1": "protocol",
    }  # fmt: skip
    assert by_name["vickrey.v1"]["parameters"]["t"] == 0.2
    assert all((row["standard_error"] == 0) == (row["mechanism"] == "tem.v1")
               or row["nw"] in (0, 1) for row in rows)  # fmt: skip
    lexicon = load(vectors)
    vickrey = create("vickrey", lexicon, {"t": 0.2})
    direct = measure(
        vickrey, select_words(lexicon, ["doctor", "weather"]), [1, 2.5], runs=50, seed=4
    )
    assert direct.rows() == [row for row in rows if row["mechanism"] == "vickrey.v1"]


def test_deniability_of_a_sample_in_a_file_and_as_a_table(
    capsys: pytest.CaptureFixture[str], vectors: str, tmp_path: Path
) -> None:
    file = tmp_path / "folder" / "out.json"
    options = (
        "deniability", "--mechanism", "madlib", "--epsilon", "0.5:8:3", "--sample", "20",
        "--lexicon", vectors, "--runs", "40", "--stratify", "density",
    )  # fmt: skip
    code, table, _ = run(capsys, *options, "--out", str(file))
    assert code == 0
    assert "rao-blackwell" in table
    written = json.loads(file.read_text(encoding="utf-8"))
    assert written == result(capsys, *options)
    assert sorted({row["epsilon"] for row in written["rows"]}) == pytest.approx([0.5, 2, 8])
    assert written["selection"]["words"] == 20


def test_deniability_of_a_corpus_weights_tokens(
    capsys: pytest.CaptureFixture[str], vectors: str, tmp_path: Path
) -> None:
    file = tmp_path / "corpus.txt"
    file.write_text("Terrible, terrible weather. Qwertz!", encoding="utf-8")
    answer = result(
        capsys, "deniability", "--mechanism", "tem", "--epsilon", "3", "--corpus", str(file),
        "--lexicon", vectors,
    )  # fmt: skip
    rows = {row["word"]: row for row in answer["rows"]}
    assert answer["selection"]["tokens"] == 4
    assert answer["selection"]["unknown_tokens"] == 1
    mean = next(row["mean"] for row in answer["summary"] if row["quantity"] == "nw")
    assert mean == pytest.approx((2 * rows["terrible"]["nw"] + rows["weather"]["nw"]) / 3)
    _, out, _ = run(
        capsys, "deniability", "--mechanism", "tem", "--epsilon", "3", "--corpus", str(file),
        "--lexicon", vectors,
    )  # fmt: skip
    assert "4 tokens, of which 1 outside" in out


def test_the_corpus_may_be_a_column_of_a_table(
    capsys: pytest.CaptureFixture[str], vectors: str, tmp_path: Path
) -> None:
    file = tmp_path / "table.csv"
    file.write_text(
        'id,text,note\n1,"doctor, weather",terrible\n2,weather,terrible\n', encoding="utf-8"
    )
    options = ("deniability", "--mechanism", "tem", "--epsilon", "3", "--lexicon", vectors)
    rows = result(capsys, *options, "--corpus", str(file), "--text-column", "text")["rows"]
    assert {row["word"]: row["weight"] for row in rows} == {"doctor": 1.0, "weather": 2.0}
    for wrong, message in (
        (("--corpus", str(file), "--text-column", "txt"), "it has 3, whose names are not shown"),
        (("--words", "doctor", "--text-column", "text"), "--text-column is for the table of"),
    ):
        code, out, err = run(capsys, *options, *wrong)
        assert (code, out) == (2, "")
        assert message in err


def test_words_of_a_corpus_can_be_drawn_and_need_a_corpus(
    capsys: pytest.CaptureFixture[str], vectors: str, tmp_path: Path
) -> None:
    file = tmp_path / "corpus.txt"
    file.write_text("Terrible, terrible weather.", encoding="utf-8")
    base = ("deniability", "--mechanism", "tem", "--epsilon", "3", "--lexicon", vectors)
    answer = result(capsys, *base, "--corpus", str(file), "--at-most", "1")
    assert answer["selection"]["words"] == 1
    assert "1 of the 2 different words" in answer["selection"]["description"]
    assert answer["rows"][0]["weight"] == pytest.approx(3.0)
    code, _, err = run(capsys, *base, "--sample", "2", "--at-most", "1")
    assert code != 0
    assert "--at-most is for the words of --corpus" in err
    code, _, err = run(capsys, *base, "--corpus", str(file), "--at-most", "0")
    assert code != 0
    assert "at least 1 word must be kept, got 0" in err


def test_solve_finds_epsilon_and_equals_another_mechanism(
    capsys: pytest.CaptureFixture[str], vectors: str
) -> None:
    words = ("--words", "doctor,weather", "--lexicon", vectors)
    answer = result(capsys, "solve", "--mechanism", "tem", "--nw-at-most", "0.4", *words)
    (epsilon,) = answer["crossings"]
    assert answer["intervals"][0]["high"] == epsilon
    rows = result(
        capsys, "deniability", "--mechanism", "tem", "--epsilon", str(epsilon), *words
    )["summary"]  # fmt: skip
    assert next(r["mean"] for r in rows if r["quantity"] == "nw") == pytest.approx(0.4, abs=1e-3)
    same = result(capsys, "solve", "--mechanism", "tem", "--as", f"tem={epsilon}", *words)
    assert same["crossings"] == pytest.approx([epsilon], rel=3e-4)
    other = result(
        capsys, "solve", "--mechanism", "madlib", "--as", f"tem={epsilon}", *words, "--runs", "99"
    )
    assert len(other["crossings"]) == 1
    _, out, _ = run(capsys, "solve", "--mechanism", "tem", "--sw-at-least", "1e6", *words)
    assert "nowhere" in out
    _, out, _ = run(
        capsys,
        "solve",
        "--mechanism",
        "tem",
        "--effective-at-least",
        "2",
        "--over",
        "worst",
        *words,
    )
    assert "where the search began" in out


def test_neighbours_are_sorted_and_exclude_the_word(
    capsys: pytest.CaptureFixture[str], vectors: str
) -> None:
    answer = result(
        capsys, "neighbours", "--word", "doctor", "--k", "7", "--radius", "3", "--lexicon", vectors
    )
    distances = [row["distance"] for row in answer["neighbours"]]
    assert distances == sorted(distances)
    assert len(distances) == 7
    assert "doctor" not in {row["word"] for row in answer["neighbours"]}
    assert answer["nearest_distance"] == distances[0]
    assert answer["within_radius"] >= sum(d <= 3 for d in distances)
    _, out, _ = run(capsys, "neighbours", "--word", "doctor", "--radius", "3", "--lexicon", vectors)
    assert f"{answer['within_radius']} other words within 3" in out


def test_density_of_words_and_of_the_vocabulary(
    capsys: pytest.CaptureFixture[str], vectors: str
) -> None:
    options = ("density", "--lexicon", vectors, "--radius", "2.5")
    answer = result(capsys, *options, "--word", "doctor", "--word", "weather", "--hubness")
    assert [row["word"] for row in answer["words"]] == ["doctor", "weather"]
    assert {row["stratum"] for row in answer["words"]} <= {"dense", "middle", "sparse"}
    top = result(capsys, *options, "--top", "300", "--all-words")
    row = next(row for row in top["densest"] if row["word"] == "doctor")
    for name, value in answer["words"][0].items():
        assert row[name] == (value if isinstance(value, str) else pytest.approx(value, rel=1e-6))
    ordinary = result(capsys, *options, "--top", "5")  # word0, word1, … are not alphabetic
    assert {row["word"] for row in ordinary["sparsest"]} == {"doctor", "weather", "terrible"}
    _, out, _ = run(capsys, "density", "--lexicon", vectors, "--top", "2")
    assert "densest:" in out
    assert "stratum sparse" in out or "stratum middle" in out or "stratum dense" in out


BASE = ("--mechanism", "tem", "--epsilon", "1")
WRONG = {
    "an empty list": (("deniability", *BASE, "--words", ""), "the list of words is empty.*"),
    "an unknown word": (("deniability", *BASE, "--words", "doctr"), ".*'doctr'.*did you mean.*"),
    "unknown words": (("deniability", *BASE, "--words", "qx,qy"), "'qx', 'qy' are not in .*"),
    "no sample": (("deniability", *BASE, "--sample", "0"), "a sample has 1 to 300 words.*got 0"),
    "a negative sample": (("deniability", *BASE, "--sample", "-4"), "a sample has .*got -4"),
    "no runs": (("deniability", *BASE, "--words", "doctor", "--runs", "0"), "runs .*got 0"),
    "a million runs": (
        ("deniability", *BASE, "--words", "doctor", "--runs", "1000000"),
        "runs must be a whole number from 2 to 100,000, got 1000000",
    ),
    "a method that TEM does not have": (
        ("deniability", *BASE, "--words", "doctor", "--method", "rao-blackwell"),
        "tem has no method 'rao-blackwell' .*; it has exact, protocol",
    ),
    "a method that Madlib does not have": (
        ("deniability", "--mechanism", "madlib", "--epsilon", "1", "--words", "doctor",
         "--method", "exact"),
        "madlib has no method 'exact' .*; it has rao-blackwell, protocol",
    ),
    "an epsilon that is no number": (
        ("deniability", "--mechanism", "tem", "--epsilon", "1,x", "--words", "doctor"),
        "epsilon must be .*got x",
    ),
    "an epsilon below the domain": (
        ("deniability", "--mechanism", "truncated-gumbel", "--epsilon", "1", "--words", "doctor"),
        "epsilon of truncated-gumbel must be > .*",
    ),
    "a grid that runs backwards": (
        ("deniability", "--mechanism", "tem", "--epsilon", "9:1:5", "--words", "doctor"),
        "a grid of epsilon is LOW:HIGH:COUNT.*",
    ),
    "a grid with too many parts": (
        ("deniability", "--mechanism", "tem", "--epsilon", "1:9:5:7", "--words", "doctor"),
        "a grid of epsilon is LOW:HIGH:COUNT.*",
    ),
    "too many values of epsilon": (
        ("deniability", "--mechanism", "tem", "--epsilon", "1:9:900", "--epsilon", "1:9:900",
         "--words", "doctor"),
        "at most 1,000 values of epsilon.*",
    ),
    "an epsilon of another mechanism": (
        ("deniability", "--mechanism", "tem", "--epsilon", "madlib=4", "--words", "doctor"),
        ".*a mechanism that is not measured; measured are tem",
    ),
    "a mechanism without an epsilon": (
        ("deniability", "--mechanism", "tem", "--mechanism", "madlib", "--epsilon", "madlib=4",
         "--words", "doctor"),
        "no epsilon is given for tem",
    ),
    "a setting that nobody has": (
        ("deniability", *BASE, "--words", "doctor", "--set", "t=1"),
        "none of the mechanisms tem has a parameter 't'",
    ),
    "a setting without =": (
        ("deniability", *BASE, "--words", "doctor", "--set", "beta"),
        "Invalid value for '--set': 'beta' is not NAME=VALUE .*",
    ),
    "an unknown mechanism": (
        ("deniability", "--mechanism", "magic", "--epsilon", "1", "--words", "doctor"),
        "unknown mechanism 'magic'.*",
    ),
    "a negative seed": (
        ("deniability", *BASE, "--words", "doctor", "--seed", "-1"), "a seed is .*",
    ),
    "a bound that is no probability": (
        ("solve", "--mechanism", "tem", "--nw-at-most", "1.5", "--words", "doctor"),
        "the bound on nw must be .*got 1.5",
    ),
    "a comparison without epsilon": (
        ("solve", "--mechanism", "tem", "--as", "madlib", "--words", "doctor"),
        "Invalid value for '--as': 'madlib' is not MECHANISM=EPSILON .*",
    ),
    "too many neighbours": (
        ("neighbours", "--word", "doctor", "--k", "300"), "k must be 1 to 299.*",
    ),
    "an unknown neighbour": (("neighbours", "--word", "doctr"), ".*did you mean 'doctor'.*"),
    "a negative radius": (("density", "--word", "doctor", "--radius", "-1"), "radius must be .*"),
    "no top": (("density", "--top", "0"), "--top must be 1 to 300.*"),
    "word and top": (("density", "--top", "3", "--word", "doctor"), ".*not both"),
    "more neighbours than the table has": (("density", "--k", "128"), "k must be 1 to 127.*"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_option_is_one_sentence(
    capsys: pytest.CaptureFixture[str], vectors: str, name: str
) -> None:
    arguments, message = WRONG[name]
    code, out, err = run(capsys, *arguments, "--lexicon", vectors)
    assert (code, out) == (2, "")
    assert re.fullmatch(f"error: {message}\n", err), err


@pytest.mark.parametrize("data", [b"", b"\xff\xfeweather", b"Stra\xdfe", b"...", None])
def test_a_corpus_that_cannot_be_measured_is_one_sentence(
    capsys: pytest.CaptureFixture[str], vectors: str, tmp_path: Path, data: bytes | None
) -> None:
    file = tmp_path / "corpus.txt"
    if data is not None:
        file.write_bytes(data)
    code, out, err = run(capsys, "deniability", *BASE, "--corpus", str(file), "--lexicon", vectors)
    assert (code, out) == (2, "")
    assert re.fullmatch(r"error: [^\n]+\n", err)


def test_a_result_that_cannot_be_written_is_one_sentence(
    capsys: pytest.CaptureFixture[str], vectors: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    code, _, err = run(
        capsys, "deniability", *BASE, "--words", "doctor", "--lexicon", vectors,
        "--out", str(tmp_path / "file" / "out.json"),
    )  # fmt: skip
    assert code == 2
    assert err.startswith("error: cannot write")


def test_appendix_c_has_a_row_for_each_word_and_epsilon_of_both_mechanisms(
    capsys: pytest.CaptureFixture[str], vectors: str
) -> None:
    answer = result(
        capsys, "appendix-c", "--words", "doctor,weather", "--epsilon", "madlib=1,5",
        "--lexicon", vectors, "--runs", "30", "--seed", "2",
    )  # fmt: skip
    assert len(answer["rows"]) == 2 * 2 + 2 * 3
    assert all(row.keys() == set(COLUMNS) for row in answer["rows"])
    assert [row["epsilon"] for row in answer["rows"]] == [1, 5, 1, 5, *[1e3, 1e5, 1e7] * 2]
    assert any("“doctor”" in sentence for sentence in answer["sentences"])
    code, out, _ = run(capsys, "appendix-c", "--lexicon", vectors, "--epsilon", "1e4,1e6")
    assert code == 0
    assert out.count("truncated-gumbel") == 4
    assert "36." in out
    code, _, error = run(capsys, "appendix-c", "--words", "qqqq", "--lexicon", vectors)
    assert code == 2
    assert "qqqq" in error
