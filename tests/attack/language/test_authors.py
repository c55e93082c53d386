"""Authorship attribution: the author model by hand, and ranks decided by one text."""

import numpy as np
import pytest

from dpcore.attack.language.authors import (
    PRIOR_WORDS,
    WRITTEN,
    AnonymousText,
    AuthorRanks,
    Authors,
    beginnings,
    evidence,
    place,
    rank_authors,
)
from dpcore.attack.language.context import BIGRAM, WORDS
from dpcore.attack.language.language import word_frequencies
from dpcore.attack.language.recovered import FREQUENCY
from dpcore.attack.output.channel import open_channel
from dpcore.errors import CorpusError
from dpcore.learn.corpus import Bags, bags_of
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import create
from dpcore.rewrite.sentence import prepare
from tests.fixtures import MakeRng

TEXTS = (
    "the nurse took my blood pressure and the doctor came to the hospital",
    "the garden was full of roses and the soil was wet",
    "a nurse and a doctor at the hospital said that the patient was well",
    "we planted roses and tulips in the garden behind the house",
)
WROTE = np.array([0, 1, 0, 1])


@pytest.fixture(scope="module")
def authors() -> Authors:
    return Authors(bags_of(TEXTS, load()), WROTE, word_frequencies(load()))


def test_what_a_text_tells_is_the_bayes_factor_of_independent_words(rng: MakeRng) -> None:
    draws = rng()
    frequency, (first, second) = draws.dirichlet(np.ones(4)), draws.dirichlet(np.ones(4), 2)
    channel = draws.dirichlet(np.ones(4), 4)  # word, output
    outputs, known = np.array([2, 0, 2]), np.array([3])
    beliefs = (frequency[:, None] * channel)[:, outputs].T
    beliefs /= beliefs.sum(axis=1, keepdims=True)
    told = evidence(np.stack([first, second]) / frequency, beliefs, known)
    for author, score in zip((first, second), told, strict=True):
        seen = np.prod((author @ channel)[outputs] / (frequency @ channel)[outputs])
        assert np.exp(score) == pytest.approx(seen * author[3] / frequency[3])


def test_what_is_known_is_a_law_and_leaves_the_document_out(authors: Authors) -> None:
    lexicon, frequency = load(), word_frequencies(load())
    laws = authors.ratios(without=2) * frequency
    assert laws.sum(axis=1) == pytest.approx([1.0, 1.0])
    nurse, words = lexicon.index("nurse"), TEXTS[0].split()
    known = [word for word in words if word in lexicon]
    wanted = (1 + PRIOR_WORDS * frequency[nurse]) / (len(known) + PRIOR_WORDS)
    assert laws[0, nurse] == pytest.approx(wanted)
    without = Authors(bags_of([TEXTS[i] for i in (0, 1, 3)], lexicon), WROTE[[0, 1, 3]], frequency)
    assert laws[1] == pytest.approx(without.ratios(without=0)[1] * frequency)


def test_who_has_one_document_is_no_more_than_all(authors: Authors) -> None:
    alone = Authors(bags_of(TEXTS[:2], load()), WROTE[:2], word_frequencies(load()))
    assert not alone.known_without(0)
    assert authors.known_without(0)
    assert alone.ratios(without=0)[0] == pytest.approx(np.ones(len(load())))
    assert not beginnings(alone, TEXTS[:2], load(), 5, 10, 0)


def test_an_output_that_tells_nothing_tells_for_no_one(authors: Authors) -> None:
    frequency = word_frequencies(load())
    told = evidence(authors.ratios(0), frequency[None] / frequency.sum(), np.empty(0, np.int64))
    assert told == pytest.approx([0.0, 0.0])


def test_equals_share_a_place() -> None:
    assert [place(np.array([1.0, 3.0, 1.0, 0.0]), i) for i in range(4)] == [2.5, 1.0, 2.5, 4.0]


def test_texts_of_one_document_count_as_one_that_is_longer() -> None:
    ranked = AuthorRanks(3, {"a": np.array([1.0, 1.0, 3.0, 2.5])}, np.array([7, 7, 7, 9]))
    assert ranked.first("a")["share"] == 0.5
    mean = ranked.mean("a")
    assert mean.mean == pytest.approx(7.5 / 4)
    assert (mean.low, mean.high) == (1.0, 3.0)  # two documents: cut at what a place can be


@pytest.mark.slow
@pytest.mark.parametrize("name", ["k-ary", "neighbour-response"])
def test_where_every_word_stays_all_attackers_are_one(authors: Authors, name: str) -> None:
    channel = open_channel(create(name, load()))
    tried = beginnings(authors, TEXTS, load(), 8, 10, 0)
    assert sorted(each.document for each in tried) == [0, 1, 2, 3]
    assert all(each.sentence.words.size == 8 for each in tried)
    ranked = rank_authors(channel, authors, tried, 60.0, reader=WORDS)
    assert set(ranked.places) == {WRITTEN, FREQUENCY, BIGRAM, WORDS}
    assert all((places == ranked.places[WRITTEN]).all() for places in ranked.places.values())
    assert ranked.first(WRITTEN)["share"] == 1.0


def test_what_cannot_be_tried_is_refused(authors: Authors) -> None:
    with pytest.raises(CorpusError, match="2 to"):
        Authors(bags_of(TEXTS[:1], load()), WROTE[:1], word_frequencies(load()))
    with pytest.raises(CorpusError, match="2 to"):
        Authors(Bags(np.empty(0, np.int64), np.zeros(1, np.int64), 5), WROTE[:0], np.ones(5) / 5)
    tried = [AnonymousText(prepare(TEXTS[0], load()), 0)] * 2
    with pytest.raises(CorpusError, match="two documents"):
        rank_authors(open_channel(create("k-ary", load())), authors, tried, 5.0)
