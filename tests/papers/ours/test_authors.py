"""Study of authorship: its passages come from documents that no model was trained on."""

from pathlib import Path

import numpy as np
import pytest

from dpcore.attack.language.authors import WRITTEN, rank_authors
from dpcore.attack.language.context import BIGRAM, WORDS
from dpcore.attack.language.recovered import FREQUENCY
from dpcore.attack.output.channel import open_channel
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import create
from dpcore.papers.ours.authors import PASSAGE, PASSAGES, STUDY, _passages, blogs
from dpcore.papers.ours.reader import LEVELS
from dpcore.study.recorded import Recorded, read_recorded


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
