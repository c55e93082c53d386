"""Counts beside the truth, below a private copy on the Release page."""

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import dpcore as dp
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import create
from dpcore.rewrite.policy import DEFAULT_TREATMENT
from tests.pages.app import figures, shown_text
from tests.pages.release.settings import upload
from tests.pages.release.test_copy import files, made, started

__all__ = ["started"]

TEXTS = ("The film was wonderful, a wonderful cast.", "A boring film, terrible and boring.")
DATA = "text,verdict\n" + "".join(
    f'"{TEXTS[i % 2]}",{"good" if i % 2 else "bad"}\n' for i in range(600)
)
RESPONSE = {"use_metric": [], "use_local": ["k-ary"], "use_log": [], "offer": "k-ary"}


def counted(
    opened: Callable[..., AppTest], jobs: list[Any], keep: list[str], **settings: Any
) -> tuple[AppTest, Any]:
    """The page with a private copy of `DATA`, and its state of it."""
    test = upload(opened(**settings), DATA.encode())
    test.multiselect(key="release_keep_2").set_value(keep).run()
    test = made(test, jobs)
    return test, files(test)


@pytest.mark.slow
def test_counts_by_label_are_those_of_the_engine_and_the_rings_the_truth(
    opened: Callable[..., AppTest], started: list[Any]
) -> None:
    test, work = counted(opened, started, ["verdict"], **RESPONSE)
    assert not test.exception
    rows = list(csv.DictReader(io.StringIO(work.copy.data.decode(), newline="")))
    texts, labels = ([row[name] for row in rows] for name in ("column 1", "column 2"))
    assert set(labels) == {"good", "bad"}
    found = dp.count(
        texts, work.order.mechanism, work.order.epsilon, top=12, by=labels, looked_at=60
    )
    figure = figures(test)[-1]
    first, second, rings = figure["data"]
    assert {first["name"], second["name"], rings["name"]} == {"bad", "good", "truth"}
    expected = {(row.query, row.group): row for row in found.rows}
    for trace in (first, second):
        for word, x in zip(trace["y"], trace["x"], strict=True):
            row = expected[word, trace["name"]]
            assert row.low <= x <= row.high
    truth = dict(zip(zip(rings["y"], map(round, rings["x"]), strict=True), rings["x"], strict=True))
    written = {("wonderful", 600), ("wonderful", 0), ("boring", 600), ("boring", 0)}
    assert written <= set(truth)
    # A file of the figure would hold the truth.
    assert not [each for each in test.get("expander") if each.label == "Numbers and files"]
    shown = shown_text(test)
    assert "Words that tell the labels apart: " in shown
    for word in ("wonderful", "boring"):
        assert word in shown.partition("Words that tell the labels apart: ")[2].partition("\n")[0]
    (command,) = (code.value for code in test.code if " count " in code.value)
    assert command == (
        "python -m dpcore count private.csv --record private.csv.run.json --top 12 --by 'column 2'"
    )


@pytest.mark.slow
def test_without_a_label_content_words_are_counted(
    opened: Callable[..., AppTest], started: list[Any]
) -> None:
    test, _ = counted(opened, started, [], **RESPONSE)
    only, rings = figures(test)[-1]["data"]
    assert only["name"] == "all"
    assert {"film", "wonderful", "boring"} <= set(only["y"])
    assert not {"the", "a", "was"} & set(only["y"])
    assert dict(zip(rings["y"], rings["x"], strict=True))["film"] == 600
    assert "tell the labels apart" not in shown_text(test)
    assert "--by" not in "".join(code.value for code in test.code)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "says"),
    [("tem", "With this mechanism it takes some minutes"), ("madlib", "Nothing can be counted in")],
)
def test_what_cannot_be_counted_here_is_said(
    opened: Callable[..., AppTest], started: list[Any], name: str, says: str
) -> None:
    settings = {"use_metric": [name], "use_local": [], "use_log": [], "offer": name}
    test, work = counted(opened, started, ["verdict"], **settings)
    assert work.order.mechanism.short == create(name, load("default")).short
    assert work.order.treatment == DEFAULT_TREATMENT
    assert says in shown_text(test) + " ".join(e.value for e in test.error)
    assert any(" count " in code.value for code in test.code) == (name == "tem")


@pytest.mark.slow
def test_lines_of_text_are_counted_too(opened: Callable[..., AppTest], started: list[Any]) -> None:
    test = upload(opened(**RESPONSE), ("\n".join(TEXTS * 100) + "\n").encode(), "own.txt")
    test = made(test, started)
    _, rings = figures(test)[-1]["data"]
    assert dict(zip(rings["y"], rings["x"], strict=True))["film"] == 200
