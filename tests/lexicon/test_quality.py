"""The bundled lexicon: its content, and the quality that its provenance states."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.errors import LexiconError
from dpcore.lexicon.cache import sha256_of_file
from dpcore.lexicon.train.sources import SOURCES
from dpcore.lexicon.train.vectors import nearest_distances, word_similarity
from dpcore.lexicon.train.vocabulary import DEBRIS, WANTED
from dpcore.lexicon.train.wordnet import read_wordnet
from tests.needs import ROOT

BUNDLED = ROOT / "data" / "lexicon"


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    return json.loads((BUNDLED / "manifest.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def words() -> list[str]:
    return (BUNDLED / "words.txt").read_text(encoding="utf-8").split("\n")


@pytest.fixture(scope="module")
def vectors() -> NDArray[np.float16]:
    return np.load(BUNDLED / "vectors.npy", allow_pickle=False)


# The bundled files


def test_agreement_with_people_is_what_the_project_guarantees(
    words: list[str],
    vectors: NDArray[np.float16],
    data_dir: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    scores = word_similarity(words, vectors, data_dir / "word_similarity.csv")
    by_set = {score.dataset: score for score in scores}
    with capsys.disabled():
        for score in scores:
            print(f"\n{score.dataset}: {score.spearman:.3f} on {score.pairs} pairs", end="")
    assert by_set["WS-353-ALL"].spearman >= 0.77
    assert by_set["WS-353-ALL"].pairs >= 300
    assert by_set["SIMLEX-999"].spearman >= 0.44
    assert by_set["SIMLEX-999"].pairs >= 930


def test_the_manifest_states_the_measured_agreement(
    manifest: dict[str, Any], words: list[str], vectors: NDArray[np.float16], data_dir: Path
) -> None:
    for stated, score in zip(
        manifest["quality"],
        word_similarity(words, vectors, data_dir / "word_similarity.csv"),
        strict=True,
    ):
        assert (stated["dataset"], stated["pairs"]) == (score.dataset, score.pairs)
        assert stated["spearman"] == pytest.approx(score.spearman, abs=1e-9)


@pytest.mark.full
def test_the_scale_is_that_of_glove(vectors: NDArray[np.float16], data_dir: Path) -> None:
    glove = np.load(data_dir / "glove840b_33860x300.npy", allow_pickle=False)
    expected = np.median(nearest_distances(glove))
    assert np.median(nearest_distances(vectors)) == pytest.approx(expected, rel=0.01)


def test_the_files_are_those_of_the_manifest(
    manifest: dict[str, Any], words: list[str], vectors: NDArray[np.float16]
) -> None:
    assert len(words) == len(vectors) == manifest["words"]
    assert 24_000 <= len(words) <= 26_000
    assert vectors.shape[1] == manifest["dimensions"] == 300
    assert vectors.dtype == np.float16
    for name, digest in manifest["sha256"].items():
        assert sha256_of_file(BUNDLED / name) == digest
    lexicon = sum(
        (BUNDLED / name).stat().st_size for name in [*manifest["sha256"], "manifest.json"]
    )
    assert lexicon <= 16_000_000
    # What is computed from it and shipped beside it, so that no page waits for it.
    assert sum(path.stat().st_size for path in BUNDLED.iterdir()) - lexicon <= 4_000_000


def test_the_texts_are_those_of_the_manifest(manifest: dict[str, Any], data_dir: Path) -> None:
    stated = {entry["file"]: entry for entry in manifest["sources"]}
    for source in SOURCES:
        assert stated[source.file]["sha256"] == sha256_of_file(source.path(data_dir))
        assert stated[source.file]["licence"].startswith("CC")


def test_every_row_is_finite_not_zero_and_met_once(vectors: NDArray[np.float16]) -> None:
    assert np.isfinite(vectors).all()
    assert vectors.any(axis=1).all()
    assert len(np.unique(vectors, axis=0)) == len(vectors)


def test_everyday_words_are_there(words: list[str]) -> None:
    assert not WANTED - set(words)
    assert {"password", "delicious", "terrible", "i", "a", "the", "7", "2020"} <= set(words)


def test_no_word_is_junk(words: list[str]) -> None:
    assert len(set(words)) == len(words)
    shape = re.compile(r"[a-z]+(?:['-][a-z]+)*|\d{1,4}|\d{1,2}(?:st|nd|rd|th)")
    assert [word for word in words if not shape.fullmatch(word)] == []
    assert not DEBRIS & set(words)
    assert [word for word in words if len(word) == 1 and word not in "ai0123456789"] == []
    assert sum(word[0].isdigit() for word in words) <= 120


def test_no_word_is_one_that_the_dictionary_marks_as_an_insult(
    words: list[str], data_dir: Path
) -> None:
    dictionary = read_wordnet(data_dir / "oewn_synsets.parquet")
    assert dictionary.insults
    assert [word for word in words if dictionary.insult(word)] == []


def test_frequent_words_come_first(words: list[str]) -> None:
    assert {"the", "of", "and", "a", "in", "to"} <= set(words[:12])
    rank = {word: index for index, word in enumerate(words)}
    assert rank["good"] < rank["delicious"] < rank["migraine"]


# The measure


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.csv"
    path.write_text(
        "set,w1,w2,score\nT,Cat,dog,9\nT,cat,Car,2\nT,dog,car,1\nT,cat,zebra,5\nU,cat,dog,1\n"
    )
    return path


def test_scores_rank_by_euclidean_distance_and_count_covered_pairs(pairs: Path) -> None:
    # The cosine would rank cat and car, on one line, as the nearest of all.
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [9.0, 0.0]])
    first, second = word_similarity(["cat", "dog", "car"], vectors, pairs)
    assert (first.dataset, first.pairs, first.pairs_total) == ("T", 3, 4)
    assert first.spearman == pytest.approx(1.0)
    assert (second.dataset, second.pairs) == ("U", 1)
    assert np.isnan(second.spearman)


def test_scores_refuse_what_does_not_fit(pairs: Path, tmp_path: Path) -> None:
    with pytest.raises(LexiconError, match="1 words, but 2 rows"):
        word_similarity(["cat"], np.eye(2), pairs)
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("w1,w2\na,b\n")
    with pytest.raises(LexiconError, match="lacks the columns score, set"):
        word_similarity(["cat"], np.ones((1, 2)), wrong)
