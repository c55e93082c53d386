"""Who is least protected, by name.

Each word w is judged by how often it stays, P(w | w), and by what an attacker then believes,

    π(w | y = w) = π(w)·P(w | w) / Σ_v π(v)·P(w | v).

For TEM no output gives w away more, whatever the prior: min(D, γ) is a metric, so for every v
P(y | v)/P(y | w) = e^{η·D(w, y) − η·D(v, y)}·Z_w/Z_v ≥ e^{−η·D(v, w)}·Z_w/Z_v = P(w | v)/P(w | w).
The first figure is computed for every word of the lexicon, the second for those that stand out. A
lonely word stays more often; how lonely it is, its distance to the nearest other word says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.attack.output.posterior import posterior
from dpcore.errors import ParameterError
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_ATTACK_SHOWN
from dpcore.measure.density.density import NEIGHBOURS, vocabulary_density

if TYPE_CHECKING:
    from dpcore.attack.output.likelihood import Channel
    from dpcore.attack.output.prior import Prior
    from dpcore.mechanisms.mechanism import Mechanism


@dataclass(frozen=True)
class Exposed:
    """One word and how far it is exposed.

    Attributes:
        word: index.
        stays: P(w | w).
        prior: π(w).
        believed: π(w | y = w).
        nearest: distance to the nearest other word, Euclidean.
        lonelier: share of the lexicon whose nearest word is nearer than that.
    """

    word: int
    stays: float
    prior: float
    believed: float
    nearest: float
    lonelier: float


@dataclass(frozen=True, eq=False)
class Exposure:
    """The least and the best protected words.

    Attributes:
        worst: by `stays`, most exposed first.
        best: least exposed first.
        stays: of every word that was looked at, shape (m,).
        words: those words, ascending, shape (m,).
        correlation: Spearman's, between how often a word stays and how lonely it is; NaN if
            all stay alike.
    """

    worst: tuple[Exposed, ...]
    best: tuple[Exposed, ...]
    stays: FloatArray
    words: IntArray
    correlation: float

    def rows(self, mechanism: Mechanism) -> list[dict[str, Any]]:
        """One plain row a word, the worst first, then the best."""
        names = mechanism.lexicon.words
        return [
            {
                "group": group,
                "word": names[entry.word],
                "stays": entry.stays,
                "prior": entry.prior,
                "believed": entry.believed,
                "nearest_distance": entry.nearest,
                "lonelier_than": entry.lonelier,
            }
            for group, words in (("worst", self.worst), ("best", self.best))
            for entry in words
        ]


def exposure(
    channel: Channel, epsilon: float, prior: Prior, *, count: int = 10, progress: Progress = silent
) -> Exposure:
    """Rank the words of a channel by how often they stay.

    Args:
        channel: of a mechanism with a closed form over its lexicon, or of a list of words.
        epsilon: admissible.
        prior: for what the attacker believes; its possible words are those of the channel.
        count: words of either end.
        progress: called with ("words", done, all).

    Raises:
        ParameterError: `count` is out of range, or the mechanism would need a law for every word
            of a whole lexicon.
    """
    if not 1 <= count <= MAX_ATTACK_SHOWN:
        raise ParameterError(f"words to show must be 1 to {MAX_ATTACK_SHOWN}, got {count}")
    lexicon = channel.mechanism.lexicon
    stays = channel.staying(epsilon)
    k = min(NEIGHBOURS, len(lexicon) - 1)  # what comes with the bundled lexicon
    gaps = vocabulary_density(lexicon, k).nearest[channel.words].astype(np.float64)
    order = np.lexsort((channel.words, -gaps, -stays))  # of equal ones the lonelier first
    count = min(count, order.size)
    chosen = [*order[:count].tolist(), *order[::-1][:count].tolist()]
    ranked = np.sort(gaps)
    exposed = []
    for done, i in enumerate(chosen, start=1):
        word = int(channel.words[i])
        after = posterior(channel.seen(word).at(epsilon), prior)
        exposed.append(
            Exposed(
                word=word,
                stays=float(stays[i]),
                prior=float(prior.probability[word]),
                believed=float(after.probability[word]),
                nearest=float(gaps[i]),
                # From the left: words that are equally lonely are not nearer.
                lonelier=float(np.searchsorted(ranked, gaps[i])) / ranked.size,
            )
        )
        progress("words", done, len(chosen))
    worst, best = tuple(exposed[:count]), tuple(exposed[count:])
    return Exposure(worst, best, stays, channel.words, _spearman(stays, gaps))


def _spearman(first: FloatArray, second: FloatArray) -> float:
    from scipy.stats import rankdata

    a, b = rankdata(first), rankdata(second)
    if first.size < 2 or not (a.std() > 0 and b.std() > 0):
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])
