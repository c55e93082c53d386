"""The command `persons`."""

import json
import re
from pathlib import Path

import pytest

from dpcore.attack.persons import NOT_MEASURED, facts_left
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import create
from dpcore.rewrite.redact.spans import parse_facts
from tests.shell import result, run

Capture = pytest.CaptureFixture[str]

TEXTS = ("Ann lives in London.", "My name is Peter Qwzx.")
FACTS = (
    [{"facts": [{"tag": "NAME", "keyword": "Ann"}, {"tag": "PLACE", "keyword": "London"}]}],
    [{"facts": [{"tag": "NAME", "keyword": "Peter"}, {"tag": "NAME", "keyword": "Qwzx"}]}],
)
K_ARY = ("--mechanism", "k-ary", "--epsilon", "9,10")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A table of JSON lines, of which a text is empty."""
    path = tmp_path / "people.jsonl"
    rows = [{"text": t, "people": f} for t, f in zip(TEXTS, FACTS, strict=True)]
    lines = [json.dumps(row) for row in [*rows, {"text": "", "people": []}]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _refusal(capsys: Capture, *arguments: str) -> str:
    code, out, err = run(capsys, "persons", *arguments)
    assert (code, out) == (2, "")
    assert not {"Ann", "London", "Peter", "Qwzx"} & set(err.replace("'", " ").split())
    return err


@pytest.mark.slow
def test_the_json_is_that_of_the_engine(file: Path, capsys: Capture) -> None:
    answer = result(capsys, "persons", str(file), "--facts", "people", *K_ARY, "--redact", "rules")
    lexicon = load(None)
    texts = [parse_facts(t, json.dumps(f)) for t, f in zip(TEXTS, FACTS, strict=True)]
    mechanism = create("k-ary", lexicon)
    expected = [
        *facts_left(texts, lexicon, redactors=["rules"]),
        *facts_left(texts, lexicon, mechanism, [9.0, 10.0], redactors=["", "rules"]),
    ]
    assert [(row["redactor"], row["epsilon"]) for row in answer["rows"]] == [
        ("rules", None), ("", 9.0), ("rules", 9.0), ("", 10.0), ("rules", 10.0),
    ]  # fmt: skip
    for row, each in zip(answer["rows"], expected, strict=True):
        plain = json.loads(json.dumps(each.to_dict()))
        assert {name: row[name] for name in plain if name != "mechanism"} == {
            name: value for name, value in plain.items() if name != "mechanism"
        }
    assert [row["mechanism"] for row in answer["rows"]] == ["", *["k-ary.v1"] * 4]
    assert answer["not_measured"] == list(NOT_MEASURED)
    page = (Path(__file__).parents[2] / "docs/commands.md").read_text(encoding="utf-8")
    (line,) = [line for line in page.splitlines() if line.startswith("| `persons` ")]
    row = answer["rows"][1]
    for names in (set(answer), set(row), set(row["tags"][0])):
        assert all(re.search(rf"\b{name}\b", line) for name in names)
    first = row["tags"][0]
    assert (first["annotated"], first["facts"], first["outside"]) == (4, 4, 1)
    assert set(first["left"]) == {"value", "low", "high"}


def test_the_table_says_what_is_not_measured_and_shows_no_fact(file: Path, capsys: Capture) -> None:
    code, out, _ = run(capsys, "persons", str(file), "--facts", "people", "--redact", "rules")
    assert code == 0
    assert "4 stand in their texts word for word" in out
    assert "1 of them with a word outside" in out
    assert all(f"Not measured: {what}." in out for what in NOT_MEASURED)
    assert "rules; guessed by counts" in out
    assert "PLACE" in out
    assert not any(word in out for word in ("Ann", "London", "Peter", "Qwzx"))


@pytest.mark.slow
def test_a_lower_bound_has_its_sign(file: Path, capsys: Capture) -> None:
    madlib = ("--mechanism", "madlib", "--epsilon", "14", "--draws", "20")
    code, out, _ = run(capsys, "persons", str(file), "--facts", "people", *madlib)
    assert code == 0
    assert "≥" in out


def test_what_is_missing_is_asked_for(file: Path, capsys: Capture) -> None:
    facts = (str(file), "--facts", "people")
    assert "give --mechanism" in _refusal(capsys, *facts)
    assert "--mechanism too" in _refusal(capsys, *facts, "--redact", "rules", "--epsilon", "3")
    assert "no epsilon" in _refusal(capsys, *facts, "--mechanism", "k-ary")
    assert "--facts" in _refusal(capsys, str(file), *K_ARY)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--mechanism", "nobody", "--epsilon", "3"), "nobody"),
        (("--mechanism", "k-ary", "--epsilon", "-1"), "epsilon"),
        (("--redact", "nobody"), "rules, entities"),
        (("--redact", "rules", "--stranger", "nobody"), "stranger"),
        (("--redact", "rules", "--draws", "1"), "draws"),
        (("--redact", "rules", "--text-column", "nowhere"), "no column"),
        (("--redact", "rules", "--text-column", "people"), "two different columns"),
        (("--mechanism", "madlib", "--epsilon", "9", "--stranger", "reads"), "exact law"),
    ],
)
def test_nonsense_is_refused(
    more: tuple[str, ...], message: str, file: Path, capsys: Capture
) -> None:
    assert message in _refusal(capsys, str(file), "--facts", "people", *more)


def test_a_damaged_row_is_named_by_its_number(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "people.csv"
    for cells, message in (
        (["Ann,[]", "Ann,Peter"], "row 2 of the table: holds no JSON"),
        (['Ann,"[{""tag"": ""N"", ""start"": 0, ""end"": 9}]"'], "row 1 of the table: has a span"),
        (["Ann,[]", "Peter,[]"], "nothing to measure"),
        (['Ann,"[{""facts"": [{""tag"": ""N"", ""keyword"": ""Qwzx""}]}]"'], "nothing to measure"),
    ):
        path.write_text("\n".join(["text,facts", *cells]) + "\n", encoding="utf-8")
        said = _refusal(capsys, str(path), "--facts", "facts", "--redact", "rules")
        assert message in said
    assert "cannot be read" in _refusal(
        capsys, str(tmp_path / "none.csv"), "--facts", "facts", "--redact", "rules"
    )
