"""Runs of a rewriter under recorded noise, and the neighbouring texts that it is run on."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpcore.audit.blackbox.function import (
    Function,
    Output,
    Refusal,
    importable_name,
    named_function,
    plain_output,
    unknown_texts,
    without_printing,
)
from dpcore.audit.blackbox.recording import Draw, Tape, given_generator, kept_places, recording
from dpcore.errors import ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.noise.streams import generator

FORMS = ("text", "word", "words")
_GENERATORS = ("rng", "generator", "random_state", "seed")
_LENGTH = 6  # words of a made-up text
_PLACES = 2  # of each text that are changed
_TEXTS = (
    # Common words; the second text has no noun, name or verb of content.
    ("our doctor treated a patient in london", (1, 4), ("nurse", "winter", "because")),
    ("it was not for us but with them", (3, 6), ("river", "under", "expensive")),
)


@dataclass(frozen=True)
class Text:
    """One input: its words, and the place at which it differs from its neighbours.

    Attributes:
        words: separated by spaces.
        place: of the word that differs, from 0.
        made_up: True if that word is in no vocabulary.
    """

    words: tuple[str, ...]
    place: int
    made_up: bool = False

    @property
    def word(self) -> str:
        """The word that differs."""
        return self.words[self.place]

    @property
    def others(self) -> tuple[str, ...]:
        """The text without it."""
        return self.words[: self.place] + self.words[self.place + 1 :]


@dataclass(frozen=True)
class Run:
    """One call: the output, the draws, and the states with which generators began."""

    output: Output
    draws: tuple[Draw, ...]
    starts: frozenset[bytes]

    @property
    def tokens(self) -> tuple[str, ...]:
        """Words of the output; none if it is a refusal."""
        return () if isinstance(self.output, Refusal) else tuple(self.output.split())

    @property
    def numbers(self) -> int:
        """Count of the random numbers that were drawn."""
        return sum(draw.numbers for draw in self.draws)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of its draws, in order."""
        return tuple(draw.kind for draw in self.draws)


@dataclass
class Seen:
    """All runs of one text.

    Attributes:
        runs: under the noises that all texts share.
        more: under noise of its own.
        far: under noise far in its tails.
        without: numbers that are drawn for the text without its word; None if not yet known.
    """

    runs: list[Run]
    more: list[Run] = field(default_factory=list)
    far: list[Run] = field(default_factory=list)
    without: int | None = None

    @property
    def every(self) -> list[Run]:
        """All of them; in the tails a refusal is an overflow, and says nothing."""
        return [*self.runs, *self.more, *(r for r in self.far if not isinstance(r.output, Refusal))]

    @property
    def constant(self) -> bool:
        """True if all of them gave the same output."""
        return len({str(run.output) for run in self.every}) == 1

    def at(self, place: int) -> set[str]:
        """Return the words that came out at a place."""
        return {run.tokens[place] for run in self.every if place < len(run.tokens)}

    @property
    def lengths(self) -> set[int]:
        """Numbers of words that came out."""
        return {len(run.tokens) for run in self.every}


class Rewriter:
    """A function that is called with noise of a tape."""

    def __init__(self, function: Function | str, epsilon: float | None, form: str) -> None:
        name = function if isinstance(function, str) else importable_name(function)
        self.function: Any = named_function(function) if isinstance(function, str) else function
        label = getattr(self.function, "__qualname__", type(self.function).__name__)
        self.name, self.form = name or str(label), form
        self.fixed_default = ""
        self._given, self._by_name, self._second = self._arguments(epsilon)
        self._kept = kept_places(self.function)
        self.runs, self.native = 0, False

    def _arguments(self, epsilon: float | None) -> tuple[dict[str, str], dict[str, Any], list[Any]]:
        """Return generators to give by name, other arguments by name, and those by place."""
        try:
            parameters = list(inspect.signature(self.function).parameters.values())
        except (TypeError, ValueError):  # some built-in functions have no signature
            return {}, {}, []
        kinds = inspect.Parameter
        named = [
            p for p in parameters if p.kind in {kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY}
        ]
        generators = {p.name: str(p.annotation) for p in named if p.name in _GENERATORS}
        for parameter in named:
            fixed = isinstance(parameter.default, int) and not isinstance(parameter.default, bool)
            if parameter.name in generators and fixed:
                self.fixed_default = f"{parameter.name} = {parameter.default}"
        takes = [p.name for p in named if p.name in {"epsilon", "eps"}]
        by_name = dict.fromkeys(takes, epsilon) if epsilon is not None else {}
        needed = [
            p.name
            for p in parameters
            if p.default is kinds.empty
            and p.kind not in {kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD}
            and p.name not in {*generators, *by_name}
        ]
        second = [epsilon] if len(needed) == 2 and epsilon is not None and not by_name else []
        if len(needed) > 1 + len(second) or not parameters:
            listed = ", ".join(needed) or "nothing"
            raise ParameterError(
                f"{self.name} must take a text, or a text and ε (then name the ε); what it needs "
                f"is: {listed[:100]}"
            )
        return generators, by_name, second

    def run(self, words: Sequence[str], tape: Tape) -> Run:
        """Call the function once."""
        self.runs += 1
        before = _native_state()
        with recording(tape, self._kept), without_printing(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numbers from far tails overflow
            generators = {name: given_generator(name, kind) for name, kind in self._given.items()}
            tape.draws.clear()
            argument = list(words) if self.form == "words" else " ".join(words)
            try:
                result = self.function(argument, *self._second, **generators, **self._by_name)
                output = self._output(result)
            except (Exception, SystemExit) as error:  # a foreign function may raise anything
                output = Refusal(f"{type(error).__name__}: {' '.join(str(error).split())[:100]}")
        self.native |= before != _native_state()
        return Run(output, tuple(tape.draws), frozenset(tape.starts))

    def _output(self, result: Any) -> Output:
        if self.form == "words" and isinstance(result, Iterable) and not isinstance(result, str):
            parts = [plain_output(part) for part in result]
            wrong = [part for part in parts if isinstance(part, Refusal)]
            return wrong[0] if wrong else " ".join(map(str, parts))
        return plain_output(result)


def _native_state() -> bytes:
    """Return the state of torch's generator, if it is loaded: it cannot be played again here."""
    torch = sys.modules.get("torch")
    try:
        return b"" if torch is None else bytes(torch.get_rng_state().numpy().tobytes())
    except Exception:  # half imported, or another release
        return b""


# Texts: of each, some neighbours that differ in one word.


def neighbours(
    lexicon: Lexicon | None, texts: Sequence[str] | None, form: str, seed: int
) -> list[list[Text]]:
    """Return groups of neighbours; any two of a group differ in one word, at one place."""
    rng = generator(seed, "audit", "replay")
    texts_and_places: list[tuple[tuple[str, ...], tuple[int, ...], tuple[str, ...]]] = []
    if texts is not None:
        listed = isinstance(texts, list | tuple) and len(texts) > 0
        if not (listed and all(isinstance(t, str) and t.split() for t in texts)):
            raise ParameterError("texts is a list of texts, each of one word at least")
        pool = _pool(lexicon, [word for text in texts for word in text.split()])
        for text in texts:
            words = tuple(text.split())
            chosen = sorted(rng.permutation(len(words))[:_PLACES].tolist())
            texts_and_places.append((words, tuple(chosen), _drawn(pool, words, rng)))
    elif lexicon is not None:
        pool = _pool(lexicon, ())
        for _ in _TEXTS:
            # At most half of the vocabulary: the others take the place of a word.
            order = rng.permutation(len(pool))[: min(_LENGTH, max(1, len(pool) // 2))]
            words = tuple(pool[i] for i in order)
            spots = (0, len(words) // 2)[: min(_PLACES, len(words))]
            texts_and_places.append((words, spots, _drawn(pool, words, rng)))
    else:
        texts_and_places = [
            (tuple(text.split()), places, others) for text, places, others in _TEXTS
        ]
    if form == "word":
        every = dict.fromkeys(
            word for words, _, others in texts_and_places for word in (*words, *others)
        )
        texts_and_places = [((next(iter(every)),), (0,), tuple(every)[1:])]
    vocabulary = frozenset(lexicon.words) if lexicon is not None else frozenset[str]()
    scenes = []
    for words, places, others in texts_and_places:
        for place in places:
            first, second = (unknown_texts(vocabulary, rng) for _ in range(2))
            strange = (
                first["a made-up word"][0], second["a made-up word"][0], first["a number"][0]
            )  # fmt: skip
            scenes.append(
                [
                    Text((*words[:place], word, *words[place + 1 :]), place, word in strange)
                    for word in dict.fromkeys((words[place], *others, *strange))
                    if word == words[place] or word not in words
                ]
            )
    return scenes


def _pool(lexicon: Lexicon | None, words: Sequence[str]) -> list[str]:
    """Return words that may take the place of others, each of them one word of a text."""
    if lexicon is not None:
        words = [word for word in lexicon.words if len(word.split()) == 1]
    else:
        words = [
            *words,
            *(word for text, _, others in _TEXTS for word in (*text.split(), *others)),
        ]
    if not words:
        raise ParameterError("the lexicon has no word without a space, as a text needs")
    return list(dict.fromkeys(words))


def _drawn(pool: Sequence[str], words: Sequence[str], rng: np.random.Generator) -> tuple[str, ...]:
    """Draw three words that a text does not have."""
    others = [pool[i] for i in rng.permutation(len(pool)) if pool[i] not in words]
    return tuple(others[:3])
