"""Recovery of changed content words from texts by attackers with increasing knowledge.

Every text is rewritten once at each ε and given to all attackers
(`dpcore.attack.language.recovered`). The interval of a share comes from the spread between texts,
because the words of one text are not independent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dpcore.attack.language.context import BIGRAM, WORDS
from dpcore.attack.language.recovered import BLIND, CONTEXT, FREQUENCY, TEN, recover
from dpcore.attack.language.trial import share_of
from dpcore.attack.output.channel import Channel
from dpcore.learn.intervals import ratio_of_sums
from dpcore.noise.streams import generator
from dpcore.rewrite.sentence import Sentence
from dpcore.study.plan import Row, row

FIRST, TENTH, GAIN_FIRST, GAIN_TEN = (
    "recovered first", "recovered in ten", "gain first", "gain in ten",
)  # fmt: skip
"""Shares of the changed content words, and the gain of the network over the bigrams."""
READ_BY = (BLIND, FREQUENCY, BIGRAM)
"""The attackers besides the reader under test: one that sees nothing, one that sees the output, and
bigrams, which read the text as well."""
_QUANTILE = 1.96


def trial_rows(
    channel: Channel,
    sentences: Sequence[Sentence],
    epsilon: float,
    level: float,
    seed: int,
    tried: str = WORDS,
) -> Iterator[Row]:
    """Measure one mechanism at one ε.

    Args:
        channel: channel of the mechanism, over the whole lexicon.
        sentences: the texts, each with a protected word of the vocabulary.
        epsilon: ε of every word.
        level: level of leakage at this ε, for the column `at`.
        seed: seed of the noise.
        tried: the reader whose gain over the bigrams is measured.

    Yields:
        Rows of the four quantities; `variant` is the attacker, `count` the number of words.
    """
    attackers = (*READ_BY, tried)
    total = np.zeros(len(sentences))
    right = np.zeros((len(attackers), 2, len(sentences)))
    for i, sentence in enumerate(sentences):
        words = sentence.inputs(seed)
        rng = generator(seed, "reader trial", channel.mechanism.key, i)
        outputs = channel.mechanism.sample(rng, words, epsilon)
        by_reader = {
            reader: recover(channel, sentence, outputs, epsilon, reader=reader)
            for reader in (BIGRAM, tried)
        }
        total[i] = by_reader[BIGRAM].counted.sum()
        for a, name in enumerate(attackers):
            recovered = by_reader[tried if name == tried else BIGRAM]
            attacker = CONTEXT if name in by_reader else name
            right[a, :, i] = recovered.right(attacker), recovered.right(attacker, TEN)
    if not total.any():
        return
    count = int(total.sum())
    for k, (quantity, gain) in enumerate(((FIRST, GAIN_FIRST), (TENTH, GAIN_TEN))):
        for a, name in enumerate(attackers):
            share = share_of(right[a, k], total)
            yield row(
                quantity, share["share"], epsilon=epsilon, at=level, variant=name,
                low=share["low"], high=share["high"], count=count,
            )  # fmt: skip
        more, error = ratio_of_sums(right[-1, k] - right[-2, k], total)
        yield row(
            gain, more, epsilon=epsilon, at=level, variant=tried,
            low=more - _QUANTILE * error, high=more + _QUANTILE * error, count=count,
        )  # fmt: skip
