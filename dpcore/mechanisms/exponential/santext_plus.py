"""SanText+ (Yue et al. 2021): SanText for sensitive words, and now and then for the others.

The vocabulary has a part V_S of sensitive words: its rarest ones, a share w. With P_S the law of
SanText over V_S,

    x in V_S:      P(y | x) = P_S(y | x) = exp(−(ε/2)·d(x, y))/Z_x,  y in V_S;
    x not in V_S:  x itself with probability 1 − p, else a word of V_S by P_S(· | x).

Judged by github.com/xiangyue9607/SanText, files SanText.py and run_SanText.py at commit 3f40a17
(defaults ε = 15, p = .2, w = .5). There the frequencies are those of the private train and dev
files; here V_S goes by the public order of the lexicon, most frequent first, without which nothing
below holds.

What is protected: two words of V_S have a loss of at most ε·d, by the triangle inequality; and from
V_S to another word it is at most ε·d + ln(1/p), on outputs in V_S. What is not: a word that is not
in V_S and comes out as itself is proved to have gone in. So the promise holds under the condition
that both words are sensitive. An output in V_S makes a sensitive word 1/p times as likely as
before: with a share π of sensitive places the odds π : (1 − π) become π : p(1 − π).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.guarantee import EpsilonMeaning, Guarantee, MetricPrivacy, Status
from dpcore.lexicon.metric import Metric
from dpcore.mechanisms.candidates.columns import ERROR, log_normalisers
from dpcore.mechanisms.exact import ExactMechanism
from dpcore.mechanisms.hooks import ColumnForm
from dpcore.mechanisms.sampled_law import tem_rounding
from dpcore.mechanisms.settings import parameter

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.ranking import Ranking


@dataclass(frozen=True, eq=False, kw_only=True)
class SanTextPlus(ExactMechanism):
    """SanText over the rarest words; a frequent one mostly comes out as it is."""

    key = "santext-plus.v1"
    short = "santext-plus"
    title = "SanText+"
    summary = (
        "Exchanges rare words among each other as SanText does, and mostly leaves a frequent one "
        "as it is"
    )
    source = "Yue et al. 2021; code xiangyue9607/SanText at 3f40a17"
    cited: ClassVar[tuple[str, ...]] = ("yue2021santext",)
    meaning = EpsilonMeaning.METRIC

    w: float = parameter(
        0.5, help="share of the words, the rarest, that are taken for sensitive", low=0.01, high=1.0
    )
    p: float = parameter(
        0.2, help="probability that a word that is not sensitive is exchanged", low=0.0, high=1.0
    )

    @property
    def first_sensitive(self) -> int:
        """The index from which on words are sensitive; there is one at least."""
        n = len(self.lexicon)
        return n - max(1, min(n, round(self.w * n)))

    def guarantee(self, epsilon: float) -> Guarantee:
        """ε·d if both words are sensitive; proved for all where all are."""
        value, first, n = self.check_epsilon(epsilon), self.first_sensitive, len(self.lexicon)
        reason = (
            "Between two words at distance d the distance to any output differs by at most d, so "
            "weight and normaliser each change by a factor of at most e^(ε·d/2)"
        )
        if first == 0:
            status, reason = Status.PROVED, f"All words are sensitive. {reason}."
        else:
            status = Status.CONDITIONAL
            reached = (
                "the other words always come out as they are"
                if self.p == 0
                else f"between a sensitive word and another the loss is at most ε·d + ln(1/p), "
                f"ln(1/p) = {math.log(1 / self.p):.4g}, on sensitive outputs, and an output that "
                "is not sensitive proves that it went in"
            )
            reason = (
                f"Both words must be among the {n - first:,} sensitive ones, from "
                f"“{self.lexicon.words[first]}” on in the public order. {reason}. Outside of "
                f"them, {reached}."
            )
        return MetricPrivacy(
            epsilon=value,
            status=status,
            reason=reason,
            source=self.source,
            rounding=tem_rounding(
                Metric.EUCLIDEAN,
                self.lexicon.dimension,
                0.5 * value,
                value * self.lexicon.largest_norm,
            ),
        )

    def posterior(self, share: float) -> float:
        """P(a place was sensitive | its output is), from the share π of sensitive places before."""
        return share / (share + self.p * (1.0 - share))

    @property
    def caution(self) -> str:
        """What an output gives away."""
        if self.first_sensitive == 0:
            return ""
        return (
            f"The {self.first_sensitive:,} most frequent words are not protected: when one comes "
            f"out, it went in. Where half of the places are sensitive, a sensitive output says "
            f"with probability {self.posterior(0.5):.3f} that the word was"
        )

    def log_law(self, word: int, epsilon: float, *, ranking: Ranking | None = None) -> FloatArray:
        """ln P_S(y | x), or ln p more and ln(1 − p) for the word itself, shape (n,)."""
        index, value = int(self.check_words([word])[0]), self.check_epsilon(epsilon)
        first = self.first_sensitive
        logs = np.full(len(self.lexicon), -math.inf)
        scores = -0.5 * value * self.distances(index, ranking)[first:]
        top = scores.max()
        logs[first:] = scores - (top + math.log(np.exp(scores - top).sum()))
        if index < first:
            with np.errstate(divide="ignore"):
                logs[first:] += np.log(self.p)
                logs[index] = np.log1p(-self.p)
        return logs

    @property
    def column_form(self) -> ColumnForm:
        """The closed form with normalisers over the sensitive words."""
        return ColumnForm(self._column, ERROR, Metric.EUCLIDEAN)

    def _column(self, output: int, away: FloatArray | None, epsilon: float) -> FloatArray:
        """ln P(output | w) of every word w, shape (n,)."""
        first, n = self.first_sensitive, len(self.lexicon)
        logs = np.full(n, -math.inf)
        with np.errstate(divide="ignore"):
            if output < first:
                logs[output] = np.log1p(-self.p)
                return logs
            distance = self.distances(output) if away is None else away
            logs = -0.5 * epsilon * distance - _normalisers(self.lexicon, first, epsilon)
            logs[:first] += np.log(self.p)
        return np.asarray(logs)


@lru_cache(maxsize=32)  # a pass over all pairs each, for as many ε as a curve has
def _normalisers(lexicon: Lexicon, first: int, epsilon: float) -> FloatArray:
    """ln Z over the words from `first` on, of every word, shape (n,)."""
    outputs = np.arange(first, len(lexicon))
    return log_normalisers(lexicon, outputs, lambda apart: -0.5 * epsilon * apart)
