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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpcore.arrays import FloatArray, IntArray
from dpcore.attack.language.context import BIGRAM, context_attack, places_of
from dpcore.attack.language.recovered import FREQUENCY
from dpcore.attack.language.trial import share_of
from dpcore.attack.output.channel import Channel
from dpcore.errors import CorpusError
from dpcore.learn.corpus import Bags
from dpcore.learn.intervals import Mean, ratio_of_sums, student_quantile
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_AUTHORS
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
