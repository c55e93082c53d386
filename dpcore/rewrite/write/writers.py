"""Mechanisms that write a text (DP-Prompt, DP-Masked), and one call that writes one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np

from dpcore.arguments import a_kind, a_name, a_real, a_whole
from dpcore.arrays import FloatArray, IntArray
from dpcore.audit.composition import TEXT_DELTA, Composition
from dpcore.errors import EpsilonError, ParameterError, TextError
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.masked_model import Reader, reader_of
from dpcore.lexicon.metric import distances
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_WRITER_TOKENS, MAX_WRITTEN_TOKENS
from dpcore.noise.discrete import Digits
from dpcore.noise.streams import generator
from dpcore.rewrite.sentence import check_text, prepare
from dpcore.rewrite.write.scores import TokenDraw, check_form, drawing
from dpcore.rewrite.write.smollm import LanguageModel, load_model

# A text written under a mechanism: its draws, their probabilities, and its guarantee.


Next = Callable[[Sequence[int]], "FloatArray"]
"""Scores of the next token, shape (V,), given the tokens drawn since the last call."""
_LIKELIEST = 5  # candidates listed per position


class Writer(Protocol):
    """A mechanism that writes a text; an instance has its settings.

    Attributes:
        name: on the command line.
        title: for display.
        summary: one phrase on the method, without a full stop.
        texts: between which texts its guarantee holds: "any two texts".
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    texts: ClassVar[str]

    def draw(self, epsilon: float) -> TokenDraw:
        """Return the law of a token.

        Raises:
            EpsilonError: ε is not admissible.
        """

    def count(self, text: str, tokens: int | None) -> int:
        """Return the number of tokens to draw for a text, which is public.

        Raises:
            ParameterError: so many are not allowed.
            TextError: the text is empty, too long, or not text.
        """

    def begin(self, text: str, tokens: int) -> Next:
        """Return the function that scores the tokens one after another, given a private text."""

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens, by public rules."""

    def named(self, token: int) -> str:
        """Return one token in readable form."""


@dataclass(frozen=True)
class Token:
    """One draw.

    Attributes:
        number: of the token.
        text: in readable form.
        probability: of it, in the exact law at its position.
        likeliest: the likeliest candidates with their probabilities, best first.
    """

    number: int
    text: str
    probability: float
    likeliest: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Writing:
    """A written text and its draws.

    The text may be released. Everything else is for inspection: probabilities reveal the private
    text without any noise.

    Attributes:
        writer: the mechanism.
        epsilon: of a token, as requested.
        draw: law of a token, with its guarantee.
        text: the output.
        tokens: every draw, those after the end of the text too.
        source: the private text.
    """

    writer: Writer
    epsilon: float
    draw: TokenDraw
    text: str
    tokens: tuple[Token, ...]
    source: str = field(repr=False)

    def composed(self, delta: float = TEXT_DELTA) -> Composition:
        """Return the guarantee of the whole text, at this δ."""
        return self.draw.composed(len(self.tokens), delta)

    def losses(self, other: str) -> FloatArray:
        """Return the loss of each token between this private text and another one.

        Args:
            other: the other private text.

        Returns:
            ln P(token | this text) − ln P(token | the other one), in nats, shape (n,); their sum is
            the loss of this output between the two texts.

        Raises:
            ParameterError: the mechanism has no guarantee between these two texts.
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
        """Return one line: the output, not the input."""
        return (
            f"Writing({self.text!r}, {self.writer.name}, {len(self.tokens)} tokens, "
            f"ε = {self.epsilon:g} each)"
        )


def checked_count(tokens: int, reason: str = "") -> int:
    """Return the number of tokens to draw, if it is allowed.

    Args:
        tokens: wanted.
        reason: the reason for this number, for the message.

    Raises:
        ParameterError: they are too few or too many.
    """
    if not 1 <= tokens <= MAX_WRITTEN_TOKENS:
        raise ParameterError(
            f"tokens must be a whole number from 1 to {MAX_WRITTEN_TOKENS}, got {tokens}{reason}"
        )
    return tokens


def run_writer(
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
        tokens: number of draws, chosen in public; None takes the mechanism's own.
        rng: source of the noise.
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


# DP-Prompt: a language model rephrases a text, and every token of its answer is drawn.
#
# Utpala, Hooker and Chen 2023: logits are clipped to a range, and a token is drawn at the
# temperature 2·(high − low)/ε. The private text enters through the question alone, and earlier
# draws are public, so each token keeps ε between any two texts and n tokens keep n·ε, as long as
# all tokens may be drawn and n is public. This implementation ensures both: no cut to the likeliest
# tokens, and always n draws; a text is over at its first end mark, which is a rule on tokens that
# were drawn already.
#
# `published` clips the logits as they are, at h = ε/2. `calibrated` clips the logarithms of the
# model's own probabilities, which lie below 0 after any text while logits lie elsewhere after each,
# and takes the h at which the bound on the loss of a token is ε, which scores of this kind cannot
# reach. `response`, which is ours, lets the model draw as it likes and gives each token to
# randomised response, which takes about half the ε for the same text (`scores.py`).


_INSTRUCTION = "Rephrase the following text in other words."
# Both ranges are public: they were chosen at 480 places of answers about 40 training texts of the
# teaching corpus. There the mean logit of a place is 4.7 in the median and the largest one 36.6 at
# most in 99 of 100 places; ten nats below 0 leave a hundred or so candidates apart from the rest.
_RANGE = (5.0, 37.0)
_DEPTH = 10.0
_TEMPERATURE = 0.7  # of the model's own draw; any is public and costs nothing
USUAL_TOKENS = 30


@dataclass(frozen=True)
class DpPrompt:
    """DP-Prompt with SmolLM2.

    Attributes:
        form: "published", "calibrated" or "response".
        model: the language model; None takes that of the optional package, loaded when needed.
    """

    form: str = "published"
    model: LanguageModel | None = None
    name: ClassVar[str] = "dp-prompt"
    title: ClassVar[str] = "DP-Prompt"
    summary: ClassVar[str] = (
        "A small language model rephrases the text; every token is drawn from clipped scores"
    )
    texts: ClassVar[str] = "any two texts"

    def __post_init__(self) -> None:
        check_form(self.form)

    @property
    def _language(self) -> LanguageModel:
        return self.model or load_model()

    def draw(self, epsilon: float) -> TokenDraw:
        """Return the law of a token, all of them possible.

        Raises:
            EpsilonError: ε is not a finite number above 0.
            MissingPackageError: the model is not installed.
        """
        return drawing(
            self.form,
            epsilon,
            self._language.vocabulary,
            limits=_RANGE,
            depth=_DEPTH,
            temperature=_TEMPERATURE,
            texts=self.texts,
        )

    def count(self, text: str, tokens: int | None) -> int:
        """Return the number of tokens to draw: public, and independent of the text.

        Raises:
            ParameterError: so many are not allowed.
            TextError: the text is empty, too long, or not text.
        """
        check_text(text)
        return checked_count(USUAL_TOKENS if tokens is None else tokens)

    def begin(self, text: str, tokens: int) -> Next:
        """Ask the model; its answer is then scored token by token.

        Raises:
            TextError: the text is too long for the model.
            MissingPackageError: the model is not installed.
        """
        model = self._language
        private = model.encode(text)
        if len(private) > MAX_WRITER_TOKENS:
            raise TextError(
                f"the text has {len(private):,} tokens of the language model; at most "
                f"{MAX_WRITER_TOKENS:,} are allowed"
            )
        question = model.question(_INSTRUCTION, private)
        reading = model.reading(len(question) + tokens)

        def scored(drawn: Sequence[int]) -> FloatArray:
            return np.asarray(reading.scores(drawn or question), dtype=np.float64)

        return scored

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text up to the first end mark, without white space around it."""
        return self._language.decode(tokens).strip()

    def named(self, token: int) -> str:
        """Return one token in readable form; a mark by its name."""
        return self._language.named(token)


# DP-Masked: a network reads the text around each word, and a word for its position is drawn.
#
# After DP-MLM (Meisenbacher, Chevli, Vladika, Matthes 2024), which asks a masked language model for
# candidates at each position and draws a word at the temperature 2·(high − low)/ε. Its RoBERTa
# reads the private text beside the one with the hidden word. The network here reads one text, so
# the hidden word enters by the distance of the vectors:
#
#     score(w) = ln P_network(w | drawn before, private behind) − d(w, x).
#
# Without the second term this is a guess from the context; without the first one it is the score of
# the exponential mechanism over distances. A word that the lexicon lacks has no distance, and the
# context alone decides. Every word of the lexicon may be drawn at every position; marks, capitals
# and spaces are not released, and no word is passed through.
#
# Every draw sees the whole private text, so each keeps ε between any two texts of n words, and all
# n keep n·ε. A text is cut to n words, or filled up with hidden ones, where n was chosen in public.


# Public: chosen at 519 places of 20 training texts of the teaching corpus. Scores there lie below
# 0; the best one of a place is −6 in the median, and the middle one of all words −20.7.
_RANGE_DP_MASKED = (-20.0, 0.0)
_DEPTH_DP_MASKED = 10.0
_TEMPERATURE_DP_MASKED = 1.0  # of the network's own draw


@dataclass(frozen=True)
class DpMasked:
    """DP-Masked with the bundled network.

    Attributes:
        form: "published", "calibrated" or "response".
        words: the lexicon and the network over it; None takes the bundled ones.
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
        """Return the law of a word, all of them possible.

        Raises:
            EpsilonError: ε is not a finite number above 0.
        """
        return drawing(
            self.form,
            epsilon,
            len(self._read[0]),
            limits=_RANGE_DP_MASKED,
            depth=_DEPTH_DP_MASKED,
            temperature=_TEMPERATURE_DP_MASKED,
            texts=self.texts,
        )

    def count(self, text: str, tokens: int | None) -> int:
        """Return the number of words to draw: that of the text, or a public number.

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
        """Read the text as one of `tokens` words; its positions are then scored one by one."""
        lexicon, reader = self._read
        numbers = self._numbers(text)[:tokens]
        shown = np.full(tokens, reader.hidden)
        shown[: numbers.size] = np.where(numbers < 0, reader.unknown, numbers)
        private = shown.copy()
        room, place = reader.longest - 2, 0  # positions read at once, without the boundaries

        def scored(drawn: Sequence[int]) -> FloatArray:
            nonlocal place
            for word in drawn:
                shown[place] = word
                place += 1
            # A window around the position. Its start is public: it depends on n alone.
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
        """Join the words with spaces."""
        return " ".join(self.named(token) for token in tokens)

    def named(self, token: int) -> str:
        """Return one word."""
        return self._read[0].words[token]

    def _numbers(self, text: str) -> IntArray:
        """Return the words of a text as lexicon indices, −1 for one that is not there."""
        return prepare(text, self._read[0]).words


WRITERS = (DpPrompt, DpMasked)
"""The mechanisms; one without its packages raises an error when it is used."""


def writer_of(name: str, form: str = "published") -> Writer:
    """Return the mechanism of a name.

    Args:
        name: short name, such as "dp-prompt".
        form: "published", "calibrated" or "response".

    Raises:
        ParameterError: there is no such mechanism or form; the message lists the names.
    """
    a_name(name, "a mechanism that writes")
    writers = {writer.name: writer for writer in WRITERS}
    if name not in writers:
        raise ParameterError(
            f"the mechanism must be one of {', '.join(writers)}, got {name[:40]!r}; a mechanism "
            "for words rewrites with `rewrite`"
        )
    return writers[name](form=form)


def write(
    text: str,
    mechanism: str = "dp-prompt",
    *,
    epsilon: float,
    tokens: int | None = None,
    form: str = "published",
    seed: int | None = None,
    progress: Progress = silent,
) -> Writing:
    """Write a new text in place of a private one, drawn token by token.

    Each token keeps ε between any two private texts (of as many words, if `tokens` is left to
    "dp-masked"), and n tokens keep n·ε: `composed()` gives how much less it is for a δ. Text that
    reads well takes an ε of the whole text in the hundreds (`docs/writers.md`).

    Args:
        text: the private text.
        mechanism: "dp-prompt", where a language model rephrases the text in its own tokens, or
            "dp-masked", where a small network replaces each word by a word.
        epsilon: of a token.
        tokens: n, the number of draws; choose it in public, never by the private text. If it is not
            given, 30 for "dp-prompt" and the number of the text's words, which is then released,
            for "dp-masked".
        form: "published" (a temperature of 2Δ/ε), "calibrated" (one at which the loss is at most
            ε, by the bound for any scores) or "response" (randomised response on the model's draw).
        seed: None draws fresh noise for a text to publish; a number repeats an experiment, whose
            text must not be published.
        progress: called with ("tokens", done, total).

    Returns:
        The text, which may be published; its tokens with their probabilities, which may not.

    Raises:
        EpsilonError: ε is not a finite number above 0.
        ParameterError: there is no such mechanism or form, or so many tokens are not allowed.
        TextError: the text is empty, too long, or not text.
        MissingPackageError: the mechanism's model is not installed.
    """
    a_kind(text, str, "a text is needed", TextError)
    epsilon = a_real(epsilon, "epsilon", EpsilonError)
    if tokens is not None:
        tokens = a_whole(tokens, "tokens", 1, MAX_WRITTEN_TOKENS)
    rng = generator(seed, "write", mechanism)
    return run_writer(writer_of(mechanism, form), text, epsilon, tokens, rng, progress)
