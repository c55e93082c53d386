"""A sentence under a mechanism: one draw at every ε for inspection, fresh noise for release."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import overload

import numpy as np

from dpcore.arguments import a_kind, a_whole
from dpcore.arguments import epsilons as checked_epsilons
from dpcore.arrays import FloatArray, IntArray
from dpcore.display import card, marked
from dpcore.errors import TextError
from dpcore.lexicon.lexicon import Lexicon, check_lexicon
from dpcore.lexicon.neighbours import NeighbourIndex, Ranking, rank
from dpcore.limits import MAX_FILE_CHARACTERS, MAX_TEXT_CHARACTERS, MAX_TEXT_TOKENS
from dpcore.mechanisms.mechanism import Mechanism, check_mechanism
from dpcore.mechanisms.path import EpsilonPaths, Piece
from dpcore.noise.streams import check_seed, generator
from dpcore.rewrite.policy import DEFAULT_TREATMENT, Treatment, describe
from dpcore.rewrite.rewritten import Rewrite, Rewrites, rewrite_of
from dpcore.rewrite.tokens import Token, tokenize
from dpcore.rewrite.vocabulary import UNFIT, Encoding, Role, encode

# Checks of a text, with a message for every refusal.


# Tabs, line and form feeds are white space; the other control characters occur in binary files.
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "\ufffd"
_WORST_SHARE = 0.05  # of replacement characters: beyond it, a text was decoded wrongly


def check_text(
    text: str,
    *,
    max_characters: int = MAX_TEXT_CHARACTERS,
    max_tokens: int = MAX_TEXT_TOKENS,
) -> None:
    """Refuse a text that cannot be rewritten.

    Args:
        text: Typed or uploaded by a user.
        max_characters: Largest number of code points accepted.
        max_tokens: Largest number of tokens accepted.

    Raises:
        TextError: The text is blank, too long, binary or wrongly decoded. The message holds
            numbers and positions (characters counted from 1) but none of the words.
    """
    a_kind(text, str, "a text is needed", TextError)
    if len(text) > a_whole(max_characters, "max_characters"):
        raise TextError(
            f"the text has {len(text):,} characters; at most {max_characters:,} are allowed"
        )
    if control := _CONTROL.search(text):
        raise TextError(
            f"the text holds the control character U+{ord(control[0]):04X} at character "
            f"{control.start() + 1:,}: it looks like a binary file; plain text is needed"
        )
    if surrogate := _SURROGATE.search(text):
        raise TextError(
            f"the text holds half of a surrogate pair, U+{ord(surrogate[0]):04X}, at character "
            f"{surrogate.start() + 1:,}: it was decoded wrongly; valid Unicode is needed"
        )
    lost = text.count(_REPLACEMENT)
    if lost > _WORST_SHARE * len(text):
        raise TextError(
            f"{lost:,} of the {len(text):,} characters of the text are the replacement character "
            f"U+FFFD: it was decoded wrongly; save it as UTF-8 and try again"
        )
    count = len(tokenize(text))
    if not count:
        raise TextError("the text is empty; at least one word is needed")
    if count > a_whole(max_tokens, "max_tokens"):
        raise TextError(
            f"the text has {count:,} words and punctuation marks; at most {max_tokens:,} "
            f"are allowed"
        )


def decode(data: bytes, first: int = 0) -> str:
    """Decode the bytes of a text file.

    Args:
        data: UTF-8, with or without a byte order mark.
        first: number of bytes of the file before these.

    Returns:
        The text, without the byte order mark.

    Raises:
        TextError: The bytes are not UTF-8; the message names the first offending byte, counted
            from 1.
    """
    if first == 0 and data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise TextError("the file begins like UTF-16 text; UTF-8 is needed: save it as UTF-8")
    try:
        return data.decode("utf-8" if first else "utf-8-sig")
    except UnicodeDecodeError as error:
        # The decoder counts from after a byte order mark.
        marked = first == 0 and data.startswith(codecs.BOM_UTF8)
        skipped = len(codecs.BOM_UTF8) if marked else 0
        position = error.start + (skipped if len(error.object) < len(data) else 0)
        raise TextError(
            f"the file is not UTF-8 text: byte 0x{data[position]:02X} at position "
            f"{first + position + 1:,} does not fit; save it as UTF-8 and try again"
        ) from None


def file_bytes(path: Path) -> bytes:
    """Read a file that is held in memory as a whole.

    Raises:
        TextError: it cannot be read, or it is too large.
    """
    most = 4 * MAX_FILE_CHARACTERS
    try:
        if path.stat().st_size > most:
            raise TextError(f"{path} is larger than {most:,} bytes: split it")
        return path.read_bytes()
    except OSError as error:
        raise TextError(f"cannot read {path}: {error.strerror}") from None


_SEGMENT = 64  # words that share one matrix product
_LOOKS = (0.1, 0.5, 0.9)  # quantiles of the changes, for the display of a draw
_REMEMBERED = 512  # words with cached neighbours; those of a longer text are recomputed


@dataclass(frozen=True, eq=False)
class Sentence:
    """A text with its encoding, and the neighbours of its words.

    The neighbours are computed once and shared by all mechanisms; they live as long as this
    object, and nothing else keeps the typed text.
    """

    tokens: tuple[Token, ...]
    encoding: Encoding
    lexicon: Lexicon
    _rankings: dict[int, Ranking] = field(default_factory=dict, repr=False)

    @cached_property
    def words(self) -> IntArray:
        """Lexicon index of each open slot, shape (k,); −1 for a word outside the vocabulary."""
        return self.encoding.words

    @property
    def protected(self) -> int:
        """Number of protected positions, which a mechanism fills."""
        return int(self.words.size)

    @property
    def read_words(self) -> int:
        """Number of words of the text, inside and outside the vocabulary."""
        slots = self.encoding.slots
        known = {slot.source for slot in slots if slot.role is not Role.RELEASED or slot.joined}
        return len(known | set(self.encoding.unknown))

    @property
    def unknown_words(self) -> int:
        """Number of words of the text outside the vocabulary."""
        return len(self.encoding.unknown)

    @property
    def caution(self) -> str:
        """Warning if the vocabulary lacks most words of the text, else ""."""
        if 2 * self.unknown_words <= self.read_words:
            return ""
        return (
            f"{self.unknown_words:,} of {self.read_words:,} words are not in this vocabulary: "
            f"{UNFIT}"
        )

    def rankings(self, words: IntArray) -> Sequence[Ranking]:
        """Return the vocabulary by Euclidean distance from each word, computed once when read.

        Not every mechanism reads them, and they take most of the time of those that do.
        """
        return _Rankings(self, words)

    def _ranked(self, words: IntArray) -> list[Ranking]:
        distinct = np.unique(words).tolist()
        # Looked up once: another session may clear the cache meanwhile.
        known = {w: ranking for w in distinct if (ranking := self._rankings.get(w)) is not None}
        new = [w for w in distinct if w not in known]
        if new:
            if len(self._rankings) + len(new) > _REMEMBERED:
                self._rankings.clear()
            ranked = rank(self.lexicon.vectors, self.lexicon.vectors[new])
            fresh = dict(zip(new, ranked, strict=True))
            known |= fresh
            self._rankings.update(fresh)
        return [known[int(w)] for w in words]

    def inputs(self, seed: int | None, number: int = 0) -> IntArray:
        """Return the mechanism's input at each open slot; unknown words have random stand-ins."""
        return self.encoding.draw(generator(seed, "unknown word", number))

    def __repr__(self) -> str:
        """Return one line of numbers: typed text stays out of logs and tracebacks."""
        unknown = len(self.encoding.unknown)
        return f"Sentence({len(self.tokens)} tokens, {self.protected} protected, {unknown} unknown)"

    def _repr_html_(self) -> str:
        """Return the text as HTML, with the words marked that a mechanism replaces."""
        replaced = {slot.source for slot in self.encoding.open_slots}
        pieces = [
            (token.before, token.text, place in replaced) for place, token in enumerate(self.tokens)
        ]
        unknown = [self.tokens[place].text for place in self.encoding.unknown]
        return card(
            f"{self.protected} protected places (marked)",
            f"Not in the vocabulary: {', '.join(unknown)}" if unknown else "",
            describe(self.encoding.treatment.unknown_words) if unknown else "",
            self.caution,
            body=[marked(pieces)],
        )

    def write(self, outputs: Sequence[int] | IntArray) -> Rewrite:
        """Put output words (lexicon indices, one for each open slot) into the text."""
        words = [self.lexicon.words[int(i)] for i in outputs]
        return rewrite_of(self.tokens, self.encoding, self.lexicon, words)


class _Rankings(Sequence[Ranking]):
    """Rankings of some words of a sentence, all computed when the first is read."""

    def __init__(self, sentence: Sentence, words: IntArray) -> None:
        self._sentence, self._words = sentence, words

    @cached_property
    def _read(self) -> list[Ranking]:
        return self._sentence._ranked(self._words)

    def __len__(self) -> int:
        return int(self._words.size)

    @overload
    def __getitem__(self, place: int) -> Ranking: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Ranking]: ...

    def __getitem__(self, place: int | slice) -> Ranking | Sequence[Ranking]:
        return self._read[place]


def prepare(
    text: str,
    lexicon: Lexicon,
    treatment: Treatment = DEFAULT_TREATMENT,
    *,
    max_characters: int = MAX_TEXT_CHARACTERS,
    max_tokens: int = MAX_TEXT_TOKENS,
) -> Sentence:
    """Read a text into tokens, roles and lexicon indices.

    Raises:
        TextError: it is empty, too long, or not text, or a word is refused by the policy.
    """
    check_lexicon(lexicon)
    a_kind(treatment, Treatment, "a treatment is needed, as dpcore.rewrite.policy has it")
    check_text(text, max_characters=max_characters, max_tokens=max_tokens)
    tokens = tuple(tokenize(text))
    return Sentence(tokens, encode(tokens, lexicon, treatment), lexicon)


@dataclass(frozen=True, eq=False)
class SentenceDraw:
    """One noise draw for each word of a sentence, and the outputs at every ε.

    For inspection only: two of its outputs at two ε together reveal the words.
    """

    sentence: Sentence
    paths: EpsilonPaths

    @overload
    def at(self, epsilon: float, /) -> Rewrite: ...

    @overload
    def at(self, epsilon: float, second: float, /, *more: float) -> Rewrites: ...

    def at(self, *epsilons: float) -> Rewrite | Rewrites:
        """Look up the rewritten sentence at one ε, or at several.

        Raises:
            EpsilonError: an ε is not a finite number above 0.
        """
        outputs = self.paths.at(checked_epsilons(epsilons))
        rewrites = tuple(self.sentence.write(column) for column in outputs.T)
        return rewrites[0] if len(epsilons) == 1 else Rewrites(epsilons, rewrites)

    def __repr__(self) -> str:
        """Return one line of numbers: typed text stays out of logs and tracebacks."""
        breaks = int(np.isfinite(self.paths.breaks).sum())
        return f"SentenceDraw({self.sentence.protected} protected places, {breaks} changes in ε)"

    def _repr_html_(self) -> str:
        """Return the marked sentence before, amid and after most of its changes."""
        breaks = self.paths.breaks[np.isfinite(self.paths.breaks)]
        if not breaks.size:
            return self.sentence._repr_html_()
        quantiles = np.quantile(breaks, _LOOKS)
        return self.at(*(float(f"{epsilon:.3g}") for epsilon in quantiles))._repr_html_()

    def pieces(self, slot: int) -> list[Piece]:
        """Return the outputs of one open slot over the whole range of ε."""
        return self.paths.pieces(slot)


def _check(sentence: object, mechanism: object) -> None:
    """Refuse an object that is no `Sentence`, or no mechanism."""
    a_kind(sentence, Sentence, "a text that dp.read returned is needed", TextError)
    check_mechanism(mechanism)


def draw(
    sentence: Sentence,
    mechanism: Mechanism,
    seed: int,
    number: int = 0,
    *,
    epsilons: FloatArray | None = None,
) -> SentenceDraw:
    """Draw the noise of a sentence once, for every ε.

    Args:
        sentence: the text.
        mechanism: over the sentence's lexicon.
        seed: with `number`, it determines the draw.
        number: of the draw.
        epsilons: the grid of a mechanism whose paths are not exact.
    """
    _check(sentence, mechanism)
    words = sentence.inputs(check_seed(seed), a_whole(number, "the number of a draw"))
    if epsilons is not None:
        epsilons = mechanism.check_epsilons(epsilons)
    parts: list[EpsilonPaths] = []
    if not words.size:  # marks alone: there is nothing to rewrite
        return SentenceDraw(sentence, EpsilonPaths.none())
    for start in range(0, words.size, _SEGMENT):
        part = words[start : start + _SEGMENT]
        # A stream for each segment: the words of one change no noise of another.
        rng = generator(seed, mechanism.key, number, start // _SEGMENT)
        rankings = sentence.rankings(part)
        parts.append(mechanism.paths(rng, part, rankings=rankings, epsilons=epsilons))
    return SentenceDraw(sentence, EpsilonPaths.join(parts))


def redraw(
    sentence: Sentence,
    mechanism: Mechanism,
    slot: int,
    seed: int,
    draws: int,
    *,
    epsilons: FloatArray | None = None,
) -> EpsilonPaths:
    """Draw one open slot many times independently, each with a separate stand-in if it is unknown.

    Returns:
        Paths of `draws` rows.
    """
    words = np.array([sentence.inputs(seed, number)[slot] for number in range(draws)], np.int64)
    # An unknown word has another stand-in in every draw: too many rankings to cache.
    rankings = sentence.rankings(words) if sentence.words[slot] >= 0 else None
    rng = generator(seed, mechanism.key, "slot", slot)
    return mechanism.paths(rng, words, rankings=rankings, epsilons=epsilons)


def release(
    sentence: Sentence,
    mechanism: Mechanism,
    epsilon: float,
    rng: np.random.Generator,
    *,
    index: NeighbourIndex | None = None,
) -> Rewrite:
    """Rewrite with fresh noise at one ε: the only output that may be published.

    Args:
        sentence: the text.
        mechanism: over the sentence's lexicon.
        epsilon: the privacy parameter.
        rng: unpredictable (`generator(None)`) unless the run is an experiment.
        index: an index to search with; a mechanism refuses one that its guarantee forbids.
    """
    _check(sentence, mechanism)
    epsilon = mechanism.check_epsilon(epsilon)
    words = sentence.encoding.draw(rng)
    if words.size:
        words = mechanism.sample(rng, words, epsilon, index=index)
    return sentence.write(words)
