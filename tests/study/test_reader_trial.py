"""Attackers on equal texts: more knowledge recovers no less, and an interval covers its value."""

import pytest

from dpcore.attack.language.context import SMOLLM2, WORDS
from dpcore.attack.output.channel import open_channel
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import create
from dpcore.papers.ours.reader import (
    FIRST,
    GAIN_FIRST,
    GAIN_TEN,
    LARGE,
    LEVELS,
    READ_BY,
    STUDY,
    TENTH,
    texts_of,
    trial_rows,
)
from dpcore.study.recorded import read_recorded

ATTACKERS = (*READ_BY, WORDS)


@pytest.mark.slow
def test_rows_of_a_trial_are_shares_of_the_same_words() -> None:
    texts = texts_of(load(), 2, 1)
    rows = list(trial_rows(open_channel(create("k-ary", load())), texts, 8.0, 0.1, 0))
    assert len(rows) == 2 * len(ATTACKERS) + 2
    assert len({row["count"] for row in rows}) == 1
    value = {(row["quantity"], row["variant"]): row["value"] for row in rows}
    assert all(value[TENTH, name] >= value[FIRST, name] for name in ATTACKERS)
    for gain, quantity in ((GAIN_FIRST, FIRST), (GAIN_TEN, TENTH)):
        difference = value[quantity, "words"] - value[quantity, "bigram"]
        assert value[gain, "words"] == pytest.approx(difference)
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows)
    assert all((row["epsilon"], row["at"]) == (8.0, 0.1) for row in rows)


@pytest.mark.slow
def test_no_row_where_every_word_stays() -> None:
    channel = open_channel(create("k-ary", load()))
    assert not list(trial_rows(channel, texts_of(load(), 2, 1), 60.0, 0.25, 0))


@pytest.mark.parametrize(("name", "reader"), [(STUDY.name, WORDS), (LARGE.name, SMOLLM2)])
def test_the_record_is_of_the_plan(name: str, reader: str) -> None:
    record = read_recorded(name)
    table = record.table[record.table["quantity"].isin([FIRST, TENTH, GAIN_FIRST, GAIN_TEN])]
    assert set(table["at"]) == set(LEVELS)
    benchmark = read_recorded("benchmark").table
    levels = benchmark[benchmark["quantity"] == "level"].set_index(["label", "at"])["value"]
    for (label, level), rows in table.groupby(["label", "at"]):
        assert set(rows["epsilon"]) == {levels[label, level]}
        assert len(rows) == 2 * len(ATTACKERS) + 2
        assert set(rows["variant"]) == {*READ_BY, reader}
