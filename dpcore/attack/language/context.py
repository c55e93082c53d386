"""The attacker who reads on: the words of a sentence together.

The mechanism protects each word by itself; that neighbours explain each other is no part of its
promise. Bigrams read the whole text exactly (`chain.py`); what a network knows beyond them is added
by approximation (`reading.py`, `rescoring.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.attack.language.language import (
    UNKNOWN,
    Bigram,
    Seen,
    draw_chains,
    forward_backward,
    language,
    log_chance,
    parts_of,
)
from dpcore.attack.output.channel import Channel
from dpcore.attack.output.prior import Prior
from dpcore.errors import ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.masked_model import Reader, reader_of
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_TEXT_TOKENS
from dpcore.noise.streams import generator
from dpcore.rewrite.sentence import Sentence
from dpcore.rewrite.write.smollm import LanguageModel, load_model

# The attacker who reads whole sentences, by a network that names hidden words.
#
# The bigrams give an exact posterior b_i(w) at every place, from the outputs and the exact channel
# (`dpcore.attack.language.context`). The network adds what it sees beyond the frequency P(w):
#
#     q_i(w) ∝ b_i(w) · (P_network(w | the others) / P(w))^α.
#
# The others are not known either. At each of them the network is shown a mixture: with c the
# largest belief there, c times the mean row of its table under the belief, and 1 − c times the row
# of a hidden word, which it has learned to read around. (The mean row alone, which it never saw in
# training, loses half of the gain on training text.) All places start from b and are then updated
# together, three times. α is one number, fitted on training text; with α = 0 this is the attacker
# who reads by bigrams.
#
# This is no exact posterior, as that of the bigrams is: two models that see the same context are
# multiplied as if each knew something of its own (a product of experts, Hinton 2002), one row
# stands for a law, the laws of the network belong to no joint law, and three sweeps need not have
# come to rest.


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


# The attacker who lets a language model weigh whole sentences that bigrams hold for possible.
#
# N sentences s₁ … s_N are drawn from the exact posterior of the bigrams (`chain.draw_chains`), and
# each is weighed by how much likelier the language model finds it than they do:
#
#     ω_k ∝ (P_model(s_k) / P_bigram(s_k))^γ.
#
# With γ = 1 these are the weights of importance sampling for the posterior under the model itself,
# but where many words are uncertain one of N sentences then holds nearly all of the weight. γ is
# one number, fitted on training text. With ω of mean 1 and N_i(w) sentences that have w in place i,
#
#     q_i(w) ∝ b_i(w) · (1 + Σ_{k: s_k has w there} ω_k) / (1 + N_i(w)),
#
# b_i the exact posterior of the bigrams: what is believed of a word moves by the mean weight of the
# sentences that have it, as if there were one more of weight 1. γ = 0, and no sentence, leave b_i.
#
# This is an approximation: N sentences are few, and γ is no part of Bayes' rule. The sentences of a
# text are read one by one, in lower case, and words that the lexicon lacks are left out.


DRAWS = 48
"""N."""
EXPONENT = 0.1
"""γ. Of 0, .02, .05, .1, .15, .2, .3, .5 and 1 it has the least mean −ln of the belief in replaced
words, over 60 texts of 5 to 40 words from the training part of the teaching corpus, rewritten by
`custext` (ε = 1.675 and 4.157), `tem` (2.384) and `neighbour-response` (6.2), each counting alike:
4.445, against 4.468 at γ = 0. Where few words are possible (`custext`) .15 is best, else 0 to .02.
"""
_LONGEST = 100  # words that are read together, of a text without marks
_SEED = 0  # of what is drawn: an attack is the same whenever it is made


def rescored(
    model: Bigram,
    lexicon: Lexicon,
    reader: LanguageModel,
    evidence: Sequence[Seen],
    beliefs: Sequence[FloatArray],
    *,
    draws: int = DRAWS,
    exponent: float = EXPONENT,
    progress: Progress = silent,
) -> list[FloatArray]:
    """What is believed at every place once the language model has read.

    Args:
        model: of neighbouring words.
        lexicon: of the words.
        reader: the language model.
        evidence: what was seen at each place, as for `forward_backward`.
        beliefs: b_i, shape (n,) each; only those of places with a likelihood are used.
        draws: N.
        exponent: γ.
        progress: called with ("sentences", done, all).

    Returns:
        q_i of the places with a likelihood, `beliefs` of the others.
    """
    believed, rng = list(beliefs), generator(_SEED, "sentences of a language model")
    parts = parts_of(evidence, model.boundary, _LONGEST)

    def step(before: int, _: str, told: int, __: int) -> None:
        progress("sentences", before + told, draws * len(parts))

    for done, part in enumerate(parts, start=1):
        seen = [evidence[i] for i in part]
        if any(isinstance(each, np.ndarray) for each in seen):
            words = draw_chains(model, seen, draws, rng)
            texts = [_text(lexicon, row) for row in words.tolist()]
            told = reader.log_probabilities(texts, partial(step, draws * (done - 1)))
            beyond = exponent * (np.array(told) - log_chance(model, words))
            weights = np.exp(beyond - beyond.max())
            weights *= draws / weights.sum()
            for column, i, each in zip(words.T, part, seen, strict=True):
                if isinstance(each, np.ndarray):
                    believed[i] = _moved(beliefs[i], column, weights)
        progress("sentences", draws * done, draws * len(parts))
    return believed


def _moved(belief: FloatArray, words: IntArray, weights: FloatArray) -> FloatArray:
    """q_i from b_i and the words of that place with their weights, shape (N,) each."""
    times = np.bincount(words, minlength=belief.size)
    moved = belief * (1.0 + np.bincount(words, weights, minlength=belief.size)) / (1.0 + times)
    return np.asarray(moved / moved.sum())


def _text(lexicon: Lexicon, words: Sequence[int]) -> str:
    """A sentence as it is shown to the model."""
    return " ".join(lexicon.words[word] for word in words if word >= 0) + " ."


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
