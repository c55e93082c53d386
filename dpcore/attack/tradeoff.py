"""What a mechanism gives away, and what it leaves: the two sides of every choice, at each ε.

A word w is drawn uniformly, y comes out. Somebody who knows the mechanism reads y and wants
something: `LEAKAGES`. Somebody who works with the text reads y as it stands: `UTILITIES`.

    word     he names w                                    Σ_y max_g P(g, y)
    near     he names one of the k words nearest to w      Σ_y max_g Σ_{w : g ∈ N_k(w)} P(w, y)
    kind     he names the kind of w (`lexicon.kinds`)      Σ_y max_c Σ_{w ∈ c} P(w, y)
    guess    he names a word as near to w as he can        1 − Σ_y min_g Σ_w d(w, g)·P(w, y)/d̄
    pair     he is told w and its nearest word, and says which of them it was; before, one in two
    couple   the same of two words drawn at random
    kept     the word stays                                P(y = w)
    meaning  how near the text stays                       1 − E d(w, y)/d̄

P(w, y) = P(y | w)/n, N_k(w) are w and its k − 1 nearest words, and d̄ is the mean distance of two
words, so that `meaning` is 0 for an output that has nothing to do with the word. Whoever repeats y
is as near to w as the reader: so word ≥ kept and guess ≥ meaning, for every mechanism
(`docs/optimal.md`, Theorem 4).

Where a column P(y | ·) is a closed form the attacker is Bayes', over all outputs or over outputs
that are drawn. Elsewhere he says what came out, which is a lower bound of what leaks: pairs of word
and output are drawn. Every number has an interval of level 95 %.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.attack.output.channel import open_channel
from dpcore.attack.output.spectrum import spectrum_of
from dpcore.attack.output.two_words import success
from dpcore.errors import ParameterError
from dpcore.learn.intervals import Mean, mean_interval
from dpcore.lexicon.kinds import kinds_of
from dpcore.lexicon.metric import Metric, paired_distances
from dpcore.lexicon.progress import Progress, silent
from dpcore.lexicon.ranking import rank
from dpcore.limits import MAX_ATTACK_OUTPUTS, MAX_ATTACK_PRIOR_WORDS, MAX_ATTACK_WORDS
from dpcore.measure.outputs import outputs_of
from dpcore.measure.probability_intervals import Tally
from dpcore.mechanisms.additive.shared import SharedDirections
from dpcore.mechanisms.bulk.sweep import outputs_at
from dpcore.mechanisms.hooks import NoisyNearestForm
from dpcore.mechanisms.law import Effort
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    import pandas as pd
    from scipy.sparse import csr_matrix

    from dpcore.attack.output.likelihood import Channel
    from dpcore.lexicon.kinds import Kinds
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.measure.outputs import Outputs
    from dpcore.mechanisms.mechanism import Mechanism

LEAKAGES = ("word", "near", "kind", "guess", "pair", "couple")
UTILITIES = ("kept", "meaning")
NEAR = 10
"""k: the word itself and the nine words nearest to it."""
BAYES, REPEATS = "bayes", "repeats"
"""Who attacks: the best attacker, or one who says what came out."""

_TOGETHER = 64  # outputs whose columns are held at a time: 13 MB over 25,000 words
_GUESSED = 60  # outputs of which the word of least expected distance is looked for
_GUESSES = 8  # of which it is taken: the output's nearest words, beside the centre of all words
_NEVER = -700.0  # ln of the smallest probability that is one
_NOTHING = 60.0  # e^−60 of the likeliest word
_DIRECTIONS = 200  # noise directions behind a law that is estimated
_PAIRS = 60


@dataclass(frozen=True)
class Amount:
    """One number of a trade-off.

    Attributes:
        mechanism: short name.
        epsilon: ε, in the mechanism's own meaning.
        quantity: of `LEAKAGES` or `UTILITIES`.
        value: the number.
        low: lower end of its interval of level 95 %; if exact, less the error of the computation.
        high: upper end.
        exact: whether all words and all outputs are in it.
        attacker: `BAYES` or `REPEATS`, whose success it is; "" for a utility.
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
    """What all mechanisms over a lexicon are measured on.

    Attributes:
        lexicon: the words.
        kinds: the kind of every word.
        near: w and its nearest words, of every word w, shape (n, k).
        spread: d̄, the mean distance of two words, each word with itself among them.
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
        pairs: int = _PAIRS,
        seed: int = 0,
        progress: Progress = silent,
    ) -> Ground:
        """Look at a lexicon.

        Args:
            lexicon: public words and vectors; distances are Euclidean whatever its metric.
            near: k, at least 2.
            pairs: m, at least 2.
            seed: of the drawing of words. What is measured protects nothing.
            progress: of what is not kept yet.

        Raises:
            ParameterError: k or m is out of range.
        """
        n = len(lexicon)
        if not 2 <= near <= n:
            raise ParameterError(f"near words must be 2 to {n:,}, got {near}")
        if not 2 <= pairs <= MAX_ATTACK_OUTPUTS:
            raise ParameterError(f"pairs must be 2 to {MAX_ATTACK_OUTPUTS:,}, got {pairs:,}")
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
        """Each quantity where the output has nothing to do with the word."""
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


@dataclass(frozen=True)
class Tradeoff:
    """The trade-off of some mechanisms over one lexicon.

    Attributes:
        lexicon: its name.
        fingerprint: of the lexicon.
        near: k.
        known_kinds: share of the words whose kind is known.
        spread: d̄.
        before: each quantity where the output has nothing to do with the word.
        rows: mechanism by mechanism.
    """

    lexicon: str
    fingerprint: str
    near: int
    known_kinds: float
    spread: float
    before: dict[str, float]
    rows: tuple[Amount, ...]

    def to_pandas(self) -> pd.DataFrame:
        """One row a number: the fields of `Amount`."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows])


def tradeoff(
    mechanisms: Mechanism | Sequence[tuple[Mechanism, Sequence[float]]],
    epsilons: Sequence[float] | FloatArray = (),
    *,
    outputs: int | None = 2_000,
    near: int = NEAR,
    pairs: int = _PAIRS,
    seed: int = 0,
    progress: Progress = silent,
) -> Tradeoff:
    """What mechanisms give away and what they leave, at each ε.

    Args:
        mechanisms: one mechanism, or several over one lexicon, each with its ε.
        epsilons: of one mechanism.
        outputs: how many are looked at where a column is a closed form, and half as many again
            pairs of word and output elsewhere; None takes all outputs, and 20,000 pairs.
        near: k.
        pairs: of words, between which the attacker has to choose.
        seed: of all drawing.
        progress: called with (stage, done, all).

    Raises:
        EpsilonError: an ε is not admissible.
        ParameterError: a number is out of range, or the mechanisms are over several lexicons.
    """
    asked = mechanisms if isinstance(mechanisms, Sequence) else [(mechanisms, epsilons)]
    if not asked:
        raise ParameterError("a trade-off needs at least one mechanism")
    lexicon = asked[0][0].lexicon
    if any(mechanism.lexicon.fingerprint != lexicon.fingerprint for mechanism, _ in asked):
        raise ParameterError("the mechanisms of one trade-off are over one lexicon")
    if outputs is not None and not 100 <= outputs <= MAX_ATTACK_OUTPUTS:
        raise ParameterError(f"outputs must be 100 to {MAX_ATTACK_OUTPUTS:,}, got {outputs:,}")
    ground = Ground.of(lexicon, near, pairs, seed, progress)
    rows = [
        row
        for mechanism, values in asked
        for row in amounts(mechanism, values, ground, outputs, seed, progress)
    ]
    return Tradeoff(
        lexicon.name,
        lexicon.fingerprint,
        near,
        ground.kinds.known,
        ground.spread,
        ground.before(),
        tuple(rows),
    )


def wastes(
    rows: Sequence[Amount], least: float, share: float = 0.5
) -> dict[str, tuple[float, float]]:
    """How many times the least possible ε each mechanism spends to give a share of words away.

    Args:
        rows: of a `Tradeoff`.
        least: ε below which no mechanism gives as much away (`meter.largest_epsilon`), in the
            meaning of ε of these mechanisms.
        share: of the words that are guessed.

    Returns:
        By mechanism, from the two measured ε between which it gives that share away; mechanisms
        that do not reach it, or begin above it, are left out.
    """
    result = {}
    for name in dict.fromkeys(row.mechanism for row in rows):
        points = sorted(
            (row.value, row.epsilon)
            for row in rows
            if row.mechanism == name and row.quantity == "word"
        )
        below = [epsilon for value, epsilon in points if value <= share]
        above = [epsilon for value, epsilon in points if value >= share]
        if below and above:
            # Nothing spends less than the least.
            result[name] = max(max(below) / least, 1.0), max(min(above) / least, 1.0)
    return result


def amounts(
    mechanism: Mechanism,
    epsilons: Sequence[float] | FloatArray,
    ground: Ground,
    outputs: int | None = 2_000,
    seed: int = 0,
    progress: Progress = silent,
) -> list[Amount]:
    """All quantities of one mechanism (see `tradeoff`)."""
    values = mechanism.check_epsilons(np.asarray(epsilons, dtype=np.float64))
    rows: list[Amount] = []
    if _has_columns(mechanism):
        channel = open_channel(mechanism, progress=progress)
        rows += _bayes(channel, values, ground, outputs, seed, progress)
    else:
        count = 20_000 if outputs is None else 3 * outputs // 2
        rows += _repeated(mechanism, values, ground, count, seed, progress)
    rows += _told_two(mechanism, values, ground, progress)
    return rows


def _has_columns(mechanism: Mechanism) -> bool:
    """Whether a column of the law is a closed form, so that thousands of them are no matter."""
    n = len(mechanism.lexicon)
    if not mechanism.exact_law or n > MAX_ATTACK_WORDS:
        return False
    form = mechanism.column_form
    return n <= MAX_ATTACK_PRIOR_WORDS or not isinstance(form, NoisyNearestForm | None)


# -- the Bayes attacker


def _bayes(
    channel: Channel,
    epsilons: FloatArray,
    ground: Ground,
    outputs: int | None,
    seed: int,
    progress: Progress,
) -> Iterator[Amount]:
    """From the columns of all outputs, or of some that are drawn without replacement."""
    mechanism, n = channel.mechanism, len(ground.lexicon)
    chosen, rng = np.arange(n), generator(seed, "trade-off", mechanism.key)
    if outputs is not None and outputs < n:
        chosen = np.sort(rng.choice(n, size=outputs, replace=False))
    readers = _Readers(ground)
    parts, error = [], 0.0
    for start in range(0, chosen.size, _TOGETHER):
        part = chosen[start : start + _TOGETHER]
        values, doubt = readers.read(channel, part, epsilons)
        parts.append(values)
        error = max(error, doubt)
        progress(f"trade-off of {mechanism.short}", start + part.size, chosen.size)
    table = np.concatenate(parts, axis=2)
    for e, epsilon in enumerate(epsilons.tolist()):
        # An output counts by the probability with which it comes out, over that of all alike.
        mass = table[e, 0]
        for name, each in zip(_READ, table[e, 1:], strict=True):
            attacker = "" if name in UTILITIES else BAYES
            mean = mean_interval(mass * each)
            if chosen.size == n:
                # What is lost of the meaning is what is in doubt; of a probability all of it is.
                off = mean.mean * error
                if name == "meaning":
                    off = (1.0 - mean.mean) * (error + ground.doubt)
                mean = Mean(mean.mean, mean.mean - off, mean.mean + off, n)
            yield _amount(mechanism, epsilon, name, mean, attacker, exact=chosen.size == n)
        some = rng.choice(chosen, size=min(_GUESSED, chosen.size), replace=False)
        # `mean` is that of the meaning, the last one: whoever repeats the output has it already.
        more = mean_interval(readers.nearer(channel, epsilon, some) / ground.spread)
        low, high = mean.low + max(more.low, 0.0), mean.high + more.high
        better = Mean(mean.mean + more.mean, low, high, more.trials)
        yield _amount(mechanism, epsilon, "guess", better, BAYES)


def _amount(
    mechanism: Mechanism,
    epsilon: float,
    quantity: str,
    mean: Mean,
    attacker: str,
    *,
    exact: bool = False,
) -> Amount:
    return Amount(
        mechanism.short, epsilon, quantity, mean.mean, mean.low, mean.high, exact, attacker
    )


_READ = ("word", "near", "kind", "kept", "meaning")


class _Readers:
    """The attacker and the reader, each looking at some outputs."""

    def __init__(self, ground: Ground) -> None:
        from scipy.sparse import csr_matrix

        n, k = ground.near.shape
        words = np.repeat(np.arange(n), k)
        self._near: csr_matrix = csr_matrix(
            (np.ones(n * k), (words, ground.near.reshape(-1))), shape=(n, n)
        )
        codes = ground.kinds.codes.astype(np.int64)
        self._kinds: csr_matrix = csr_matrix(
            (np.ones(n), (np.arange(n), codes)), shape=(n, len(ground.kinds.names))
        )
        self._ground = ground
        self._vectors = ground.lexicon.vectors.astype(np.float64)
        self._squares = np.einsum("ij,ij->i", self._vectors, self._vectors)

    def read(
        self, channel: Channel, outputs: IntArray, epsilons: FloatArray
    ) -> tuple[FloatArray, float]:
        """Σ_w P(y | w) of each output y, and given y what `_READ` names, (E, 6, outputs).

        Also the largest relative error of a probability.
        """
        values = np.empty((epsilons.size, 1 + len(_READ), outputs.size))
        beliefs = np.empty((outputs.size, len(self._vectors)))
        away = self._away(outputs)
        away[np.arange(outputs.size), outputs] = 0.0
        seen, rows, error = channel.seen_all(outputs.tolist()), np.arange(outputs.size), 0.0
        for e, epsilon in enumerate(epsilons.tolist()):
            for i, output in enumerate(seen):
                column = output.at(epsilon)
                np.exp(column.logs, out=beliefs[i])
                # What is in doubt where nothing is counts for nothing.
                likely = column.logs > max(column.logs.max(), _NEVER) - _NOTHING
                error = max(error, float(np.expm1(2.0 * column.errors[likely].max(initial=0.0))))
            mass = beliefs.sum(axis=1)
            beliefs /= np.where(mass > 0, mass, 1.0)[:, None]  # one that never comes out is free
            values[e] = (
                mass,
                beliefs.max(axis=1),
                (beliefs @ self._near).max(axis=1),
                (beliefs @ self._kinds).max(axis=1),
                beliefs[rows, outputs],
                1.0 - np.einsum("ij,ij->i", beliefs, away) / self._ground.spread,
            )
        return values, error

    def _away(self, outputs: IntArray) -> FloatArray:
        """Distances from all words; of words that nearly coincide they are right to 1e-6."""
        products = self._vectors[outputs] @ self._vectors.T
        squares = self._squares[outputs, None] + self._squares - 2.0 * products
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))

    def nearer(self, channel: Channel, epsilon: float, outputs: IntArray) -> FloatArray:
        """By how much an attacker is nearer to the word than each output, (m,), at least 0.

        Times Σ_w P(y | w). He takes the best of the output, words near it and the centre: an
        attacker, hence no more than what leaks.
        """
        gains = np.empty(outputs.size)
        for i, seen in enumerate(channel.seen_all(outputs.tolist())):
            near = self._ground.near[outputs[i], :_GUESSES]
            guesses = np.concatenate(([outputs[i], self._ground.centre], near))
            expected = self._away(guesses) @ np.exp(seen.at(epsilon).logs)
            gains[i] = expected[0] - expected.min()
        return gains


# -- the attacker who says what came out


def _repeated(
    mechanism: Mechanism,
    epsilons: FloatArray,
    ground: Ground,
    count: int,
    seed: int,
    progress: Progress,
) -> Iterator[Amount]:
    """From pairs of a word and an output, drawn independently."""
    rng = generator(seed, "trade-off", mechanism.key)
    words = rng.integers(len(ground.lexicon), size=count)
    drawn = outputs_at(mechanism, rng, words, epsilons, progress)
    codes, vectors = ground.kinds.codes, ground.lexicon.vectors
    before = ground.before() | {"kept": 0.0}
    for epsilon, outputs in zip(epsilons.tolist(), drawn.T, strict=True):
        same = outputs == words
        events = {
            ("kept", ""): same,
            ("word", REPEATS): same,
            ("near", REPEATS): (ground.near[words] == outputs[:, None]).any(axis=1),
            ("kind", REPEATS): codes[words] == codes[outputs],
        }
        for (name, attacker), event in events.items():
            low, high = Tally.counted(np.array([event.sum()]), count).interval()
            mean = Mean(float(event.mean()), float(low[0]), float(high[0]), count)
            yield _amount(mechanism, epsilon, name, _at_least(mean, before[name]), attacker)
        left = 1.0 - paired_distances(vectors[words], vectors[outputs]) / ground.spread
        mean = mean_interval(left)
        yield _amount(mechanism, epsilon, "meaning", mean, "")
        yield _amount(mechanism, epsilon, "guess", _at_least(mean, before["guess"]), REPEATS)


def _at_least(mean: Mean, before: float) -> Mean:
    """The attacker's success, or that of one who does not look: either is a lower bound."""
    return Mean(max(mean.mean, before), max(mean.low, before), max(mean.high, before), mean.trials)


# -- the attacker who is told two words


def _told_two(
    mechanism: Mechanism, epsilons: FloatArray, ground: Ground, progress: Progress
) -> Iterator[Amount]:
    """Success between a word and its nearest, and between two words at random."""
    vectors = ground.lexicon.vectors
    shared = SharedDirections(Effort(_DIRECTIONS))
    low = np.empty((2, len(ground.triples), epsilons.size))
    high, noise = np.empty_like(low), np.empty_like(low)
    for i, triple in enumerate(ground.triples.tolist()):
        laws: list[Outputs] = []
        away: list[FloatArray] = []
        for word, ranking in zip(triple, rank(vectors, vectors[triple]), strict=True):
            laws.append(outputs_of(mechanism, word, epsilons, ranking, shared))
            row = np.empty(len(ranking))
            row[ranking.order] = ranking.distances
            away.append(row)
        for place in (1, 2):
            each = success(laws[0], laws[place], away[0] < away[place])
            low[place - 1, i], high[place - 1, i] = each.low, each.high
            noise[place - 1, i] = np.maximum(each.low_error, each.high_error)
        progress(f"pairs of {mechanism.short}", i + 1, len(ground.triples))
    for name, lows, highs, errors in zip(("pair", "couple"), low, high, noise, strict=True):
        for e, epsilon in enumerate(epsilons.tolist()):
            least, most = mean_interval(lows[:, e]), mean_interval(highs[:, e])
            # Directions are common to all words, so their errors may all be on one side.
            more = 2.0 * float(errors[:, e].mean())
            middle = 0.5 * (least.mean + most.mean)
            ends = np.clip([middle, least.low - more, most.high + more], 0.5, 1.0)
            mean = Mean(float(ends[0]), float(ends[1]), float(ends[2]), len(lows))
            yield _amount(mechanism, epsilon, name, mean, BAYES)
