"""Rewritten texts: output words put into the text, position by position, with their changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dpcore.display import marked
from dpcore.errors import ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.rewrite.languages import Language
from dpcore.rewrite.tokens import Token, apply
from dpcore.rewrite.vocabulary import Encoding, Role, Slot

# A word never follows these directly: where it did, it was a symbol or a slip, and the missing
# space would reveal which.
_SPACE_AFTER = frozenset(".,;:!?)]}") | {"…", "..."}


@dataclass(frozen=True)
class TokenRewrite:
    """One position of the text, before and after.

    Attributes:
        input: the token as it was read (the part of it, if it was split).
        output: the text written in its place; "" if it was dropped.
        changed: True if the word is another one (capital letters aside).
        in_vocabulary: True if the lexicon holds it; also for released punctuation.
        role: protected, unknown or released.
        before: the white space before it.
        slot: its number among the positions that a mechanism fills, or −1.
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
    """A rewritten text and its tokens in order."""

    tokens: tuple[TokenRewrite, ...]
    text: str

    @property
    def changed(self) -> int:
        """Number of tokens that were replaced by another word."""
        return sum(token.changed for token in self.tokens)

    @property
    def stayed(self) -> int:
        """Number of protected words that did not change."""
        return sum(token.slot >= 0 and not token.changed for token in self.tokens)

    def __repr__(self) -> str:
        """Return one line: the output text, not the input."""
        return f"Rewrite({self.text!r}, {self.changed} of {len(self.tokens)} changed)"

    def marked(self, before: str = "") -> str:
        """Return the text as HTML with the changed words marked: for inspection only.

        The marks reveal which words are the typed ones.

        Args:
            before: text before it, such as its ε.
        """
        written = [token for token in self.tokens if token.output]
        return marked([(token.before, token.output, token.changed) for token in written], before)

    def _repr_html_(self) -> str:
        return self.marked()


@dataclass(frozen=True)
class Rewrites:
    """One draw at several ε: for inspection only, since two of them together reveal the words.

    Attributes:
        epsilons: in the order of the request.
        rewrites: one for each ε.
    """

    epsilons: tuple[float, ...]
    rewrites: tuple[Rewrite, ...]

    def __iter__(self) -> Iterator[Rewrite]:
        return iter(self.rewrites)

    def __len__(self) -> int:
        return len(self.rewrites)

    def __getitem__(self, number: int) -> Rewrite:
        return self.rewrites[number]

    def __repr__(self) -> str:
        """Return a line for each ε."""
        pairs = zip(self.epsilons, self.rewrites, strict=True)
        return "\n".join(f"ε = {epsilon:g}: {rewrite.text}" for epsilon, rewrite in pairs)

    def _repr_html_(self) -> str:
        pairs = zip(self.epsilons, self.rewrites, strict=True)
        return "".join(rewrite.marked(f"ε = {epsilon:.4g}") for epsilon, rewrite in pairs)


def write_slots(encoding: Encoding, outputs: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Write every slot, with its case restored.

    Args:
        encoding: The k open slots and everything around them.
        outputs: One output word for each of the k open slots, in order.

    Returns:
        White space and text of each slot of `encoding.slots`, in order.

    Raises:
        ParameterError: There are not k outputs.
    """
    needed = len(encoding.open_slots)
    if len(outputs) != needed:
        raise ParameterError(f"{needed:,} output words are needed, got {len(outputs):,}")
    words, language = iter(outputs), encoding.language
    written: list[tuple[str, str]] = []
    previous: Slot | None = None
    for slot in encoding.slots:
        word = next(words) if slot.is_open else slot.text
        # The white space before a text is not kept.
        gap = (
            ""
            if previous is None
            else slot.before or _missing_space(previous, slot, word, language)
        )
        written.append((gap, apply(slot.case, word, language)))
        previous = slot
    return tuple(written)


def _missing_space(previous: Slot, slot: Slot, word: str, language: Language) -> str:
    """Return the space to put where the original had none.

    Two words that touch (a word beside a symbol, the parts of a contraction) are kept apart,
    except for an ending such as "n't".
    """
    if not slot.is_word or (slot.joined and word in language.clitics):
        return ""
    return " " if parts_from_word(previous) else ""


def parts_from_word(slot: Slot) -> bool:
    """Return True if a word that follows directly gets a space before it."""
    return slot.is_word or slot.text in _SPACE_AFTER


def assemble(encoding: Encoding, outputs: Sequence[str]) -> str:
    """Put output words into the text.

    Args:
        encoding: The k open slots and everything around them.
        outputs: One output word for each of the k open slots, in order.

    Returns:
        The rewritten text. It is computed from the encoding's released part and the outputs
        alone, so it is post-processing of the information in the mechanism's output and the
        released part.

    Raises:
        ParameterError: There are not k outputs.
    """
    return "".join(gap + text for gap, text in write_slots(encoding, outputs))


def rewrite_of(
    tokens: Sequence[Token], encoding: Encoding, lexicon: Lexicon, words: Sequence[str]
) -> Rewrite:
    """Return the text with these words in its open slots.

    Args:
        tokens: of the text.
        encoding: of the tokens.
        lexicon: of the encoding's indices.
        words: one output word for each open slot, in order.
    """
    texts = write_slots(encoding, words)
    # A token that was split has several slots, and each of them shows its own part.
    parts = np.bincount([slot.source for slot in encoding.slots], minlength=len(tokens))
    result: list[TokenRewrite] = []
    done = 0
    number = 0
    for slot, (before, output) in zip(encoding.slots, texts, strict=True):
        result.extend(_dropped(tokens, done, slot.source))
        done = slot.source + 1
        text = tokens[slot.source].text
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
    result.extend(_dropped(tokens, done, len(tokens)))
    return Rewrite(tuple(result), "".join(before + output for before, output in texts))


def _dropped(tokens: Sequence[Token], start: int, stop: int) -> list[TokenRewrite]:
    """Return the tokens from `start` to `stop` without a slot: unknown words under DROP."""
    return [
        TokenRewrite(token.text, "", True, False, Role.UNKNOWN, "", -1)
        for token in tokens[start:stop]
    ]
