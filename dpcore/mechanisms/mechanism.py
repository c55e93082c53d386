"""The one protocol of all word mechanisms.

A `Mechanism` is a family indexed by ε over one lexicon: everything but ε is fixed when it is
made (and public). It answers four questions: what is promised at ε (`guarantee`), what comes out
(`sample`, for release), what *would* come out of one noise draw at every ε (`paths`, for looking
only), and with which probability (`law`).

Never release outputs of one draw at two ε: the noise cancels. That is why `paths` and `sample`
are different methods.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from dpcore.errors import EpsilonError, ParameterError
from dpcore.guarantee import EpsilonMeaning
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from dpcore.guarantee import Guarantee
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.neighbours import NeighbourIndex
    from dpcore.lexicon.ranking import Ranking
    from dpcore.mechanisms.law import Effort, FloatArray, IntArray, Law
    from dpcore.mechanisms.path import EpsilonPaths


BATCH = 512
"""Noisy vectors that share one matrix product; it changes no result."""


@dataclass(frozen=True)
class EpsilonRange:
    """The open interval of admissible ε, with the reason for each end."""

    low: float = 0.0
    high: float = math.inf
    low_reason: str = ""
    high_reason: str = ""

    def __contains__(self, epsilon: float) -> bool:
        """Whether ε is a finite number strictly inside."""
        return bool(self.low < epsilon < self.high and epsilon < math.inf)


def parameter(
    default: Any,
    *,
    help: str,
    low: float | None = None,
    high: float | None = None,
    choices: Sequence[str] | None = None,
) -> Any:
    """A parameter of a mechanism: a dataclass field with its help and its closed bounds."""
    return field(
        default=default,
        metadata={"help": help, "low": low, "high": high, "choices": choices},
    )


def _fits(value: object, annotation: str) -> bool:
    """Whether a value is of the annotated type: str, int or float, or None where allowed."""
    if value is None:
        return "None" in annotation
    if isinstance(value, bool):
        return False
    kinds: dict[str, tuple[type, ...]] = {"str": (str,), "int": (int,), "float": (int, float)}
    return isinstance(value, kinds[annotation.split(" ")[0]])


@dataclass(frozen=True, eq=False, kw_only=True)
class Mechanism(ABC):
    """A family of randomised maps from words to words, indexed by ε.

    Attributes:
        lexicon: words and vectors, public and fixed before any private text is read.
    """

    key: ClassVar[str]
    """Versioned registry key: a changed formula is a new key."""
    short: ClassVar[str]
    """Name on the command line and in links."""
    title: ClassVar[str]
    summary: ClassVar[str]
    """One sentence for a person who has not read the paper."""
    source: ClassVar[str]
    meaning: ClassVar[EpsilonMeaning]
    accepts_approximate_search: ClassVar[bool] = False
    """True only if the search sees nothing but the noisy vector (post-processing)."""
    exact_law: ClassVar[bool] = False
    """Whether `law` computes the probabilities instead of estimating them."""

    lexicon: Lexicon

    @property
    def caution(self) -> str:
        """What to know before it is taken on this lexicon, with computed numbers; "" if nothing."""
        return ""

    def __deepcopy__(self, _memo: object) -> Self:
        """Itself: it cannot change, and what it keeps of its lexicon is large."""
        return self

    # -- parameters

    @classmethod
    def parameters(cls) -> dict[str, dict[str, Any]]:
        """Name, type, default, help and bounds of each parameter, in order."""
        return {
            f.name: {"default": f.default, "type": f.type, **f.metadata}
            for f in fields(cls)
            if f.name != "lexicon" and f.default is not MISSING and f.metadata
        }

    def settings(self) -> dict[str, Any]:
        """The values of this mechanism's parameters."""
        return {name: getattr(self, name) for name in self.parameters()}

    def __post_init__(self) -> None:
        """Check every parameter against its declared type and bounds (NaN fails)."""
        for name, declared in self.parameters().items():
            value = getattr(self, name)
            if not _fits(value, str(declared["type"])):
                msg = f"{name} of {self.short} must be of type {declared['type']}, got {value!r}"
                raise ParameterError(msg)
            low, high, choices = declared["low"], declared["high"], declared["choices"]
            if choices is not None and value not in choices:
                msg = f"{name} of {self.short} must be one of {', '.join(choices)}, got {value}"
                raise ParameterError(msg)
            if value is None or (low is None and high is None):
                continue
            low, high = (-math.inf if low is None else low), (math.inf if high is None else high)
            if not low <= value <= high:
                msg = f"{name} of {self.short} must be in [{low:g}, {high:g}], got {value}"
                raise ParameterError(msg)

    # -- ε

    @property
    def admissible(self) -> EpsilonRange:
        """The values of ε for which this mechanism is defined on this lexicon."""
        return EpsilonRange()

    def check_epsilon(self, epsilon: float) -> float:
        """ε as a float, or an `EpsilonError` that says what is allowed."""
        try:
            value = float(epsilon)
        except (TypeError, ValueError, OverflowError):
            value = math.nan
        allowed = self.admissible
        if value in allowed:
            return value
        if not 0 < value < math.inf:
            msg = f"epsilon must be a finite number > 0, got {str(epsilon)[:40]}"
        elif not value > allowed.low:
            msg = (
                f"epsilon of {self.short} must be > {allowed.low:.6g} for this lexicon "
                f"({allowed.low_reason}), got {value:g}"
            )
        else:
            msg = (
                f"epsilon of {self.short} must be < {allowed.high:.6g} for these settings "
                f"({allowed.high_reason}), got {value:g}"
            )
        raise EpsilonError(msg)

    def check_epsilons(self, epsilons: float | FloatArray | Sequence[float]) -> FloatArray:
        """A one-dimensional array of admissible ε, checked one by one."""
        values = np.atleast_1d(np.asarray(epsilons, dtype=np.float64))
        for value in values:
            self.check_epsilon(float(value))
        return values

    def check_words(self, words: IntArray | Sequence[int | str] | str) -> IntArray:
        """Words, or their indices, as a one-dimensional int64 array inside the vocabulary.

        Raises:
            UnknownWordError: a word is not in the vocabulary; the message names it.
            ParameterError: an index is outside it.
        """
        if isinstance(words, str):
            words = [words]
        if not (isinstance(words, np.ndarray) and words.dtype.kind in "iu"):
            words = [self.lexicon.index(w) if isinstance(w, str) else w for w in words]
        indices = np.atleast_1d(np.asarray(words, dtype=np.int64))
        if not (indices.ndim == 1 and np.all((indices >= 0) & (indices < len(self.lexicon)))):
            msg = f"word indices must lie in 0..{len(self.lexicon) - 1}"
            raise ParameterError(msg)
        return indices

    def check_search(self, *, exact: bool) -> None:
        """Refuse an approximate search where it would break the guarantee."""
        if exact or self.accepts_approximate_search:
            return
        msg = (
            f"{self.short} selects among true neighbours of the private word: an approximate "
            "index would break its guarantee; use an exact one"
        )
        raise ParameterError(msg)

    def check_index(self, index: NeighbourIndex | None) -> None:
        """As `check_search`, for an index or none."""
        self.check_search(exact=index is None or index.exact)

    def noisy_vectors(
        self, rng: np.random.Generator, words: IntArray, epsilon: float
    ) -> FloatArray:
        """The vectors of words with fresh noise, before a word is sought near them, float64.

        For what is computed from nothing else (post-processing, such as a decoder): it has this
        mechanism's guarantee. The numbers themselves are not for publishing: float64 noise shows
        in its last digits what it was added to (Mironov 2012).

        Returns:
            Shape (k, p): p is the dimension of the noise.

        Raises:
            ParameterError: this mechanism chooses among words, and has no such vectors.
        """
        raise ParameterError(
            f"{self.short} chooses among words and has no noisy vectors; take a mechanism that "
            "adds noise to vectors, such as gaussian, laplace or madlib"
        )

    # -- the four questions

    @abstractmethod
    def guarantee(self, epsilon: float) -> Guarantee:
        """What is promised at ε, with its status."""

    @abstractmethod
    def sample(
        self,
        rng: np.random.Generator,
        words: IntArray,
        epsilon: float,
        *,
        index: NeighbourIndex | None = None,
    ) -> IntArray:
        """One output per entry of `words` (k,), each with fresh independent noise: for release."""

    @abstractmethod
    def paths(
        self,
        rng: np.random.Generator,
        words: IntArray,
        *,
        rankings: Sequence[Ranking] | None = None,
        epsilons: FloatArray | None = None,
    ) -> EpsilonPaths:
        """One draw per entry of `words` (k,), its output as a function of ε: for looking only.

        Args:
            rng: source of randomness.
            words: word indices, shape (k,).
            rankings: the vocabulary by Euclidean distance from each entry, if already known.
            epsilons: the grid on which a mechanism without exact breakpoints is evaluated.
        """

    @abstractmethod
    def law(
        self,
        word: int | str,
        epsilon: float | FloatArray | Sequence[float],
        *,
        rng: np.random.Generator | None = None,
        ranking: Ranking | None = None,
        effort: Effort | None = None,
    ) -> Law:
        """The output distribution of one word at one ε or several: exact, or an estimate.

        Args:
            word: the word, or its index.
            epsilon: one ε, or E of them, shape (E,).
            rng: of an estimate; None takes `estimating`, the same at every call. An exact law
                ignores it.
            ranking: the vocabulary by Euclidean distance from the word, if already known.
            effort: how hard an estimate works.

        Raises:
            UnknownWordError: the word is not in the vocabulary; the message names it.
            EpsilonError: an ε is not admissible.
        """

    # -- what follows from them

    def estimating(self) -> np.random.Generator:
        """The stream of an estimate for which none was given: the same at every call.

        Who looks twice sees one picture, and laws of two words or two ε share their noise, so
        that their difference shows more than chance. It protects nothing: releases never use it.
        """
        return generator(0, "law", self.key)

    def replace(self, word: int | str, epsilon: float) -> str:
        """A word to publish in place of this one, with fresh noise from the operating system.

        Nobody can repeat the noise, hence no seed. Each call spends ε again: the promise for k
        words released in place of one is that of k·ε.

        Args:
            word: the private word, or its index.
            epsilon: the privacy parameter, in this mechanism's own meaning.

        Raises:
            UnknownWordError: the word is not in the vocabulary; the message names it.
            EpsilonError: ε is not admissible.
        """
        output = self.sample(generator(None), self.check_words([word]), epsilon)
        return self.lexicon.words[int(output[0])]
