"""Words that each attacker recovers from a released text.

Four attackers, each knowing more: *blind* knows how frequent words are and sees nothing;
*likeliest* and *frequency* see only the output of each position; *context* reads the whole text. A
word counts as recovered if it is the first guess, or among the first ten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.arrays import BoolArray, FloatArray, IntArray
from dpcore.attack.language.context import BIGRAM, context_attack, places_of
from dpcore.attack.language.language import word_frequencies
from dpcore.attack.output.channel import Channel
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress, silent
from dpcore.rewrite.languages import ENGLISH
from dpcore.rewrite.sentence import Sentence

BLIND, LIKELIEST, FREQUENCY, CONTEXT = ATTACKERS = ("blind", "likeliest", "frequency", "context")
TEN = 10


@dataclass(frozen=True, eq=False)
class Recovery:
    """L protected words of a text that the lexicon has, with their guesses; read-only.

    Attributes:
        lexicon: the words.
        reader: name of the reader of the context.
        written: input words, shape (L,).
        released: output words, shape (L,).
        guesses: of each attacker, shape (L,).
        ranks: of each attacker, rank of the input word among its guesses, 0 for the first,
            shape (L,); none for `likeliest`, which often finds many words equally likely.
        chances: posterior of the input word for `frequency` and `context`, shape (L,).
        unknown: number of protected words outside the vocabulary, whose output tells nothing.
    """

    lexicon: Lexicon
    reader: str
    written: IntArray
    released: IntArray
    guesses: dict[str, IntArray]
    ranks: dict[str, IntArray]
    chances: dict[str, FloatArray]
    unknown: int

    @property
    def counted(self) -> BoolArray:
        """True for content words that were replaced by another word, shape (L,)."""
        content = [
            self.lexicon.words[word] not in ENGLISH.stop_words for word in self.written.tolist()
        ]
        return np.asarray(np.array(content, dtype=bool) & (self.written != self.released))

    def right(self, attacker: str, first: int = 1) -> int:
        """Return how many of the changed content words are among the `first` guesses."""
        return int((self.ranks[attacker] < first)[self.counted].sum())

    def rows(self) -> list[dict[str, Any]]:
        """Return one row a word: written, released, counted, guesses, ranks (from 1), chances."""
        names, counted = self.lexicon.words, self.counted
        return [
            {
                "written": names[int(self.written[i])],
                "released": names[int(self.released[i])],
                "counted": bool(counted[i]),
                **{a: names[int(guesses[i])] for a, guesses in self.guesses.items()},
                **{f"rank_{a}": int(ranks[i]) + 1 for a, ranks in self.ranks.items()},
                **{f"chance_{a}": float(chances[i]) for a, chances in self.chances.items()},
            }
            for i in range(self.written.size)
        ]


def recover(
    channel: Channel,
    sentence: Sentence,
    outputs: Sequence[int] | IntArray,
    epsilon: float,
    *,
    reader: str = BIGRAM,
    progress: Progress = silent,
) -> Recovery:
    """Let every attacker guess the words of a released text.

    Args:
        channel: of the mechanism, over the whole lexicon.
        sentence: the prepared text.
        outputs: one released word for each of its open slots.
        epsilon: ε of every word.
        reader: reader of the context, one of `dpcore.attack.language.context.READERS`.
        progress: called with ("words", done, all).

    Raises:
        ParameterError: the text holds no protected word of the vocabulary or too many, or there is
            no such reader.
        LexiconError: the reader does not know the lexicon.
        EpsilonError: ε is not admissible.
    """
    places = places_of(sentence, outputs)
    attack = context_attack(channel, places, epsilon, reader=reader, progress=progress)
    known = sentence.words >= 0
    written, released = sentence.words[known], np.asarray(outputs)[known]
    blind = word_frequencies(sentence.lexicon)
    beliefs = {FREQUENCY: attack.alone, CONTEXT: attack.context}
    each = np.arange(written.size)
    return Recovery(
        sentence.lexicon,
        reader,
        written,
        released,
        {
            BLIND: np.full(written.size, blind.argmax()),
            LIKELIEST: attack.likeliest,
            FREQUENCY: attack.guesses_alone,
            CONTEXT: attack.guesses,
        },
        {
            BLIND: np.array([(blind > blind[word]).sum() for word in written], dtype=np.int64),
            **{name: _ranks(belief, written) for name, belief in beliefs.items()},
        },
        {name: belief[each, written] for name, belief in beliefs.items()},
        int((~known).sum()),
    )


def _ranks(beliefs: FloatArray, words: IntArray) -> IntArray:
    """Return the number of words with a larger posterior than each of these, shape (L,)."""
    own = beliefs[np.arange(words.size), words]
    return np.asarray((beliefs > own[:, None]).sum(axis=1))
