import numpy as np
import pytest

from dpcore.errors import CorpusError, ParameterError, TextError
from dpcore.learn.adept import END, PAD, UNKNOWN, WordList, word_list, words_of

TEXTS = ["To Oslo, please!", "to lima at 5:30 p.m.", "to oslo"]


def test_words_are_those_of_the_house_in_lower_case_without_punctuation() -> None:
    words = words_of("What's the FARE, to St. John's?")
    assert words == ["what's", "the", "fare", "to", "st", "john's"]
    assert words_of("-- ... !") == []


def test_the_most_frequent_words_are_kept_and_ties_go_by_name() -> None:
    result = word_list(TEXTS, 4, 6)
    assert result.words == ("to", "oslo", "5:30", "at")
    assert result.size == 7
    assert result == word_list(list(TEXTS), 4, 6)
    assert result.fingerprint != word_list(TEXTS, 3, 6).fingerprint


def test_rows_and_text_are_inverse_up_to_unknown_words() -> None:
    vocabulary = word_list(TEXTS, 50, 6)
    rows = vocabulary.rows(["Oslo to Lima", "to nowhere", "to to to to to to to to"])
    assert rows.shape == (3, 7)
    assert rows[0].tolist()[3:] == [END, PAD, PAD, PAD]
    assert rows[1].tolist()[1:3] == [UNKNOWN, END]
    assert vocabulary.written(rows) == ["oslo to lima", "to …", "to to to to to to"]
    assert vocabulary.written(rows[:, :2]) == ["oslo to", "to …", "to to"]  # no end was written
    assert vocabulary.rows([]).shape == (0, 7)
    assert vocabulary.written(np.array([[END, 5]])) == [""]


def test_a_text_of_one_word_and_one_of_none() -> None:
    vocabulary = word_list(TEXTS, 50, 6)
    assert vocabulary.written(vocabulary.rows(["Oslo?"])) == ["oslo"]
    for text in ("", "   ", "?!"):
        with pytest.raises(TextError, match="at least one word"):
            vocabulary.rows(["oslo", text])


def test_refusals() -> None:
    with pytest.raises(CorpusError, match="no word to learn from"):
        word_list(["...", ""], 5, 5)
    with pytest.raises(ParameterError, match="none of them twice"):
        WordList(("a", "a"), 3)
    with pytest.raises(ParameterError, match="1 to 1,000 words"):
        WordList(("a",), 0)
