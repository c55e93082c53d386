"""Trade-off between leakage and utility of mechanisms, at each ε.

A word w is drawn uniformly and y is the output. An attacker who knows the mechanism sees y and has
one of the goals `LEAKAGES`. A reader works with y as it is: `UTILITIES`.

    word     attacker names w                              Σ_y max_g P(g, y)
    near     they name one of the k words nearest to w     Σ_y max_g Σ_{w : g ∈ N_k(w)} P(w, y)
    kind     they name the kind of w (`lexicon.kinds`)     Σ_y max_c Σ_{w ∈ c} P(w, y)
    guess    they name a word as near to w as possible     1 − Σ_y min_g Σ_w d(w, g)·P(w, y)/d̄
    pair     they get w and its nearest word, and say which it was; one in two without the output
    couple   the same of two words drawn at random
    kept     the word stays                                P(y = w)
    meaning  nearness of the output                        1 − E d(w, y)/d̄

P(w, y) = P(y | w)/n, N_k(w) are w and its k − 1 nearest words, and d̄ is the mean distance of two
words, so that `meaning` is 0 for an output that has nothing to do with the word. An attacker who
repeats y is as near to w as the reader: so word ≥ kept and guess ≥ meaning, for every mechanism
(`docs/optimal.md`, Theorem 4).

If a column P(y | ·) is a closed form the attacker is Bayes', over all outputs or over drawn ones.
Otherwise they repeat the output, which is a lower bound of the leakage, and pairs of word and
output are drawn. Every number has an interval of level 95 %.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arguments import a_whole, describe
from dpcore.arrays import FloatArray
from dpcore.attack.leak import all_columns
from dpcore.attack.output.channel import open_channel
from dpcore.attack.output.prior import NEAR, Prior, content_words
from dpcore.attack.output.spectrum import spectrum_of
from dpcore.attack.trade.attackers import from_columns, measure_from_pairs, told_two
from dpcore.attack.trade.ground import KEPT, MEANT, PAIRS, Amount, Ground, amount
from dpcore.errors import ParameterError
from dpcore.learn.intervals import Mean, mean_interval
from dpcore.lexicon.metric import Metric, paired_distances
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_ATTACK_OUTPUTS, MAX_ATTACK_PRIOR_WORDS, MAX_ATTACK_WORDS
from dpcore.measure.probability_intervals import Tally
from dpcore.mechanisms.bulk import outputs_at
from dpcore.mechanisms.mechanism import Mechanism, NoisyNearestForm, check_mechanism
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Tradeoff:
    """Trade-off of some mechanisms over one lexicon.

    Attributes:
        lexicon: its name.
        fingerprint: of the lexicon.
        near: k.
        known_kinds: share of the words with a known kind.
        spread: d̄.
        before: each quantity for an output that has nothing to do with the word.
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
        """Return one row for each number: the fields of `Amount`."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows])


def tradeoff(
    mechanisms: Mechanism | Sequence[tuple[Mechanism, Sequence[float]]],
    epsilons: Sequence[float] | FloatArray = (),
    *,
    outputs: int | None = 2_000,
    near: int = NEAR,
    pairs: int = PAIRS,
    seed: int = 0,
    progress: Progress = silent,
) -> Tradeoff:
    """Measure leakage and utility of mechanisms at each ε.

    Kinds are known only for English words; for other languages there are no rows of "kind".

    Args:
        mechanisms: one mechanism, or several over one lexicon, each with its ε.
        epsilons: ε of one mechanism.
        outputs: number of outputs if a column is a closed form; otherwise half as many again pairs
            of word and output; None takes all outputs, or 20,000 pairs.
        near: k.
        pairs: number of pairs of words between which the attacker has to choose.
        seed: seed of all draws.
        progress: called with (stage, done, all).

    Raises:
        EpsilonError: an ε is not admissible.
        ParameterError: a number is out of range, or the mechanisms are over several lexicons.
    """
    asked = mechanisms if isinstance(mechanisms, Sequence) else [(mechanisms, epsilons)]
    if not asked:
        raise ParameterError("a trade-off needs at least one mechanism")
    for pair in asked:
        if not (isinstance(pair, Sequence) and len(pair) == 2):
            raise ParameterError(
                "several mechanisms are given as a list of pairs (mechanism, its epsilons), got "
                f"{describe(pair)} in it"
            )
        check_mechanism(pair[0]).check_epsilons(pair[1])
    lexicon = asked[0][0].lexicon
    if any(mechanism.lexicon.fingerprint != lexicon.fingerprint for mechanism, _ in asked):
        raise ParameterError("the mechanisms of one trade-off are over one lexicon")
    if outputs is not None:
        outputs = a_whole(outputs, "outputs", 100, MAX_ATTACK_OUTPUTS)
    ground = Ground.of(lexicon, near, pairs, seed, progress)
    absent = {"kind"} if ground.kinds.none else set()
    rows = [
        row
        for mechanism, values in asked
        for row in amounts(mechanism, values, ground, outputs, seed, progress)
        if row.quantity not in absent
    ]
    return Tradeoff(
        lexicon.name,
        lexicon.fingerprint,
        near,
        ground.kinds.known,
        ground.spread,
        {name: value for name, value in ground.before().items() if name not in absent},
        tuple(rows),
    )


def wastes(
    rows: Sequence[Amount], least: float, share: float = 0.5
) -> dict[str, tuple[float, float]]:
    """Compute the factor over the least possible ε at which a mechanism leaks a share of words.

    Args:
        rows: of a `Tradeoff`.
        least: ε below which no mechanism gives as much away (`meter.largest_epsilon`), in the
            meaning of ε of these mechanisms.
        share: share of the words that are guessed.

    Returns:
        By mechanism, the factors of the two measured ε between which it leaks that share;
        mechanisms that do not reach it, or begin above it, are left out.
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
            # No mechanism spends less than the least possible ε.
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
    """Measure all quantities of one mechanism (see `tradeoff`)."""
    values = mechanism.check_epsilons(epsilons)
    rows: list[Amount] = []
    if has_columns(mechanism):
        channel = open_channel(mechanism, progress=progress)
        rows += from_columns(channel, values, ground, outputs, seed, progress)
    else:
        count = 20_000 if outputs is None else 3 * outputs // 2
        rows += measure_from_pairs(mechanism, values, ground, count, seed, progress)
    rows += told_two(mechanism, values, ground, progress)
    return rows


def has_columns(mechanism: Mechanism) -> bool:
    """Return True if thousands of columns of the law are cheap, as with a closed form."""
    n = len(mechanism.lexicon)
    if not mechanism.exact_law or n > MAX_ATTACK_WORDS:
        return False
    form = mechanism.column_form
    return n <= MAX_ATTACK_PRIOR_WORDS or not isinstance(form, NoisyNearestForm | None)


def left_of_words(
    mechanism: Mechanism,
    epsilons: Sequence[float] | FloatArray,
    count: int,
    seed: int,
    progress: Progress = silent,
) -> Iterator[Amount]:
    """Measure utilities of content words as often as they occur: `KEPT` and `MEANT` at each ε.

    Words are drawn by their counts, and for each its output. Where columns are closed forms, the
    share of words that stay is a sum over all of them. In 1 − E d(w, y)/d̄, d̄ is the mean
    distance of such a word from any word: an output that has nothing to do with it leaves 0.

    Args:
        mechanism: over a lexicon whose words were counted.
        epsilons: values that it admits.
        count: number of words drawn.
        seed: seed of all draws.
        progress: called with (stage, done, all).

    Raises:
        LexiconError: no word was counted.
        ParameterError: no function words are known for the language.
    """
    lexicon, values = mechanism.lexicon, mechanism.check_epsilons(epsilons)
    prior = content_words(lexicon)
    rng = generator(seed, "what is left", mechanism.key)
    words = prior.draw(rng, count)
    outputs = outputs_at(mechanism, rng, words, values, progress)
    sums, errors = spectrum_of(lexicon, Metric.EUCLIDEAN, progress).sums(lambda distance: distance)
    spread = float(prior.probability @ sums.reshape(-1)) / len(lexicon)
    doubt = 2.0 * float(errors.mean()) / len(lexicon) / spread  # no distance is twice the mean one
    exact = _staying(mechanism, values, prior, progress) if has_columns(mechanism) else None
    for e, (epsilon, column) in enumerate(zip(values.tolist(), outputs.T, strict=True)):
        if exact is None:
            same = column == words
            (low,), (high,) = Tally.counted(np.array([same.sum()]), count).interval()
            stays = Mean(float(same.mean()), float(low), float(high), count)
        else:
            share, least, most = exact[:, e].tolist()
            stays = Mean(share, least, most, count)
        yield amount(mechanism, epsilon, KEPT, stays, "", exact=exact is not None)
        left = mean_interval(
            1.0 - paired_distances(lexicon.vectors[words], lexicon.vectors[column]) / spread
        )
        ends = left.low - doubt, left.high + doubt
        yield amount(mechanism, epsilon, MEANT, Mean(left.mean, *ends, count), "")


def _staying(
    mechanism: Mechanism, epsilons: FloatArray, prior: Prior, progress: Progress
) -> FloatArray:
    """Return Σ_w π(w)·P(w | w) at each ε, and its least and largest value, shape (3, E)."""
    channel = open_channel(mechanism, progress=progress)
    place = np.full(len(mechanism.lexicon), -1)
    place[channel.words] = np.arange(len(channel.words))
    sums = np.zeros((3, epsilons.size))
    for e, outputs, logs, errors in all_columns(channel, epsilons, progress):
        rows = np.flatnonzero(place[outputs] >= 0)
        at = rows, place[outputs[rows]]
        off = np.broadcast_to(errors, logs.shape)[at]
        weights = prior.probability[outputs[rows]]
        for k, shift in enumerate((0.0, -off, off)):
            sums[k, e] += weights @ np.exp(logs[at] + shift)
    return np.minimum(sums, 1.0)
