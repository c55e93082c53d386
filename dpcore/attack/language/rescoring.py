"""The attacker who lets a language model weigh whole sentences that bigrams hold for possible.

N sentences s₁ … s_N are drawn from the exact posterior of the bigrams (`chain.draw_chains`), and
each is weighed by how much likelier the language model finds it than they do:

    ω_k ∝ (P_model(s_k) / P_bigram(s_k))^γ.

With γ = 1 these are the weights of importance sampling for the posterior under the model itself,
but where many words are uncertain one of N sentences then holds nearly all of the weight. γ is one
number, fitted on training text. With ω of mean 1 and N_i(w) sentences that have w in place i,

    q_i(w) ∝ b_i(w) · (1 + Σ_{k: s_k has w there} ω_k) / (1 + N_i(w)),

b_i the exact posterior of the bigrams: what is believed of a word moves by the mean weight of the
sentences that have it, as if there were one more of weight 1. γ = 0, and no sentence, leave b_i.

This is an approximation: N sentences are few, and γ is no part of Bayes' rule. The sentences of a
text are read one by one, in lower case, and words that the lexicon lacks are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.attack.language.chain import draw_chains, log_chance, parts_of
from dpcore.lexicon.progress import Progress, silent
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from dpcore.attack.language.chain import Seen
    from dpcore.attack.language.language import Bigram
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.rewrite.write.smollm import LanguageModel

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
