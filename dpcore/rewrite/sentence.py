"""A sentence under a mechanism: one noise draw at every ε for looking, fresh noise for release."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, overload

import numpy as np

from dpcore.errors import EpsilonError
from dpcore.lexicon.ranking import Ranking, rank
from dpcore.limits import MAX_TEXT_CHARACTERS, MAX_TEXT_TOKENS
from dpcore.mechanisms.path import EpsilonPaths, Piece
from dpcore.noise.streams import generator
from dpcore.rewrite.assembly import assemble, write_slots
from dpcore.rewrite.casing import CasePolicy
from dpcore.rewrite.checks import check_text
from dpcore.rewrite.tokens import Token, tokenize
from dpcore.rewrite.vocabulary import Encoding, Role, UnknownWordPolicy, describe, encode

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.neighbours import NeighbourIndex
    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.mechanisms.path import FloatArray, IntArray

_SEGMENT = 64  # words that share one matrix product
_LOOKS = (0.1, 0.5, 0.9)  # quantiles of the changes at which a draw shows itself
_REMEMBERED = 512  # words whose neighbours a sentence keeps; a longer text asks again


@dataclass(frozen=True)
class TokenRewrite:
    """One place of the text, before and after.

    Attributes:
        input: the token as it was read (the part of it, if it was split).
        output: what is written in its place; "" if it was dropped.
        changed: whether the word is another one (capital letters aside).
        in_vocabulary: whether the lexicon holds it; True for released punctuation.
        role: protected, unknown or released.
        before: the white space before it.
        slot: its number among the places that a mechanism fills, or −1.
    """

    input: str
    output: str
    changed: bool
    in_vocabulary: bool
    role: Role
    before: str
    slot: int


@dataclass(frozen=True)
class Rewrite:
    """A rewritten text: its tokens in order, and the text that they make."""

    tokens: tuple[TokenRewrite, ...]
    text: str

    @property
    def changed(self) -> int:
        """How many tokens have another word in their place."""
        return sum(token.changed for token in self.tokens)

    def __repr__(self) -> str:
        """One line: the text that came out, not what went in."""
        return f"Rewrite({self.text!r}, {self.changed} of {len(self.tokens)} changed)"

    def marked(self, before: str = "") -> str:
        """The text as HTML with the words marked that changed: for looking only.

        What is marked and what is not tells which words are the typed ones.

        Args:
            before: what stands before it, such as its ε.
        """
        from dpcore.display import marked

        written = [token for token in self.tokens if token.output]
        return marked([(one.before, one.output, one.changed) for one in written], before)

    def _repr_html_(self) -> str:
        return self.marked()


@dataclass(frozen=True)
class Rewrites:
    """One draw at several ε: for looking only, since two of them together reveal the words.

    Attributes:
        epsilons: in the order in which they were asked for.
        rewrites: one for each ε.
    """

    epsilons: tuple[float, ...]
    rewrites: tuple[Rewrite, ...]

    def __iter__(self) -> Iterator[Rewrite]:
        """One rewritten text for each ε."""
        return iter(self.rewrites)

    def __len__(self) -> int:
        """Return the number of ε."""
        return len(self.rewrites)

    def __getitem__(self, number: int) -> Rewrite:
        """Return the text of the ε with this number."""
        return self.rewrites[number]

    def __repr__(self) -> str:
        """A line for each ε."""
        pairs = zip(self.epsilons, self.rewrites, strict=True)
        return "\n".join(f"ε = {epsilon:g}: {rewrite.text}" for epsilon, rewrite in pairs)

    def _repr_html_(self) -> str:
        pairs = zip(self.epsilons, self.rewrites, strict=True)
        return "".join(rewrite.marked(f"ε = {epsilon:.4g}") for epsilon, rewrite in pairs)


@dataclass(frozen=True, eq=False)
class Sentence:
    """A text, what is protected in it, and the neighbours of its words.

    The neighbours are computed once and shared by all mechanisms; they live as long as this
    object does, and nothing else keeps what was typed.
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
        """How many places are protected: those that a mechanism fills."""
        return int(self.words.size)

    def rankings(self, words: IntArray) -> list[Ranking]:
        """The vocabulary by Euclidean distance from each word; computed once for each."""
        distinct = np.unique(words).tolist()
        # Looked up once: another session may clear them meanwhile.
        held = {w: found for w in distinct if (found := self._rankings.get(w)) is not None}
        new = [w for w in distinct if w not in held]
        if new:
            if len(self._rankings) + len(new) > _REMEMBERED:
                self._rankings.clear()
            ranked = rank(self.lexicon.vectors, self.lexicon.vectors[new])
            made = dict(zip(new, ranked, strict=True))
            held |= made
            self._rankings.update(made)
        return [held[int(w)] for w in words]

    def inputs(self, seed: int | None, number: int = 0) -> IntArray:
        """The mechanism's input at each open slot: an unknown word has a random stand-in."""
        return self.encoding.draw(generator(seed, "unknown word", number))

    def __repr__(self) -> str:
        """One line of numbers: what was typed stays out of logs and tracebacks."""
        unknown = len(self.encoding.unknown)
        return f"Sentence({len(self.tokens)} tokens, {self.protected} protected, {unknown} unknown)"

    def _repr_html_(self) -> str:
        """The text with the words marked that a mechanism replaces."""
        from dpcore.display import card, marked

        replaced = {slot.source for slot in self.encoding.open_slots}
        pieces = [
            (token.before, token.text, place in replaced) for place, token in enumerate(self.tokens)
        ]
        unknown = [self.tokens[place].text for place in self.encoding.unknown]
        return card(
            f"{self.protected} protected places (marked)",
            f"Not in the vocabulary: {', '.join(unknown)}" if unknown else "",
            describe(self.encoding.policy) if unknown else "",
            body=[marked(pieces)],
        )

    def write(self, outputs: Sequence[int] | IntArray) -> Rewrite:
        """Put output words (lexicon indices, one for each open slot) into the text."""
        words = [self.lexicon.words[int(i)] for i in outputs]
        return _rewrite(self, words)


def prepare(
    text: str,
    lexicon: Lexicon,
    *,
    policy: UnknownWordPolicy = UnknownWordPolicy.REPLACE,
    keep_stop_words: bool = False,
    case_policy: CasePolicy = CasePolicy.KEEP,
    max_characters: int = MAX_TEXT_CHARACTERS,
    max_tokens: int = MAX_TEXT_TOKENS,
) -> Sentence:
    """Read a text: tokens, roles, lexicon indices.

    Raises:
        TextError: it is empty, too long, or not text, or a word is refused by the policy.
    """
    check_text(text, max_characters=max_characters, max_tokens=max_tokens)
    tokens = tuple(tokenize(text))
    encoding = encode(
        tokens,
        lexicon,
        policy=policy,
        keep_stop_words=keep_stop_words,
        case_policy=case_policy,
    )
    return Sentence(tokens, encoding, lexicon)


@dataclass(frozen=True, eq=False)
class SentenceDraw:
    """One noise draw for each word of a sentence, and what it makes of them at every ε.

    For looking only: two of its outputs at two ε together reveal the words.
    """

    sentence: Sentence
    paths: EpsilonPaths

    @overload
    def at(self, epsilon: float, /) -> Rewrite: ...

    @overload
    def at(self, epsilon: float, second: float, /, *more: float) -> Rewrites: ...

    def at(self, *epsilons: float) -> Rewrite | Rewrites:
        """The rewritten sentence at one ε, or at several: a look-up.

        Raises:
            EpsilonError: an ε is not a finite number above 0.
        """
        for epsilon in epsilons:
            if not 0 < epsilon < math.inf:
                raise EpsilonError(f"epsilon must be a finite number > 0, got {epsilon}")
        outputs = self.paths.at(np.array(epsilons, dtype=np.float64))
        rewrites = tuple(self.sentence.write(column) for column in outputs.T)
        return rewrites[0] if len(epsilons) == 1 else Rewrites(epsilons, rewrites)

    def __repr__(self) -> str:
        """One line of numbers: what was typed stays out of logs and tracebacks."""
        breaks = int(np.isfinite(self.paths.breaks).sum())
        return f"SentenceDraw({self.sentence.protected} protected places, {breaks} changes in ε)"

    def _repr_html_(self) -> str:
        """The marked sentence before, amid and after most of its changes."""
        breaks = self.paths.breaks[np.isfinite(self.paths.breaks)]
        if not breaks.size:
            return self.sentence._repr_html_()
        quantiles = np.quantile(breaks, _LOOKS)
        return self.at(*(float(f"{epsilon:.3g}") for epsilon in quantiles))._repr_html_()

    def pieces(self, slot: int) -> list[Piece]:
        """What one open slot becomes over the whole range of ε."""
        return self.paths.pieces(slot)


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
        number: which draw.
        epsilons: the grid of a mechanism whose paths are not exact.
    """
    words = sentence.inputs(seed, number)
    parts: list[EpsilonPaths] = []
    if not words.size:  # marks alone: there is nothing to rewrite
        return SentenceDraw(sentence, EpsilonPaths.none())
    for start in range(0, words.size, _SEGMENT):
        part = words[start : start + _SEGMENT]
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
    """Many independent draws of one open slot, each with a stand-in of its own if it is unknown.

    Returns:
        Paths of `draws` rows.
    """
    words = np.array([sentence.inputs(seed, number)[slot] for number in range(draws)], np.int64)
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
    """Rewrite with fresh noise at one ε: the only output that may leave the house.

    Args:
        sentence: the text.
        mechanism: over the sentence's lexicon.
        epsilon: the privacy parameter.
        rng: unpredictable (`generator(None)`) unless the run is an experiment.
        index: an index to search with; a mechanism refuses one that its guarantee forbids.
    """
    mechanism.check_epsilon(epsilon)
    words = sentence.encoding.draw(rng)
    if words.size:
        words = mechanism.sample(rng, words, epsilon, index=index)
    return sentence.write(words)


def _rewrite(sentence: Sentence, words: list[str]) -> Rewrite:
    encoding, lexicon = sentence.encoding, sentence.lexicon
    written = write_slots(encoding, words)
    parts = np.bincount([slot.source for slot in encoding.slots], minlength=len(sentence.tokens))
    result: list[TokenRewrite] = []
    done = 0
    number = 0
    for slot, (before, output) in zip(encoding.slots, written, strict=True):
        result.extend(_dropped(sentence, done, slot.source))
        done = slot.source + 1
        text = sentence.tokens[slot.source].text
        if parts[slot.source] > 1:
            text = lexicon.words[slot.index] if slot.index >= 0 else slot.text
        word = words[number] if slot.is_open else None
        changed = slot.role is Role.UNKNOWN
        if slot.role is Role.PROTECTED:
            changed = word != lexicon.words[slot.index]
        result.append(
            TokenRewrite(
                input=text,
                output=output,
                changed=changed,
                in_vocabulary=slot.role is not Role.UNKNOWN,
                role=slot.role,
                before=before,
                slot=number if slot.is_open else -1,
            )
        )
        number += slot.is_open
    result.extend(_dropped(sentence, done, len(sentence.tokens)))
    return Rewrite(tuple(result), assemble(encoding, words))


def _dropped(sentence: Sentence, start: int, stop: int) -> list[TokenRewrite]:
    """The tokens from `start` to `stop` that left no slot: unknown words under DROP."""
    return [
        TokenRewrite(token.text, "", True, False, Role.UNKNOWN, "", -1)
        for token in sentence.tokens[start:stop]
    ]
