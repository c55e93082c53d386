"""DP-Masked: a network reads the text around each word, and a word for its place is drawn.

After DP-MLM (Meisenbacher, Chevli, Vladika, Matthes 2024), which asks a masked language model what
might stand in each place and draws a word at the temperature 2·(high − low)/ε. Its RoBERTa sees the
private text beside the one with the hidden word. The network here sees one text, so what the word
was comes in by the distance of the vectors:

    score(w) = ln P_network(w | drawn before, private behind) − d(w, x).

Without the second term that is a guess from the context; without the first one it is the score of
the exponential mechanism over distances. A word that the lexicon lacks has no distance, and the
context alone speaks. Every word of the lexicon may come out in every place; marks, capitals and
spaces are not released, and no word is passed through.

Every draw sees the whole private text, so each keeps ε between any two texts of n words, and all n
keep n·ε. A text is cut to n words, or filled up with hidden ones, where n was chosen in public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.errors import TextError
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.masked_model import reader_of
from dpcore.lexicon.metric import distances
from dpcore.rewrite.sentence import prepare
from dpcore.rewrite.write.scores import check_form, drawing
from dpcore.rewrite.write.writer import checked_count

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray, IntArray
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.masked_model import Reader
    from dpcore.rewrite.write.scores import TokenDraw
    from dpcore.rewrite.write.writer import Next

# Public: chosen at 519 places of 20 training texts of the teaching corpus. Scores there lie below
# 0; the best one of a place is −6 in the median, and the middle one of all words −20.7.
_RANGE = (-20.0, 0.0)
_DEPTH = 10.0
_TEMPERATURE = 1.0  # of the network's own draw


@dataclass(frozen=True)
class DpMasked:
    """DP-Masked with the network that the laboratory brings.

    Attributes:
        form: "published", "calibrated" or "response".
        words: the lexicon and the network over it; None: those that are bundled.
    """

    form: str = "published"
    words: tuple[Lexicon, Reader] | None = None
    name: ClassVar[str] = "dp-masked"
    title: ClassVar[str] = "DP-Masked"
    summary: ClassVar[str] = (
        "A small network reads the text around each word; a word for its place is drawn from "
        "clipped scores"
    )
    texts: ClassVar[str] = "any two texts of as many words"

    def __post_init__(self) -> None:
        check_form(self.form)

    @cached_property
    def _read(self) -> tuple[Lexicon, Reader]:
        if self.words is not None:
            return self.words
        lexicon = load()
        return lexicon, reader_of(lexicon)

    def draw(self, epsilon: float) -> TokenDraw:
        """How a word is drawn, all of them possible.

        Raises:
            EpsilonError: ε is not a finite number above 0.
        """
        return drawing(
            self.form,
            epsilon,
            len(self._read[0]),
            limits=_RANGE,
            depth=_DEPTH,
            temperature=_TEMPERATURE,
            texts=self.texts,
        )

    def count(self, text: str, tokens: int | None) -> int:
        """How many words are drawn: those of the text, or a public number.

        Raises:
            ParameterError: so many are not allowed.
            TextError: the text is empty, too long, not text, or has no words.
        """
        found = self._numbers(text).size
        if not found:
            raise TextError("the text has no words")
        if tokens is None:
            return checked_count(found, ": the text has more words")
        return checked_count(tokens)

    def begin(self, text: str, tokens: int) -> Next:
        """Read the text as one of `tokens` words; its places are then scored one by one."""
        lexicon, reader = self._read
        numbers = self._numbers(text)[:tokens]
        shown = np.full(tokens, reader.hidden)
        shown[: numbers.size] = np.where(numbers < 0, reader.unknown, numbers)
        private = shown.copy()
        room, place = reader.longest - 2, 0  # what it reads at once, boundaries aside

        def scored(drawn: Sequence[int]) -> FloatArray:
            nonlocal place
            for word in drawn:
                shown[place] = word
                place += 1
            # A window around the place. Where it lies is public: it depends on n alone.
            first = min(max(place - room // 2, 0), max(tokens - room, 0))
            seen = shown[first : first + room].copy()
            seen[place - first] = reader.hidden
            row = np.concatenate([[reader.boundary], seen, [reader.boundary]])
            logits = reader.logits(reader.embedded(row[None]), np.array([place - first + 1]))[0]
            scores = np.asarray(logits, dtype=np.float64)
            scores -= np.logaddexp.reduce(scores)
            word = int(private[place])
            return (
                scores - distances(lexicon.vectors, lexicon.vectors[[word]])[0]
                if word < reader.size
                else scores
            )

        return scored

    def decode(self, tokens: Sequence[int]) -> str:
        """The words with spaces between them."""
        return " ".join(self.named(token) for token in tokens)

    def named(self, token: int) -> str:
        """One word."""
        return self._read[0].words[token]

    def _numbers(self, text: str) -> IntArray:
        """Its words by their numbers in the lexicon, −1 for one that is not there."""
        return prepare(text, self._read[0]).words
