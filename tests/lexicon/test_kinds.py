"""The kinds of words: the bundled table, other lexicons, and how the table is made."""

from pathlib import Path

import numpy as np
import pytest

from dpcore.errors import LexiconError, ParameterError
from dpcore.lexicon import kinds as module
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.kinds import UNKNOWN, Kinds, kinds_of, shares_of, write_kinds
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.train.wordnet import kinds
from tests.needs import real_data


def test_the_bundled_words_have_kinds() -> None:
    lexicon = load(None)
    table = kinds_of(lexicon)
    assert len(table.names) == 46
    assert table.names[0] == UNKNOWN
    assert table.codes.shape == (len(lexicon),)
    assert table.known == pytest.approx(1 - 1704 / 25000)
    of = {word: table.of(lexicon.index(word)) for word in ("doctor", "garage", "monday", "cancer")}
    assert of == {
        "doctor": "noun.person",
        "garage": "noun.artifact",
        "monday": "noun.time",
        "cancer": "noun.person",
    }


def test_the_words_of_another_lexicon_are_looked_up() -> None:
    vectors = np.eye(3, dtype=np.float32)
    table = kinds_of(Lexicon("mine", ("garage", "qqzzyyxx", "doctor"), vectors))
    assert [table.of(i) for i in range(3)] == ["noun.artifact", UNKNOWN, "noun.person"]
    assert table.known == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="read-only"):
        table.codes[0] = 1


@pytest.mark.slow
def test_the_table_comes_out_again(tmp_path: Path) -> None:
    words = load(None).words
    again = kinds(real_data() / "oewn_synsets.parquet", words)
    assert again.names == kinds_of(load(None)).names
    np.testing.assert_array_equal(again.codes, kinds_of(load(None)).codes)
    write_kinds(tmp_path / "kinds.npz", again)
    with np.load(tmp_path / "kinds.npz", allow_pickle=False) as stored:
        assert Kinds(tuple(stored["names"].tolist()), stored["codes"]).of(0) == again.of(0)


def test_a_damaged_table_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("a\nb", encoding="utf-8")
    (tmp_path / "kinds.npz").write_bytes(b"nothing")
    monkeypatch.setattr(module, "bundled_folder", lambda: tmp_path)
    module._bundled.cache_clear()
    try:
        with pytest.raises(LexiconError, match="restore the folder data/lexicon"):
            kinds_of(load(None))
    finally:
        module._bundled.cache_clear()


# Rules that give words a share of ε: what they name, and what they refuse.


WORDS = ("the", "doctor", "garage", "run", "qqzzyyxx", "monday")
LEXICON = Lexicon("mine", WORDS, np.eye(6, dtype=np.float32))


def share(rule: str) -> dict[str, float]:
    return dict(zip(WORDS, shares_of(LEXICON, rule).of.tolist(), strict=True))


def test_a_kind_a_part_of_speech_and_a_rank_are_named() -> None:
    assert share("noun.person:0.2")["doctor"] == 0.2
    assert share("noun.person:0.2")["garage"] == 1.0
    nouns = share("noun:0.3")
    assert [word for word, value in nouns.items() if value == 0.3] == ["doctor", "garage", "monday"]
    assert share("unknown:0.4")["qqzzyyxx"] == 0.4
    assert list(share("rank>2:0.5").values()) == [1.0, 1.0, 0.5, 0.5, 0.5, 0.5]


def test_the_kinds_of_personal_data_are_named_together() -> None:
    words = (*WORDS, "flat", "4b", "2018")
    lexicon = Lexicon("digits", words, np.eye(9, dtype=np.float32))
    digits = shares_of(lexicon, "digit:0.4")
    assert [words[i] for i in digits.words(0)] == ["4b", "2018"]
    personal = shares_of(lexicon, "personal:0.4")
    assert [words[i] for i in personal.words(0)] == [
        "the", "doctor", "qqzzyyxx", "monday", "4b", "2018",
    ]  # fmt: skip
    assert personal.names == ("personal", "all other words")


def test_the_smallest_share_wins_in_any_order() -> None:
    for rule in ("noun:0.3, noun.person:0.2,rank>4:0.1", "rank>4:0.1,noun.person:0.2 ,noun:0.3"):
        assert share(rule) == share("noun.person:0.2,noun:0.3,rank>4:0.1")
        assert share(rule)["doctor"] == 0.2
        assert share(rule)["monday"] == 0.1
    assert share("noun.person:0.9,noun:0.3")["doctor"] == 0.3


def test_words_of_one_share_are_one_group_with_a_name() -> None:
    shares = shares_of(LEXICON, "noun.person:0.2,noun.time:0.2,unknown:0.5,verb.weather:0.01")
    assert shares.values.tolist() == [0.2, 0.5, 1.0]
    assert shares.names == ("noun.person and noun.time", "unknown", "all other words")
    assert [WORDS[i] for i in shares.words(0)] == ["doctor", "monday"]
    for array in (shares.values, shares.codes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_a_share_depends_on_nothing_but_the_word_and_public_tables() -> None:
    """The words of a lexicon, their order and their kinds: no text is an argument."""
    other = Lexicon("other vectors", WORDS, np.eye(6, dtype=np.float32)[::-1].copy())
    rule = "noun.person:0.2,rank>4:0.5"
    np.testing.assert_array_equal(shares_of(other, rule).codes, shares_of(LEXICON, rule).codes)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("", "1 to 100 entries"),
        (" , ", "1 to 100 entries"),
        (",".join(["noun:0.5"] * 101), "1 to 100 entries"),
        ("noun.person", "WHAT:SHARE"),
        (":0.5", "WHAT:SHARE"),
        ("noun.person:0", "share > 0"),
        ("noun.person:-1", "share > 0"),
        ("noun.person:1.01", "at most 1"),
        ("noun.person:nan", "WHAT:SHARE"),
        ("noun.person:inf", "WHAT:SHARE"),
        ("noun.person:much", "got 'noun.person:much'"),
        ("noun:0.2,noun:0.3", "twice"),
        ("noun.persons:0.2", "no public fact"),
        ("rank>-1:0.2", "no public fact"),
        # What methods split a budget by: all of it is computed from the private text.
        ("tfidf:0.2", "charged nowhere"),
        ("entity:0.2", "budget-from-text"),
    ],
)
def test_anything_but_a_rule_is_refused_with_the_reason(rule: str, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        shares_of(LEXICON, rule)
    assert message in str(caught.value)
