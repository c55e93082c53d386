"""A function under test: import, calls and their cost, probes of strings, repeated noise."""

from __future__ import annotations

import contextlib
import inspect
import io
import time
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import Any

import numpy as np

from dpcore.errors import DpcoreError, ParameterError
from dpcore.jobs.executors import Processes
from dpcore.jobs.worker import Json
from dpcore.lexicon.lexicon import Lexicon

Function = Callable[..., Any]
_SHOWN = 120  # characters of the message with which a function refuses a word


class Form(StrEnum):
    """Input of a function, beside ε if it takes one."""

    AUTO = "auto"
    """Found out by calling it."""
    WORD = "word"
    """One word; it returns one."""
    WORDS = "words"
    """A list of words; it returns as many, in their order."""


@dataclass(frozen=True)
class Refusal:
    """An output that is no word: an exception, or another object."""

    reason: str

    def __str__(self) -> str:
        """Return the reason as displayed among outputs."""
        return f"⟨{self.reason}⟩"


Output = str | Refusal


def named_function(name: str) -> Function:
    """Import `package.module:function`, or a method as `package.module:Class.method`.

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
        with without_printing():
            target: Any = import_module(module)
    except (Exception, SystemExit) as error:  # importing a foreign module may raise anything
        if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
            raise ParameterError(
                f"there is no module {error.name!r} for {shown!r}: is it installed beside dpcore, "
                "or is its file in this folder?"
            ) from None
        raise ParameterError(f"module {module!r} cannot be imported: {_complaint(error)}") from None
    for part in path.split("."):
        try:
            with without_printing():
                target = getattr(target, part)
        except (Exception, SystemExit) as error:
            if isinstance(error, AttributeError):
                raise ParameterError(f"module {module!r} has no {path[:60]!r}") from None
            raise ParameterError(f"{shown!r} cannot be had: {_complaint(error)}") from None
    if not callable(target):
        raise ParameterError(f"{shown!r} is no function but a value of type {_type(target)}")
    return target  # type: ignore[no-any-return]


def importable_name(function: Function) -> str | None:
    """Return a name by which another process finds this very function; None if there is none."""
    module, path = (getattr(function, part, None) for part in ("__module__", "__qualname__"))
    if not (isinstance(module, str) and isinstance(path, str)) or module == "__main__":
        return None
    try:
        same = named_function(f"{module}:{path}") is function
    except ParameterError:  # a lambda, or a function inside another one
        return None
    return f"{module}:{path}" if same else None


class WordFunction:
    """A function from words to words at one ε, and the cost of its calls.

    Attributes:
        name: as it was given, or its importable name; else its name in its own module.
        importable: a name for another process; None if there is none.
        form: WORD or WORDS, once `settle` has found out.
        calls: words that were handed over.
        seconds: all calls together.
        parted: lists that were refused and asked again word by word.
        singly: True if words are handed over in lists of one from now on.
    """

    def __init__(self, function: Function | str, epsilon: float, form: Form | str) -> None:
        """Take a function or its name, without calling it.

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
        """Find out the form of the function, with the first word that it takes.

        Raises:
            ParameterError: it takes none of the words, in any form; the message has its last reply.
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
        """Return the output of each word, in order, each with noise of its own."""
        return self._outputs(words, self.form)

    def _outputs(self, words: Sequence[str], form: Form) -> list[Output]:
        start = time.perf_counter()
        try:
            with without_printing():
                if form is Form.WORD:
                    return [self._one(word) for word in words]
                return self._list(list(words))
        finally:
            self.seconds += time.perf_counter() - start
            self.calls += len(words)

    def _one(self, word: str) -> Output:
        try:
            return plain_output(self._call(word))
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
            # One refused word takes its list along: the others are asked one by one.
            self.parted += 1
            self.calls += len(words)
            return [self._list([word])[0] for word in words]
        if isinstance(result, str) or not isinstance(result, Iterable):
            return [Refusal(f"a value of type {_type(result)} for a list of words")] * len(words)
        outputs = [plain_output(value) for value in result]
        if len(outputs) != len(words):
            reason = f"{len(outputs)} values for a list of {len(words)} words"
            return [Refusal(reason)] * len(words)
        return outputs


def _with_epsilon(function: Function, epsilon: float, name: str) -> Callable[[Any], Any]:
    """Return the function with ε filled in, so that it takes one argument."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some built-in functions have no signature
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


def plain_output(value: object) -> Output:
    """Return a string as it is, and anything else as a refusal."""
    # numpy's strings are strings; plain ones compare and print alike everywhere.
    return str(value) if isinstance(value, str) else Refusal(f"a value of type {_type(value)}")


def _type(value: object) -> str:
    return type(value).__name__


def _complaint(error: BaseException) -> str:
    """Return the message of an exception, on one line of bounded length."""
    text = " ".join(str(error).split())
    text = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    return f"{_type(error)}: {text}" if text else _type(error)


class _Nowhere(io.TextIOBase):
    """A stream that discards its text."""

    def write(self, text: str) -> int:
        """Discard the text."""
        return len(text)


def without_printing() -> contextlib.redirect_stdout[_Nowhere]:
    """Discard printed text: a foreign function may print on every call."""
    return contextlib.redirect_stdout(_Nowhere())


# Probes: do strings that are no words of the lexicon come through?
#
# A guarantee about the words of a vocabulary does not cover a telephone number, so the function is
# called with made-up strings.


CALLS = 20  # of each probe
_STARTS = "b d f g h k l m n p r s t v z br dr kl pl tr st".split()
_VOWELS = "a e i o u".split()
_SYLLABLES = 3


@dataclass(frozen=True)
class Tally:
    """Outputs for one string, counted.

    Attributes:
        text: the string that was handed over.
        calls: number of calls.
        unchanged: calls that gave it back, capital letters apart.
        capitals: calls whose output begins with a capital letter.
        refused: calls that raised an exception, or gave an object that is no word.
        outside: calls that gave another string that is not in the lexicon.
        refusal: the reason, if it was refused.
    """

    text: str
    calls: int
    unchanged: int
    capitals: int
    refused: int
    outside: int
    refusal: str = ""

    @classmethod
    def of(cls, function: WordFunction, text: str, lexicon: Lexicon) -> Tally:
        """Call the function `CALLS` times with a string."""
        outputs = function.outputs([text] * CALLS)
        words = [output for output in outputs if isinstance(output, str)]
        reasons = [output.reason for output in outputs if isinstance(output, Refusal)]
        others = [output for output in words if output.casefold() != text.casefold()]
        return cls(
            text=text,
            calls=len(outputs),
            unchanged=len(words) - len(others),
            capitals=sum(output[:1].isupper() for output in words),
            refused=len(reasons),
            outside=sum(
                output not in lexicon and output.lower() not in lexicon for output in others
            ),
            refusal=reasons[0] if reasons else "",
        )


@dataclass(frozen=True)
class Probe:
    """A kind of string that is no word of the lexicon, and its outputs.

    Attributes:
        kind: such as "an e-mail address".
        tally: the counted outputs.
        plain: of the same without its capital letter or space; None if it has none.
        error: probability with which a finding that compares the two may be wrong.
    """

    kind: str
    tally: Tally
    plain: Tally | None
    error: float

    @property
    def passed(self) -> bool:
        """True if it comes through: at all, or more often than its plain form."""
        if self.plain is None:
            return self.tally.unchanged > 0
        return self._more(self.tally.unchanged, self.plain.unchanged)

    @property
    def capitals_show(self) -> bool:
        """True if capital letters come out more often for it than for its plain form."""
        return self.plain is not None and self._more(self.tally.capitals, self.plain.capitals)

    def _more(self, first: int, second: int) -> bool:
        """Return True if `first` significantly exceeds `second` calls, by Fisher's exact test."""
        from scipy.stats import hypergeom

        return bool(hypergeom.sf(first - 1, 2 * CALLS, first + second, CALLS) <= self.error)


def unknown_texts(
    lexicon: Container[str], rng: np.random.Generator
) -> dict[str, tuple[str, str | None]]:
    """Make up strings that the lexicon lacks, by kind; in the form of `known_texts`."""

    def word() -> str:
        while True:
            parts = zip(
                rng.choice(_STARTS, _SYLLABLES), rng.choice(_VOWELS, _SYLLABLES), strict=True
            )
            text = "".join(start + vowel for start, vowel in parts)
            if text not in lexicon and text.capitalize() not in lexicon:
                return text

    digits = "".join(map(str, rng.integers(0, 10, 6)))
    name = word()
    return {
        "a made-up word": (word(), None),
        "a made-up name": (name.capitalize(), None),
        "a number": (f"7{digits}", None),
        "a telephone number": (f"+00-555-{digits}", None),
        "an e-mail address": (f"{word()}.{word()}@{word()}.example", None),
        "a made-up word with a hyphen": (f"{word()}-{word()}", None),
    }


def known_texts(words: Sequence[str], lexicon: Lexicon) -> dict[str, tuple[str, str | None]]:
    """Return spellings that the lexicon lacks of words that it has, by kind, each with its word."""
    plain = [word for word in words if word.isalpha() and word.islower() and word.isascii()][:2]
    if not plain:
        return {}
    texts: dict[str, tuple[str, str | None]] = {
        "a word with a capital letter": (plain[0].capitalize(), plain[0]),
        "a word in capital letters": (plain[0].upper(), plain[0]),
        "a word with a space before it": (f" {plain[0]}", plain[0]),
        "two words with a space between": (" ".join(plain), plain[0]),
    }
    return {kind: pair for kind, pair in texts.items() if pair[0] not in lexicon}


def probe(
    function: WordFunction, kind: str, text: str, plain: str | None, lexicon: Lexicon, error: float
) -> Probe:
    """Call the function a few times with a string, and as often with its plain form."""
    return Probe(
        kind,
        Tally.of(function, text, lexicon),
        None if plain is None else Tally.of(function, plain, lexicon),
        error,
    )


def unchanged_words(words: Sequence[str], outputs: Sequence[Output]) -> int:
    """Count the words that came out unchanged."""
    return sum(word == output for word, output in zip(words, outputs, strict=True))


# Repeated noise: is the noise new in another call, and in another process?
#
# A package that sets a seed when it is imported gives everyone the same noise, and anyone with the
# package can take it away again. One process does not show that, so several fresh processes get a
# list of words. Were their noise independent, two processes would agree on a word with the same
# probability as two calls of one process, and each word on which only one of the two agreements
# holds would be a fair coin (McNemar 1947, as an exact test).


_FUNCTION = "dpcore.audit.blackbox.function:in_this_process"


@dataclass(frozen=True)
class Repeats:
    """Agreement of two calls, and of two processes, on the same words.

    Attributes:
        words: number of different words.
        in_one_process: words on which two calls of this process agree.
        in_two_processes: words on which the first calls of two fresh processes agree.
        only_processes: words on which those two agree, and the two calls do not.
        only_calls: the reverse.
        reacts: True if a third process, given other words, gave other outputs.
        error: probability with which either finding below may be wrong.
    """

    words: int
    in_one_process: int
    in_two_processes: int
    only_processes: int
    only_calls: int
    reacts: bool
    error: float

    @property
    def p_same(self) -> float:
        """Chance of so many agreements of processes alone, if each has noise of its own."""
        return _tail(self.only_processes, self.only_calls)

    @property
    def _processes_alike(self) -> bool:
        return self.p_same <= 0.5 * self.error  # the other half is for the other direction

    @property
    def same_noise(self) -> bool:
        """True if every process has the same noise, and the words decide the outputs."""
        agree = self.in_two_processes == self.words
        return agree and self.reacts and self._processes_alike

    @property
    def partly_same(self) -> bool:
        """True if processes agree more than two calls do, without having all noise in common."""
        return self._processes_alike and not self.same_noise

    @property
    def remembers(self) -> bool:
        """True if calls of one process depend on each other: they agree more than processes do."""
        return _tail(self.only_calls, self.only_processes) <= 0.5 * self.error

    @property
    def fixed(self) -> bool:
        """True if the word alone decided the output, in every call and every process."""
        return self.words == self.in_one_process == self.in_two_processes and self.reacts

    @property
    def notable(self) -> bool:
        """True if any of the four findings holds."""
        return self.same_noise or self.partly_same or self.remembers or self.fixed

    @property
    def sentence(self) -> str:
        """The finding in words."""
        words = f"{self.words:,} words"
        if self.same_noise:
            return (
                f"every fresh process has the same noise: two of them agree on all of {words}, two "
                f"calls of one process on {self.in_one_process:,}; anyone with the program can "
                "take the noise away"
            )
        if self.remembers:
            return (
                f"calls of one process are not independent: two of them agree on "
                f"{self.in_one_process:,} of {words}, fresh processes on {self.in_two_processes:,}"
            )
        if self.partly_same:
            return (
                f"fresh processes agree more than calls do: two of them on "
                f"{self.in_two_processes:,} of {words}, two calls of one process on "
                f"{self.in_one_process:,}; some noise is always the same, or the function changes "
                "while it is called"
            )
        if self.fixed:
            return f"no noise shows: two calls and two fresh processes agree on all of {words}"
        return (
            f"two fresh processes agree on {self.in_two_processes:,} of {words}, two calls of one "
            f"process on {self.in_one_process:,}: no sign that noise is used twice"
        )


def _tail(heads: int, tails: int) -> float:
    """Return P(at least so many heads of a fair coin)."""
    from scipy.stats import binom

    return float(binom.sf(heads - 1, heads + tails, 0.5))


def repeats(
    function: WordFunction, epsilon: float, words: Sequence[str], error: float
) -> Repeats | str:
    """Compare two calls of this process, and the first calls of three fresh ones.

    Args:
        function: under test.
        epsilon: the claimed ε.
        words: input words.
        error: probability with which a finding may be wrong.

    Returns:
        The agreement, or a sentence that says why no fresh process could be asked.
    """
    if function.importable is None:
        return (
            "not tested: another process can import neither a function of a notebook nor one made "
            "inside another; name it as package.module:function"
        )
    once, again = function.outputs(words), function.outputs(words)
    # Rotated by one place: with the same noise, only outputs that depend on the words differ.
    lists = [list(words), list(words), [*words[1:], *words[:1]]]
    answers = []
    for asked in lists:
        payload = {
            "function": function.importable,
            "form": str(function.form),
            "epsilon": epsilon,
            "words": asked,
        }
        try:
            with Processes(1, attempts=1) as fresh:
                ((_, result),) = fresh.run(_FUNCTION, [payload])
        except DpcoreError as problem:
            return f"not tested: a fresh process failed ({problem})"
        answers.append(result["outputs"])
    calls = [a == b for a, b in zip(_plain(once), _plain(again), strict=True)]
    processes = [a == b for a, b in zip(answers[0], answers[1], strict=True)]
    both = list(zip(calls, processes, strict=True))
    return Repeats(
        words=len(words),
        in_one_process=sum(calls),
        in_two_processes=sum(processes),
        only_processes=both.count((False, True)),
        only_calls=both.count((True, False)),
        reacts=answers[2] != answers[0],
        error=error,
    )


def in_this_process(payload: Json) -> Json:
    """Run the job of a fresh process: outputs of a named function for a list of words."""
    function = WordFunction(str(payload["function"]), float(payload["epsilon"]), payload["form"])
    if function.form is Form.AUTO:
        function.settle(payload["words"])
    return {"outputs": _plain(function.outputs(list(payload["words"])))}


def _plain(outputs: Sequence[Output]) -> list[str]:
    """Return outputs in the form of JSON."""
    return [str(output) if isinstance(output, Refusal) else output for output in outputs]
