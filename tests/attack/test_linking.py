"""Texts singled out by a few of their words, against a plain search."""

from itertools import combinations

import numpy as np
import pytest

from dpcore.attack.linking import linking, ordinary_words_of
from dpcore.errors import ParameterError
from dpcore.learn.corpus import teaching_corpus
from dpcore.lexicon.catalogue import load


def plainly(texts: list[set[int]], known: int) -> tuple[float, float]:
    alone, fitting = [], []
    for text in texts:
        if len(text) < known:
            continue
        counts = [
            sum(set(some) <= other for other in texts) for some in combinations(sorted(text), known)
        ]
        alone.append(np.mean([count == 1 for count in counts]))
        fitting.append(np.mean(counts))
    return float(np.mean(alone)), float(np.mean(fitting))


@pytest.mark.parametrize("known", [1, 2, 3])
def test_as_a_plain_search(known: int) -> None:
    rng = np.random.default_rng(5)
    texts = [set(rng.integers(0, 25, rng.integers(0, 9)).tolist()) for _ in range(40)]
    link = linking(texts, known)
    assert (link.alone, link.fitting) == pytest.approx(plainly(texts, known))
    assert link.texts == sum(len(text) >= known for text in texts)
    assert link.texts + link.skipped == len(texts)


@pytest.mark.parametrize("known", [1, 2])
def test_releases_as_a_plain_search(known: int) -> None:
    rng = np.random.default_rng(6)
    texts = [set(rng.integers(0, 60, 8).tolist()) for _ in range(40)]
    released = [{w for w in text if rng.random() < 0.6} | {int(rng.integers(60))} for text in texts]
    shares = [
        np.mean(
            [
                [i for i, other in enumerate(released) if set(some) <= other] == [place]
                for some in combinations(sorted(text), known)
            ]
        )
        for place, text in enumerate(texts)
    ]
    link = linking(texts, known, released)
    assert link.alone == pytest.approx(np.mean(shares))
    assert link.error == pytest.approx(np.std(shares, ddof=1) / np.sqrt(40))
    assert 0 < link.alone < 1


def test_as_many_releases_as_texts_are_needed() -> None:
    with pytest.raises(ParameterError, match="2 texts need as many releases, got 1"):
        linking([{1}, {2}], 1, [{1}])


def test_equal_texts_are_never_alone_and_disjoint_ones_always() -> None:
    assert linking([{1, 2}, {1, 2}], 2).alone == 0
    assert linking([{1, 2}, {1, 2}], 2).fitting == 2
    assert linking([{1, 2}, {3, 4}], 1).alone == 1


def test_a_word_twice_counts_once() -> None:
    texts = [[1, 1, 2], [2, 3, 3], [2]]
    assert linking(texts, 2) == linking([set(text) for text in texts], 2)


@pytest.mark.parametrize("known", [0, 4, -1])
def test_a_number_out_of_range_is_refused(known: int) -> None:
    with pytest.raises(ParameterError, match="1 to 3"):
        linking([{1, 2, 3, 4}], known)


@pytest.mark.parametrize("texts", [[], [set()], [{1}]])
def test_texts_that_are_too_short_are_refused(texts: list[set[int]]) -> None:
    with pytest.raises(ParameterError, match="no text has 2 words"):
        linking(texts, 2)


def test_what_is_marked_is_not_counted() -> None:
    corpus, lexicon = teaching_corpus(), load()
    words = ordinary_words_of(corpus, lexicon)
    assert len(words) == len(corpus)
    place = next(i for i, spans in enumerate(corpus.spans) if spans)
    span = corpus.spans[place][0]
    rest = corpus.texts[place].replace(corpus.texts[place][span.start : span.end], " ")
    marked = corpus.texts[place][span.start : span.end].lower().split()
    for word in marked:
        if word in lexicon and word not in rest.lower():
            assert lexicon.index(word) not in words[place]
    assert lexicon.index("the") not in frozenset.union(*words)
    assert -1 not in frozenset.union(*words)
