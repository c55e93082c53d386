"""The kinds of words: the bundled table, other lexicons, and how the table is made."""

from pathlib import Path

import numpy as np
import pytest

from dpcore.errors import LexiconError
from dpcore.lexicon import kinds as module
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.kinds import UNKNOWN, Kinds, kinds_of, write_kinds
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
