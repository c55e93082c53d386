"""The command `attack` prints the results of `compare`."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpcore.attack.language.context import context_prior, places_of
from dpcore.attack.language.pufferfish import nearest_others, sentence_loss, worst_losses
from dpcore.attack.language.recovered import recover
from dpcore.attack.output.channel import open_channel
from dpcore.attack.output.two_words import compare
from dpcore.cli import main as cli
from dpcore.cli.attack import _listed, curve_lengths, prior_of
from dpcore.lexicon.catalogue import load
from dpcore.measure.pair import Pair
from dpcore.mechanisms.additive.additive import SharedDirections
from dpcore.mechanisms.registry import create
from dpcore.rewrite.sentence import draw, prepare
from tests import needs


def test_json_rows_are_those_of_compare(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["attack", "--words", "monday,garage", "--mechanism", "tem", "--epsilon", "2,3"]
    assert cli.main([*arguments, "--runs", "100", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    lexicon = load()
    pair = Pair.of(lexicon, "monday", "garage")
    epsilons = np.array([2.0, 3.0])
    comparison = compare(
        create("tem", lexicon), pair, epsilons, SharedDirections(), runs=100, seed=0
    )  # fmt: skip
    assert answer["rows"] == comparison.rows()
    assert answer["distance"] == pair.distance
    assert answer["selection"]["words"] == 2


def test_the_table_names_both_words(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["attack", "--words", "monday,garage", "--mechanism", "tem", "--epsilon", "3"]
    assert cli.main(arguments) == 0
    printed = capsys.readouterr().out
    assert printed.count("\n      ") >= 2
    assert "monday and garage: 7.4" in printed


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
    printed = capsys.readouterr().err
    assert message in printed
    assert "Traceback" not in printed


def output(
    capsys: pytest.CaptureFixture[str], *more: str, name: str = "tem", epsilon: str = "2"
) -> dict[str, Any]:
    arguments = ["attack", "--output", "garage", "--mechanism", name, "--epsilon", epsilon]
    assert cli.main([*arguments, *more, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_list_of_possible_words(capsys: pytest.CaptureFixture[str]) -> None:
    prior = "monday=0.5, garage=0.25, car=0.25"
    answer = output(capsys, "--prior", prior, "--outputs", "2", epsilon="1,2")
    lexicon, tem = load(), create("tem", load())
    assert [row["epsilon"] for row in answer["attacks"]] == [1.0, 2.0]
    for row in answer["attacks"]:
        words = {"monday": 0.5, "garage": 0.25, "car": 0.25}
        joint = {
            word: p
            * tem.law(lexicon.index(word), [row["epsilon"]]).probability(lexicon.index("garage"))
            for word, p in words.items()
        }
        for candidate in row["candidates"]:
            true = joint[candidate["word"]] / sum(joint.values())
            assert candidate["posterior"] == pytest.approx(true, rel=1e-9)
            assert candidate["posterior"] <= candidate["bound"]
        assert row["overall"]["exact"]
        assert row["worst_odds"]["word"] == "garage"
        assert not row["worst_odds"]["broken"]
    assert answer["prior"]["words"] == 3
    assert answer["output"] == "garage"


@pytest.mark.parametrize(
    ("sentence", "left", "right"),
    [
        ("See you on _ night.", "on", "night"),
        ("_ night", None, "night"),
        ("Stop! _ it", None, "it"),
        ("it is _", "is", None),
        ("it is _. No", "is", None),
    ],
)
def test_context_between_known_words(sentence: str, left: str | None, right: str | None) -> None:
    lexicon = load()
    prior = prior_of(lexicon, "context", sentence)
    assert np.array_equal(prior.probability, context_prior(lexicon, left, right).probability)


def test_the_nearest_neighbour_attacker(capsys: pytest.CaptureFixture[str]) -> None:
    prior = ["--prior", "monday, car", "--nearest"]
    row = output(capsys, *prior, name="madlib", epsilon="10")["attacks"][0]
    assert row["guess"] == "car"
    assert 0.5 < row["overall"]["value"] < 1
    assert row["overall"]["words"] == 2


def test_the_table_of_an_output(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["attack", "--output", "garage", "--mechanism", "tem", "--epsilon", "2"]
    assert cli.main([*arguments, "--prior", "monday,garage", "--outputs", "2"]) == 0
    printed = capsys.readouterr().out
    assert "guesses 'garage'" in printed
    assert "right over all outputs" in printed
    assert cli.main([*arguments, "--prior", "monday,garage", "--nearest"]) == 0
    assert "right over all outputs: 0.61;" in capsys.readouterr().out  # exact: no interval


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--prior", "monday=0.5"], "must sum to 1, got 0.5"),
        (["--prior", "monday=nan"], "part 1 of the prior"),
        (["--prior", "context"], "needs --sentence with one _"),
        (["--prior", "context", "--sentence", "_ and _"], "needs --sentence with one _"),
        (["--sentence", "x _"], "--sentence is for --prior context"),
        (["--prior", "monday,garage", "--top", "0"], "--top"),
        (["--prior", "qqzzyyxx=1"], "qqzzyyxx"),
        (["--mechanism", "madlib", "--epsilon", "madlib=3"], "attack --nearest"),
        (["--mechanism", "truncated-gumbel"], "must be > 16"),
    ],
)
def test_refusals_about_an_output(
    capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    arguments = ["attack", "--output", "garage", "--mechanism", "tem", "--epsilon", "2"]
    if "madlib" in more:
        arguments += ["--prior", "monday,garage"]
    assert cli.main([*arguments, *more]) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize(
    "reader", ["bigram", "words", pytest.param("smollm2", marks=pytest.mark.full)]
)
def test_a_text_is_released_and_read(capsys: pytest.CaptureFixture[str], reader: str) -> None:
    if reader == "smollm2":
        needs.writer()
    text = "She was born in New York."
    arguments = ["attack", "--text", text, "--mechanism", "tem", "--reader", reader, "--json"]
    assert cli.main([*arguments, "--epsilon", "2.4", "--seed", "3"]) == 0
    answer = json.loads(capsys.readouterr().out)
    (attack,) = answer["attacks"]
    assert answer["reader"] == reader
    lexicon = load()
    sentence = prepare(text, lexicon)
    mechanism = create("tem", lexicon)
    assert attack["text"] == draw(sentence, mechanism, 3).at(2.4).text
    outputs = [lexicon.index(row["released"]) for row in attack["words"]]
    recovered = recover(open_channel(mechanism), sentence, outputs, 2.4, reader=reader)
    assert attack["words"] == recovered.rows()
    assert attack["counted"] == recovered.counted.sum()
    assert attack["right"]["context"]["ten"] == recovered.right("context", 10)
    # By hand: each word is the reader's first guess, given back or lost as it was written.
    rows, smoothed = attack["words"], attack["smoothed"]
    assert [word.lower() for word in smoothed["text"].strip(".").split()] == [
        row["context"] for row in rows
    ]
    right = [row["context"] == row["written"] for row in rows]
    stayed = [row["released"] == row["written"] for row in rows]
    assert smoothed["restored"] == sum(r and not s for r, s in zip(right, stayed, strict=True))
    assert smoothed["lost"] == sum(s and not r for r, s in zip(right, stayed, strict=True))
    assert cli.main([*arguments[:-1], "--epsilon", "2.4", "--seed", "3"]) == 0
    printed = capsys.readouterr().out
    assert attack["text"] in printed
    assert f"of {attack['counted']} changed content words" in printed
    assert f"which costs no ε: {smoothed['text']} (" in printed


@pytest.mark.slow
def test_what_neighbours_tell_about_each_word_of_a_text(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["attack", "--text", "Born in xqzzy New York.", "--mechanism", "tem"]
    arguments += ["--epsilon", "2,3", "--neighbours"]
    assert cli.main([*arguments, "--json"]) == 0
    lexicon, mechanism = load(), create("tem", load())
    sentence = prepare("Born in xqzzy New York.", lexicon)
    for attack in json.loads(capsys.readouterr().out)["attacks"]:
        epsilon = attack["epsilon"]
        outputs = draw(sentence, mechanism, 0).paths.at(np.array([epsilon]))[:, 0]
        words = sentence.words[sentence.words >= 0]
        loss = sentence_loss(
            open_channel(mechanism), places_of(sentence, outputs), words,
            nearest_others(lexicon, words), epsilon,
        )  # fmt: skip
        assert attack["neighbours"] == loss.rows()
        assert [row["written"] for row in attack["neighbours"]] == ["born", "in", "new", "york"]
        for row in attack["neighbours"]:
            assert row["own"] + row["left"] + row["right"] == pytest.approx(row["total"])
            assert row["total"] <= row["total_bound"]
            assert row["own"] <= row["own_bound"]
    assert cli.main(arguments) == 0
    assert "if texts follow bigrams" in capsys.readouterr().out


@pytest.mark.slow
def test_what_neighbours_tell_at_worst(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["attack", "--words", "monday,tuesday", "--mechanism", "k-ary"]
    arguments += ["--epsilon", "2,8", "--neighbours"]
    assert cli.main([*arguments, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["neighbours"]
    pair = tuple(load().indices(["monday", "tuesday"]).tolist())
    for row, epsilon in zip(rows, (2.0, 8.0), strict=True):
        (worst,) = worst_losses(create("k-ary", load()), epsilon, [pair])
        assert row == {"mechanism": "k-ary.v1", "parameters": {}, "epsilon": epsilon} | (
            worst.to_dict()
        )
        assert 0 < row["adjacent"] < row["all"] <= row["unchanged"]
        assert row["factor"] == pytest.approx((epsilon + row["all"]) / epsilon)
    assert cli.main(arguments) == 0
    assert "together tell “monday” from “tuesday” by at most" in capsys.readouterr().out


def table_of_authors(folder: Path, *, author: str = "author") -> Path:
    rows = [
        ("anna", "the nurse took my blood pressure and the doctor came to the hospital"),
        ("ben", "the garden was full of roses and the soil was wet"),
        ("anna", "a nurse and a doctor at the hospital said that the patient was well"),
        ("ben", "we planted roses and tulips in the garden behind the house"),
        ("carl", "trains were late again"),
    ]
    file = folder / "posts.csv"
    file.write_text(f"{author},text\n" + "".join(f"{who},{text}\n" for who, text in rows))
    return file


def authors_asked(file: Path, *more: str) -> list[str]:
    asked = ["attack", "--authors", str(file), "--mechanism", "k-ary", "--epsilon", "3,40"]
    return [*asked, *more]


@pytest.mark.slow
def test_who_wrote_what_is_released(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = table_of_authors(tmp_path)
    assert cli.main(authors_asked(file, "--reader", "words", "--json")) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["authors"], answer["texts"], answer["tried"]) == (3, 5, 4)  # carl wrote one
    assert answer["chance"] == {"first": pytest.approx(1 / 3), "place": 2.0}
    rows = {(row["epsilon"], row["attacker"]): row for row in answer["attacks"]}
    assert {name for _, name in rows} == {"written", "frequency", "bigram", "words"}
    for (_, name), row in rows.items():
        assert row["first"]["low"] <= row["first"]["share"] <= row["first"]["high"]
        assert 1 <= row["place"]["low"] <= row["place"]["mean"] <= row["place"]["high"] <= 3
        if name != "written":  # every word stays at this ε
            assert rows[40.0, name]["place"] == rows[40.0, "written"]["place"]
    assert cli.main(authors_asked(file)) == 0
    assert "3 authors; by chance the right one is first in 0.333" in capsys.readouterr().out


def followed(capsys: pytest.CaptureFixture[str], file: Path, *more: str) -> dict[str, Any]:
    asked = ["--curve", "3,8,all", "--top", "2", "--top", "1", "--texts", "2", *more]
    assert cli.main(authors_asked(file, *asked, "--json")) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_authors_found_by_released_halves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = table_of_authors(tmp_path)
    answer = followed(capsys, file)
    for row in answer["attacks"]:
        first, second = row["top"]
        assert (first["count"], second["count"]) == (1, 2)
        assert first["share"] == row["first"]["share"] <= second["share"]
        assert second["chance"] == pytest.approx(2 / 3)
    curve = {(row["mechanism"], row["epsilon"], row["words"]): row for row in answer["curve"]}
    assert [row["attacker"] for row in answer["curve"]] == ["written"] * 3 + ["frequency"] * 6
    assert {words for _, _, words in curve} == {3, 8, None}
    for row in curve.values():  # of carl nothing is released
        assert row["authors"] == 2
        assert 1 <= row["place"]["low"] <= row["place"]["mean"] <= row["place"]["high"] <= 3
    every = curve["k-ary.v1", 40.0, None], curve["", None, None]
    assert every[0]["top"] == every[1]["top"]  # every word stays at this ε
    assert every[0]["parameters"] == {}
    assert cli.main(authors_asked(file, "--curve", "3", "--top", "2", "--texts", "2")) == 0
    printed = capsys.readouterr().out
    assert "by released words (by chance first 2: 0.667)" in printed
    assert printed.count("as written") == 2


@pytest.mark.slow
@pytest.mark.parametrize("end", ["parquet", "jsonl"])
def test_texts_of_an_author_in_a_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], end: str
) -> None:
    flat = pd.read_csv(table_of_authors(tmp_path))
    lists = flat.groupby("author")["text"].agg(list).reset_index()
    file = tmp_path / f"posts.{end}"
    if end == "parquet":
        lists.to_parquet(file)
    else:
        lists.to_json(file, orient="records", lines=True)
    rows = flat.sort_values("author", kind="stable")
    rows.to_csv(tmp_path / "rows.csv", index=False)
    assert followed(capsys, file) == followed(capsys, tmp_path / "rows.csv")


@pytest.mark.parametrize(
    ("cell", "texts"),
    [
        ('["a b", "c"]', ["a b", "c"]),
        ("[sic] a b", ["[sic] a b"]),
        ("[1, 2]", ["[1, 2]"]),
        ("[]", ["[]"]),
        ('["a", 2]', ['["a", 2]']),
        ("[" * 100_000, ["[" * 100_000]),
        ("", [""]),
    ],
)
def test_a_cell_is_a_list_only_if_all_of_it_are_texts(cell: str, texts: list[str]) -> None:
    assert _listed(cell) == texts


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        (None, None), ("all", ()), ("50,25, all", (25, 50)), ("3,3", (3,)), ("7", (7,)),
    ],
)  # fmt: skip
def test_the_points_of_a_curve(text: str | None, lengths: tuple[int, ...] | None) -> None:
    assert curve_lengths(text) == lengths


@pytest.mark.parametrize(
    "text", ["", ",", "all,5", "5,,6", "-5", "5.5", "five", "٣", "1e3", "nan", "9" * 30]
)
def test_curves_of_nonsense_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    assert cli.main(authors_asked(table_of_authors(tmp_path), f"--curve={text}")) == 2
    assert "commas between, such as 25,50,100,all" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--words", "monday,garage", "--curve", "5"], "--curve is for --authors"),
        (["--output", "garage", "--top", "1", "--top", "2"], "several are for --authors"),
        (["--output", "garage", "--top", "0"], "--top"),
        (["--output", "garage", "--neighbours"], "--neighbours is for --words and --text"),
    ],
)
def test_options_of_authors_elsewhere(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert cli.main(["attack", *arguments, "--mechanism", "k-ary", "--epsilon", "3"]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("column", "more", "message"),
    [
        ("author", ("--top", "4"), "at most 3 for 3 authors, got 4"),
        ("author", ("--curve", "0"), "1 word or more, got 0"),
        ("who", (), "there is no column 'author' in the table; it has 2"),
        ("author", ("--author-column", "text"), "two different columns"),
        ("author", ("--first-words", "101"), "100"),
        ("author", ("--texts", "1"), "2"),
    ],
)
def test_refusals_about_authors(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    column: str,
    more: tuple[str, ...],
    message: str,
) -> None:
    assert cli.main(authors_asked(table_of_authors(tmp_path, author=column), *more)) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert "Traceback" not in printed


def test_a_table_of_authors_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(authors_asked(Path("nowhere.csv"))) == 2
    assert "cannot be read" in capsys.readouterr().err
