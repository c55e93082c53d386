"""Numbers of a trade-off, and the words and pairs that it is measured on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore.arguments import a_whole
from dpcore.arrays import IntArray
from dpcore.attack.output.prior import NEAR
from dpcore.attack.output.spectrum import spectrum_of
from dpcore.learn.intervals import Mean
from dpcore.lexicon.kinds import Kinds, kinds_of
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_ATTACK_OUTPUTS
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.streams import generator

LEAKAGES = ("word", "near", "kind", "guess", "pair", "couple")
UTILITIES = ("kept", "meaning")
GUESSED, NEARLY = "counts-word", "counts-near"
"""Leakages to the stranger `counts` of `dpcore.attack.leak`: content words that someone guesses who
knows how common they are, and those of which they guess the word or one of the nine nearest."""
KEPT, MEANT = "counts-kept", "counts-meaning"
"""Utilities of content words, each counted as often as it occurs in text: `kept` and `meaning`.
Over the dictionary a rare word, isolated as it is, counts as much as a common one."""
COUNTED = {texts: f"counted-{texts}" for texts in (10_000, 100_000, 1_000_000)}
"""Utility by number of texts: share of content words, as often as they occur, whose number in so
many private texts is known to ten percent."""
PAIRS = 60
BAYES, REPEATS, LEARNED = "bayes", "repeats", "learned"
"""Attackers: the best one, one who repeats the output, and one who has seen some outputs of
every word."""


@dataclass(frozen=True)
class Amount:
    """One number of a trade-off.

    Attributes:
        mechanism: short name.
        epsilon: ε, with the mechanism's meaning of it.
        quantity: of `LEAKAGES` or `UTILITIES`.
        value: the number.
        low: lower end of its interval of level 95 %; if exact, less the error of the computation.
        high: upper end.
        exact: True if all words and all outputs are included.
        attacker: attacker with this success, `BAYES`, `REPEATS` or `LEARNED`; "" for a utility.
    """

    mechanism: str
    epsilon: float
    quantity: str
    value: float
    low: float
    high: float
    exact: bool
    attacker: str = ""


@dataclass(frozen=True, eq=False)
class Ground:
    """Words and distances on which all mechanisms over a lexicon are measured.

    Attributes:
        lexicon: the words.
        kinds: the kind of every word.
        near: w and its nearest words, for every word w, shape (n, k).
        spread: d̄, the mean distance of two words, each word with itself included.
        doubt: bound on the relative error of `spread`.
        centre: the word with the least mean distance from all.
        central: that distance.
        triples: words drawn at random, their nearest words, and others at random, shape (m, 3).
    """

    lexicon: Lexicon
    kinds: Kinds
    near: IntArray
    spread: float
    doubt: float
    centre: int
    central: float
    triples: IntArray

    @classmethod
    def of(
        cls,
        lexicon: Lexicon,
        near: int = NEAR,
        pairs: int = PAIRS,
        seed: int = 0,
        progress: Progress = silent,
    ) -> Ground:
        """Prepare a lexicon.

        Args:
            lexicon: public words and vectors; distances are Euclidean whatever its metric.
            near: k, at least 2.
            pairs: m, at least 2.
            seed: seed of the drawn words; a measurement protects nothing.
            progress: progress of tables that are not cached yet.

        Raises:
            ParameterError: k or m is out of range.
        """
        n = len(lexicon)
        near = a_whole(near, "the number of near words", 2, n)
        pairs = a_whole(pairs, "pairs", 2, MAX_ATTACK_OUTPUTS)
        table = lexicon.with_metric(Metric.EUCLIDEAN).neighbours(near, progress)
        indices = table.indices.astype(np.int64)
        spectrum = spectrum_of(lexicon, Metric.EUCLIDEAN, progress)
        sums, errors = spectrum.sums(lambda distance: distance)
        means = sums.reshape(-1) / n
        spread = float(means.mean())
        rng = generator(seed, "trade-off", "pairs")
        words = rng.choice(n, size=min(pairs, n), replace=False)
        others = (words + rng.integers(1, n, size=words.size)) % n  # any word but this one
        centre = int(means.argmin())
        triples = np.stack((words, indices[words, 1], others), axis=1)
        return cls(
            lexicon, kinds_of(lexicon), indices, spread, float(errors.mean()) / n / spread, centre,
            float(means[centre]), triples,
        )  # fmt: skip

    def before(self) -> dict[str, float]:
        """Return each quantity for an output that has nothing to do with the word."""
        n = len(self.lexicon)
        popular = np.bincount(self.near.reshape(-1), minlength=n)
        return {
            "word": 1.0 / n,
            "near": float(popular.max()) / n,
            "kind": float(np.bincount(self.kinds.codes).max()) / n,
            "guess": 1.0 - self.central / self.spread,
            "pair": 0.5,
            "couple": 0.5,
            "kept": 1.0 / n,
            "meaning": 0.0,
        }


def amount(
    mechanism: Mechanism,
    epsilon: float,
    quantity: str,
    mean: Mean,
    attacker: str,
    *,
    exact: bool = False,
) -> Amount:
    """Make a row from a mean with its interval."""
    return Amount(
        mechanism.short, epsilon, quantity, mean.mean, mean.low, mean.high, exact, attacker
    )
