"""Settings of a mechanism: a lexicon, parameters with bounds, and the admissible ε."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from dpcore.arguments import a_real, describe, reals
from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import EpsilonError, ParameterError
from dpcore.lexicon.lexicon import Lexicon


@dataclass(frozen=True)
class EpsilonRange:
    """Open interval of admissible ε, with the reason for each end."""

    low: float = 0.0
    high: float = math.inf
    low_reason: str = ""
    high_reason: str = ""

    def __contains__(self, epsilon: float) -> bool:
        """Return True if ε is a finite number strictly inside."""
        return bool(self.low < epsilon < self.high and epsilon < math.inf)


def parameter(
    default: Any,
    *,
    help: str,
    low: float | None = None,
    high: float | None = None,
    choices: Sequence[str] | None = None,
) -> Any:
    """Declare a parameter of a mechanism: a dataclass field with its help and its closed bounds."""
    return field(
        default=default,
        metadata={"help": help, "low": low, "high": high, "choices": choices},
    )


def _fits(value: object, annotation: str) -> bool:
    """Return True for a value of the annotated type: str, int or float, or None where allowed."""
    if value is None:
        return "None" in annotation
    if isinstance(value, bool):
        return False
    kinds: dict[str, tuple[type, ...]] = {"str": (str,), "int": (int,), "float": (int, float)}
    return isinstance(value, kinds[annotation.split(" ")[0]])


def words_of(words: Any) -> Iterable[Any]:
    """Return several words as they are, and one word or index as a list of it."""
    if isinstance(words, np.ndarray):
        return np.atleast_1d(words)
    return words if isinstance(words, Iterable) and not isinstance(words, (str, bytes)) else [words]


@dataclass(frozen=True, eq=False, kw_only=True)
class Settings:
    """Lexicon and checked parameters of a mechanism, and checks of its arguments.

    Attributes:
        lexicon: words and vectors, public and fixed before any private text is read.
    """

    short: ClassVar[str]
    """Name on the command line and in links."""

    lexicon: Lexicon

    # -- parameters

    @classmethod
    def parameters(cls) -> dict[str, dict[str, Any]]:
        """Return the name, type, default, help and bounds of each parameter, in order."""
        return {
            # A type is a string only in a module with postponed annotations.
            f.name: {"default": f.default, "type": getattr(f.type, "__name__", str(f.type))}
            | dict(f.metadata)
            for f in fields(cls)
            if f.name != "lexicon" and f.default is not MISSING and f.metadata
        }

    def settings(self) -> dict[str, Any]:
        """Return the values of this mechanism's parameters."""
        return {name: getattr(self, name) for name in self.parameters()}

    def __post_init__(self) -> None:
        """Check every parameter against its declared type and bounds (NaN fails)."""
        for name, declared in self.parameters().items():
            value = getattr(self, name)
            if not _fits(value, str(declared["type"])):
                raise ParameterError(
                    f"{name} of {self.short} must be of type {declared['type']}, got "
                    f"{describe(value)}"
                )
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
        """Values of ε for which this mechanism is defined on this lexicon."""
        return EpsilonRange()

    def check_epsilon(self, epsilon: float) -> float:
        """Return ε as a float; raise an `EpsilonError` that states the admissible range."""
        value = a_real(epsilon, "epsilon", EpsilonError)
        allowed = self.admissible
        if value in allowed:
            return value
        if not 0 < value < math.inf:
            msg = f"epsilon must be a finite number > 0, got {describe(epsilon)}"
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
        """Return a one-dimensional array of admissible ε, checked one by one.

        It may be empty: a mechanism may admit no ε of a slider on some lexicons.
        """
        values = reals(epsilons, "epsilon", EpsilonError, least=0)
        for value in values:
            self.check_epsilon(float(value))
        return values

    def check_words(self, words: IntArray | Sequence[int | str] | str) -> IntArray:
        """Return words or indices as a one-dimensional int64 array inside the vocabulary.

        Raises:
            UnknownWordError: a word is not in the vocabulary; the message names it.
            ParameterError: an index is outside it.
        """
        if not (isinstance(words, np.ndarray) and words.dtype.kind in "iu"):
            words = [
                self.lexicon.index(w) if isinstance(w, str) else self._index(w)
                for w in words_of(words)
            ]
        indices = np.atleast_1d(np.asarray(words, dtype=np.int64))
        if not (indices.ndim == 1 and np.all((indices >= 0) & (indices < len(self.lexicon)))):
            msg = f"word indices must lie in 0..{len(self.lexicon) - 1}"
            raise ParameterError(msg)
        return indices

    def _index(self, word: object) -> int:
        whole = isinstance(word, (int, np.integer)) and not isinstance(word, bool)
        if whole and 0 <= word < len(self.lexicon):  # type: ignore[operator]
            return int(word)  # type: ignore[call-overload, no-any-return]
        raise ParameterError(
            f"word indices must lie in 0..{len(self.lexicon) - 1}, got {describe(word)}"
        )
