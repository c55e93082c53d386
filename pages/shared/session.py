"""Bench of a session, shared lexicons and mechanisms, and the example sentences.

A session has one bench, made again when the text or an option changes. The sentence that all
sessions begin with is public, and has one bench for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import streamlit as st

from dpcore.arrays import FloatArray
from dpcore.errors import EpsilonError
from dpcore.guarantee import Guarantee
from dpcore.lexicon import catalogue
from dpcore.lexicon.cache import only_in_memory
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric, distances
from dpcore.measure.directions import output_tally
from dpcore.mechanisms.additive.additive import SharedDirections
from dpcore.mechanisms.law import Law
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.path import EpsilonPaths
from dpcore.mechanisms.registry import create
from dpcore.rewrite.policy import Treatment
from dpcore.rewrite.redact.redaction import Redaction, redact
from dpcore.rewrite.sentence import Sentence, SentenceDraw, draw, prepare, redraw
from pages.shared.dial import group_of
from pages.shared.language import Waiting, later
from pages.shared.once import latest, memo, once, session_memo
from pages.shared.own_vectors import NAME, own_lexicon

if TYPE_CHECKING:
    from pages.shared.sidebar import Choices


# Per-session cache of draws, laws and guarantees for one text.
#
# The bench of a typed text is kept in the session state only: nothing in it is shared between
# people. That of the first example is shared, and used by several sessions at once.


_KEPT_DRAWS = 400  # places with many draws: two mechanisms of a text of the greatest length
_KEPT_LAWS = 24  # a law over the whole vocabulary takes some 400 kB
_Grid: TypeAlias = tuple[float, ...]


@dataclass
class Bench:
    """Cached results for one sentence.

    The memos are keyed by the mechanism itself, so that another setting is another key.

    Attributes:
        sentence: the typed text, read under one set of options.
        shared: public noise directions that estimate laws.
        sent: data sent to components of the pages; never modified.
    """

    sentence: Sentence
    shared: SharedDirections
    sent: dict[tuple[object, ...], dict[str, Any]] = field(default_factory=dict)
    _draws: dict[tuple[Mechanism, int, int, tuple[float, ...]], SentenceDraw] = field(
        default_factory=dict
    )
    _many: dict[tuple[Mechanism, int, int, int, _Grid], EpsilonPaths] = field(default_factory=dict)
    _laws: dict[tuple[Mechanism, int, _Grid], Law] = field(default_factory=dict)
    _outputs: dict[tuple[Mechanism, int, int, _Grid], tuple[FloatArray, ...]] = field(
        default_factory=dict
    )
    _changes: dict[tuple[Mechanism, int, float], float] = field(default_factory=dict)
    _logarithms: dict[tuple[Mechanism, int, int, float], float] = field(default_factory=dict)
    _promises: dict[tuple[Mechanism, float], Guarantee] = field(default_factory=dict)
    _redactions: dict[str, Redaction] = field(default_factory=dict)

    @property
    def lexicon(self) -> Lexicon:
        """The vocabulary."""
        return self.sentence.lexicon

    def word(self, place: int) -> int:
        """Return the lexicon index of the word at an open place; −1 for an unknown one."""
        return int(self.sentence.words[place])

    def label(self, place: int) -> str:
        """Return the word at an open place as it was read; it may be typed text."""
        slot = self.sentence.encoding.open_slots[place]
        if slot.index >= 0:
            return self.lexicon.words[slot.index]
        return self.sentence.tokens[slot.source].text

    def first_content_word(self) -> int:
        """Return the first place whose word is not a function word; 0 if there is none."""
        language = self.sentence.encoding.language
        places = range(self.sentence.protected)
        return next(
            (i for i in places if language.lower(self.label(i)) not in language.stop_words), 0
        )

    def has_redaction(self, redactor: str) -> bool:
        """Return True if the result of this redactor is cached."""
        return redactor in self._redactions

    def redaction(self, text: str, redactor: str) -> Redaction:
        """Return the redaction of the text by a redactor.

        Args:
            text: typed text of this bench.
            redactor: its name.

        Raises:
            DpcoreError: its packages are not installed, or the text is too long.
        """
        return memo(self._redactions, redactor, lambda: redact(text, redactor))

    def has_draw(self, mechanism: Mechanism, seed: int, number: int) -> bool:
        """Return True if this draw is cached."""
        return (mechanism, seed, number, ()) in self._draws

    def draw(
        self, mechanism: Mechanism, seed: int, number: int, grid: tuple[float, ...] = ()
    ) -> SentenceDraw:
        """Draw noise once for every ε.

        Args:
            mechanism: the mechanism.
            seed: seed of the noise.
            number: number of the draw.
            grid: the ε, ascending, for a mechanism whose paths are not exact; those of the slider
                if there is none.
        """

        def compute() -> SentenceDraw:
            epsilons = np.array(grid) if grid else admissible(mechanism)
            return draw(self.sentence, mechanism, seed, number, epsilons=epsilons)

        return memo(self._draws, (mechanism, seed, number, grid), compute)

    def redraw(
        self, mechanism: Mechanism, seed: int, draws: int, place: int, epsilon: float
    ) -> EpsilonPaths:
        """Draw one place many times independently, for every ε of the dial, and for this one.

        One place at a time, so that a page can show progress and stop.
        """
        grid = _together(mechanism, epsilon)

        def compute() -> EpsilonPaths:
            epsilons = np.array(grid)
            return redraw(self.sentence, mechanism, place, seed, draws, epsilons=epsilons)

        return memo(self._many, (mechanism, seed, draws, place, grid), compute, _KEPT_DRAWS)

    def has_redraw(
        self, mechanism: Mechanism, seed: int, draws: int, place: int, epsilon: float
    ) -> bool:
        """Return True if these draws are cached."""
        return (mechanism, seed, draws, place, _together(mechanism, epsilon)) in self._many

    def has_law(self, mechanism: Mechanism, word: int, epsilon: float) -> bool:
        """Return True if this law is cached."""
        return (mechanism, word, _along_rays(mechanism, epsilon)) in self._laws

    def law(self, mechanism: Mechanism, word: int, epsilon: float) -> tuple[Law, int]:
        """Return the law of a word, and the position of ε in it.

        An estimate over shared directions is made for the whole grid at once, since one set of
        directions serves every ε; any other law, or one at another ε, is computed for this ε alone.
        """
        epsilons = _along_rays(mechanism, epsilon)

        def compute() -> Law:
            ranking = self.sentence.rankings(np.array([word]))[0]
            return self.shared.law(mechanism, word, np.array(epsilons), ranking)

        law = memo(self._laws, (mechanism, word, epsilons), compute, _KEPT_LAWS)
        return law, int(np.argmin(np.abs(law.epsilons - epsilon)))

    def probability(
        self, mechanism: Mechanism, word: int, output: int, epsilon: float
    ) -> tuple[float, float, float]:
        """Return the probability of an output with the ends of its interval: all equal if exact.

        An estimate is made along rays towards this output: `law` may not have seen it.
        """
        if mechanism.exact_law:
            law, row = self.law(mechanism, word, epsilon)
            exact = law.probability(output, row)
            return exact, exact, exact

        epsilons = _along_rays(mechanism, epsilon)

        def compute() -> tuple[FloatArray, ...]:
            ranking = self.sentence.rankings(np.array([word]))[0]
            grid = np.array(epsilons)
            tally = output_tally(mechanism, word, output, grid, ranking, self.shared)
            return tally.value, *tally.interval()

        each = memo(self._outputs, (mechanism, word, output, epsilons), compute, _KEPT_LAWS)
        row = epsilons.index(epsilon)
        value, low, high = (float(numbers[row]) for numbers in each)
        return value, low, high

    def log_probability(
        self, mechanism: Mechanism, word: int, output: int, epsilon: float
    ) -> float:
        """Return ln of P(output) under an exact law; it does not underflow where P does."""

        def compute() -> float:
            ranking = self.sentence.rankings(np.array([word]))[0]
            return float(mechanism.log_law(word, epsilon, ranking=ranking)[output])

        return memo(self._logarithms, (mechanism, word, output, epsilon), compute)

    def log_change(self, mechanism: Mechanism, word: int, epsilon: float) -> float:
        """Return ln of the probability that a word does not stay, of an exact law.

        Summed from the logarithms of all other outputs: where a word stays almost certainly, its
        probability is rounded to 1, and 1 − P would be 0. It is −∞ where all others underflow.
        """

        def compute() -> float:
            ranking = self.sentence.rankings(np.array([word]))[0]
            others = np.delete(mechanism.log_law(word, epsilon, ranking=ranking), word)
            return float(np.logaddexp.reduce(others))

        return memo(self._changes, (mechanism, word, epsilon), compute)

    def promise(self, mechanism: Mechanism, epsilon: float) -> Guarantee | None:
        """Return the guarantee at ε, or None where the mechanism is not defined."""
        try:
            return memo(self._promises, (mechanism, epsilon), lambda: mechanism.guarantee(epsilon))
        except EpsilonError:
            return None

    def distance(self, word: int, outputs: list[int]) -> list[float]:
        """Return the true Euclidean distances of outputs from a word."""
        vectors = self.lexicon.vectors
        far = distances(vectors[outputs], vectors[[word]], Metric.EUCLIDEAN)[0]
        # The root of a rounded difference of squares need not be 0 for the word itself.
        return [0.0 if o == word else float(d) for o, d in zip(outputs, far, strict=True)]

    def neighbours(self, word: int, count: int) -> list[int]:
        """Return the words nearest to a word, without the word itself."""
        order = self.sentence.rankings(np.array([word]))[0].order
        return [int(i) for i in order[: count + 1] if i != word][:count]


def admissible(mechanism: Mechanism) -> np.ndarray:
    """Return the ε of the slider at which a mechanism is defined, ascending."""
    grid = group_of(mechanism.meaning).grid
    return np.array([epsilon for epsilon in grid if epsilon in mechanism.admissible])


def _along_rays(mechanism: Mechanism, epsilon: float) -> _Grid:
    """Return the ε that are computed with this one: along rays one estimate serves the dial."""
    return (epsilon,) if mechanism.rays is None else _together(mechanism, epsilon)


def _together(mechanism: Mechanism, epsilon: float) -> _Grid:
    """Return every ε of the dial if this one is among them, else this one alone."""
    grid = tuple(admissible(mechanism).tolist())
    return grid if epsilon in grid else (epsilon,)


# Results shared by all sessions: lexicons and mechanisms, which are public and immutable.
#
# Keys are names, fingerprints and settings; typed text is never part of one, and nothing derived
# from uploaded vectors is shared. The rule of `budget` is a typed setting: only a rule that the
# mechanism accepts gets so far, and that consists of names of kinds of words, and numbers.


T = TypeVar("T")
Settings = tuple[tuple[str, Any], ...]
Identity = tuple[str, str, Settings]


def of_lexicon(**options: Any) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Return `st.cache_resource` for a function whose first argument is a lexicon's fingerprint.

    Results from uploaded vectors are kept in their session alone.

    Args:
        options: options of `st.cache_resource`.
    """

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        shared: Callable[..., T] = st.cache_resource(**options)(function)

        @wraps(function)
        def call(fingerprint: str, *rest: Any) -> T:
            if not only_in_memory(fingerprint):
                return shared(fingerprint, *rest)
            slot = f"own {function.__module__}.{function.__qualname__}"
            return session_memo(slot, (fingerprint, *rest), lambda: function(fingerprint, *rest))

        return call

    return decorate


@st.cache_resource(max_entries=4, show_spinner=Waiting("Loading the lexicon…"))
def catalogued(name: str) -> Lexicon:
    """Load a lexicon of the catalogue, for all sessions.

    Raises:
        LexiconError: it is unknown or damaged.
    """
    return catalogue.load(name)


def lexicon(name: str) -> Lexicon:
    """Return a lexicon of the catalogue, by name, or the one uploaded in this session.

    Raises:
        LexiconError: it is unknown or damaged.
    """
    mine = own_lexicon() if name == NAME else None
    return catalogued(name) if mine is None else mine


@of_lexicon(max_entries=64, show_spinner=Waiting("Preparing a mechanism…"))
def _mechanism(
    fingerprint: str,  # noqa: ARG001 - represents the lexicon in the key of the cache
    key: str,
    settings: Settings,
    _lexicon: Lexicon,
) -> Mechanism:
    return create(key, _lexicon, dict(settings))


def mechanism(words: Lexicon, key: str, settings: Settings = ()) -> Mechanism:
    """Return a mechanism over a lexicon, made once for all sessions.

    Raises:
        DpcoreError: the key or a setting is invalid.
    """
    return _mechanism(words.fingerprint, key, settings, words)


def identity(mechanism: Mechanism) -> Identity:
    """Return a unique key of a mechanism: its lexicon's fingerprint, its key, its settings.

    Caches use this key, since the mechanism itself as a key would keep its lexicon in memory.
    """
    settings = tuple(sorted(mechanism.settings().items()))
    return mechanism.lexicon.fingerprint, mechanism.key, settings


@st.cache_data(ttl=60, show_spinner=False)
def lexicon_names() -> list[str]:
    """Return the names of the lexicons of the catalogue; read again after a minute."""
    return [entry.name for entry in catalogue.available()]


@of_lexicon(max_entries=2, show_spinner=False)
def directions(fingerprint: str) -> SharedDirections:  # noqa: ARG001 - the key of the cache
    """Return public noise directions, shared by all sessions, to estimate laws of words."""
    return SharedDirections()


# Example sentences, and the default mechanisms of the page.


PRESETS = {
    later(
        "hospital"
    ): "My doctor in the city hospital said that my sister needs a new heart medicine.",
    later("letter"): "Anna Keller moved to Berlin on 3 May 2024 and works for a small bank there.",
    later(
        "contact"
    ): "Please send the rent for the house to Tom, tom.hale@example.org, before Friday.",
    later("review"): "The food was cold, the waiter was rude and we will never eat there again!",
    later("message"): "I lost my job last week, so I cannot pay you the 250 dollars before winter.",
    later("trip"): "We flew from London to Paris with our dog and missed the last train home.",
}
"""Preset name -> sentence; the names are part of links."""

DEFAULT_PRESET = "hospital"

DEFAULT_MECHANISMS = (
    "madlib",
    "mahalanobis",
    "vickrey",
    "tem",
    "truncated-gumbel",
    "gaussian",
)
"""Short names of the default mechanisms."""

CURVE_MECHANISMS = ("madlib", "tem", "truncated-gumbel")
"""Default mechanisms of a page that measures whole curves: fast, one of each kind of method."""


_BENCH = "bench"
_READINGS = 4  # lexicons and options whose first bench is kept


def bench_for(text: str, words: Lexicon, choices: Choices) -> Bench:
    """Return the bench of this text under these options, from the session if it is the same.

    Raises:
        TextError: the text cannot be rewritten; the message says why and what is allowed.
    """
    if text == PRESETS[DEFAULT_PRESET]:
        st.session_state.pop(_BENCH, None)
        return first_bench(words, choices.treatment)
    identity = (text, words.fingerprint, choices.treatment)
    return latest(_BENCH, identity, lambda: _bench(text, words, choices.treatment))


def first_bench(words: Lexicon, treatment: Treatment) -> Bench:
    """Return the bench of the first example, so that fifty visitors need not each draw it."""
    return once(
        "first bench",
        (words.fingerprint, treatment),
        lambda: _bench(PRESETS[DEFAULT_PRESET], words, treatment),
        _READINGS,
    )


def _bench(text: str, words: Lexicon, treatment: Treatment) -> Bench:
    return Bench(prepare(text, words, treatment), directions(words.fingerprint))
