"""The attacker who reads on: the words of a sentence together, under a bigram model.

The mechanism protects each word by itself; that neighbours explain each other is no part of its
promise. With words w₁ … w_L, outputs y₁ … y_L of independent noise and a bigram prior,

    P(w_i | y₁ … y_L) ∝ α_i(w_i)·β_i(w_i)

by the forward–backward recursion (Rabiner 1989, Section III.A). In the bigram model a step over all
n words is a sum over the stored pairs and one shared term, so it is exact over the whole lexicon:
no list of candidates is cut off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.attack.language.language import UNKNOWN, Bigram, language
from dpcore.attack.language.reading import read_on
from dpcore.attack.output.prior import Prior
from dpcore.errors import ParameterError
from dpcore.lexicon.masked_model import reader_of
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_TEXT_TOKENS

if TYPE_CHECKING:
    from dpcore.attack.output.likelihood import Channel
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.rewrite.sentence import Sentence


BIGRAM, WORDS = READERS = ("bigram", "words")
"""Who reads the context: the bigrams, or the network that reads all words of a sentence."""
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
        reader: who reads the context, one of `READERS`: the bigrams, exactly, or the network, by
            the approximation of `dpcore.attack.language.reading`.
        progress: called with ("words", done, all).

    Raises:
        ParameterError: the channel is of a few words only, the text is empty or too long, or there
            is no such reader.
        LexiconError: the network is missing, or reads other words.
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
    return ContextAttack(
        np.array(protected),
        np.stack([context[i] for i in protected]),
        alone,
        likelihoods.argmax(axis=1),
    )


def forward_backward(model: Bigram, evidence: Sequence[FloatArray | int]) -> list[FloatArray]:
    """P(w_i | everything) at every place, shape (n,) each; exact.

    Args:
        model: of neighbouring words; the sequence stands between two boundaries.
        evidence: of each place the likelihood of what was seen there under each word, shape (n,),
            or the word itself, or `UNKNOWN`: then the chain begins anew.
    """
    size = model.share.size
    onto, back = model.pairs.T, model.pairs

    def local(seen: FloatArray | int) -> FloatArray:
        likelihood = np.zeros(size)
        if isinstance(seen, np.ndarray):
            likelihood[:-1] = seen
        else:
            likelihood[seen] = 1.0
        return likelihood

    def is_unknown(seen: FloatArray | int) -> bool:
        return not isinstance(seen, np.ndarray) and seen == UNKNOWN

    forward: list[FloatArray] = []
    message = model.after(model.boundary)
    for seen in evidence:
        if is_unknown(seen):
            forward.append(np.zeros(size))
            message = model.fallback
            continue
        # Scaled to sum 1 at every place, so that no long product underflows (Rabiner 1989,
        # Section V.A); scales cancel in the posterior.
        state = message * local(seen)
        state = state / state.sum()
        forward.append(state)
        # P(· | v) = λ(v)·p₀ + stored excess: the sum over v splits into one number and the pairs.
        message = float(state @ model.share) * model.fallback + onto @ state
    backward: list[FloatArray] = []
    message = model.before(model.boundary)
    for seen, state in zip(reversed(evidence), reversed(forward), strict=True):
        if is_unknown(seen):
            backward.append(state[:-1])
            message = np.ones(size)
            continue
        both = state * message
        backward.append((both / both.sum())[:-1])
        onward = local(seen) * message
        onward = onward / onward.max()
        message = model.share * float(model.fallback @ onward) + back @ onward
    return backward[::-1]
