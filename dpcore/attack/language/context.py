"""The attacker who reads on: the words of a sentence together.

The mechanism protects each word by itself; that neighbours explain each other is no part of its
promise. Bigrams read the whole text exactly (`chain.py`); what a network knows beyond them is added
by approximation (`reading.py`, `rescoring.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.attack.language.chain import forward_backward
from dpcore.attack.language.language import UNKNOWN, Bigram, language
from dpcore.attack.language.reading import read_on
from dpcore.attack.language.rescoring import rescored
from dpcore.attack.output.prior import Prior
from dpcore.errors import ParameterError
from dpcore.lexicon.masked_model import reader_of
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_TEXT_TOKENS
from dpcore.rewrite.write.smollm import load_model

if TYPE_CHECKING:
    from dpcore.attack.output.likelihood import Channel
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.rewrite.sentence import Sentence


BIGRAM, WORDS, SMOLLM2 = READERS = ("bigram", "words", "smollm2")
"""Who reads the context: bigrams, the network that reads all words of a sentence, or a language
model that weighs whole sentences, of an optional package."""
SENTENCE_ENDS = frozenset(".!?")


@dataclass(frozen=True)
class Place:
    """One place of a released text, as the attacker sees it.

    Attributes:
        output: the word that stands there; `UNKNOWN` if it tells nothing, n for the end of a
            sentence.
        released: whether what stands there is what was written (punctuation, words let through).
    """

    output: int
    released: bool = False


@dataclass(frozen=True, eq=False)
class ContextAttack:
    """What three attackers think of L protected places; read-only.

    Attributes:
        places: positions in the list of places, ascending, shape (L,).
        context: P(w | all outputs) as the reader has it, shape (L, n).
        alone: P(w | own output) under the frequencies of the model, shape (L, n).
        likeliest: the word that makes the own output likeliest (the uniform prior), shape (L,).
    """

    places: IntArray
    context: FloatArray
    alone: FloatArray
    likeliest: IntArray

    @property
    def guesses(self) -> IntArray:
        """The words that are guessed from the context, shape (L,)."""
        return np.asarray(self.context.argmax(axis=1))

    @property
    def guesses_alone(self) -> IntArray:
        """The words that are guessed one by one from their frequency, shape (L,)."""
        return np.asarray(self.alone.argmax(axis=1))


def context_prior(lexicon: Lexicon, left: str | None, right: str | None) -> Prior:
    """What stands between two known words: P(w | left)·P(right | w), normalised.

    Args:
        lexicon: words.
        left: the word before; None for the beginning of a sentence.
        right: the word behind; None for the end. A word that the lexicon lacks tells nothing.
    """
    model = language(lexicon)
    neighbours = [
        model.boundary if word is None else lexicon.index(word) if word in lexicon else UNKNOWN
        for word in (left, right)
    ]
    weights = model.after(neighbours[0])[:-1] * model.before(neighbours[1])[:-1]
    return Prior(
        "context",
        weights / weights.sum(),
        "a bigram model of English, given the neighbouring words",
    )


def places_of(sentence: Sentence, outputs: Sequence[int] | IntArray) -> list[Place]:
    """The places of a rewritten sentence, in order.

    Words outside the vocabulary tell nothing (a random word was released); of punctuation the
    ends of sentences count, other marks are passed over as they were when the model was made.

    Args:
        sentence: as it was prepared.
        outputs: one released word for each of its open slots.

    Raises:
        ParameterError: there are not as many outputs as slots.
    """
    if len(outputs) != sentence.protected:
        raise ParameterError(
            f"{sentence.protected} places are protected, got {len(outputs)} released words"
        )
    given = iter(outputs)
    end = len(sentence.lexicon)
    places: list[Place] = []
    for slot in sentence.encoding.slots:
        if slot.is_open:
            word = int(next(given))
            places.append(Place(word if slot.index >= 0 else UNKNOWN))
        elif slot.is_word:
            known = slot.text.lower()
            lexicon = sentence.lexicon
            places.append(Place(lexicon.index(known) if known in lexicon else UNKNOWN, True))
        elif slot.text[-1:] in SENTENCE_ENDS:
            places.append(Place(end, True))
    return places


def context_attack(
    channel: Channel,
    places: Sequence[Place],
    epsilon: float,
    *,
    model: Bigram | None = None,
    reader: str = BIGRAM,
    progress: Progress = silent,
) -> ContextAttack:
    """Attack all protected places of a text at once.

    Args:
        channel: of the mechanism, over the whole lexicon.
        places: of the text, in order; the text begins and ends a sentence.
        epsilon: of every word.
        model: the bigram model; the shipped one if not given.
        reader: who reads the context, one of `READERS`: the bigrams, exactly, or the network or the
            language model, by approximation.
        progress: called with ("words", done, all), and with ("sentences", done, all) where the
            language model reads.

    Raises:
        ParameterError: the channel is of a few words only, the text is empty or too long, or there
            is no such reader.
        LexiconError: the network is missing, or reads other words.
        MissingPackageError: the language model is not installed.
        EpsilonError: ε is not admissible.
    """
    if reader not in READERS:
        raise ParameterError(f"a reader is {' or '.join(READERS)}, got {reader[:40]!r}")
    n = len(channel.mechanism.lexicon)
    if channel.words.size != n:
        raise ParameterError("the context attacker needs the channel of the whole lexicon")
    protected = [
        i for i, place in enumerate(places) if not place.released and place.output != UNKNOWN
    ]
    if not 1 <= len(protected) <= MAX_TEXT_TOKENS:
        raise ParameterError(
            f"the context attacker takes 1 to {MAX_TEXT_TOKENS} protected words of the "
            f"vocabulary, got {len(protected)}"
        )
    model = model or language(channel.mechanism.lexicon)
    likelihoods = np.empty((len(protected), n))
    for i, seen in enumerate(channel.seen_all([places[place].output for place in protected])):
        logs = seen.at(epsilon).logs
        likelihoods[i] = np.exp(logs - logs.max())
        progress("words", i + 1, len(protected))
    alone = likelihoods * model.frequency
    alone /= alone.sum(axis=1, keepdims=True)
    evidence: list[FloatArray | int] = [place.output for place in places]
    for i, place in enumerate(protected):
        evidence[place] = likelihoods[i]
    context = forward_backward(model, evidence)
    if reader == WORDS:
        reads = reader_of(channel.mechanism.lexicon)
        context = read_on(reads, evidence, context, model.frequency)
    elif reader == SMOLLM2:
        lexicon = channel.mechanism.lexicon
        context = rescored(model, lexicon, load_model(), evidence, context, progress=progress)
    return ContextAttack(
        np.array(protected),
        np.stack([context[i] for i in protected]),
        alone,
        likelihoods.argmax(axis=1),
    )
