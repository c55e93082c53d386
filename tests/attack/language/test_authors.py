"""Authorship attribution: the author model by hand, and ranks decided by one text."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom

from dpcore.attack.language.authors import (
    PRIOR_WORDS,
    WRITTEN,
    AnonymousText,
    AuthorRanks,
    Authors,
    FoundAuthors,
    KindAccuracy,
    KnownAuthors,
    beginnings,
    evidence,
    follow,
    follow_written,
    joined,
    place,
    rank_authors,
    read_kinds,
    split_documents,
)
from dpcore.attack.language.context import BIGRAM, WORDS
from dpcore.attack.language.language import word_frequencies
from dpcore.attack.language.recovered import FREQUENCY
from dpcore.attack.output.channel import open_channel
from dpcore.errors import CorpusError, ParameterError
from dpcore.learn.classifiers import folds_of
from dpcore.learn.corpus import Bags, bags_of
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.bulk import outputs_at
from dpcore.mechanisms.registry import create
from dpcore.rewrite.sentence import prepare
from tests.chance import FALSE_ALARM
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons

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


# Authors of long releases.

MANY = lexicons.cloud(205, 5, 3)  # columns in blocks; the law of each word for the twin
LENGTHS = (3, 8, 20)


def words_of(rng: np.random.Generator, laws: np.ndarray, sizes: Sequence[int]) -> Bags:
    """Draw words of each author by their law; about one in ten is unknown."""
    drawn = [rng.choice(law.size, size=size, p=law) for law, size in zip(laws, sizes, strict=True)]
    words = np.concatenate(drawn)
    words[rng.random(words.size) < 0.1] = -1
    return Bags(words, np.concatenate([[0], np.cumsum(sizes)]), laws.shape[1])


def twin_scores(
    known: Bags, released: Bags, frequency: np.ndarray, channel: np.ndarray, length: int | None
) -> np.ndarray:
    """Σ ln P_a(y)/P(y) word by word, shape (k, k): of released author and scored author."""
    n, k = frequency.size, len(known)
    counts = np.zeros((k, n))
    for author in range(k):
        for word in known.part([author]).words.tolist():
            if word >= 0:
                counts[author, word] += 1
    pooled = counts.sum(axis=0) + PRIOR_WORDS * frequency
    pooled /= pooled.sum()
    unknown = sum(word < 0 for word in known.words.tolist()) / known.words.size
    scores = np.zeros((k, k))
    for true in range(k):
        for output in released.part([true]).words[:length].tolist():
            column = channel[:, output]
            other = unknown * column.mean()
            for author in range(k):
                law = counts[author] + PRIOR_WORDS * pooled
                law = law / law.sum()
                scores[true, author] += np.log(
                    ((1 - unknown) * law @ column + other)
                    / ((1 - unknown) * pooled @ column + other)
                )
    return scores


@pytest.mark.parametrize(
    ("name", "settings", "epsilons"),
    [
        ("k-ary", {}, (3.0, 6.0)),
        ("neighbour-response", {"k": 4}, (2.0, 5.0)),
        ("tem", {}, (8.0, 15.0)),
    ],
)
def test_ranks_are_those_of_every_word_weighed_alone(
    rng: MakeRng, name: str, settings: dict[str, int], epsilons: tuple[float, ...]
) -> None:
    draws, n = rng(), len(MANY)
    laws, frequency = draws.dirichlet(np.full(n, 0.05), 5), draws.dirichlet(np.ones(n))
    documents = words_of(draws, laws, (300, 500, 40, 200, 1))
    known = KnownAuthors(documents, frequency)
    mechanism = create(name, MANY, settings)
    written = words_of(draws, laws, (30, 8, 2, 0, 25))
    outputs = outputs_at(mechanism, draws, written.inputs(draws), epsilons)
    released = [written.with_words(column) for column in outputs.T]
    found = follow(open_channel(mechanism), known, released, epsilons, LENGTHS)
    for epsilon, bags, each in zip(epsilons, released, found, strict=True):
        channel = np.stack([mechanism.law(word, [epsilon]).dense(n)[0] for word in range(n)])
        assert each.lengths == (*LENGTHS, None)
        for point, length in enumerate(each.lengths):
            scores = twin_scores(documents, bags, frequency, channel, length)
            counted = bags.lengths >= (length or 1)
            places = [place(row, author) for author, row in enumerate(scores) if counted[author]]
            assert each.places(point) == pytest.approx(places)
            assert each.counted(point) == counted.sum()


def test_words_as_written_are_an_output_of_a_mechanism_that_changes_none(rng: MakeRng) -> None:
    draws, n = rng(), len(MANY)
    laws = draws.dirichlet(np.full(n, 0.05), 6)
    documents, frequency = words_of(draws, laws, [90] * 6), np.full(n, 1 / n)
    written = words_of(draws, laws, [30] * 6)
    found = follow_written(KnownAuthors(documents, frequency), written, LENGTHS)
    for point, length in enumerate(found.lengths):
        # What is unknown tells nothing, and nobody guesses which word it was.
        inside = [part[:length] for part in np.split(written.words, written.offsets[1:-1])]
        kept = [part[part >= 0] for part in inside]
        bags = Bags(np.concatenate(kept), np.cumsum([0, *map(len, kept)]), n)
        whole = Bags(documents.words.copy(), documents.offsets, n)
        clean = [part[part >= 0] for part in np.split(whole.words, whole.offsets[1:-1])]
        known = Bags(np.concatenate(clean), np.cumsum([0, *map(len, clean)]), n)
        scores = twin_scores(known, bags, frequency, np.eye(n), None)
        places = [place(np.round(row, 9), author) for author, row in enumerate(scores)]
        assert found.places(point) == pytest.approx(places)


def test_who_has_a_word_of_their_own_is_found_at_once() -> None:
    k, n = 12, len(MANY)
    own = Bags(np.repeat(np.arange(k), 5), np.arange(0, 5 * k + 1, 5), n)
    known, mechanism = KnownAuthors(own, np.full(n, 1 / n)), create("k-ary", MANY)
    (found,) = follow(open_channel(mechanism), known, [own], [30.0], (1, 2))
    for each in (found, follow_written(known, own, (1, 2))):
        for point in range(3):
            assert (each.places(point) == 1.0).all()
            assert each.top(1, point)["share"] == each.top(1, point)["high"] == 1.0
            assert each.mean(point).mean == 1.0


def test_releases_that_teach_nothing_find_authors_by_chance(rng: MakeRng) -> None:
    # Words of k authors drawn by one law: whatever the scores favour, the k events "the author of
    # release t is among the first K of k" are independent given what is known, and their chances
    # add up to K. Their number is then at most as spread as Bin(k, K/k) (Hoeffding 1956). The
    # tails of three counts share the false alarm of 10⁻⁶.
    draws, k, n = rng(), 150, len(MANY)
    frequency = draws.dirichlet(np.ones(n))
    documents = words_of(draws, draws.dirichlet(np.full(n, 0.05), k), [60] * k)
    known, mechanism = KnownAuthors(documents, frequency), create("k-ary", MANY)
    outputs = Bags(draws.choice(n, size=40 * k, p=frequency), np.arange(0, 40 * k + 1, 40), n)
    (found,) = follow(open_channel(mechanism), known, [outputs], [4.0])
    tail = FALSE_ALARM / 6
    for top in (1, 10, 75):
        hits = found.top(top)["share"] * k
        least, most = (binom.ppf(part, k, top / k) for part in (tail, 1 - tail))
        assert least - 1 <= hits <= most + 1
    # At an ε of nearly 0 all authors are tied, and chance is exact.
    (tied,) = follow(open_channel(mechanism), known, [outputs], [1e-13])
    assert tied.mean().mean == (k + 1) / 2
    assert tied.top(10)["share"] == pytest.approx(10 / k)
    assert tied.top(10)["chance"] == 10 / k


def test_a_curve_counts_those_who_released_enough(rng: MakeRng) -> None:
    draws, n, sizes = rng(), len(MANY), [0, 1, 4, 5, 9, 30, 30, 2]
    laws = draws.dirichlet(np.ones(n), len(sizes))
    known = KnownAuthors(words_of(draws, laws, [20] * len(sizes)), np.full(n, 1 / n))
    released = words_of(draws, laws, sizes)
    found = follow_written(known, released, (30, 5, 31, 1, 5))
    assert found.lengths == (1, 5, 30, 31, None)
    rows = found.rows((1, 8))
    assert [(row["words"], row["authors"]) for row in rows] == [(1, 7), (5, 4), (30, 2), (None, 7)]
    for row in rows:
        first, last = row["top"]
        assert 0 <= first["low"] <= first["share"] <= first["high"] <= 1
        assert (first["count"], first["chance"], last["share"], last["chance"]) == (1, 1 / 8, 1, 1)
        assert 1 <= row["place"]["low"] <= row["place"]["mean"] <= row["place"]["high"] <= 8
    # Each point is that of a release which ends there.
    short = released.words.copy()
    bags = Bags(
        np.concatenate([short[a : min(a + 5, b)] for a, b in pairwise(released.offsets)]),
        np.cumsum([0, *np.minimum(released.lengths, 5)]),
        n,
    )
    ends = follow_written(known, bags, (5,))
    assert ends.places(0).tolist() == found.places(1).tolist()
    with pytest.raises(CorpusError, match="ask for fewer"):
        found.top(1, 3)
    with pytest.raises(CorpusError, match="ask for fewer"):
        found.mean(3)
    with pytest.raises(ParameterError, match="1 to 8 of 8 authors, got 9"):
        found.top(9)


def test_shares_of_tied_authors_are_those_of_a_random_order() -> None:
    found = FoundAuthors(4, (None,), np.array([[0, 1, 1, 3]]), np.array([[1, 2, 2, 1]]))
    assert [found.top(count)["share"] * 4 for count in (1, 2, 3, 4)] == [1, 2, 3, 4]
    assert found.places().tolist() == [1.0, 2.5, 2.5, 4.0]
    half = FoundAuthors(4, (None,), np.array([[1, 0, 0, 0]]), np.array([[2, 1, 1, 1]]))
    assert half.top(2)["share"] == 3.5 / 4
    assert half.top(2)["high"] == 1.0
    assert half.top(2)["low"] == pytest.approx(0.194, abs=1e-3)  # three of four
    alone = FoundAuthors(4, (None,), np.array([[1, -1, -1, -1]]), np.array([[1, -1, -1, -1]]))
    assert (alone.mean().low, alone.mean().high) == (1.0, 4.0)


def test_documents_are_split_in_halves_by_the_seed_alone() -> None:
    wrote = np.array([2, 0, 2, 2, 1, 0, 2, 2])
    known, released = split_documents(wrote, 5)
    assert [(len(a), len(b)) for a, b in zip(known, released, strict=True)] == [
        (1, 1), (1, 0), (3, 2),
    ]  # fmt: skip
    for author, halves in enumerate(zip(known, released, strict=True)):
        assert sorted(np.concatenate(halves)) == np.flatnonzero(wrote == author).tolist()
    again = split_documents(wrote, 5)
    assert all((a == b).all() for a, b in zip(known, again[0], strict=True))
    bags = Bags(np.array([7, 8, 9]), np.array([0, 1, 1, 3]), 10)
    both = joined(bags, [np.array([2, 0]), np.array([], np.int64), np.array([1])])
    assert (both.words.tolist(), both.offsets.tolist()) == ([8, 9, 7], [0, 3, 3, 3])


def test_what_cannot_be_followed_is_refused() -> None:
    n = len(MANY)
    two = Bags(np.array([1, 2]), np.array([0, 1, 2]), n)
    known, channel = KnownAuthors(two, np.full(n, 1 / n)), open_channel(create("k-ary", MANY))
    with pytest.raises(CorpusError, match="2 to"):
        KnownAuthors(two.part([0]), np.full(n, 1 / n))
    with pytest.raises(CorpusError, match="no known text has a word"):
        KnownAuthors(two.with_words([-1, -1]), np.full(n, 1 / n))
    with pytest.raises(CorpusError, match="words of 1 released"):
        follow(channel, known, [two.part([0])], [3.0])
    with pytest.raises(CorpusError, match="two texts or more"):
        follow_written(known, Bags(np.array([], np.int64), np.zeros(3, np.int64), n))
    with pytest.raises(ParameterError, match="1 word or more, got 0"):
        follow(channel, known, [two], [3.0], (5, 0))
    with pytest.raises(ParameterError, match="at most 50 points, got 51"):
        follow_written(known, two, range(1, 52))
    with pytest.raises(ParameterError, match="whole lexicon"):
        follow(open_channel(create("k-ary", MANY), [1, 2]), known, [two], [3.0])


# What kind of person.


def test_kinds_are_read_as_by_bayes_with_other_persons_only(rng: MakeRng) -> None:
    draws, n, k = rng(), len(MANY), 24
    kinds = np.arange(k) % 3
    laws, frequency = draws.dirichlet(np.full(n, 0.3), 3), draws.dirichlet(np.ones(n))
    originals = words_of(draws, laws[kinds], [25] * k)
    fold = folds_of(kinds, seed=1, folds=4)
    assert (np.bincount(fold * 3 + kinds) == 2).all()
    mechanism = create("k-ary", MANY)
    outputs = outputs_at(mechanism, draws, originals.inputs(draws), [6.0])[:, 0]
    released = originals.with_words(outputs)
    (asked,) = read_kinds(
        open_channel(mechanism), originals, [kinds], [fold], [released], [6.0], frequency
    )
    channel = np.stack([mechanism.law(word, [6.0]).dense(n)[0] for word in range(n)])
    groups = [np.flatnonzero((fold != f) & (kinds == c)) for f in range(4) for c in range(3)]
    wanted = []
    for person in range(k):
        scores = KnownAuthors(joined(originals, groups), frequency)
        told = scores.of_columns(np.log(channel[:, released.part([person]).words]).T).sum(axis=0)
        wanted.append(told.reshape(4, 3)[fold[person]].argmax())
    assert asked[0].tolist() == wanted
    assert KindAccuracy.of(asked[0], kinds).share > 1 / 3
    (plain,) = read_kinds(None, originals, [kinds, kinds], [fold, fold], [originals], (), frequency)
    assert plain[0].tolist() == plain[1].tolist()


def test_the_kind_of_a_person_is_not_learned_from_that_person() -> None:
    # Each person has a word of their own, and nothing else tells their kind.
    k, n = 20, len(MANY)
    own = Bags(np.repeat(np.arange(k), 50), np.arange(0, 50 * k + 1, 50), n)
    kinds = np.arange(k) % 2
    fold = folds_of(kinds, seed=0)
    (read,) = read_kinds(None, own, [kinds], [fold], [own], (), np.full(n, 1 / n))
    right = KindAccuracy.of(read[0], kinds)
    assert right.share <= 0.5
    assert (right.majority, right.persons) == (0.5, k)
    everything = KindAccuracy.of(kinds, kinds)
    assert (everything.share, everything.high) == (1.0, 1.0)
    assert everything.low == pytest.approx(0.025 ** (1 / k))
