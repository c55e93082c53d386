"""Authorship attack: authors ranked by a released text of one of them.

The attacker has other texts of k authors in their original form. The model of author a draws words
independently, word w with probability

    P_a(w) = (n_a(w) + μ·P(w)) / (n_a + μ),

n_a(w) the occurrences of w and n_a those of all words in the texts of a, P the frequencies of the
language (a Dirichlet prior: Zhai, Lafferty 2001, Section 4.2). For a released text

    Σ_w b_i(w)·P_a(w)/P(w)

is the factor of position i for a, and the authors are ranked by the product over all positions.
With b_i ∝ P(w)·P(output | w) that is the exact Bayes factor of this model of authors; with the b_i
of a reader, which takes the surrounding words into account, it is an approximation: the positions
are multiplied as if they were independent. A position with a known word counts with that word only.

Many texts of one author add up. `follow` ranks the authors of long releases: half of each author's
texts are known (`split_documents`), the other half is released. There P is pooled from the known
texts of all authors,

    P(w) = (Σ_a n_a(w) + μ·F(w)) / (Σ_a n_a + μ),

F the frequencies of the language, as the collection model of Zhai and Lafferty: words that all
authors use more than the language does are no evidence for one of them. An output y counts with

    ln [((1 − u)·Σ_w P_a(w)·P(y | w) + u·U(y)) / ((1 − u)·Σ_w P(w)·P(y | w) + u·U(y))],

u the share of positions whose word the vocabulary lacks and U(y) the mean of P(y | w) over all w,
because such a position releases the output of a uniform word and nobody says which ones they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpcore.arrays import FloatArray, IntArray
from dpcore.attack.language.context import BIGRAM, context_attack, places_of
from dpcore.attack.language.recovered import FREQUENCY, share_of
from dpcore.attack.output.channel import Channel
from dpcore.audit.montecarlo import clopper_pearson
from dpcore.errors import CorpusError, ParameterError
from dpcore.learn.corpus import Bags
from dpcore.learn.intervals import Mean, mean_interval, ratio_of_sums, student_quantile
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_AUTHORS, MAX_CURVE_POINTS
from dpcore.noise.streams import generator
from dpcore.rewrite.sentence import Sentence, prepare

PRIOR_WORDS = 2_000.0
"""Prior weight μ, as in the experiments of Zhai and Lafferty (2001, Section 6). Over 108 original
passages of weblogs (none of those of the study `authors`) the mean rank of the author is 3.11 of
10, and 3.18 to 3.36 for μ from 50 to 1,000; over the 37 of the study, which were not used for the
choice, it is 3.81, and 3.16 for μ = 200."""
WRITTEN = "written"
"""Attacker who reads the original text."""


class Authors:
    """Word counts of the documents of k authors.

    Args:
        documents: their words, from `dpcore.learn.corpus.bags_of`.
        authors: author of each document, 0 to k − 1, shape (t,).
        frequency: P, positive, shape (n,).

    Raises:
        CorpusError: there are fewer than two authors or too many.
    """

    def __init__(self, documents: Bags, authors: IntArray, frequency: FloatArray) -> None:
        self.count = int(authors.max(initial=-1)) + 1
        if not 2 <= self.count <= MAX_AUTHORS:
            raise CorpusError(f"authors are 2 to {MAX_AUTHORS}, got {self.count:,}")
        self.of_document = authors
        self._documents, self._frequency = documents, frequency
        self._counts = np.zeros((self.count, frequency.size))
        for document, author in enumerate(authors.tolist()):
            self._counts[author] += self._words(document)

    def known_without(self, document: int) -> bool:
        """Return True if its author has another document."""
        return bool((self.of_document == self.of_document[document]).sum() > 1)

    def ratios(self, without: int) -> FloatArray:
        """Compute P_a(w)/P(w) of all documents except one, shape (k, n)."""
        counts = self._counts.copy()
        counts[self.of_document[without]] -= self._words(without)
        totals = counts.sum(axis=1, keepdims=True) + PRIOR_WORDS
        return np.asarray((counts / self._frequency + PRIOR_WORDS) / totals)

    def _words(self, document: int) -> IntArray:
        words = self._documents.part([document]).words
        return np.bincount(words[words >= 0], minlength=self._frequency.size)


def beginnings(
    authors: Authors, texts: Sequence[str], lexicon: Lexicon, words: int, most: int, seed: int
) -> list[AnonymousText]:
    """Draw documents whose author has another one, and return their first words.

    Args:
        authors: authors of the documents.
        texts: the documents.
        lexicon: words and vectors.
        words: number of words of each that are released, separated by white space.
        most: largest number of documents.
        seed: seed of the draw.
    """
    tried: list[AnonymousText] = []
    for document in generator(seed, "authors tried").permutation(len(texts)).tolist():
        if len(tried) == most:
            break
        if authors.known_without(document):
            sentence = prepare(" ".join(texts[document].split()[:words]), lexicon)
            if (sentence.words >= 0).any():
                tried.append(AnonymousText(sentence, document))
    return tried


def evidence(ratios: FloatArray, beliefs: FloatArray, known: IntArray) -> FloatArray:
    """Compute each author's log evidence in a text, against the frequencies of the language.

    Args:
        ratios: P_a(w)/P(w), shape (k, n).
        beliefs: b_i at each of L positions, shape (L, n).
        known: words at the positions where the word is known, shape (m,).

    Returns:
        Shape (k,).
    """
    told = np.log(beliefs @ ratios.T).sum(axis=0) + np.log(ratios[:, known]).sum(axis=1)
    return np.asarray(told)


def place(told: FloatArray, author: int) -> float:
    """Return an author's rank by the evidence for each, from 1; ties share the mean rank."""
    own = told[author]
    return 1.0 + float((told > own).sum()) + 0.5 * (float((told == own).sum()) - 1.0)


@dataclass(frozen=True)
class AnonymousText:
    """Text whose author is to be found.

    Attributes:
        sentence: the prepared text.
        document: index of its document, which is then left out of the author's known documents.
    """

    sentence: Sentence
    document: int


@dataclass(frozen=True, eq=False)
class AuthorRanks:
    """Ranks that each attacker gives to the true authors of t texts.

    Attributes:
        authors: k, the number of ranked authors.
        places: ranks by attacker, shape (t,), from 1 to k.
        documents: document of each text, shape (t,).
    """

    authors: int
    places: dict[str, FloatArray]
    documents: IntArray

    def first(self, attacker: str) -> dict[str, float]:
        """Return the share of texts whose author alone comes first: `share`, `low`, `high`."""
        right = self.places[attacker] == 1.0
        return share_of(self._of_each(right), self._of_each(np.ones(right.size)))

    def within(self, attacker: str, top: int) -> dict[str, float]:
        """Return the share of texts whose author is among the first `top`, as `first`."""
        right = self.places[attacker] <= top
        return share_of(self._of_each(right), self._of_each(np.ones(right.size)))

    def mean(self, attacker: str) -> Mean:
        """Return the mean rank of the true author; by chance (k + 1)/2."""
        places = self.places[attacker]
        texts = self._of_each(np.ones(places.size))
        value, error = ratio_of_sums(self._of_each(places), texts)
        half = student_quantile(texts.size - 1) * error
        low, high = max(value - half, 1.0), min(value + half, float(self.authors))
        return Mean(value, low, high, places.size)

    def _of_each(self, values: ArrayLike) -> FloatArray:
        """Sum over the texts of each document, because these are not independent."""
        _, which = np.unique(self.documents, return_inverse=True)
        return np.asarray(np.bincount(which, np.asarray(values, dtype=np.float64)))


def rank_authors(
    channel: Channel,
    authors: Authors,
    tried: Sequence[AnonymousText],
    epsilon: float,
    *,
    reader: str = BIGRAM,
    seed: int = 0,
    progress: Progress = silent,
) -> AuthorRanks:
    """Release each text once, and rank the authors by every release.

    Args:
        channel: of the mechanism, over the whole lexicon.
        authors: word counts of the authors.
        tried: the texts, of two documents or more.
        epsilon: ε of every word.
        reader: reader of the context, one of `dpcore.attack.language.context.READERS`.
        seed: seed of the noise.
        progress: called with ("texts", done, all).

    Returns:
        Ranks for `WRITTEN`, `FREQUENCY`, the bigrams and the reader.

    Raises:
        CorpusError: the texts are of one document.
        ParameterError: a text has no protected word of the vocabulary or too many.
        LexiconError: the reader does not know the lexicon.
        EpsilonError: ε is not admissible.
    """
    documents = np.array([each.document for each in tried], dtype=np.int64)
    if np.unique(documents).size < 2:
        raise CorpusError("authors are looked for in the texts of two documents or more")
    mechanism, readers = channel.mechanism, tuple(dict.fromkeys((BIGRAM, reader)))
    n = len(mechanism.lexicon)
    places = {name: np.empty(len(tried)) for name in (WRITTEN, FREQUENCY, *readers)}
    for i, each in enumerate(tried):
        ratios = authors.ratios(each.document)
        rng = generator(seed, "authors", mechanism.key, i)
        outputs = mechanism.sample(rng, each.sentence.inputs(seed, i), epsilon)
        seen = places_of(each.sentence, outputs)
        known = np.array([p.output for p in seen if p.released and 0 <= p.output < n], np.int64)
        written = each.sentence.words[each.sentence.words >= 0]
        told = {WRITTEN: evidence(ratios, np.empty((0, n)), np.concatenate([known, written]))}
        for name in readers:
            attack = context_attack(channel, seen, epsilon, reader=name)
            told[FREQUENCY] = evidence(ratios, attack.alone, known)
            told[name] = evidence(ratios, attack.context, known)
        for name, scores in told.items():
            places[name][i] = place(scores, int(authors.of_document[each.document]))
        progress("texts", i + 1, len(tried))
    return AuthorRanks(authors.count, places, documents)


# Authors of long releases: half of each author's texts known, the other half released.

_TOGETHER = 512  # outputs whose distances are computed together: 100 MB over 25,000 words
_BLOCK = 64  # outputs whose columns are weighed together, in the processor's cache
_TIED = 1e-9  # nats: a smaller difference of two scores is rounding
LEVEL = 0.95
"""Coverage of every interval of `FoundAuthors` and `KindAccuracy`."""


def split_documents(authors: IntArray, seed: int) -> tuple[list[IntArray], list[IntArray]]:
    """Split the documents of each author at random into a known and a released half.

    Of an odd number one more is known, so an author of one document has nothing released.

    Args:
        authors: author of each document, 0 to k − 1, shape (t,).
        seed: seed of the split; it depends on nothing else.

    Returns:
        The known and the released documents of each author, in random order, k arrays each.
    """
    known: list[IntArray] = []
    released: list[IntArray] = []
    for author in range(int(authors.max(initial=-1)) + 1):
        mine = np.flatnonzero(authors == author)
        order = mine[generator(seed, "halves", author).permutation(mine.size)]
        cut = (mine.size + 1) // 2
        known.append(order[:cut])
        released.append(order[cut:])
    return known, released


def joined(documents: Bags, groups: Sequence[IntArray]) -> Bags:
    """Join the documents of each group to one document, in their order."""
    rows = np.concatenate([*groups, np.empty(0, dtype=np.int64)]).astype(np.int64)
    ends = np.concatenate(([0], np.cumsum([group.size for group in groups], dtype=np.int64)))
    part = documents.part(rows)
    return Bags(part.words, part.offsets[ends], part.vocabulary)


class KnownAuthors:
    """Word laws of k authors, from the texts that the attacker knows in their original form.

    Attributes:
        count: k.
        frequency: P, pooled from the known texts of all authors, shape (n,), sums to 1.
        unknown: u, share of their positions whose word the vocabulary lacks, from 0 to below 1.

    Args:
        known: the known words of each author, one document each.
        frequency: F, of the language, positive, shape (n,).
        prior_words: μ.

    Raises:
        CorpusError: there are fewer than two authors or too many, or no known word.
    """

    def __init__(
        self, known: Bags, frequency: FloatArray, prior_words: float = PRIOR_WORDS
    ) -> None:
        self.count = len(known)
        if not 2 <= self.count <= MAX_AUTHORS:
            raise CorpusError(f"authors are 2 to {MAX_AUTHORS}, got {self.count:,}")
        inside = known.words >= 0
        if not inside.any():
            raise CorpusError("no known text has a word of the vocabulary: give other texts")
        self.unknown = 1.0 - float(inside.mean())
        counts = known.counts()
        pooled = np.asarray(counts.sum(axis=0)).reshape(-1) + prior_words * frequency
        self.frequency: FloatArray = np.asarray(pooled / pooled.sum())
        # P_a = weight·P + the shares of a's own words, which are few: dense over the used words.
        self._used = np.flatnonzero(np.asarray(counts.sum(axis=0)).reshape(-1))
        totals = np.asarray(counts.sum(axis=1)).reshape(-1) + prior_words
        self._weight = prior_words / totals
        self._shares = counts[:, self._used].toarray() / totals[:, None]

    def of_words(self) -> FloatArray:
        """Return ln P_a(w)/P(w), shape (n, k)."""
        ratios = np.ones((self.frequency.size, self.count)) * self._weight
        ratios[self._used] += (self._shares / self.frequency[self._used]).T
        return np.asarray(np.log(ratios))

    def of_columns(self, logs: FloatArray) -> FloatArray:
        """Return the log factor of some outputs for each author, shape (outputs, k).

        Args:
            logs: ln P(y | w) of the outputs, shape (outputs, n); overwritten.
        """
        logs -= logs.max(axis=1, keepdims=True)
        columns = np.exp(logs, out=logs)
        everyone = columns @ self.frequency
        other = self.unknown / (1.0 - self.unknown) * columns.mean(axis=1)
        own = columns[:, self._used] @ self._shares.T + np.multiply.outer(everyone, self._weight)
        return np.asarray(np.log((own + other[:, None]) / (everyone + other)[:, None]))


@dataclass(frozen=True, eq=False)
class FoundAuthors:
    """Ranks of the true authors of long releases, over the number of words that were released.

    Attributes:
        authors: k, the number of ranked authors.
        lengths: number of released words of each point, ascending; the last is None, all words.
        above: number of authors ranked above the true one, shape (points, k); −1 for an author of
            whom fewer words were released, who does not count at this point.
        tied: number of authors with the score of the true one, itself included, same shape.
    """

    authors: int
    lengths: tuple[int | None, ...]
    above: IntArray
    tied: IntArray

    def counted(self, point: int = -1) -> int:
        """Return the number of authors that a point rests on."""
        return int((self.above[point] >= 0).sum())

    def places(self, point: int = -1) -> FloatArray:
        """Return the ranks of the counted authors, from 1; ties share the mean rank."""
        here = self.above[point] >= 0
        return np.asarray(1.0 + self.above[point, here] + 0.5 * (self.tied[point, here] - 1.0))

    def mean(self, point: int = -1) -> Mean:
        """Return the mean rank with Student's interval over authors; by chance (k + 1)/2.

        Raises:
            CorpusError: no author counts at this point.
        """
        places = self.places(point)
        self._check(places.size)
        mean = mean_interval(places)
        if places.size == 1:
            return Mean(mean.mean, 1.0, float(self.authors), 1)
        return Mean(mean.mean, max(mean.low, 1.0), min(mean.high, float(self.authors)), places.size)

    def top(self, count: int, point: int = -1) -> dict[str, float]:
        """Return the share of authors found among the first `count`: `share`, `low`, `high`.

        Tied authors are in random order, so each has an equal part of the places they share. The
        interval is that of Clopper and Pearson over authors, as independent trials of one chance;
        for a fractional sum of parts, which varies less, its ends are of the next whole numbers.

        Args:
            count: from 1 to k.
            point: index of the point.

        Raises:
            CorpusError: no author counts at this point.
            ParameterError: the count is out of range.
        """
        if not 1 <= count <= self.authors:
            raise ParameterError(
                f"the first places are 1 to {self.authors} of {self.authors} authors, got {count}"
            )
        here = self.above[point] >= 0
        self._check(int(here.sum()))
        above, tied = self.above[point, here], self.tied[point, here]
        hits = float(np.clip((count - above) / tied, 0.0, 1.0).sum())
        return _share_interval(hits, int(here.sum())) | {"chance": count / self.authors}

    def rows(self, tops: Sequence[int]) -> list[dict[str, Any]]:
        """Return each point with an author: `words`, `authors`, `place`, and `top` for each count.

        `words` is None for all words.
        """
        return [
            {
                "words": length,
                "authors": self.counted(point),
                "place": {"mean": mean.mean, "low": mean.low, "high": mean.high},
                "top": [{"count": count} | self.top(count, point) for count in tops],
            }
            for point, length in enumerate(self.lengths)
            if self.counted(point)
            for mean in [self.mean(point)]
        ]

    def _check(self, counted: int) -> None:
        if not counted:
            raise CorpusError("no author has so many released words: ask for fewer")


def _share_interval(hits: float, trials: int) -> dict[str, float]:
    tail = 0.5 * (1.0 - LEVEL)
    low = clopper_pearson(int(np.floor(hits + _TIED)), trials, tail)[0]
    high = clopper_pearson(min(int(np.ceil(hits - _TIED)), trials), trials, tail)[1]
    return {"share": hits / trials, "low": low, "high": high}


def check_lengths(lengths: Sequence[int]) -> tuple[int, ...]:
    """Return the points of a learning curve, ascending, each once.

    Raises:
        ParameterError: there are too many, or one is not a whole number of at least 1.
    """
    points = tuple(sorted(set(lengths)))
    if len(points) > MAX_CURVE_POINTS:
        raise ParameterError(
            f"a learning curve has at most {MAX_CURVE_POINTS} points, got {len(points):,}"
        )
    if points and not points[0] >= 1:
        raise ParameterError(f"a point of a learning curve is 1 word or more, got {points[0]}")
    return points


def follow(
    channel: Channel,
    known: KnownAuthors,
    released: Sequence[Bags],
    epsilons: Sequence[float],
    lengths: Sequence[int] = (),
    *,
    progress: Progress = silent,
) -> list[FoundAuthors]:
    """Rank the authors of released words by the exact channel, at each ε.

    All points of a curve are prefixes of one release. Each distinct output is weighed once for all
    authors, positions and prefixes: one product of its column with the authors' word laws. Over the
    bundled lexicon, 25,000 outputs and 261 authors take one core about 5 seconds for each ε, and a
    law by distances 10 seconds more for all ε together; in all 0.6 GB of memory.

    Args:
        channel: of the mechanism, over the whole lexicon.
        known: word laws of the authors.
        released: for each ε the released words of each author, one document each, in the order
            of `known`.
        epsilons: admissible ε, as many.
        lengths: points of the learning curve before the last, which is of all words.
        progress: called with ("outputs", done, all).

    Returns:
        For each ε the ranks.

    Raises:
        CorpusError: releases of another number of authors, or no released word.
        ParameterError: the channel is of a few words only, or `check_lengths` refuses.
        EpsilonError: an ε is not admissible.
    """
    points = check_lengths(lengths)
    rows = [_positions(known, bags, points) for bags in released]
    count = known.count * (len(points) + 1)
    scores = _scores(channel, known, released, rows, count, epsilons, progress)
    return [
        _found(known.count, points, score, bags.lengths)
        for score, bags in zip(scores, released, strict=True)
    ]


def follow_written(known: KnownAuthors, written: Bags, lengths: Sequence[int] = ()) -> FoundAuthors:
    """Rank the authors of words that are read as they were written.

    A word that the vocabulary lacks counts as a position and is no evidence.

    Args:
        known: word laws of the authors.
        written: the words of each author, one document each.
        lengths: as for `follow`.

    Raises:
        CorpusError: as `follow`.
        ParameterError: as `follow`.
    """
    points = check_lengths(lengths)
    rows = _positions(known, written, points)
    scores = _written_scores(known, written, rows, known.count * (len(points) + 1))
    return _found(known.count, points, scores, written.lengths)


def _written_scores(known: KnownAuthors, written: Bags, rows: IntArray, count: int) -> FloatArray:
    """Add up the log factors of the words of each row, shape (count, k)."""
    inside = written.words >= 0
    shape = count, known.frequency.size
    return np.asarray(_occurrences(rows[inside], written.words[inside], shape) @ known.of_words())


def _scores(
    channel: Channel,
    known: KnownAuthors,
    released: Sequence[Bags],
    rows: Sequence[IntArray],
    count: int,
    epsilons: Sequence[float],
    progress: Progress,
) -> list[FloatArray]:
    """Add up the log factors of the outputs of each row, for each ε shape (count, k).

    Args as for `follow`; `rows` is for each ε the row of each output, 0 to count − 1.
    """
    if channel.words.size != known.frequency.size:
        raise ParameterError("authors are found by the channel of the whole lexicon")
    values = channel.mechanism.check_epsilons(list(epsilons)).tolist()
    outputs = np.unique(np.concatenate([bags.words for bags in released]))
    scores = [np.zeros((count, known.count)) for _ in values]
    times = [
        _occurrences(row, np.searchsorted(outputs, bags.words), (count, outputs.size))
        for row, bags in zip(rows, released, strict=True)
    ]
    channel.prepare(values)
    for start in range(0, outputs.size, _TOGETHER):
        block = outputs[start : start + _TOGETHER]
        columns = channel.columns(block)
        for epsilon, occurrences, score in zip(values, times, scores, strict=True):
            factors = np.empty((block.size, known.count))
            for first in range(0, block.size, _BLOCK):
                some = slice(first, first + _BLOCK)
                factors[some] = known.of_columns(columns(epsilon, some)[0])
            score += occurrences[:, start : start + block.size] @ factors
        progress("outputs", start + block.size, outputs.size)
    return scores


def _positions(known: KnownAuthors, bags: Bags, points: tuple[int, ...]) -> IntArray:
    """Return author · (points + 1) + segment of each position, shape (positions,).

    A segment lies between two neighbouring lengths of the curve.
    """
    if len(bags) != known.count:
        raise CorpusError(f"{known.count} authors are known, and words of {len(bags)} released")
    if not bags.words.size:
        raise CorpusError("no word is released: every author needs two texts or more")
    author = np.repeat(np.arange(len(bags)), bags.lengths)
    place = np.arange(bags.words.size) - bags.offsets[author]
    segment = np.searchsorted(np.array(points, dtype=np.int64), place, side="right")
    return np.asarray(author * (len(points) + 1) + segment)


def _occurrences(rows: IntArray, columns: IntArray, shape: tuple[int, int]) -> Any:
    """Count pairs of row and column, as a sparse matrix whose columns can be sliced."""
    from scipy.sparse import csc_array

    return csc_array((np.ones(rows.size), (rows, columns)), shape=shape)


def _found(
    count: int, points: tuple[int, ...], segments: FloatArray, sizes: IntArray
) -> FoundAuthors:
    """Add up the scores of the segments, shape (k · points, k), and rank the true authors."""
    scores = segments.reshape(count, len(points) + 1, count).cumsum(axis=1).transpose(1, 0, 2)
    own = np.einsum("pkk->pk", scores)[:, :, None]
    above = (scores > own + _TIED).sum(axis=2)
    tied = (np.abs(scores - own) <= _TIED).sum(axis=2)
    absent = sizes[None, :] < np.array([*points, 1])[:, None]
    return FoundAuthors(
        count, (*points, None), np.where(absent, -1, above), np.where(absent, -1, tied)
    )


# What kind of person wrote a release: the kinds of other persons, known by their words.


@dataclass(frozen=True)
class KindAccuracy:
    """Share of persons whose kind is named.

    Attributes:
        share: share of right predictions.
        low: lower end of the interval of Clopper and Pearson over persons, which takes the
            predictions as independent, although their training texts overlap.
        high: its upper end.
        majority: share of the commonest kind, reached by always naming it.
        persons: number of persons.
    """

    share: float
    low: float
    high: float
    majority: float
    persons: int

    @classmethod
    def of(cls, predicted: IntArray, kinds: IntArray) -> KindAccuracy:
        """Count the persons whose kind, from 0, is predicted; both of shape (k,)."""
        ends = _share_interval(float((predicted == kinds).sum()), kinds.size)
        majority = float(np.bincount(kinds).max() / kinds.size)
        return cls(ends["share"], ends["low"], ends["high"], majority, kinds.size)


def read_kinds(
    channel: Channel | None,
    originals: Bags,
    kinds: Sequence[IntArray],
    folds: Sequence[IntArray],
    released: Sequence[Bags],
    epsilons: Sequence[float],
    frequency: FloatArray,
    *,
    progress: Progress = silent,
) -> list[list[IntArray]]:
    """Predict kinds of each person from a release, by the exact channel.

    A kind has the words of all its persons in the other folds, as one author of `KnownAuthors`, and
    its share of these persons as prior probability: a naive Bayes classifier that learns from
    original text and weighs what the mechanism may have read.

    Args:
        channel: as for `follow`; None if the words are read as they were written.
        originals: original words, one document a person.
        kinds: for each question the kind of each person, 0 to m − 1, shape (k,).
        folds: for each question the folds, from `dpcore.learn.classifiers.folds_of`, shape (k,).
        released: for each ε the released words, one document a person; one if there is no channel.
        epsilons: admissible ε, as many; not used without a channel.
        frequency: F, of the language, positive, shape (n,).
        progress: called with ("outputs", done, all).

    Returns:
        For each ε and question the predicted kinds, shape (k,).

    Raises:
        CorpusError: too few or too many kinds and folds.
        ParameterError: the channel is of a few words only.
        EpsilonError: an ε is not admissible.
    """
    groups = [
        np.flatnonzero((fold != number) & (kind == value))
        for kind, fold in zip(kinds, folds, strict=True)
        for number in range(int(fold.max()) + 1)
        for value in range(int(kind.max()) + 1)
    ]
    known = KnownAuthors(joined(originals, groups), frequency)
    persons = [np.repeat(np.arange(len(each)), each.lengths) for each in released]
    count = len(originals)
    if channel is None:
        scores = [_written_scores(known, released[0], persons[0], count)]
    else:
        scores = _scores(channel, known, released, persons, count, epsilons, progress)
    with np.errstate(divide="ignore"):  # a kind that no other fold has is not named
        priors = np.log([group.size for group in groups])
    return [list(_likeliest(score + priors, kinds, folds)) for score in scores]


def _likeliest(
    scores: FloatArray, kinds: Sequence[IntArray], folds: Sequence[IntArray]
) -> Iterator[IntArray]:
    """Yield for each question the likeliest kind of each person, known without their fold."""
    start = 0
    for kind, fold in zip(kinds, folds, strict=True):
        shape = int(fold.max()) + 1, int(kind.max()) + 1
        mine = scores[:, start : start + shape[0] * shape[1]].reshape(-1, *shape)
        yield mine[np.arange(kind.size), fold].argmax(axis=1)
        start += shape[0] * shape[1]
