"""Public functions with fresh noise for releases, and with words in place of indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpcore.arrays import FloatArray
from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.deniability import Deniability, measure
from dpcore.measure.words import Selection, select_words
from dpcore.mechanisms.mechanism import Mechanism, check_mechanism
from dpcore.mechanisms.registry import create
from dpcore.mechanisms.settings import words_of
from dpcore.noise.streams import generator
from dpcore.rewrite import sentence as sentences
from dpcore.rewrite.sentence import Sentence


def mechanism(name: str, lexicon: Lexicon, **settings: Any) -> Mechanism:
    """Create a mechanism over a lexicon.

    Args:
        name: short name ("tem", "madlib", "gaussian", …) or versioned key ("tem.v1").
        lexicon: public words and vectors.
        settings: parameters of the mechanism, such as `beta=0.01`; the others have their defaults.

    Raises:
        UnknownMechanismError: there is no such mechanism; the message lists them.
        ParameterError: it has no such parameter, or a value is not admissible.
    """
    return create(name, lexicon, settings)


def release(text: Sentence, mechanism: Mechanism, epsilon: float) -> str:
    """Return a text to publish: every protected word replaced, with fresh noise.

    The noise comes from the operating system and cannot be repeated, hence no seed. A text that is
    released twice spends ε twice. The result is plain text and does not say which words changed:
    that would reveal which words are the typed ones.

    Args:
        text: result of `dpcore.read`.
        mechanism: over the text's lexicon.
        epsilon: privacy parameter of each word, with the mechanism's meaning of ε;
            `mechanism.guarantee(epsilon).for_tokens(text.protected)` says what it means for the
            whole text, `dpcore.audit.composition` by how much less than the sum.

    Raises:
        EpsilonError: ε is not admissible.
    """
    return sentences.release(text, mechanism, epsilon, generator(None)).text


def deniability(
    mechanism: Mechanism,
    words: str | Sequence[int | str] | Selection,
    epsilons: float | FloatArray | Sequence[float],
    **options: Any,
) -> Deniability:
    """Measure the deniability of words: Nw, Sw, effective outputs (Feyisetan et al. 2020).

    Nw is the probability that the word stays, Sw the expected number of distinct outputs in `runs`
    runs, the effective number of outputs their inverse Simpson index.

    Args:
        mechanism: over some lexicon.
        words: one word, several words or their indices, or a selection of `dpcore.measure.words`.
        epsilons: one ε or several, shape (E,).
        options: `method`, `runs`, `seed`, `repetitions` and `progress` of
            `dpcore.measure.deniability.measure`. Measurements protect nothing, so their noise
            has a fixed seed.

    Raises:
        UnknownWordError: a word is not in the vocabulary; the message names it.
        EpsilonError: an ε is not admissible.
        ParameterError: an option is out of range.
    """
    check_mechanism(mechanism)
    if not isinstance(words, Selection):
        lexicon = mechanism.lexicon
        words = select_words(
            lexicon,
            [
                word if isinstance(word, str) else lexicon.words[mechanism.check_words([word])[0]]
                for word in words_of(words)
            ],
        )
    return measure(mechanism, words, mechanism.check_epsilons(epsilons), **options)
