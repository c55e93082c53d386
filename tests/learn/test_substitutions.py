import gzip
import json
import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcore.errors import CorpusError, EpsilonError, ParameterError
from dpcore.learn.robust_data import substitutions_of
from dpcore.learn.substitutions import from_lists, likely_words, nearest_words
from dpcore.lexicon.lexicon import Lexicon
from dpcore.limits import MAX_SUBSTITUTES
from dpcore.mechanisms.registry import create


@pytest.fixture(scope="module")
def words() -> Lexicon:
    vectors = np.random.default_rng(5).standard_normal((60, 4)).astype(np.float32)
    return Lexicon("sixty", tuple(f"w{i}" for i in range(60)), vectors)


def test_nearest_words_are_those_of_brute_force(words: Lexicon) -> None:
    substitutes = nearest_words(words, [7, 3, 3, -1, 50], 4)
    assert substitutes.words.tolist() == [3, 7, 50]
    vectors = words.vectors.astype(np.float64)
    for word in substitutes.words:
        gaps = np.linalg.norm(vectors - vectors[word], axis=1)
        assert substitutes.of(word).tolist() == np.argsort(gaps)[1:5].tolist()
    assert substitutes.inside.tolist() == [1.0, 1.0, 1.0]
    assert substitutes.mean_size == 4.0


def test_a_list_keeps_what_the_vocabulary_holds(words: Lexicon) -> None:
    substitutes = from_lists(
        words, {"w9": ["w1", "unknown", "w1", "w4"], "other": ["w1"], "w2": []}
    )
    assert substitutes.words.tolist() == [2, 9]
    assert substitutes.of(9).tolist() == [1, 4]
    assert substitutes.of(2).size == substitutes.of(5).size == 0
    assert substitutes.mean_size == 1.0
    with pytest.raises(ValueError, match="read-only"):
        substitutes.choices[0, 0] = 1


def test_likely_words_are_those_of_the_law(words: Lexicon) -> None:
    mechanism = create("tem", words, {})
    substitutes = likely_words(mechanism, range(60), 3.0, 0.03)
    for word in range(60):
        law = mechanism.law(word, [3.0]).dense(60)[0]
        allowed = set(np.flatnonzero(law >= 0.03).tolist()) | {word}
        assert set(substitutes.of(word).tolist()) == allowed - {word}
        assert substitutes.inside[word] == pytest.approx(law[sorted(allowed)].sum())
    assert (substitutes.choices[:, 0] == np.arange(60)).all()


def test_tables_hold_a_row_for_every_word(words: Lexicon) -> None:
    substitutes = nearest_words(words, [3], 2)
    table = substitutes.table(np.array([1, 3]))
    assert table[0].tolist() == [1, 1, 1]
    assert table[1].tolist() == [3, *substitutes.of(3)]
    assert from_lists(words, {}).table(np.array([4])).tolist() == [[4]]
    assert from_lists(words, {}).mean_size == 0.0


def test_bad_arguments_are_refused(words: Lexicon) -> None:
    for count in (0, -1, 60):
        with pytest.raises(ParameterError, match="substitutes"):
            nearest_words(words, [1], count)
    with pytest.raises(ParameterError, match="word indices"):
        nearest_words(words, [60], 2)
    for least in (0.0, 1.1, math.nan, 0.5 / MAX_SUBSTITUTES):
        with pytest.raises(ParameterError, match="least probability"):
            likely_words(create("tem", words, {}), [1], 3.0, least)
    with pytest.raises(ParameterError, match="no exact law"):
        likely_words(create("madlib", words, {}), [1], 3.0, 0.1)
    with pytest.raises(EpsilonError):
        likely_words(create("tem", words, {}), [], -1.0, 0.1)
    long = {"w1": ["w2"] * 5, "w2": []}
    assert from_lists(words, long).of(1).tolist() == [2]


def test_the_first_substitutes_of_nearest_words_are_the_nearest(words: Lexicon) -> None:
    many = nearest_words(words, [3, 7], 8)
    few = nearest_words(words, [3, 7], 2)
    assert (many.first(2).choices == few.choices).all()
    assert many.first(8).mean_size == 8.0


def test_all_words_inside_is_a_product_over_the_places(words: Lexicon) -> None:
    mechanism = create("tem", words)
    substitutes = likely_words(mechanism, [3, 7], 2.0, 0.05)
    law = {word: substitutes.inside[i] for i, word in enumerate([3, 7])}
    text = np.array([3, -1, 7, 3])
    assert substitutes.all_inside(text) == pytest.approx(law[3] ** 2 * law[7])
    assert nearest_words(words, [3], 2).all_inside(text) == 1.0


def test_a_packed_list_with_any_damaged_byte_is_refused_or_read(
    words: Lexicon, tmp_path: Path
) -> None:
    path = tmp_path / "lists.json.gz"
    nobody: Any = None  # no text is asked for its words
    whole = gzip.compress(json.dumps({"w9": ["w1", "w4"]}).encode(), mtime=0)
    path.write_bytes(whole)
    assert substitutions_of(words, path, 4, nobody).of(9).tolist() == [1, 4]
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        with suppress(CorpusError):
            substitutions_of(words, path, 4, nobody)
