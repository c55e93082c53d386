"""Choice of the words that are measured."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from dpcore.errors import ParameterError, TextError, UnknownWordError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.density import vocabulary_density
from dpcore.measure.words import (
    Selection,
    _systematic,
    corpus,
    corpus_file,
    sample,
    select_words,
    subsample,
)
from tests.fixtures import MakeRng

WORDS = "the doctor of weather terrible is a good friend he said n't do it's".split()


@pytest.fixture(scope="module")
def english() -> Lexicon:
    rows = np.random.default_rng(0).standard_normal((len(WORDS), 3))
    return Lexicon("english", tuple(WORDS), rows.astype(np.float32))


def test_named_words_keep_their_order_and_stand_once(english: Lexicon) -> None:
    selection = select_words(english, [" weather", "doctor", "weather ", ""])
    assert selection.names == ("weather", "doctor")
    assert [english.words[i] for i in selection.words] == ["weather", "doctor"]
    assert selection.weights.tolist() == [1.0, 1.0]


def test_unknown_words_are_all_named(english: Lexicon) -> None:
    with pytest.raises(UnknownWordError, match="did you mean 'doctor'"):
        select_words(english, ["doctr", "weather"])
    with pytest.raises(UnknownWordError, match=r"'x1', 'x2', 'x3', 'x4', 'x5' and 2 more are not"):
        select_words(english, ["weather", *(f"x{i}" for i in range(1, 8))])
    for names in ([], [""], [" ", ""]):
        with pytest.raises(ParameterError, match="the list of words is empty"):
            select_words(english, names)


@pytest.mark.parametrize("by", ["frequency", "density"])
def test_a_sample_has_one_word_from_each_stratum(middle: Lexicon, by: str, rng: MakeRng) -> None:
    order = np.arange(700)
    if by == "density":
        order = np.argsort(vocabulary_density(middle, 1).nearest, kind="stable")
    position = np.empty(700, dtype=int)
    position[order] = np.arange(700)
    for count in (1, 13, 699, 700):
        selection = sample(middle, count, rng(count), by)
        edges = np.array([i * 700 // count for i in range(count + 1)])
        places = position[selection.words]
        assert ((edges[:-1] <= places) & (places < edges[1:])).all()
        assert selection.weights == pytest.approx(np.diff(edges) * count / 700)
        assert by in selection.description
    assert sample(middle, 50, rng(1), by).words.tolist() == (
        sample(middle, 50, rng(1), by).words.tolist()
    )


def test_the_weighted_mean_of_a_sample_is_unbiased(small: Lexicon, rng: MakeRng) -> None:
    """The mean of 4,000 samples of 7 of 60 words; 5 standard errors have probability 6e-7."""
    values = np.linspace(0, 1, 60) ** 3
    means = []
    for i in range(4000):
        selection = sample(small, 7, rng(i))
        means.append(selection.weights @ values[selection.words] / selection.weights.sum())
    assert abs(np.mean(means) - values.mean()) <= 5 * np.std(means) / np.sqrt(len(means))


@pytest.mark.parametrize("count", [0, -5, 61])
def test_a_sample_of_an_impossible_size_is_refused(
    small: Lexicon, rng: MakeRng, count: int
) -> None:
    with pytest.raises(ParameterError, match="a sample has 1 to 60 words"):
        sample(small, count, rng())


def test_a_corpus_counts_the_tokens_that_a_mechanism_fills(english: Lexicon) -> None:
    text = "The doctor said: the weather is terrible, Qwertz! He said don't. Qwertz?"
    selection = corpus(english, text)
    counts = dict(zip(selection.names, selection.weights.tolist(), strict=True))
    wanted = Counter("the doctor said the weather is terrible he said do n't".split())
    assert counts == {word: float(count) for word, count in wanted.items()}
    assert (selection.tokens, selection.unknown) == (13, 2)


def test_a_corpus_file_that_cannot_be_measured_is_refused(english: Lexicon, tmp_path: Path) -> None:
    files = {
        "latin1": ("die Straße".encode("latin-1"), "not UTF-8"),
        "utf16": ("weather".encode("utf-16"), "UTF-16"),
        "empty": (b"", "empty"),
        "marks": (b"... !", "none of the words"),
        "foreign": (b"Qwertz uiop", "none of the words"),
        "binary": (b"\x00\x01weather", "control character"),
    }
    for name, (data, message) in files.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(TextError, match=message):
            corpus_file(english, tmp_path / name)
    for path in (tmp_path / "absent", tmp_path):
        with pytest.raises(TextError, match=f"cannot read {re.escape(str(path))}"):
            corpus_file(english, path)
    (tmp_path / "good").write_text("\ufeffgood weather", encoding="utf-8")
    assert set(corpus_file(english, tmp_path / "good").names) == {"good", "weather"}


def weighted(weights: Sequence[float]) -> Selection:
    k = len(weights)
    names = tuple(f"w{i}" for i in range(k))
    return Selection(np.arange(k), names, np.array(weights, dtype=float), "tokens of a corpus")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "count"),
    [
        ([5, 1, 1, 1, 1, 1], 3),
        ([1, 9, 2, 40, 3, 1, 7], 4),
        ([1] * 9, 4),
        ([100, 50, 1, 1], 2),
        ([3, 1], 1),
        ([4, 4, 4, 1], 3),
    ],
)
def test_a_word_is_kept_in_proportion_to_its_weight(given: list[int], count: int) -> None:
    """Exact: the draw is constant between the points u at which a word's share ends."""
    weights = np.array(given, dtype=float)
    total = np.zeros(weights.size)
    grid = np.linspace(0, 1, 5041)[:-1] + 0.5 / 5040  # 5040 is divided by every denominator here
    for u in grid:
        places, new = _systematic(weights, count, float(u))
        assert len(set(places.tolist())) == count
        assert (np.diff(places) > 0).all()
        assert new.sum() == pytest.approx(weights.sum(), rel=1e-12)
        total[places] += new / grid.size
    # Each break inside a cell of the grid shifts at most one cell of a word's expected weight.
    assert total == pytest.approx(weights, abs=2 * weights.sum() / grid.size)


def test_heavy_words_are_kept_for_certain_with_their_weight() -> None:
    for u in (0.0, 0.3, 0.999):
        places, new = _systematic(np.array([1, 9, 2, 40, 3, 1, 7], dtype=float), 4, u)
        kept = dict(zip(places.tolist(), new.tolist(), strict=True))
        assert (kept[3], kept[1]) == (40.0, 9.0)
        assert sum(kept.values()) == pytest.approx(63.0)


def test_a_corpus_is_reduced_reproducibly_and_says_so(rng: MakeRng) -> None:
    whole = weighted([1, 9, 2, 40, 3, 1, 7])
    small = subsample(whole, 4, rng(1))
    assert small.words.tolist() == subsample(whole, 4, rng(1)).words.tolist()
    assert small.names == tuple(whole.names[i] for i in small.words)
    assert small.description == "4 of the 7 different words of: tokens of a corpus"
    assert subsample(whole, 7, rng(1)) is whole
    with pytest.raises(ParameterError, match="at least 1 word must be kept, got 0"):
        subsample(whole, 0, rng(1))


def test_a_text_beyond_the_limit_of_its_caller_is_refused(english: Lexicon) -> None:
    assert len(corpus(english, "good weather", max_characters=12)) == 2
    with pytest.raises(TextError, match="at most 11 are allowed"):
        corpus(english, "good weather", max_characters=11)
