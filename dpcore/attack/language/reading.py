"""The attacker who reads whole sentences, by a network that names hidden words.

The bigrams give an exact posterior b_i(w) at every place, from the outputs and the exact channel
(`dpcore.attack.language.context`). The network adds what it sees beyond the frequency P(w):

    q_i(w) ∝ b_i(w) · (P_network(w | the others) / P(w))^α.

The others are not known either. At each of them the network is shown a mixture: with c the largest
belief there, c times the mean row of its table under the belief, and 1 − c times the row of a
hidden word, which it has learned to read around. (The mean row alone, which it never saw in
training, loses half of the gain on training text.) All places start from b and are then updated
together, three times. α is one number, fitted on training text; with α = 0 this is the attacker who
reads by bigrams.

This is no exact posterior, as that of the bigrams is: two models that see the same context are
multiplied as if each knew something of its own (a product of experts, Hinton 2002), one row
stands for a law, the laws of the network belong to no joint law, and three sweeps need not have
come to rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.attack.language.chain import parts_of
from dpcore.attack.language.language import UNKNOWN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcore.lexicon.masked_model import Reader

SWEEPS = 3
"""How often all places are read again."""


def read_on(
    reader: Reader,
    evidence: Sequence[FloatArray | int],
    beliefs: Sequence[FloatArray],
    frequency: FloatArray,
    *,
    sweeps: int = SWEEPS,
    exponent: float | None = None,
) -> list[FloatArray]:
    """What is believed at every place once the network has read the text.

    Args:
        reader: the network.
        evidence: of each place the likelihood of what was seen there under each word, shape (n,),
            or the word itself, or n for the end of a sentence, or `UNKNOWN`.
        beliefs: b_i, shape (n,) each; only those of places with a likelihood are used.
        frequency: P(w), positive, shape (n,).
        sweeps: how often all places are read again.
        exponent: α; that of the network if not given.

    Returns:
        q_i of the places with a likelihood, `beliefs` of the others.
    """
    believed, logs = list(beliefs), np.log(frequency)
    power = reader.exponent if exponent is None else exponent
    # Sentences are cut as the network's training text was.
    for part in parts_of(evidence, reader.boundary, reader.longest - 2):
        places = [i for i in part if isinstance(evidence[i], np.ndarray)]
        if not places:
            continue
        for _ in range(sweeps):
            logits = _asked(reader, part, places, evidence, believed)
            for i, row in zip(places, logits, strict=True):
                beyond = power * (row - logs)
                weights = beliefs[i] * np.exp(beyond - beyond.max())
                total = float(weights.sum())
                if total > 0:  # else the network rules out what the bigrams allow: keep the belief
                    believed[i] = weights / total
    return believed


def _asked(
    reader: Reader,
    part: range,
    places: Sequence[int],
    evidence: Sequence[FloatArray | int],
    believed: Sequence[FloatArray],
) -> FloatArray:
    """The network's scores at some places of a part, each hidden in turn, shape (places, n)."""
    boundary = reader.embedded(np.array([reader.boundary]))
    rows = np.concatenate(
        [boundary, *(_row(reader, evidence[i], believed[i]) for i in part), boundary]
    )
    asked = np.array([place - part.start + 1 for place in places])
    batch = np.repeat(rows[None], len(places), axis=0)
    batch[np.arange(len(places)), asked] = reader.embedded(np.array(reader.hidden))
    return np.asarray(reader.logits(batch, asked), dtype=np.float64)


def _row(reader: Reader, seen: FloatArray | int, belief: FloatArray) -> NDArray[np.float32]:
    if isinstance(seen, np.ndarray):
        certainty = np.float32(belief.max())
        hidden = reader.embedded(np.array([reader.hidden]))
        return certainty * reader.expected(belief[None]) + (1 - certainty) * hidden
    return reader.embedded(np.array([reader.unknown if seen == UNKNOWN else seen]))
