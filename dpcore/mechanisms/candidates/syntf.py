"""SynTF (Weggenmann, Kerschbaum 2018), term by term: the exponential mechanism with a similarity.

    P(y | x) ∝ exp(ε·ρ(x, y)/(2Δ)),  ρ in [0, 1], Δ = 1,

where y runs over all terms. ρ is the cosine of the two vectors here, and 0 where that is negative;
the paper adds up such terms to a synthetic vector of term frequencies, of a given length. Two terms
change a weight and a normaliser by e^(ε/2) each, so ε holds between any two terms.

That needs all terms as candidates. Where each term has its own set of synonyms (as in
github.com/sjmeis/MLDP, src/mldp_text/mechanisms.py at commit 65a9eb8, from WordNet), an output that
is a synonym of one word and not of another has a loss of ∞. The form "synonyms" is this variant,
with the k most similar words in place of a dictionary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import ClassVar

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.guarantee import EpsilonMeaning, Guarantee, PureLocalPrivacy, Status
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.neighbours import Ranking
from dpcore.mechanisms.distances import COLUMN_ERROR, Normalisers, nearest_of
from dpcore.mechanisms.exact import ExactMechanism
from dpcore.mechanisms.law import weights_rounding
from dpcore.mechanisms.mechanism import ColumnForm
from dpcore.mechanisms.settings import parameter
from dpcore.written import Filled

_BLOCK = 512  # words whose vectors or similarities are computed at a time


@dataclass(frozen=True, eq=False, kw_only=True)
class SynTF(ExactMechanism):
    """Exponential mechanism e^(ε·ρ/2) with the cosine as ρ, over all or the most similar words."""

    key = "syntf.v1"
    short = "syntf"
    title = "SynTF, per term"
    summary = "Chooses a word with a probability that grows exponentially with its similarity"
    source = "Weggenmann, Kerschbaum 2018; code sjmeis/MLDP at 65a9eb8"
    cited: ClassVar[tuple[str, ...]] = ("weggenmann2018syntf",)
    meaning = EpsilonMeaning.LOCAL

    candidates: str = parameter(
        "all",
        help="all: any word may come out; synonyms: the k most similar to the word, which breaks ε",
        choices=("all", "synonyms"),
    )
    k: int = parameter(10, help="how many words are taken for synonyms", low=2)

    @property
    def _restricted(self) -> bool:
        return self.candidates == "synonyms" and self.k < len(self.lexicon)

    def guarantee(self, epsilon: float) -> Guarantee:
        """Return the guarantee: ε between any two words, proved if all words are candidates."""
        reason = Filled(
            "A similarity lies between 0 and 1, so weight and normaliser change by a factor of at "
            "most e^(ε/2) each, and every word may come out."
        )
        if self._restricted:
            reason = Filled(
                "Each word has {outputs} possible outputs of its own: one that is not possible "
                "for the other word has a loss of ∞. With candidates=all the guarantee holds.",
                outputs=self.k,
            )
        value = self.check_epsilon(epsilon)
        return PureLocalPrivacy(
            epsilon=value,
            status=Status.REFUTED if self._restricted else Status.PROVED,
            reason=reason,
            source=self.source,
            rounding=weights_rounding(value * 2.0**-50),
        )

    def similarity(self, word: int) -> FloatArray:
        """Return ρ of a word to all, shape (n,), read-only."""
        return _similarity(self.lexicon, word)

    def log_law(self, word: int, epsilon: float, *, ranking: Ranking | None = None) -> FloatArray:
        """Return ln P(y | word), shape (n,)."""
        index, value = int(self.check_words([word])[0]), self.check_epsilon(epsilon)
        similarity = self.similarity(index)
        logs = 0.5 * value * (similarity - 1.0)  # a word is most like itself
        if self._restricted:
            outside = np.ones(similarity.size, dtype=bool)
            outside[nearest_of(-similarity, self.k)] = False
            logs[outside] = -math.inf
        return np.asarray(logs - math.log(np.exp(logs).sum()))

    @property
    def symmetric_law(self) -> bool:
        """The similarity is, if all words are candidates."""
        return not self._restricted

    @property
    def column_form(self) -> ColumnForm | None:
        """Column form, if all words are candidates: the similarity is symmetric."""
        if self._restricted:
            return None
        return ColumnForm(self._column, COLUMN_ERROR, prepare=_normalisers(self.lexicon).all_at)

    def _column(self, output: int, _: FloatArray | None, epsilon: float) -> FloatArray:
        """Return ln P(output | w) of every word w, shape (n,)."""
        logs = 0.5 * epsilon * (self.similarity(output) - 1.0)
        return np.asarray(logs - _normalisers(self.lexicon).at(epsilon))


@lru_cache(maxsize=64)
def _similarity(lexicon: Lexicon, word: int) -> FloatArray:
    """Return the cosine with a word, 0 where it is negative, shape (n,), read-only."""
    rows = lexicon.vectors
    own = rows[word].astype(np.float64)
    lengths = _lengths(lexicon) * np.linalg.norm(own)
    # In blocks, which stay in the processor's cache as they become float64: a seventh of the time.
    parts = [
        rows[start : start + _BLOCK].astype(np.float64) @ own
        for start in range(0, len(rows), _BLOCK)
    ]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        cosine = np.concatenate(parts) / lengths
    # A zero vector has no angle: it is similar only to itself.
    similarity = np.clip(np.nan_to_num(cosine, nan=0.0, posinf=0.0, neginf=0.0), 0.0, 1.0)
    similarity[word] = 1.0
    similarity.setflags(write=False)
    return np.asarray(similarity)


@lru_cache(maxsize=4)  # a fifth of the time of a law, if each computes them
def _lengths(lexicon: Lexicon) -> FloatArray:
    """Return the Euclidean lengths of the vectors, float64, read-only."""
    rows = lexicon.vectors
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    lengths.setflags(write=False)
    return np.asarray(lengths)


@lru_cache(maxsize=2)
def _normalisers(lexicon: Lexicon) -> Normalisers:
    return Normalisers(partial(_log_normalisers, lexicon))


def _log_normalisers(lexicon: Lexicon, epsilons: list[float]) -> FloatArray:
    """Return ln Z of every word at some ε, shape (E, n): one pass over all pairs."""
    lengths = _lengths(lexicon)
    unit = lexicon.vectors / np.where(lengths > 0, lengths, 1.0)[:, None]
    n, result = len(lexicon), np.empty((len(epsilons), len(lexicon)))
    for start in range(0, n, _BLOCK):
        cosine = unit[start : start + _BLOCK] @ unit.T
        rows = np.arange(cosine.shape[0])
        cosine[rows, start + rows] = 1.0
        exponents = np.clip(cosine, 0.0, 1.0) - 1.0
        for e, epsilon in enumerate(epsilons):
            sums = np.exp(0.5 * epsilon * exponents).sum(axis=1)
            result[e, start : start + _BLOCK] = np.log(sums)
    return result
