"""Attacker page, a person: the facts of a text, and the recorded authors."""

from collections.abc import Callable

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dpcore.mechanisms.registry import create
from dpcore.papers.ours import authors
from dpcore.plots.attack.success import FOUND
from dpcore.study.recorded import read_recorded
from pages.attacker.board import PEOPLE, PERSON, SENTENCE
from pages.attacker.person_view import found_authors
from pages.shared.session import PRESETS
from tests.pages.app import shown_text, table
from tests.pages.attacker.reading import metrics, small

COLUMNS = ("fact", "comes out, of 100", "guessed, of 100", "in the vocabulary")


def test_facts_of_the_example_are_products_of_the_law(opened: Callable[..., AppTest]) -> None:
    test = opened(view=SENTENCE, about=PERSON, eps_metric="2")
    assert not test.exception
    words, epsilon = small(), 2.0
    mechanism = create("tem", words)
    stays = {
        word: float(mechanism.law(i, [epsilon]).dense(len(words))[0, i])
        for i, word in enumerate(words.words)
    }
    rows = table(test, *COLUMNS).set_index("fact")
    assert list(rows.index) == ["city hospital", "sister", "heart medicine"]
    for fact, row in rows.iterrows():
        both = 1.0
        for word in str(fact).split():
            both *= stays[word]
        assert float(row["comes out, of 100"]) == pytest.approx(100 * both, rel=0.01)
        assert row["in the vocabulary"] == "yes"
    none = 1.0
    for fact in rows.index:
        none *= 1.0 - float(rows.loc[fact, "comes out, of 100"]) / 100
    share = float(metrics(test)["of 100 releases leave at least one"])
    assert share == pytest.approx(100 * (1 - none), rel=0.02)


def test_a_new_text_brings_its_own_facts_and_others_may_be_written(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(view=SENTENCE, about=PERSON, eps_metric="2")
    test.text_area(key="text").set_value("My doctor Anna Keller said that I have flu").run()
    field = test.text_input(key="person_facts")
    assert field.value == "Anna Keller"  # that is what the rules find
    field.set_value("flu, doctor, flu , nowhere, <b>Keller</b>").run()
    assert not test.exception
    rows = table(test, *COLUMNS).set_index("fact")
    assert list(rows.index) == ["flu", "doctor", "nowhere", "<b>Keller</b>"]
    assert rows.loc["nowhere", "in the vocabulary"] == "not in the text"
    assert rows.loc["nowhere", "comes out, of 100"] == ""
    field.set_value("nowhere").run()
    assert "None of these facts occurs in the text word for word" in shown_text(test)
    field.set_value(" , ,").run()
    assert "None of these facts occurs in the text word for word" in shown_text(test)
    assert not test.exception
    assert "text" not in test.query_params
    assert "person_facts" not in test.query_params


def test_what_is_outside_the_vocabulary_never_comes_out(opened: Callable[..., AppTest]) -> None:
    test = opened(view=SENTENCE, about=PERSON, preset="letter", eps_metric="2")
    rows = table(test, *COLUMNS).set_index("fact")
    assert rows.loc["Anna Keller", "in the vocabulary"] == "no: never comes out"
    assert float(rows.loc["Anna Keller", "comes out, of 100"]) == 0


def test_every_example_holds_its_facts_word_for_word() -> None:
    from pages.attacker.person_view import _EXAMPLES, _listed

    assert _EXAMPLES.keys() == PRESETS.keys()
    for name, facts in _EXAMPLES.items():
        assert all(fact in PRESETS[name] for fact in _listed(facts))


def test_recorded_authors_are_shown_as_they_were_recorded(opened: Callable[..., AppTest]) -> None:
    record = read_recorded(authors.PERSONS.name)
    found = found_authors(record, "k-ary", "10")
    assert tuple(found.columns) == FOUND
    assert list(dict.fromkeys(found["release"])) == [
        "as written",
        "50 of 100 content words guessed",
        "25 of 100 content words guessed",
        "10 of 100 content words guessed",
    ]
    rows = record.table
    written = rows[(rows["label"] == "as written") & (rows["quantity"] == "author among")]
    asked = written[(written["variant"] == "10") & written["at"].notna()]
    pd.testing.assert_series_equal(
        found[found["release"] == "as written"]["found"].reset_index(drop=True),
        asked["value"].reset_index(drop=True),
        check_names=False,
    )
    test = opened(view=SENTENCE, about=PEOPLE, person_mechanism="k-ary", person_among="first")
    assert not test.exception
    shown = shown_text(test)
    assert "How many of 100 people are found" in shown
    assert "261 people of SynthPAI" in shown


def test_a_mechanism_without_a_law_is_counted_and_says_so(opened: Callable[..., AppTest]) -> None:
    test = opened(view=SENTENCE, about=PERSON, attacked="madlib", eps_metric="8")
    assert not test.exception
    rows = table(test, *COLUMNS)
    assert rows["guessed, of 100"].str.startswith("≥ ").all()
    assert not rows["comes out, of 100"].str.startswith("≥").any()
    shown = shown_text(test)
    assert "a simple attacker: a lower bound" in shown
    assert "counted over 100 rewritings" in shown
    assert "counted over" not in shown_text(opened(view=SENTENCE, about=PERSON, eps_metric="2"))
