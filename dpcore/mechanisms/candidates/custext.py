"""CusText (Chen et al. 2023): the exponential mechanism within a small set of words.

Each word x has a set S(x) of k words, and

    P(y | x) ∝ exp((ε/2)·u(x, y)),  u = 1 − (d(x, y) − least)/(largest − least) over y in S(x),

where u lies in [0, 1]. Implemented after github.com/sai4july/CusText, CusText/sst2/utils.py at
commit 1578196 (k = 20), with Euclidean distances and the public order of the lexicon in place of
the private corpus. Words outside of the mapping, kept stop words and numbers are not part of the
law.

* `conservative`: the sets are a partition. Two words of one set have the same outputs, weights and
  normalisers that differ by e^(ε/2) each: ε holds. Words of two sets have no output in common: the
  loss is ∞, and the output reveals the set, log₂ of the number of sets in bits.
* `aggressive`: each word has its own k nearest. Two such sets overlap without being equal, so some
  output of one word is impossible for the other: the loss of nearly every pair is ∞, at any
  distance.
* `drawn`, the repair: the set is drawn first, by an exponential mechanism with ε/2 and the nearness
  of the word that a set was gathered around as its score, and then a word of it with ε/2. Both
  scores lie in [0, 1], so the two losses are at most ε/2 each between any two words.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.guarantee import EpsilonMeaning, Guarantee, PureLocalPrivacy, Status
from dpcore.lexicon.metric import distances
from dpcore.lexicon.neighbours import Ranking
from dpcore.mechanisms.candidates.clusters import Clusters, clusters
from dpcore.mechanisms.distances import by_word, nearest_of
from dpcore.mechanisms.exact import ExactMechanism
from dpcore.mechanisms.law import weights_rounding
from dpcore.mechanisms.mechanism import ColumnForm, SparseLaw
from dpcore.mechanisms.settings import parameter
from dpcore.noise.discrete import Rows, Weights
from dpcore.written import Filled


def scores(distance: FloatArray) -> FloatArray:
    """Return u in [0, 1]: 1 for the nearest, 0 for the farthest; all 1 if equally far."""
    least, largest = float(distance.min()), float(distance.max())
    # One word, or all equally far: there is nothing to prefer, and no range to divide by.
    if not largest > least:
        return np.ones(distance.shape)
    return np.asarray(1.0 - (distance - least) / (largest - least))


def log_choice(score: FloatArray, epsilon: float) -> FloatArray:
    """Return ln of exp(ε·u/2)/Z."""
    # The largest exponent becomes 0, so that none overflows; Z cancels the shift.
    logs = 0.5 * epsilon * (score - score.max())
    return np.asarray(logs - math.log(np.exp(logs).sum()))


@dataclass(frozen=True, eq=False, kw_only=True)
class CusText(ExactMechanism):
    """Word of a set of k; the set is revealed, or drawn first."""

    key = "custext.v1"
    short = "custext"
    title = "CusText"
    summary = "Chooses among the words of a small set, by how near they are to the word"
    source = "Chen et al. 2023; code sai4july/CusText at 1578196"
    cited: ClassVar[tuple[str, ...]] = ("chen2023custext",)
    meaning = EpsilonMeaning.LOCAL

    k: int = parameter(20, help="words of a set", low=2)
    form: str = parameter(
        "conservative",
        help="conservative: the sets are a partition; aggressive: each word has its own k nearest; "
        "drawn: a set of the partition is drawn first, so that ε holds between any two words",
        choices=("conservative", "aggressive", "drawn"),
    )

    @property
    def clusters(self) -> Clusters:
        """Partition of the vocabulary, public like the vectors."""
        return clusters(self.lexicon, self.k)

    def guarantee(self, epsilon: float) -> Guarantee:
        """Return the guarantee: ε within a set, between any two words, or none (see the module)."""
        value, n = self.check_epsilon(epsilon), len(self.lexicon)
        inside = Filled("weight and normaliser change by a factor of at most e^(ε/2) each")
        if self.form == "drawn":
            status = Status.PROVED
            reason = Filled(
                "A set of the partition is drawn with ε/2, and a word of it with ε/2; the scores "
                "of both lie between 0 and 1, so each draw has a loss of at most ε/2."
            )
        elif self.form == "aggressive":
            status = Status.REFUTED
            reason = Filled(
                "Each word has {outputs} possible outputs of its own: an output that is not among "
                "those of the other word gives it away, with a loss of ∞, however near the two "
                "words are. The form “drawn” holds.",
                outputs=min(self.k, n),
            )
            if self.k >= n:
                status = Status.PROVED
                reason = Filled("All words are in every set, and {inside}.", inside=inside)
        elif self.k >= n:
            status = Status.PROVED
            reason = Filled("All words are in one set, and {inside}.", inside=inside)
        else:
            status = Status.CONDITIONAL
            sets = -(-n // self.k)
            reason = Filled(
                "Both words must stand in one set of {size}: there {inside}. Words of two sets "
                "have no output in common, a loss of ∞: which of about {sets:,} sets a word is "
                "in, {bits:.3g} of {all_bits:.3g} bits, is given away. The form “drawn” holds "
                "between any two words.",
                size=self.k,
                inside=inside,
                sets=sets,
                bits=math.log2(sets),
                all_bits=math.log2(n),
            )
        return PureLocalPrivacy(
            epsilon=value,
            status=status,
            reason=reason,
            source=self.source,
            # Given the scores as computed: the proof holds for all in [0, 1].
            rounding=weights_rounding(value * 2.0**-50),
        )

    @property
    def caution(self) -> str:
        """Warning about what the set reveals."""
        n = len(self.lexicon)
        if self.form == "drawn" or self.k >= n:
            return ""
        if self.form == "aggressive":
            return Filled(
                "Nearly every pair of words has an output that is possible for one of them only"
            )
        return Filled(
            "The set of {size} words is always given away: {bits:.3g} of the {all_bits:.3g} bits "
            "of a word",
            size=self.k,
            bits=math.log2(-(-n // self.k)),
            all_bits=math.log2(n),
        )

    def log_law(self, word: int, epsilon: float, *, ranking: Ranking | None = None) -> FloatArray:
        """Return ln P(y | word), shape (n,); −∞ outside of the word's set."""
        index, value = int(self.check_words([word])[0]), self.check_epsilon(epsilon)
        distance = self.distances(index, ranking)
        if self.form == "drawn":
            return self._drawn(distance, value)
        logs = np.full(distance.size, -math.inf)
        inside = self.candidates(index, distance)
        logs[inside] = log_choice(scores(distance[inside]), value)
        return logs

    def candidates(self, word: int, distance: FloatArray) -> IntArray:
        """Return S(x) of the two published forms."""
        if self.form == "aggressive":
            return nearest_of(distance, min(self.k, distance.size))
        return self.clusters.set_of(word)

    def _drawn(self, distance: FloatArray, epsilon: float) -> FloatArray:
        """Return ln of P(set) with ε/2 times P(y | set) with ε/2, both exponential mechanisms."""
        table = self.clusters
        of_sets = log_choice(scores(distance[table.seeds]), 0.5 * epsilon)
        by_set, starts = distance[table.members], table.starts[:-1]
        least, largest = (f.reduceat(by_set, starts) for f in (np.minimum, np.maximum))
        sizes = np.diff(table.starts)
        spread = np.repeat(largest - least, sizes)
        with np.errstate(divide="ignore", invalid="ignore"):
            u = 1.0 - (by_set - np.repeat(least, sizes)) / spread
        # As in `scores`: a set of one word, or of words equally far.
        u[~(spread > 0)] = 1.0
        weights = 0.25 * epsilon * (u - 1.0)  # the largest u of a set is 1
        sums = np.log(np.add.reduceat(np.exp(weights), starts))
        logs = np.empty(distance.size)
        logs[table.members] = weights + np.repeat(of_sets - sums, sizes)
        return logs

    def rows(self, epsilon: float) -> Rows:
        """Return the rows of the law; for the partition, from distances within the set only."""
        if self.form != "conservative":
            return super().rows(epsilon)
        vectors, value = self.lexicon.vectors, self.check_epsilon(epsilon)

        def weights(entries: IntArray) -> Iterator[tuple[IntArray, Weights]]:
            for word, members in zip(*by_word(entries), strict=True):
                inside = self.clusters.set_of(word)
                away = distances(vectors[inside], vectors[[word]])[0]
                logs = log_choice(scores(away), value)
                logs -= logs.max()
                yield members, Weights(np.exp(logs), logs.item, inside)

        return weights

    def sparse_law(self, epsilon: float) -> SparseLaw | None:
        """Return the laws within the sets of the partition."""
        if self.form != "conservative":
            return None
        value, table = self.check_epsilon(epsilon), self.clusters
        sets = [table.members[a:b] for a, b in pairwise(table.starts.tolist())]
        rows = [self.lexicon.vectors[members] for members in sets]
        logs = [
            log_choice(scores(away), value)
            for own in rows
            for away in distances(own, own)
        ]  # fmt: skip
        return SparseLaw(
            base=np.zeros(len(self.lexicon)),
            words=np.concatenate([np.repeat(members, members.size) for members in sets]),
            outputs=np.concatenate([np.tile(members, members.size) for members in sets]),
            excess=np.exp(np.concatenate(logs)),
        )

    @property
    def column_form(self) -> ColumnForm | None:
        """Laws of the words in the output's set; no other word can give the output."""
        if self.form != "conservative":
            return None
        return ColumnForm(self._column, 1e-12)

    def _column(self, output: int, _: FloatArray | None, epsilon: float) -> FloatArray:
        """Return ln P(output | w) of every word w, shape (n,)."""
        members = self.clusters.set_of(output)
        rows = self.lexicon.vectors[members]
        logs = np.full(len(self.lexicon), -math.inf)
        for word, away in zip(members.tolist(), distances(rows, rows), strict=True):
            logs[word] = log_choice(scores(away), epsilon)[
                int(np.flatnonzero(members == output)[0])
            ]
        return logs
