"""Priors over input words, gains of guesses, and probabilities as counts.

`GAINS` are the very word (1 if v = w), a near word (1 if v is w or one of the nine words nearest to
w), and the kind of w in WordNet; another gain is one of two words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dpcore.arrays import FloatArray, IntArray
from dpcore.attack.language.language import word_frequencies
from dpcore.errors import ParameterError, TextError
from dpcore.lexicon.kinds import kinds_of
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_ATTACK_PRIOR_WORDS
from dpcore.rewrite.languages import rules_of
from dpcore.rewrite.sentence import decode, file_bytes

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

TYPED_TOLERANCE = 1e-6
"""Rounding allowed for each typed probability: six decimals, as in 0.333333."""


@dataclass(frozen=True, eq=False)
class Prior:
    """Distribution over the words of a lexicon.

    Attributes:
        name: uniform, frequency, counts, typed, file, list, context or mixed.
        probability: of each word, shape (n,), sums to 1; read-only.
        sentence: origin of the prior, as text; it holds no word that was typed.
    """

    name: str
    probability: FloatArray
    sentence: str

    def __post_init__(self) -> None:
        """Check that the probabilities are a distribution, and make them read-only.

        Raises:
            ParameterError: a negative probability, a NaN, or a sum that is not 1.
        """
        values = np.array(self.probability, dtype=np.float64)
        if values.ndim != 1 or not np.all(values >= 0):
            raise ParameterError("the probabilities of a prior must be numbers of at least 0")
        total = float(values.sum())
        if not abs(total - 1.0) <= 1e-9:
            raise ParameterError(f"the probabilities of a prior must sum to 1, got {total:.9g}")
        values.setflags(write=False)
        object.__setattr__(self, "probability", values)

    @cached_property
    def support(self) -> IntArray:
        """Words with a positive probability, ascending."""
        return np.flatnonzero(self.probability)

    @cached_property
    def logs(self) -> FloatArray:
        """Logarithms of the probabilities, −∞ for an impossible word, shape (n,)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.probability))

    def draw(self, rng: np.random.Generator, count: int) -> IntArray:
        """Draw independent words with this law, shape (count,)."""
        # Only over the possible words: no rounding of a sum can draw one of probability 0.
        steps = np.cumsum(self.probability[self.support])
        places = np.searchsorted(steps, rng.random(count) * steps[-1], side="right")
        return np.asarray(self.support[np.minimum(places, steps.size - 1)])


def uniform(lexicon: Lexicon) -> Prior:
    """Make every word of the lexicon equally likely."""
    n = len(lexicon)
    return Prior("uniform", np.full(n, 1.0 / n), f"all {n:,} words equally likely")


def uniform_over(lexicon: Lexicon, names: Sequence[str]) -> Prior:
    """Make the named words equally likely and all others impossible.

    Raises:
        ParameterError: there are none, or more than `limits.MAX_ATTACK_PRIOR_WORDS`.
        UnknownWordError: the lexicon does not hold one of them.
    """
    wanted = list(dict.fromkeys(names))
    _check_count(len(wanted))
    probability = np.zeros(len(lexicon))
    probability[lexicon.indices(wanted)] = 1.0 / len(wanted)
    return Prior("list", probability, f"{len(wanted):,} words equally likely, no other possible")


def typed_prior(lexicon: Lexicon, probabilities: Mapping[str, float]) -> Prior:
    """Make a prior from typed probabilities of some words; all others are impossible.

    They are divided by their sum, which may differ from 1 by at most `TYPED_TOLERANCE` a word.

    Raises:
        ParameterError: there are none or too many, one is not a number from 0 to 1, or they do
            not sum to 1.
        UnknownWordError: the lexicon does not hold one of the words.
    """
    _check_count(len(probabilities))
    values = np.array(list(probabilities.values()), dtype=np.float64)
    # In the positive form: NaN is wrong as well.
    wrong = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if wrong.size:
        raise ParameterError(
            f"a probability must be a number from 0 to 1, got {values[wrong[0]]:g} for word "
            f"{wrong[0] + 1} of the list"
        )
    # Summed exactly: the order in which the words were typed does not matter.
    total = math.fsum(values)
    if not abs(total - 1.0) <= TYPED_TOLERANCE * values.size:
        raise ParameterError(
            f"the probabilities must sum to 1, got {total:.6g}: change one of them by "
            f"{1.0 - total:+.6g}, or divide all of them by {total:.6g}"
        )
    probability = np.zeros(len(lexicon))
    probability[lexicon.indices(list(probabilities))] = values / total
    count = int(np.count_nonzero(values))
    return Prior("typed", probability, f"typed: {count:,} possible words")


def parse_prior(lexicon: Lexicon, text: str) -> Prior:
    """Parse a typed prior: `counts`, `counts-all`, `equal`, or `monday=0.5, garage=0.5`.

    `frequency` and `uniform` are other names of `counts-all` and `equal`. A list of words without
    numbers, `monday, garage`, makes them equally likely; `frequency:0.3` mixes 30 % of frequency
    into uniform.

    Raises:
        ParameterError: the text is none of these, or as in `typed_prior`.
        UnknownWordError: the lexicon does not hold one of the words.
    """
    plain = text.strip()
    if plain.lower() in ("equal", "uniform"):
        return uniform(lexicon)
    if plain.lower() == "counts":
        return content_words(lexicon)
    if plain.lower() in ("counts-all", "frequency"):
        return frequency(lexicon)
    name, colon, share = plain.lower().partition(":")
    if colon and name == "frequency":
        return mix_priors(uniform(lexicon), frequency(lexicon), _share(share))
    parts = [part.strip() for part in plain.replace("\n", ",").split(",") if part.strip()]
    # A single word may be a misspelled name of a prior: it is refused below.
    if parts and not any("=" in part for part in parts) and len(parts) > 1:
        return uniform_over(lexicon, parts)
    probabilities: dict[str, float] = {}
    for number, part in enumerate(parts, start=1):
        # From the right: the word may hold the sign itself.
        word, equals, value = (piece.strip() for piece in part.rpartition("="))
        try:
            probability = float(value)
        except ValueError:
            probability = math.nan
        if not (word and equals and math.isfinite(probability)):
            raise ParameterError(
                f"part {number} of the prior is not of the form word=probability; write "
                "counts, counts-all, equal, or a list such as monday=0.5, garage=0.5"
            )
        if word in probabilities:
            raise ParameterError(f"part {number} of the prior names a word a second time")
        probabilities[word] = probability
    return typed_prior(lexicon, probabilities)


def _share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParameterError(
            f"frequency: takes a share from 0 to 1, such as frequency:0.3, got {text[:40]!r}"
        ) from None


def frequency(lexicon: Lexicon) -> Prior:
    """Make words as frequent as in the shipped counts (`dpcore.attack.language.language`)."""
    return Prior(
        "frequency",
        word_frequencies(lexicon),
        "words as frequent as in openly licensed English text",
    )


def content_words(lexicon: Lexicon) -> Prior:
    """Make content words as frequent as in the shipped counts, and function words impossible.

    Function words are the stop words of the language (`dpcore.rewrite.languages`).

    Raises:
        LexiconError: no word of the lexicon was counted.
        ParameterError: no function words are known for the language.
    """
    stop_words = rules_of(lexicon.language).stop_words
    if not stop_words:
        raise ParameterError(
            f"no function words are known for the language {lexicon.language!r}, so content words "
            "are not: take counts-all or equal"
        )
    counts = word_frequencies(lexicon).copy()
    counts[[lexicon.index(word) for word in stop_words if word in lexicon]] = 0.0
    return Prior(
        "counts",
        counts / counts.sum(),
        "content words as frequent as in openly licensed English text",
    )


def prior_from_file(lexicon: Lexicon, path: Path) -> Prior:
    """Make words as frequent as in a file of counts: a word, a comma or a tab, its count, a line.

    Words that the lexicon lacks are left out, and counts of a word that occurs again are added.

    Raises:
        TextError: the file cannot be read, or is no such file; no message shows what is in it.
    """
    counts = np.zeros(len(lexicon))
    for number, line in enumerate(decode(file_bytes(path)).splitlines(), start=1):
        if not line.strip():
            continue
        # From the right: the word may be a comma itself.
        word, _, value = (part.strip() for part in line.replace("\t", ",").rpartition(","))
        try:
            count = float(value)
        except ValueError:
            count = math.nan
        if not (word and 0 <= count < math.inf):
            raise TextError(
                f"line {number:,} of {path} is not a word, a comma or a tab, and how often it "
                "occurs: a number of at least 0"
            )
        if word.lower() in lexicon:
            counts[lexicon.index(word.lower())] += count
    if not counts.sum() > 0:
        raise TextError(f"{path} counts no word of the lexicon {lexicon.name}")
    return Prior("file", counts / counts.sum(), "words as frequent as in a file of counts")


def mix_priors(first: Prior, second: Prior, share: float) -> Prior:
    """Mix two priors: (1 − share)·first + share·second.

    Raises:
        ParameterError: the share is not in [0, 1], or the priors are over different lexicons.
    """
    if not 0 <= share <= 1:
        raise ParameterError(f"the share of the second prior must be in [0, 1], got {share}")
    if first.probability.size != second.probability.size:
        raise ParameterError("two priors can be mixed only if they are over the same lexicon")
    return Prior(
        "mixed",
        (1.0 - share) * first.probability + share * second.probability,
        f"{1 - share:.0%} {first.name} ({first.sentence}), "
        f"{share:.0%} {second.name} ({second.sentence})",
    )


def _check_count(count: int) -> None:
    if not 1 <= count <= MAX_ATTACK_PRIOR_WORDS:
        raise ParameterError(
            f"a list of possible words holds 1 to {MAX_ATTACK_PRIOR_WORDS:,} words, got {count:,}; "
            "for all words take counts, counts-all or equal"
        )


# Probabilities as things out of a hundred: many people read counts better than decimals.


_TOLERANCE = 1e-6


def of_hundred(probabilities: ArrayLike, things: int = 100) -> IntArray:
    """Return whole numbers that add up to `things`, each within one of its share.

    Largest remainders (Hamilton's rule): every share is rounded down, and the remaining things go
    to the largest fractions, among equal ones to the first.

    Args:
        probabilities: shape (k,), not negative, their sum 1.
        things: how many are divided.

    Returns:
        Shape (k,), int64.

    Raises:
        ParameterError: the probabilities are not a distribution, or there is nothing to divide.
    """
    given: FloatArray = np.asarray(probabilities, dtype=np.float64)
    if not (given.ndim == 1 and given.size and (given >= 0).all()):
        raise ParameterError("counts need a list of probabilities of at least 0")
    if not abs(given.sum() - 1.0) <= _TOLERANCE:
        raise ParameterError(f"probabilities must sum to 1, got {given.sum():.6g}")
    if not things >= 1:
        raise ParameterError(f"at least 1 thing must be divided, got {things}")
    shares = given / given.sum() * things
    counts: IntArray = np.floor(shares).astype(np.int64)
    left = things - int(counts.sum())
    counts[np.argsort(counts - shares, kind="stable")[:left]] += 1
    return counts


# What counts as a right guess.


GAINS = ("word", "near", "kind")
NEAR = 10
"""Words that count as near: the word itself and the nine nearest."""


@dataclass(frozen=True, eq=False)
class Gain:
    """Gain g(v, w) of guesses v and words w.

    Attributes:
        name: of `GAINS`, or the pair.
        table: g, shape (guesses, n), sparse; None for the identity.
    """

    name: str
    table: csr_matrix | None = field(repr=False)

    @classmethod
    def of(cls, lexicon: Lexicon, name: str, progress: Progress = silent) -> Gain:
        """Prepare a gain over a lexicon.

        Raises:
            ParameterError: there is no such gain, or no kinds are known for this language.
        """
        n = len(lexicon)
        if name == "word" or pair_of(name):
            return cls(name, None)
        from scipy.sparse import csr_matrix

        if name == "near":
            near = lexicon.with_metric(Metric.EUCLIDEAN).neighbours(min(NEAR, n), progress)
            guesses = near.indices.reshape(-1)
            words = np.repeat(np.arange(n), near.indices.shape[1])
            return cls(name, csr_matrix((np.ones(words.size), (guesses, words)), shape=(n, n)))
        if name == "kind":
            kinds = kinds_of(lexicon)
            if kinds.none:
                raise ParameterError(
                    f"no kinds of words are known for the language {lexicon.language!r}: take the "
                    "gain word or near"
                )
            codes, count = kinds.codes.astype(np.int64), len(kinds.names)
            table = csr_matrix((np.ones(n), (codes, np.arange(n))), shape=(count, n))
            return cls(name, table)
        raise ParameterError(
            f"a gain is {', '.join(GAINS)} or pair=a,b (one of two words), got {name[:40]!r}"
        )

    def best(self, beliefs: FloatArray) -> FloatArray:
        """Return max_v Σ_w beliefs(w)·g(v, w) of each row, shape (rows,).

        Args:
            beliefs: weights of the words, shape (rows, n).
        """
        if self.table is None:
            return np.asarray(beliefs.max(axis=1))
        # The rows as columns, so that the sparse product runs along them.
        return np.asarray((self.table @ np.ascontiguousarray(beliefs.T)).max(axis=0))

    def guess(self, beliefs: FloatArray) -> IntArray:
        """Return the guess v of each row that attains `best`, shape (rows,)."""
        if self.table is None:
            return np.asarray(beliefs.argmax(axis=1))
        return np.asarray((self.table @ np.ascontiguousarray(beliefs.T)).argmax(axis=0))

    def repeated(self, outputs: IntArray) -> IntArray:
        """Return the guess that names each output, shape (k,): the word, or its kind."""
        if self.table is None or self.table.shape[0] == self.table.shape[1]:
            return outputs
        return np.asarray(self.table[:, outputs].argmax(axis=0)).reshape(-1)

    def reached(self, guesses: IntArray, words: IntArray) -> FloatArray:
        """Return g of each guess and word, shape (k,)."""
        if self.table is None:
            return np.asarray(guesses == words, dtype=np.float64)
        return np.asarray(self.table[guesses, words], dtype=np.float64).reshape(-1)


def pair_of(gain: str) -> tuple[str, str] | None:
    """Return the two words of a gain "pair=a,b"; None for another gain."""
    name, equals, words = gain.partition("=")
    first, comma, second = (part.strip() for part in words.partition(","))
    if not (name == "pair" and equals and comma and first and second and first != second):
        return None
    return first, second
