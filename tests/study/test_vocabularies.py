"""The papers' vocabularies: counted like a plain count, and refused where a file is missing."""

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpcore.errors import StudyError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.study import vocabularies
from dpcore.study.vocabularies import (
    BUNDLED,
    CORPORA,
    CorpusVocabulary,
    count_words,
    load_vocabulary,
    random_vectors,
)
from tests.mechanisms import lexicons

WORDS = ("the", "dog", "barks", "well-known", "London", "a", "cat")
TEXTS = ["The dog barks.", "A dog; the dog!", "In London a well-known<br />cat 42"]


@pytest.fixture
def lexicon() -> Lexicon:
    return Lexicon("few", WORDS, lexicons.cloud(len(WORDS), 3).vectors)


def test_tokens_are_counted_as_a_mechanism_reads_them(lexicon: Lexicon) -> None:
    counts, unknown = count_words((text.replace("<br />", " ") for text in TEXTS), lexicon)
    plain = Counter("the dog barks a dog the dog London a well-known cat".split())
    assert dict(zip(WORDS, counts.tolist(), strict=True)) == {w: plain[w] for w in WORDS}
    assert unknown == 2  # "In" and "42"


@pytest.fixture
def folder(tmp_path: Path, lexicon: Lexicon, monkeypatch: pytest.MonkeyPatch) -> Path:
    np.save(tmp_path / "v.npy", lexicon.vectors)
    (tmp_path / "v.vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    table = {"text": [*TEXTS, TEXTS[0], "cat cat cat"], "split": ["train"] * 4 + ["test"]}
    pd.DataFrame(table).to_parquet(tmp_path / "t.parquet")
    corpus = CorpusVocabulary("toy", "t.parquet", vectors="v.npy", most=4)
    monkeypatch.setitem(CORPORA, "toy", corpus)
    return tmp_path


def test_the_most_frequent_words_in_the_order_of_the_vectors(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = load_vocabulary("toy", folder)
    assert result.lexicon.words == ("the", "dog", "barks", "a")
    assert result.counts.tolist() == [2, 3, 1, 2]  # a repeated text and the test split count not
    assert (result.tokens, result.unknown) == (13, 5)
    assert set(result.data) == {"t.parquet", "v.npy"}
    monkeypatch.setattr(vocabularies, "count_words", None)  # the second time it is kept
    assert load_vocabulary("toy", folder).lexicon.fingerprint == result.lexicon.fingerprint


def test_what_is_missing_is_said(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"does not hold imdb.parquet and glove840b"):
        load_vocabulary("imdb", tmp_path)
    with pytest.raises(StudyError, match=r"give their folder"):
        load_vocabulary("imdb", None)
    for nowhere in (None, tmp_path):
        with pytest.raises(StudyError, match=r"reads glove840b_33860x300.npy: give its folder"):
            load_vocabulary("glove5k", nowhere)
    with pytest.raises(StudyError, match=r"no vocabulary 'x'; there are: bundled, glove5k, imdb"):
        load_vocabulary("x", tmp_path)
    (folder / "t.parquet").write_bytes(b"no parquet")
    with pytest.raises(StudyError, match="not a parquet file with the columns split, text"):
        load_vocabulary("toy", folder)


def test_the_bundled_lexicon_needs_no_folder() -> None:
    assert len(load_vocabulary(BUNDLED, None).lexicon) == 25_000


def test_random_vectors_have_the_words_and_the_scale() -> None:
    before = lexicons.cloud(1_500, 40)
    result = random_vectors(before)
    assert result.words == before.words
    assert result.fingerprint == random_vectors(before).fingerprint
    assert result.vectors.shape == before.vectors.shape
    gaps = np.linalg.norm(result.vectors[:, None, :8] - result.vectors[:1, :8], axis=2)
    assert gaps.max() > 0
    table = result.neighbours(2)
    assert np.median(table.distances[:, 1]) == pytest.approx(4.787, rel=0.01)
    # They know nothing of the words: no correlation beyond chance with the true vectors.
    inner = np.corrcoef(result.vectors.ravel(), before.vectors.ravel())[0, 1]
    assert abs(inner) < 5 / np.sqrt(before.vectors.size)


def test_anything_but_a_lexicon_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="no vocabulary 'x'"):
        load_vocabulary("x", tmp_path)
    with pytest.raises(StudyError, match="with -bundled or -random behind"):
        load_vocabulary("sst2-other", tmp_path)
    with pytest.raises(StudyError, match=r"does not hold sst2.parquet"):
        load_vocabulary("sst2", tmp_path)
    assert len(load_vocabulary("bundled", None).lexicon) == 25_000
