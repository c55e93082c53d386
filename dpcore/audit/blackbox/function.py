"""A function under test: how it is found and called, what it cost, and what it refused."""

from __future__ import annotations

import contextlib
import inspect
import io
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import Any

from dpcore.errors import ParameterError

Function = Callable[..., Any]
_SHOWN = 120  # characters of what a function says when it refuses a word


class Form(StrEnum):
    """What a function is given, beside ε if it takes one."""

    AUTO = "auto"
    """Found out by calling it."""
    WORD = "word"
    """One word; it returns one."""
    WORDS = "words"
    """A list of words; it returns as many, in their order."""


@dataclass(frozen=True)
class Refusal:
    """What came out instead of a word: an exception, or an object that is no word."""

    reason: str

    def __str__(self) -> str:
        """As it is shown among outputs."""
        return f"⟨{self.reason}⟩"


Output = str | Refusal


def named_function(name: str) -> Function:
    """The function of `package.module:function`; a method is `package.module:Class.method`.

    Raises:
        ParameterError: there is no such module or function, or importing the module failed.
    """
    module, colon, path = name.partition(":")
    shown = name[:100]
    if not (colon and module and path and all(map(str.isidentifier, module.split(".")))):
        raise ParameterError(
            f"a function is named as package.module:function, got {shown!r}; for a file noise.py "
            "in this folder that is noise:function"
        )
    try:
        with _printing_aside():
            target: Any = import_module(module)
    except (Exception, SystemExit) as error:  # whatever a foreign module does when it is imported
        if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
            raise ParameterError(
                f"there is no module {error.name!r} for {shown!r}: is it installed beside dpcore, "
                "or is its file in this folder?"
            ) from None
        raise ParameterError(f"module {module!r} cannot be imported: {_complaint(error)}") from None
    for part in path.split("."):
        try:
            with _printing_aside():
                target = getattr(target, part)
        except (Exception, SystemExit) as error:
            if isinstance(error, AttributeError):
                raise ParameterError(f"module {module!r} has no {path[:60]!r}") from None
            raise ParameterError(f"{shown!r} cannot be had: {_complaint(error)}") from None
    if not callable(target):
        raise ParameterError(f"{shown!r} is no function but a value of type {_type(target)}")
    return target  # type: ignore[no-any-return]


def importable_name(function: Function) -> str | None:
    """A name by which another process finds this very function; None if there is none."""
    module, path = (getattr(function, part, None) for part in ("__module__", "__qualname__"))
    if not (isinstance(module, str) and isinstance(path, str)) or module == "__main__":
        return None
    try:
        same = named_function(f"{module}:{path}") is function
    except ParameterError:  # a lambda, or a function inside another one
        return None
    return f"{module}:{path}" if same else None


class WordFunction:
    """A function from words to words at one ε, and what calling it has cost.

    Attributes:
        name: as it was given, or its importable name; else what it is called in its own module.
        importable: a name for another process; None if there is none.
        form: WORD or WORDS, once `settle` has found out.
        calls: words that were handed over.
        seconds: all calls together.
        parted: lists that were refused and asked again word by word.
        singly: whether words are handed over in lists of one from now on.
    """

    def __init__(self, function: Function | str, epsilon: float, form: Form | str) -> None:
        """Take a function, or its name; it is not called yet.

        Raises:
            ParameterError: it cannot be found, or its arguments are neither a word nor a word
                and ε.
        """
        self.importable: str | None
        if isinstance(function, str):
            self.name, self.importable = function, function
            function = named_function(function)
        else:
            self.importable = importable_name(function)
            label = getattr(function, "__qualname__", None) or _type(function)
            self.name = self.importable or str(label)
        try:
            self.form = Form(str(form))
        except ValueError:
            known = ", ".join(Form)
            raise ParameterError(f"a form is one of {known}, got {str(form)[:40]!r}") from None
        self._call = _with_epsilon(function, epsilon, self.name)
        self.calls, self.seconds = 0, 0.0
        self.parted, self.singly = 0, False

    def settle(self, words: Iterable[str]) -> None:
        """Find out what the function takes, with the first of some words that it takes at all.

        Raises:
            ParameterError: it takes none of them, in any form; the message says what it did.
        """
        last = Refusal("nothing")
        for word in words:
            for form in (Form.WORD, Form.WORDS) if self.form is Form.AUTO else (self.form,):
                (output,) = self._outputs([word], form)
                if isinstance(output, str):
                    self.form = form
                    return
                if form is not Form.WORDS or self.form is Form.WORDS:
                    last = output
        raise ParameterError(
            f"{self.name} gave no word for any of the words that were tried, but {last.reason}: "
            "a function of a word that returns a word is needed, or (form words) of a list of "
            "words that returns as many"
        )

    def outputs(self, words: Sequence[str]) -> list[Output]:
        """What comes out for each word, in order, each with noise of its own."""
        return self._outputs(words, self.form)

    def _outputs(self, words: Sequence[str], form: Form) -> list[Output]:
        start = time.perf_counter()
        try:
            with _printing_aside():
                if form is Form.WORD:
                    return [self._one(word) for word in words]
                return self._list(list(words))
        finally:
            self.seconds += time.perf_counter() - start
            self.calls += len(words)

    def _one(self, word: str) -> Output:
        try:
            return _output(self._call(word))
        except (Exception, SystemExit) as error:
            return Refusal(_complaint(error))

    def _list(self, words: list[str]) -> list[Output]:
        if self.singly and len(words) > 1:
            return [self._list([word])[0] for word in words]
        try:
            result = self._call(list(words))
        except (Exception, SystemExit) as error:
            if len(words) == 1:
                return [Refusal(_complaint(error))]
            # One word that is refused takes its list along: the others are asked one by one.
            self.parted += 1
            self.calls += len(words)
            return [self._list([word])[0] for word in words]
        if isinstance(result, str) or not isinstance(result, Iterable):
            return [Refusal(f"a value of type {_type(result)} for a list of words")] * len(words)
        outputs = [_output(value) for value in result]
        if len(outputs) != len(words):
            reason = f"{len(outputs)} values for a list of {len(words)} words"
            return [Refusal(reason)] * len(words)
        return outputs


def _with_epsilon(function: Function, epsilon: float, name: str) -> Callable[[Any], Any]:
    """The function of its first argument alone."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some built-in functions do not say
        return function
    kinds = inspect.Parameter
    for parameter in parameters:
        if parameter.name in {"epsilon", "eps"} and parameter.kind is not kinds.VAR_KEYWORD:
            if parameter.kind is kinds.POSITIONAL_ONLY:
                break
            return lambda given: function(given, **{parameter.name: epsilon})
    positional = {kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD}
    needed = [
        p
        for p in parameters
        if p.default is kinds.empty and p.kind not in {kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD}
    ]
    takes = [p for p in parameters if p.kind in {*positional, kinds.VAR_POSITIONAL}]
    if not takes or len(needed) > 2 or any(p.kind not in positional for p in needed):
        listed = ", ".join(p.name for p in needed) or "none"
        raise ParameterError(
            f"{name} must take a word, or a word and ε; what it needs is: {listed[:100]}"
        )
    if len(needed) == 2:
        return lambda given: function(given, epsilon)
    return function


def _output(value: object) -> Output:
    # numpy's strings are strings; plain ones compare and print alike everywhere.
    return str(value) if isinstance(value, str) else Refusal(f"a value of type {_type(value)}")


def _type(value: object) -> str:
    return type(value).__name__


def _complaint(error: BaseException) -> str:
    """What an exception says, on one line of bounded length."""
    text = " ".join(str(error).split())
    text = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    return f"{_type(error)}: {text}" if text else _type(error)


class _Nowhere(io.TextIOBase):
    """Takes whatever is printed."""

    def write(self, text: str) -> int:
        """Forget it."""
        return len(text)


def _printing_aside() -> contextlib.redirect_stdout[_Nowhere]:
    """What a foreign function prints, once a call, is nothing that a person could read."""
    return contextlib.redirect_stdout(_Nowhere())
