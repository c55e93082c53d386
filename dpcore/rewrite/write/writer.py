"""A text written under a mechanism: what was drawn, with which probability, under which promise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from dpcore.audit.composition import TEXT_DELTA, Composition
from dpcore.errors import ParameterError
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_WRITTEN_TOKENS
from dpcore.noise.discrete import Digits

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray
    from dpcore.rewrite.write.scores import TokenDraw

Next = Callable[[Sequence[int]], "FloatArray"]
"""Scores of what may come next, shape (V,), after what was drawn since it was asked last."""
_LIKELIEST = 5  # candidates of a place that are named


class Writer(Protocol):
    """A mechanism that writes a text; an instance has its settings.

    Attributes:
        name: on the command line.
        title: for people.
        summary: how it works, without a full stop.
        texts: between which texts its promise holds: "any two texts".
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    texts: ClassVar[str]

    def draw(self, epsilon: float) -> TokenDraw:
        """How a token is drawn.

        Raises:
            EpsilonError: ε is not admissible.
        """

    def count(self, text: str, tokens: int | None) -> int:
        """How many tokens are drawn for a text, which is public.

        Raises:
            ParameterError: so many are not allowed.
            TextError: the text is empty, too long, or not text.
        """

    def begin(self, text: str, tokens: int) -> Next:
        """What scores the tokens one after another, with a private text before them."""

    def decode(self, tokens: Sequence[int]) -> str:
        """The text that tokens make, by public rules."""

    def named(self, token: int) -> str:
        """One token as a person reads it."""


@dataclass(frozen=True)
class Token:
    """One draw.

    Attributes:
        number: of the token.
        text: as a person reads it.
        probability: of it, in the exact law of its place.
        likeliest: the candidates that were likeliest, with their probabilities, best first.
    """

    number: int
    text: str
    probability: float
    likeliest: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Writing:
    """A text that was written, and how.

    The text may be released. All else is for looking: probabilities tell of the private text
    without any noise.

    Attributes:
        writer: the mechanism.
        epsilon: of a token, as it was asked for.
        draw: how a token is drawn; its guarantee says what is promised of one.
        text: what came out.
        tokens: every draw, those behind the end of the text too.
        source: the private text.
    """

    writer: Writer
    epsilon: float
    draw: TokenDraw
    text: str
    tokens: tuple[Token, ...]
    source: str = field(repr=False)

    def composed(self, delta: float = TEXT_DELTA) -> Composition:
        """What is promised of the whole text, at this δ."""
        return self.draw.composed(len(self.tokens), delta)

    def losses(self, other: str) -> FloatArray:
        """How much more likely each token was than with another private text before it.

        Args:
            other: which it might have been.

        Returns:
            ln P(token | this text) − ln P(token | the other one), in nats, shape (n,); their sum is
            the loss of this output between the two texts.

        Raises:
            ParameterError: the mechanism makes no promise between these two texts.
            TextError: the text is empty, too long, or not text.
        """
        numbers = [token.number for token in self.tokens]
        scored = self.writer.begin(other, self.writer.count(other, len(numbers)))
        logs = [
            self.draw.log_law(scored(numbers[max(place - 1, 0) : place]))[number]
            for place, number in enumerate(numbers)
        ]
        return np.asarray(np.log([token.probability for token in self.tokens]) - np.array(logs))

    def __repr__(self) -> str:
        """One line: what came out, not what went in."""
        return (
            f"Writing({self.text!r}, {self.writer.name}, {len(self.tokens)} tokens, "
            f"ε = {self.epsilon:g} each)"
        )


def checked_count(tokens: int, reason: str = "") -> int:
    """How many tokens are drawn, if so many are allowed.

    Args:
        tokens: wanted.
        reason: why so many were wanted, for the message.

    Raises:
        ParameterError: they are too few or too many.
    """
    if not 1 <= tokens <= MAX_WRITTEN_TOKENS:
        raise ParameterError(
            f"tokens must be a whole number from 1 to {MAX_WRITTEN_TOKENS}, got {tokens}{reason}"
        )
    return tokens


def written(
    writer: Writer,
    text: str,
    epsilon: float,
    tokens: int | None,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> Writing:
    """Write a text.

    Args:
        writer: the mechanism.
        text: the private one.
        epsilon: of a token.
        tokens: how many are drawn, chosen in public; None: as the mechanism has it.
        rng: where the noise comes from.
        progress: called with ("tokens", done, total).

    Raises:
        EpsilonError: ε is not admissible.
        ParameterError: so many tokens are not allowed.
        TextError: the text is empty, too long, or not text.
        MissingPackageError: the model of the mechanism is not installed.
    """
    count = writer.count(text, tokens)
    draw = writer.draw(epsilon)
    progress("tokens", 0, count)  # before the model is loaded
    scored, digits = writer.begin(text, count), Digits(rng)
    drawn: list[Token] = []
    for place in range(count):
        law = draw.log_law(scored([token.number for token in drawn[-1:]]))
        number = draw.token(law, digits)
        best = np.argsort(-law, kind="stable")[:_LIKELIEST].tolist()
        likeliest = tuple((writer.named(other), float(np.exp(law[other]))) for other in best)
        drawn.append(Token(number, writer.named(number), float(np.exp(law[number])), likeliest))
        progress("tokens", place + 1, count)
    numbers = [token.number for token in drawn]
    return Writing(writer, epsilon, draw, writer.decode(numbers), tuple(drawn), text)
