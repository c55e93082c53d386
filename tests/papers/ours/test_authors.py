"""Study of authorship: its passages come from documents that no model was trained on."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpcore.attack.language.authors import WRITTEN, rank_authors
from dpcore.attack.language.context import BIGRAM, WORDS
from dpcore.attack.language.recovered import FREQUENCY
from dpcore.attack.output.channel import open_channel
from dpcore.errors import StudyError
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import create
from dpcore.papers.ours.authors import (
    _CONTINENTS,
    COMMENTS,
    KINDS,
    LENGTHS,
    PASSAGE,
    PASSAGES,
    PERSONS,
    STUDY,
    _passages,
    blogs,
    measure_persons,
    persons,
)
from dpcore.papers.ours.reader import LEVELS
from dpcore.study.recorded import Recorded, read_recorded
from dpcore.study.runner import gather


@pytest.fixture(scope="module")
def record() -> Recorded:
    return read_recorded(STUDY.name)


def test_passages_are_whole_sentences_in_order() -> None:
    assert _passages(["a b c", "d e", "f g h i", "j"], 4) == ["a b c d e", "f g h i"]
    assert _passages(["a b"], 3) == []


def test_passages_are_of_blogs_that_are_known_by_other_documents(data_dir: Path) -> None:
    (file,) = STUDY.plan.data
    authors, tried = blogs(load(), data_dir / file, PASSAGE, PASSAGES)
    assert authors.count == 10
    assert all(authors.known_without(each.document) for each in tried)
    assert np.unique([each.document for each in tried], return_counts=True)[1].max() <= PASSAGES
    assert all(len(each.sentence.tokens) >= PASSAGE for each in tried)


def test_the_record_is_of_the_plan(record: Recorded) -> None:
    table = record.table
    assert set(table[table["quantity"] == "place by chance"]["value"]) == {5.5}
    places = table[table["quantity"] == "author place"]
    assert set(places["at"]) <= set(LEVELS)
    for _, rows in places.groupby(["label", "at"]):
        assert list(rows["variant"]) == [WRITTEN, FREQUENCY, BIGRAM, WORDS]
    assert (places["low"] <= places["value"]).all()
    assert places["value"].between(1, 10).all()
    # What is written does not depend on who releases it.
    assert places.loc[places["variant"] == WRITTEN, "value"].nunique() == 1


@pytest.mark.full
def test_a_row_of_the_record_comes_out_again(data_dir: Path, record: Recorded) -> None:
    (file,) = STUDY.plan.data
    authors, tried = blogs(load(), data_dir / file, PASSAGE, PASSAGES)
    rows = record.table[record.table["label"] == "k-ary"]
    epsilon = float(rows["epsilon"].dropna().iloc[0])
    channel = open_channel(create("k-ary", load()))
    ranked = rank_authors(channel, authors, tried, epsilon, reader=WORDS, seed=1)
    recorded = rows[(rows["quantity"] == "author place") & (rows["epsilon"] == epsilon)]
    for name, value in zip(recorded["variant"], recorded["value"], strict=True):
        assert ranked.mean(name).mean == pytest.approx(value, abs=1e-3)


# Persons: authors found by all that they release, and kinds of person.


@pytest.fixture(scope="module")
def found() -> Recorded:
    return read_recorded(PERSONS.name)


def test_a_country_has_one_continent() -> None:
    countries = [name for names in _CONTINENTS.values() for name in names.split(", ")]
    assert len(set(countries)) == len(countries)


def test_persons_have_enough_comments_and_their_kinds(data_dir: Path) -> None:
    (file,) = PERSONS.plan.data
    people = persons(data_dir / file, COMMENTS)
    sizes = np.bincount(people.wrote)
    assert (sizes.size, sizes.min()) == (261, COMMENTS)
    assert len(people.texts) == sizes.sum()
    assert list(people.kinds) == list(KINDS)
    counts = [np.bincount(kinds).tolist() for kinds in people.kinds.values()]
    assert [(len(each), sum(each)) for each in counts] == [(2, 261), (3, 261), (6, 261)]
    assert str(261) in PERSONS.sizes


def made_up(folder: Path, country: str = "Peru") -> Path:
    facts = {"sex": "male", "age": 30, "city_country": f"Lima, {country}"}
    file = folder / "persons.parquet"
    people = {"comments": [["a", "b"]], "attributes": [json.dumps(facts)]}
    pd.DataFrame(people).to_parquet(file)
    return file


def test_a_country_that_is_not_listed_is_refused(tmp_path: Path) -> None:
    assert persons(made_up(tmp_path), 2).texts == ("a", "b")
    with pytest.raises(StudyError, match="1 persons live in a country whose continent") as refused:
        persons(made_up(tmp_path, "Atlantis"), 2)
    assert "Atlantis" not in str(refused.value)


def test_the_record_of_persons_is_of_the_plan(found: Recorded) -> None:
    table = found.table
    for (label, _), rows in table.groupby(["label", "epsilon"], dropna=False):
        places = rows[rows["quantity"] == "author place"]
        assert places["at"].fillna(-1).tolist() == [*LENGTHS, -1]
        assert (np.diff(places["count"][:-1]) <= 0).all()  # fewer released so many words
        assert places["count"].iloc[-1] == 261
        among = rows[rows["quantity"] == "author among"]
        first, ten = (among[among["variant"] == top]["value"].to_numpy() for top in ("1", "10"))
        assert (first <= ten).all()
        kinds = rows[rows["quantity"] == "kind by channel"]
        assert kinds["variant"].tolist() == list(KINDS)
        originals = rows[rows["quantity"] == "kind from originals"]
        assert len(originals) == (0 if label == "as written" else len(KINDS))
    ends = table.dropna(subset=["low", "high"])
    assert ((ends["low"] <= ends["value"]) & (ends["value"] <= ends["high"])).all()


def test_at_a_tenth_of_the_words_authors_are_found_more_often_than_by_chance(
    found: Recorded,
) -> None:
    table = found.table
    among = table[(table["quantity"] == "author among") & (table["variant"] == "10")]
    every = among[among["at"].isna() & among["epsilon"].notna()]
    assert (every["low"] > 10 / 261).all()


@pytest.mark.full
def test_a_row_of_persons_comes_out_again(data_dir: Path, tmp_path: Path, found: Recorded) -> None:
    plan = PERSONS.plan
    (file,), (name,) = plan.data, plan.lexicons
    sources = gather(plan, tmp_path, lexicons={name: load()}, files={file: data_dir / file})
    (cell,) = (cell for cell in plan.cells() if cell.label == "as written")
    rows = pd.DataFrame(measure_persons(cell, sources))
    recorded = found.table[found.table["label"] == "as written"]
    assert rows["quantity"].tolist() == recorded["quantity"].tolist()
    assert rows["value"].to_numpy() == pytest.approx(recorded["value"].to_numpy(), abs=0.01)
