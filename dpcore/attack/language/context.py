"""Context attacker, which reads all words of a text together.

A mechanism protects each word separately; its guarantee does not cover what neighbours reveal about
each other. Bigrams read the whole text exactly (`forward_backward`); a network (`read_on`) or a
language model (`rescore`) adds further knowledge by approximation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import BoolArray, FloatArray, IntArray
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

# Reader of whole sentences: a network that names hidden words.
#
# The bigrams give an exact posterior b_i(w) at every position, from the outputs and the exact
# channel (`dpcore.attack.language.language`). The network adds what it sees beyond the frequency
# P(w):
#
#     q_i(w) ∝ b_i(w) · (P_network(w | the others) / P(w))^α.
#
# The others are not known either. At each of them the input of the network is a mixture: with c the
# largest posterior there, c times the mean row of its table under the posterior, and 1 − c times
# the row of a hidden word, which it has learned to read around. (The mean row alone, which it never
# saw in training, loses half of the gain on training text.) All positions start from b and are then
# updated together, three times. α is one number, fitted on training text; with α = 0 this is the
# attacker who reads by bigrams.
#
# Unlike that of the bigrams, this is not an exact posterior: two models that see the same context
# are multiplied as if they were independent (a product of experts, Hinton 2002), one row represents
# a distribution, the conditional laws of the network belong to no joint law, and three sweeps need
# not have converged.


SWEEPS = 3
"""Number of times that all positions are read again."""


def read_on(
    reader: Reader,
    evidence: Sequence[FloatArray | int],
    beliefs: Sequence[FloatArray],
    frequency: FloatArray,
    *,
    sweeps: int = SWEEPS,
    exponent: float | None = None,
) -> list[FloatArray]:
    """Update the posterior at every position by the network's reading of the text.

    Args:
        reader: the network.
        evidence: for each position the likelihood of its output under each word, shape (n,), or
            the word itself, or n for the end of a sentence, or `UNKNOWN`.
        beliefs: b_i, shape (n,) each; only those of positions with a likelihood are used.
        frequency: P(w), positive, shape (n,).
        sweeps: number of times that all positions are read again.
        exponent: α; that of the network if not given.

    Returns:
        q_i of the positions with a likelihood, `beliefs` of the others.
    """
    believed, logs = list(beliefs), np.log(frequency)
    power = reader.exponent if exponent is None else exponent
    # Sentences are cut like the network's training text.
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
    """Compute the network's scores at some positions, each hidden in turn, (places, n)."""
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


# Reader of whole sentences: a language model that weighs draws from the bigram posterior.
#
# N sentences s₁ … s_N are drawn from the exact posterior of the bigrams (`draw_chains`), and each
# is weighed by how much likelier it is under the language model than under the bigrams:
#
#     ω_k ∝ (P_model(s_k) / P_bigram(s_k))^γ.
#
# With γ = 1 these are the weights of importance sampling for the posterior under the model itself,
# but where many words are uncertain one of N sentences then holds nearly all of the weight. γ is
# one number, fitted on training text. With ω of mean 1 and N_i(w) sentences that have w at position
# i,
#
#     q_i(w) ∝ b_i(w) · (1 + Σ_{k: s_k has w there} ω_k) / (1 + N_i(w)),
#
# b_i the exact posterior of the bigrams: the posterior of a word moves by the mean weight of the
# sentences that have it, as if there were one more of weight 1. γ = 0, and no sentence, leave b_i.
#
# This is an approximation: N sentences are few, and γ is not part of Bayes' rule. The sentences of
# a text are read one by one, in lower case, and words that the lexicon lacks are left out.


DRAWS = 48
"""Number N of drawn sentences."""
EXPONENT = 0.1
"""Exponent γ. Of 0, .02, .05, .1, .15, .2, .3, .5 and 1 it has the least mean −ln of the posterior
of replaced words, over 60 texts of 5 to 40 words from the training part of the teaching corpus,
rewritten by `custext` (ε = 1.675 and 4.157), `tem` (2.384) and `neighbour-response` (6.2), each
counting equally: 4.445, against 4.468 at γ = 0. Where few words are possible (`custext`) .15 is
best, else 0 to .02.
"""
_LONGEST = 100  # words that are read together, for a text without punctuation
_SEED = 0  # of the draws: an attack gives the same result whenever it is run


def rescore(
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
    """Update the posterior at every position by the language model's reading of the text.

    Args:
        model: bigram model.
        lexicon: of the words.
        reader: the language model.
        evidence: evidence at each position, as for `forward_backward`.
        beliefs: b_i, shape (n,) each; only those of positions with a likelihood are used.
        draws: N.
        exponent: γ.
        progress: called with ("sentences", done, all).

    Returns:
        q_i of the positions with a likelihood, `beliefs` of the others.
    """
    believed, rng = list(beliefs), generator(_SEED, "sentences of a language model")
    parts = parts_of(evidence, model.boundary, _LONGEST)

    def step(before: int, _: str, told: int, __: int) -> None:
        progress("sentences", before + told, draws * len(parts))

    for done, part in enumerate(parts, start=1):
        seen = [evidence[i] for i in part]
        if any(isinstance(each, np.ndarray) for each in seen):
            words = draw_chains(model, seen, draws, rng)
            # Sentences in the form that the model reads, without unknown words.
            texts = [
                " ".join(lexicon.words[word] for word in row if word >= 0) + " ."
                for row in words.tolist()
            ]
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
    """Compute q_i from b_i and the words of that position with their weights, shape (N,) each."""
    times = np.bincount(words, minlength=belief.size)
    moved = belief * (1.0 + np.bincount(words, weights, minlength=belief.size)) / (1.0 + times)
    return np.asarray(moved / moved.sum())


BIGRAM, WORDS, SMOLLM2 = READERS = ("bigram", "words", "smollm2")
"""Readers of the context: bigrams, the network that reads all words of a sentence, or a language
model, of an optional package, that weighs whole sentences."""
SENTENCE_ENDS = frozenset(".!?")


@dataclass(frozen=True)
class Place:
    """One position of a released text, as the attacker sees it.

    Attributes:
        output: the released word; `UNKNOWN` if it tells nothing, n for the end of a sentence.
        released: True if the output is the input (punctuation, words released unchanged).
    """

    output: int
    released: bool = False


@dataclass(frozen=True, eq=False)
class ContextAttack:
    """Posteriors and guesses of three attackers for L protected positions; read-only.

    Attributes:
        places: indices in the list of places, ascending, shape (L,).
        context: P(w | all outputs) by the reader, shape (L, n).
        alone: P(w | its output) under the frequencies of the model, shape (L, n).
        likeliest: the word that makes its output likeliest (the uniform prior), shape (L,).
    """

    places: IntArray
    context: FloatArray
    alone: FloatArray
    likeliest: IntArray

    @property
    def guesses(self) -> IntArray:
        """Words guessed from the context, shape (L,)."""
        return np.asarray(self.context.argmax(axis=1))

    @property
    def guesses_alone(self) -> IntArray:
        """Words guessed one by one from their output and frequency, shape (L,)."""
        return np.asarray(self.alone.argmax(axis=1))


def context_prior(lexicon: Lexicon, left: str | None, right: str | None) -> Prior:
    """Make the prior between two known words: P(w | left)·P(right | w), normalised.

    Args:
        lexicon: words and vectors.
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
    """Return the places of a rewritten sentence, in order.

    Words outside the vocabulary tell nothing (a random word was released); of punctuation the
    ends of sentences count, and other marks are skipped as in the counts of the model.

    Args:
        sentence: the prepared text.
        outputs: one released word for each of its open slots.

    Raises:
        ParameterError: the number of outputs differs from that of slots.
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


def evidence_of(
    channel: Channel, places: Sequence[Place], epsilon: float, progress: Progress = silent
) -> tuple[list[int], list[Seen]]:
    """Return the protected positions of a text, and the evidence at every position.

    The likelihood at a protected position is scaled to a largest entry of 1.

    Args:
        channel: of the mechanism, over the whole lexicon.
        places: positions of the text, in order.
        epsilon: ε of every word.
        progress: called with ("words", done, all).

    Raises:
        ParameterError: the channel is of a few words only, or the text is empty or too long.
        EpsilonError: ε is not admissible.
    """
    if channel.words.size != len(channel.mechanism.lexicon):
        raise ParameterError("the context attacker needs the channel of the whole lexicon")
    protected = [
        i for i, place in enumerate(places) if not place.released and place.output != UNKNOWN
    ]
    if not 1 <= len(protected) <= MAX_TEXT_TOKENS:
        raise ParameterError(
            f"the context attacker takes 1 to {MAX_TEXT_TOKENS} protected words of the "
            f"vocabulary, got {len(protected)}"
        )
    evidence: list[Seen] = [place.output for place in places]
    observed = channel.seen_all([places[i].output for i in protected])
    for done, (i, observation) in enumerate(zip(protected, observed, strict=True), start=1):
        logs = observation.at(epsilon).logs
        evidence[i] = np.exp(logs - logs.max())
        progress("words", done, len(protected))
    return protected, evidence


def context_attack(
    channel: Channel,
    places: Sequence[Place],
    epsilon: float,
    *,
    model: Bigram | None = None,
    reader: str = BIGRAM,
    progress: Progress = silent,
) -> ContextAttack:
    """Attack all protected positions of a text at once.

    Args:
        channel: of the mechanism, over the whole lexicon.
        places: positions of the text, in order; the text begins and ends a sentence.
        epsilon: ε of every word.
        model: the bigram model; the bundled one if not given.
        reader: reader of the context, one of `READERS`: the bigrams, exactly, or the network or
            the language model, by approximation.
        progress: called with ("words", done, all), and with ("sentences", done, all) if the
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
    protected, evidence = evidence_of(channel, places, epsilon, progress)
    model = model or language(channel.mechanism.lexicon)
    likelihoods = np.stack([evidence[i] for i in protected])
    alone = likelihoods * model.frequency
    alone /= alone.sum(axis=1, keepdims=True)
    context = forward_backward(model, evidence)
    if reader == WORDS:
        reads = reader_of(channel.mechanism.lexicon)
        context = read_on(reads, evidence, context, model.frequency)
    elif reader == SMOLLM2:
        lexicon = channel.mechanism.lexicon
        context = rescore(model, lexicon, load_model(), evidence, context, progress=progress)
    return ContextAttack(
        np.array(protected),
        np.stack([context[i] for i in protected]),
        alone,
        likelihoods.argmax(axis=1),
    )


def guesses_around(
    sentence: Sentence,
    hidden: BoolArray,
    channel: Channel | None,
    outputs: IntArray,
    epsilon: float,
    wanted: BoolArray,
) -> IntArray:
    """Guess words of a release in which some are blacked out, by the bigrams.

    Args:
        sentence: the prepared text, with k open slots.
        hidden: True for a slot that is blacked out, which tells nothing of its word, shape (k,).
        channel: of the mechanism; None if the other words are released unchanged.
        outputs: released word of each slot, `UNKNOWN` outside the vocabulary, shape (k,).
        epsilon: ε of the mechanism.
        wanted: True for a slot that is asked for, shape (k,).

    Returns:
        The likeliest word of each slot that is asked for, shape (k,); `UNKNOWN` for a released word
        outside the vocabulary, and for slots that are not asked for.
    """
    n = len(sentence.lexicon)
    places = places_of(sentence, outputs)
    seen = [place.output for place in places]
    slots = {i: slot for slot, i in enumerate(i for i, p in enumerate(places) if not p.released)}
    guesses = np.full(hidden.size, UNKNOWN)
    model = language(sentence.lexicon)
    # A sentence tells nothing about the next one; long ones are cut, since a posterior holds all
    # words of the lexicon.
    for part in parts_of(seen, n, MAX_TEXT_TOKENS):
        asked = [i for i in part if i in slots and wanted[slots[i]]]
        if not asked:
            continue
        evidence: list[Seen] = [seen[i] for i in part]
        rewritten = [
            i for i in part if i in slots and not hidden[slots[i]] and seen[i] != UNKNOWN
        ]  # fmt: skip
        if channel is not None:
            observed = channel.seen_all([seen[i] for i in rewritten])
            for i, observation in zip(rewritten, observed, strict=True):
                logs = observation.at(epsilon).logs
                evidence[i - part.start] = np.exp(logs - logs.max())
        for i in part:
            if i in slots and hidden[slots[i]]:
                evidence[i - part.start] = np.ones(n)
        beliefs = forward_backward(model, evidence)
        for i in asked:
            known = evidence[i - part.start]
            belief = beliefs[i - part.start]
            guesses[slots[i]] = belief.argmax() if isinstance(known, np.ndarray) else known
    return guesses
