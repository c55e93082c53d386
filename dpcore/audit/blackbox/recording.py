"""Recording of random draws: what a function asks of its generators, and noise to play again.

Within `recording`, the generators of Python and of NumPy belong to a `Tape`: each call of one is
noted with its arguments, and its numbers follow from the seed of the tape alone. Two runs on tapes
of one seed have the same noise. The entropy of the operating system comes from the tape as well,
and with it every generator that Python code seeds from it. All of this holds for the one thread
that records: the noise of others stays unpredictable. Everything is put back afterwards.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import inspect
import math
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from dpcore.errors import ParameterError

# By name, because these modules are taken apart here: nothing is drawn from their global state.
_PYTHON: Any = import_module("random")
_NUMPY: Any = import_module("numpy.random")
_LEGACY: Any = import_module("numpy.random.mtrand")
_SECRETS: Any = import_module("secrets")
_generator, _pcg64 = np.random.Generator, np.random.PCG64
_state, _random = _NUMPY.RandomState, _PYTHON.Random

_MOST_DRAWS = 1_000_000  # of a run: far more is a loop that the far tails never leave
_MOST_ROWS = 256  # of an array of arguments, that are compared one by one
_MOST_OBJECTS = 2000  # that are searched for generators kept by a function
_IGNORED = {"self", "out", "dtype"}  # arguments that change no law


class TooManyDrawsError(Exception):
    """A run made more draws than are recorded."""


@dataclass(frozen=True)
class Value:
    """One argument of a draw, as far as it is compared.

    Attributes:
        text: short form for a report.
        digest: of the content; two values are equal if these are.
        rows: digests along the first axis; empty for a single value and a very long one.
        size: number of entries.
        held: watched strings that are among the entries.
    """

    text: str
    digest: bytes
    rows: tuple[bytes, ...] = ()
    size: int = 1
    held: frozenset[str] = frozenset()

    @classmethod
    def of(cls, given: Any, watched: frozenset[str]) -> Value:
        """Read an argument without keeping it."""
        if isinstance(given, np.ndarray) and given.dtype.kind in "biufc":
            rows = given if given.ndim and len(given) <= _MOST_ROWS else ()
            return cls(
                f"{given:.6g}" if given.ndim == 0 else f"numbers of shape {given.shape}",
                _digest(str(given.dtype), given.tobytes()),
                tuple(_digest(np.ascontiguousarray(row).tobytes()) for row in rows),
                given.size,
            )
        if isinstance(given, str | bytes | int | float | np.generic) or given is None:
            text = repr(given.item() if isinstance(given, np.generic) else given)
            return cls(text if len(text) <= 40 else f"{text[:39]}…", _digest(text))
        if isinstance(given, list | tuple | np.ndarray | range | dict):
            entries = [repr(entry) for entry in given]
            strings = {str(entry) for entry in given if isinstance(entry, str)}
            kind = "words" if strings else "entries"
            few = ", ".join(sorted(strings)[:4]) + (", …" if len(strings) > 4 else "")
            return cls(
                f"{len(entries):,} {kind}" + (f" ({few})" if strings else ""),
                _digest(*entries),
                tuple(map(_digest, entries)) if len(entries) <= _MOST_ROWS else (),
                len(entries),
                watched & strings,
            )
        return cls(f"a value of type {type(given).__name__}", _digest(type(given).__name__))


@dataclass(frozen=True)
class Draw:
    """One call of a generator.

    Attributes:
        kind: such as "Generator.laplace", "random.choice" or "os.urandom".
        arguments: by name, defaults included.
        where: file and line of the caller.
        numbers: how many came out.
        start: digest of the state with which its generator began; empty without one.
    """

    kind: str
    arguments: Mapping[str, Value]
    where: str
    numbers: int = 0
    start: bytes = b""

    @property
    def method(self) -> str:
        """Name of the method alone."""
        return self.kind.rsplit(".", 1)[-1]


def _digest(*parts: str | bytes) -> bytes:
    digest = hashlib.blake2b(digest_size=12)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.digest()


def _of_state(state: Any) -> bytes:
    """Return the digest of the state of a generator."""
    if isinstance(state, dict):
        return _digest(*(part for k in sorted(state) for part in (k, _of_state(state[k]))))
    return _digest(state.tobytes() if isinstance(state, np.ndarray) else repr(state))


class Tape:
    """Noise of one run, and the calls that asked for it.

    Attributes:
        draws: in the order of the calls.
        starts: digests of the states with which generators began.
        far: True if half of the numbers come from far out in the tails of their laws.
        watched: strings to look for among the arguments.
    """

    def __init__(
        self,
        *seed: int,
        far: bool = False,
        watched: frozenset[str] = frozenset(),
        fixed: frozenset[bytes] = frozenset(),
    ) -> None:
        """Begin without draws.

        Args:
            seed: of the noise; equal ones give equal noise.
            far: see the class.
            watched: see the class.
            fixed: starts of generators whose seed is part of the program: their numbers are no
                noise, and are left as they are.
        """
        self.draws: list[Draw] = []
        self.starts: list[bytes] = []
        self.far, self.watched, self._fixed = far, watched, fixed
        self._entropy = _generator(_pcg64([*seed, 1]))
        self._tails = _generator(_pcg64([*seed, 2]))
        self._local = threading.local()

    def entropy(self, size: int) -> bytes:
        """Return bytes in place of those of the operating system."""
        return self._entropy.bytes(size)

    def quietly(self, act: Callable[[], Any]) -> Any:
        """Make a generator: the entropy of its seed is no draw."""
        inside = getattr(self._local, "inside", False)
        self._local.inside = True
        try:
            return act()
        finally:
            self._local.inside = inside

    def begin(self, start: bytes) -> bytes:
        """Note the state with which a generator begins."""
        self.starts.append(start)
        return start

    def call(
        self, kind: str, values: Mapping[str, Any], act: Callable[[], Any], start: bytes = b""
    ) -> Any:
        """Note one call, make it, and move its numbers to the tails if this is a far run.

        Raises:
            TooManyDrawsError: the run has made too many.
        """
        if getattr(self._local, "inside", False):
            return act()  # a method that draws by another one
        if len(self.draws) >= _MOST_DRAWS:
            raise TooManyDrawsError(f"more than {_MOST_DRAWS:,} draws")
        # Read before the call: `shuffle` changes its argument.
        arguments = {
            name: Value.of(value, self.watched)
            for name, value in values.items()
            if name not in _IGNORED
        }
        self._local.inside = True
        try:
            result = act()
        finally:
            self._local.inside = False
        numbers = 1 if isinstance(result, bytes | str) else int(np.size(result))
        self.draws.append(Draw(kind, arguments, _caller(), numbers, start))
        if self.far and start not in self._fixed:
            return _moved(kind.rsplit(".", 1)[-1], values, result, self._tails)
        return result


def _caller() -> str:
    """Return file and line of the first frame outside of this file."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"  # noqa: PTH119


# Far tails. A word that stays in a million of draws may still leave in the next one: a mechanism
# whose noise is small. Numbers that its law allows, though next to never, tell it from a word that
# is not touched by any noise.


_CENTRED = {
    "normal": "loc", "laplace": "loc", "gumbel": "loc", "logistic": "loc", "standard_normal": "",
    "standard_cauchy": "", "standard_t": "", "randn": "", "gauss": "mu", "normalvariate": "mu",
    "multivariate_normal": "mean",
}  # fmt: skip
_POSITIVE = {
    "exponential", "standard_exponential", "gamma", "standard_gamma", "chisquare", "weibull",
    "rayleigh", "lognormal", "expovariate", "gammavariate", "weibullvariate", "lognormvariate",
}  # fmt: skip
_UNIT = {"random", "random_sample", "rand", "ranf", "sample"}
_WHOLE = {"integers", "randint", "randrange", "randbelow", "random_integers"}


def _moved(method: str, given: Mapping[str, Any], result: Any, rng: np.random.Generator) -> Any:
    """Return the numbers of a draw, half of them replaced by others that its law allows."""
    if method in {"choice", "choices"}:
        return _other_choice(given, result, rng)
    if method in {"bytes", "urandom", "token_bytes", "randbytes"}:
        return _other_bytes(result, rng)
    if method in {"getrandbits", "randbits"} and rng.random() < 0.5:
        bits = int(given.get("k", 1))
        less = result >> int(rng.integers(0, bits + 1))
        return less if rng.random() < 0.5 else (1 << bits) - 1 - less
    numbers = np.asarray(result)
    if numbers.dtype.kind not in "iuf" or (method == "sample" and not np.isscalar(result)):
        return result
    with np.errstate(all="ignore"):
        other = _other_numbers(method, given, numbers, rng)
        if other is None:
            return result
        other = np.asarray(other).astype(numbers.dtype)
    mixed = np.where(rng.random(numbers.shape) < 0.5, numbers, other)
    if isinstance(result, np.ndarray):
        result[...] = mixed  # an array that the caller gave as `out` is the result
        return result
    return type(result)(mixed.item())


def _other_numbers(
    method: str, given: Mapping[str, Any], numbers: Any, rng: np.random.Generator
) -> Any:
    power = 10.0 ** rng.uniform(0, 9, numbers.shape)
    if method in _CENTRED:
        centre = np.asarray(given.get(_CENTRED[method], 0.0), dtype=np.float64)
        return centre + (numbers - centre) * power
    if method in _POSITIVE:
        return numbers * np.where(rng.random(numbers.shape) < 0.5, power, 1 / power)
    ends = 10.0 ** -rng.uniform(0, 15, numbers.shape)
    ends = np.where(rng.random(numbers.shape) < 0.5, ends, 1 - ends)
    if method in _UNIT or method in {"beta", "betavariate"}:
        return np.minimum(ends, math.nextafter(1.0, 0.0))
    if method == "uniform":
        low, high = (
            np.asarray(given.get(name, given.get(short, value)), dtype=np.float64)
            for name, short, value in (("low", "a", 0.0), ("high", "b", 1.0))
        )
        return low + (high - low) * ends
    if method in _WHOLE:
        low, high = (np.asarray(end, dtype=np.float64) for end in _range(method, given))
        # A float below the end: 2⁶⁴ itself is no number of 64 bits.
        moved = np.minimum(np.floor(low + (high - low) * ends), np.nextafter(high, low))
        return moved if np.isfinite(high).all() else None
    if method == "binomial" and 0 < np.min(given["p"]) <= np.max(given["p"]) < 1:
        return rng.integers(0, np.asarray(given["n"]) + 1, numbers.shape)
    return None


def _range(method: str, given: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the ends of a draw of whole numbers, the upper one excluded."""
    if method == "randbelow":
        return 0, given["exclusive_upper_bound"]
    if method == "randrange":
        if given.get("step", 1) != 1:
            return 0, math.inf  # left as it is
        start, stop = given["start"], given.get("stop")
        return (0, start) if stop is None else (start, stop)
    low, high = (given.get("a"), given["b"]) if "b" in given else (given["low"], given["high"])
    if high is None:
        low, high = 0, low
    included = "b" in given or method == "random_integers" or bool(given.get("endpoint"))
    return np.asarray(low), np.asarray(high) + included


def _other_choice(given: Mapping[str, Any], result: Any, rng: np.random.Generator) -> Any:
    """Choose among all that have a weight, each as likely."""
    weights = given.get("p", given.get("weights"))
    if weights is None and given.get("cum_weights") is not None:
        weights = np.diff(np.asarray(given["cum_weights"], dtype=np.float64), prepend=0.0)
    if weights is None or not given.get("replace", True) or given.get("axis", 0):
        return result  # even weights: as likely as can be
    possible = np.flatnonzero(np.asarray(weights, dtype=np.float64) > 0)
    among = given.get("a", given.get("population"))
    if "population" in given:
        return [among[i] for i in possible[rng.integers(0, len(possible), len(result))]]
    picks = possible[rng.integers(0, len(possible), np.shape(result)[: np.ndim(result)])]
    if not isinstance(among, int | np.integer):
        picks = np.asarray(among)[picks]
    return picks if isinstance(result, np.ndarray) else type(result)(picks)


def _other_bytes(result: bytes, rng: np.random.Generator) -> bytes:
    """Fill half of the bytes with zeros or ones: small and large numbers, whatever their order."""
    half, end = len(result) // 2, bytes([255 * int(rng.integers(0, 2))])
    where = int(rng.integers(0, 4))
    if where == 0:
        return end * half + result[half:]
    return result[:half] + end * (len(result) - half) if where == 1 else result


# Generators that note their calls.


_tape: Tape | None = None
_owner = 0  # the thread that records
_busy = threading.Lock()


def _now() -> Tape | None:
    """Return the tape of this thread; None for any other: its noise stays unpredictable."""
    return _tape if _tape is not None and threading.get_ident() == _owner else None


class _AlsoOriginals(type):
    """Class that takes the instances of its base for its own: code may check for either."""

    def __instancecheck__(cls, instance: object) -> bool:
        """Return True for the generators made before as well."""
        return isinstance(instance, cls.__mro__[1])


def _recorded(kind: str, original: Any) -> Callable[..., Any]:
    """Return a method that notes its calls."""
    signature = inspect.signature(original)

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        tape = _now()
        if tape is None:
            return original(self, *args, **kwargs)
        arguments = _bound(signature, (self, *args), kwargs)
        start = self.__dict__.get("start", b"")
        return tape.call(kind, arguments, lambda: original(self, *args, **kwargs), start)

    return method


def _bound(
    signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return arguments by name; a call that does not fit is left to raise its own error."""
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return dict(kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


def _methods(kind: type) -> dict[str, Any]:
    """Return the methods of a class of generators that draw."""
    skipped = {"spawn", "seed", "getstate", "setstate", "get_state", "set_state", "bit_generator"}
    return {
        name: getattr(kind, name)
        for name in dir(kind)
        if not name.startswith("_") and name not in skipped and callable(getattr(kind, name))
    }


def _noting(label: str, base: type) -> dict[str, Any]:
    return {name: _recorded(f"{label}.{name}", m) for name, m in _methods(base).items()}


def _quietly(act: Callable[[], Any]) -> Any:
    tape = _now()
    return act() if tape is None else tape.quietly(act)


def _seeded(self: Any, seed: Any = None) -> None:
    _quietly(lambda: _state.seed(self, seed))
    self.start = _begun(self)


def _python_seed(self: Any, a: Any = None, version: int = 2) -> None:
    tape = _now()
    if a is None and tape is not None:
        a = int.from_bytes(tape.entropy(32), "little")
    _random.seed(self, a, version)
    self.start = _begun(self)


def _begun(rng: Any) -> bytes:
    """Note the state of a generator that was made or seeded just now."""
    tape = _now()
    if tape is None:
        return b""
    if isinstance(rng, _random):
        return tape.begin(_of_state(rng.getstate()))
    bits = isinstance(rng, _generator)
    return tape.begin(_of_state(rng.bit_generator.state if bits else rng.get_state(legacy=False)))


def _init(base: Any) -> Callable[..., None]:
    def start(self: Any, *args: Any, **kwargs: Any) -> None:
        _quietly(lambda: base.__init__(self, *args, **kwargs))
        self.start = _begun(self)

    return start


def _copied(self: Any) -> tuple[Any, ...]:
    return type(self), (self.bit_generator,)


def _deep(self: Any, memo: dict[int, Any]) -> Any:
    return type(self)(_quietly(lambda: copy.deepcopy(self.bit_generator, memo)))


_Generator: Any = _AlsoOriginals(
    "Generator",
    (_generator,),
    {"__init__": _init(_generator), "__reduce__": _copied, "__deepcopy__": _deep}
    | _noting("Generator", _generator),
)
_RandomState: Any = _AlsoOriginals(
    "RandomState",
    (_state,),
    {"__init__": _init(_state), "seed": _seeded} | _noting("RandomState", _state),
)
_Random: Any = _AlsoOriginals(
    "Random", (_random,), {"seed": _python_seed} | _noting("random", _random)
)


def _default_rng(seed: Any = None) -> Any:
    """Return a generator that notes its calls, as `numpy.random.default_rng` would make it."""
    if isinstance(seed, _Generator) and type(seed) is not _generator:
        return seed
    if type(seed) is _generator:
        return seed  # made before: its calls are not seen
    if isinstance(seed, _state):
        return _Generator(seed._bit_generator)
    is_bits = isinstance(seed, np.random.BitGenerator)
    return _Generator(seed if is_bits else _quietly(lambda: _pcg64(seed)))


def _urandom(size: int, /) -> bytes:
    """Return bytes of the tape in place of those of the operating system."""
    tape = _now()
    if tape is None:  # another thread, or kept by somebody after the end
        return _OS_URANDOM(size)
    return bytes(tape.call("os.urandom", {"size": size}, lambda: tape.entropy(size)))


_OS_URANDOM = os.urandom


def _noted(kind: str, original: Any) -> Callable[..., Any]:
    """Return a function that notes its calls."""
    signature = inspect.signature(original)

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        tape = _now()
        if tape is None:
            return original(*args, **kwargs)
        arguments = _bound(signature, args, kwargs)
        if kind == "secrets.choice":
            arguments = {"a": arguments["seq"]}
        return tape.call(kind, arguments, lambda: original(*args, **kwargs))

    return function


_SECRET = ("choice", "randbelow", "randbits", "token_bytes", "token_hex", "token_urlsafe")
_SECRETS_NOTED = {name: _noted(f"secrets.{name}", getattr(_SECRETS, name)) for name in _SECRET}


_OF_LEGACY = [
    (module, name, getattr(module, name))
    for module in (_NUMPY, _LEGACY)
    for name in [*_methods(_state), "seed", "get_state", "set_state"]
    if hasattr(module, name)
]
_OF_PYTHON = [
    (name, getattr(_PYTHON, name))
    for name in [*_methods(_random), "seed", "getstate", "setstate"]
    if hasattr(_PYTHON, name)
]


def _by_thread(ours: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is ours in the thread that records, and the original in others."""

    def function(*args: Any, **kwargs: Any) -> Any:
        return (original if _now() is None else ours)(*args, **kwargs)

    return function


def _replacements() -> list[tuple[Any, str, Any]]:
    """Return (module, name, what replaces it) for one run: new global generators each time."""
    legacy, python = _RandomState(), _Random()
    rows = [
        (os, "urandom", _urandom),
        (_PYTHON, "_urandom", _urandom),  # of SystemRandom, `secrets` and NumPy's seeds
        (_PYTHON, "Random", _Random),
        (_NUMPY, "default_rng", _default_rng),
        (_LEGACY, "_rand", legacy),
    ]
    rows += [(_SECRETS, name, noted) for name, noted in _SECRETS_NOTED.items()]
    rows += [(module, "RandomState", _RandomState) for module in (_NUMPY, _LEGACY)]
    rows += [
        (module, name, _by_thread(getattr(legacy, name), original))
        for module, name, original in _OF_LEGACY
    ]
    rows.append((_NUMPY, "Generator", _Generator))
    rows += [
        (_PYTHON, name, _by_thread(getattr(python, name), original))
        for name, original in _OF_PYTHON
    ]
    return rows


def kept_places(function: Any) -> list[tuple[Any, Any, Any]]:
    """Find generators, and functions that draw, which a function keeps.

    Looked through are the modules of its package, its closure and the objects in it, its instance
    and its partial arguments.

    Returns:
        (mapping or cell, key or None, what is kept) of each.
    """
    places: list[tuple[Any, Any, Any]] = []
    visited: set[int] = set()
    waiting: list[Any] = [function]
    while waiting and len(visited) < _MOST_OBJECTS:
        given = waiting.pop()
        if id(given) in visited or isinstance(given, type | str | bytes | int | float | np.ndarray):
            continue
        visited.add(id(given))
        for holder, key, value in _held(given):
            if _drawing(value):
                places.append((holder, key, value))
            elif not inspect.ismodule(value):
                waiting.append(value)
    names = getattr(_innermost(function), "__globals__", {})
    top = str(names.get("__name__", "")).split(".")[0]
    mappings = {id(names): names}
    if top not in {"numpy", "random", "secrets"}:
        for name, module in list(sys.modules.items()):
            # Not the originals that this module keeps for itself.
            if name.split(".")[0] == top and name != __name__ and inspect.ismodule(module):
                mappings[id(vars(module))] = vars(module)
    for mapping in mappings.values():
        places += [(mapping, name, v) for name, v in list(mapping.items()) if _drawing(v)]
    return places


def _innermost(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(getattr(function, "__func__", function))
    return function if hasattr(function, "__globals__") else getattr(type(function), "__call__")  # noqa: B004, B009


def _held(given: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Return the places of one object at which others are kept."""
    for cell in getattr(given, "__closure__", None) or ():
        try:
            yield cell, None, cell.cell_contents
        except ValueError:  # a name that has no value yet
            continue
    for name in ("__self__", "__func__", "__wrapped__", "func", "keywords"):
        inner = getattr(given, name, None)
        # A generator here has no place to be exchanged at; what holds it is searched all the same.
        if inner is not None and not inspect.ismodule(inner) and not _drawing(inner):
            yield {}, name, inner
    for part in given.args if isinstance(given, functools.partial) else ():
        if not _drawing(part):
            yield {}, None, part
    attributes = given if isinstance(given, dict) else getattr(given, "__dict__", None)
    if isinstance(attributes, dict):
        for name, value in list(attributes.items())[:_MOST_OBJECTS]:
            yield attributes, name, value


def _originals() -> dict[int, str]:
    """Return the functions and classes that are replaced, by identity, with their place."""
    return {id(getattr(module, name)): name for module, name, _ in _replacements()}


def _drawing(value: Any) -> bool:
    kinds = (_generator, _state, _random)
    if isinstance(value, kinds) and not isinstance(value, _PYTHON.SystemRandom):
        return True
    return id(value) in _ORIGINALS and not isinstance(value, int | str)


_ORIGINALS = _originals()


def _in_place_of(value: Any, rows: Sequence[tuple[Any, str, Any]], originals: Any) -> Any:
    """Return what a function finds in place of a generator, or of a function, that it kept."""
    if isinstance(value, _generator):
        return _Generator(_pcg64())
    if isinstance(value, _state):
        return _RandomState()
    if isinstance(value, _random):
        return _Random()
    return next((new for (_, _, new), old in zip(rows, originals, strict=True) if old is value))


@contextmanager
def recording(tape: Tape, kept: Sequence[tuple[Any, Any, Any]] = ()) -> Iterator[None]:
    """Give all generators of this process to a tape, and put them back at the end.

    Args:
        tape: notes the calls.
        kept: from `kept_places`.

    Raises:
        ParameterError: another recording is under way: two cannot share one process.
    """
    global _tape, _owner  # the generators of a process are one thing as well
    if not _busy.acquire(blocking=False):
        raise ParameterError(
            "a replay is under way in this process: it has the generators, and cannot be nested"
        )
    undo: list[Callable[[], None]] = []
    try:
        _tape, _owner = tape, threading.get_ident()
        # The entropy first: what is made next is seeded by it.
        entropy = [(os, "urandom", _urandom), (_PYTHON, "_urandom", _urandom)]
        for module, name, new in entropy:
            undo.append(functools.partial(setattr, module, name, getattr(module, name)))
            setattr(module, name, new)
        rows = _replacements()
        originals = [getattr(module, name) for module, name, _ in rows]
        swapped = [(*place, _in_place_of(place[2], rows, originals)) for place in kept]
        tape.starts.clear()
        tape.draws.clear()  # the seeds of these generators are none of the function's draws
        for (module, name, new), old in zip(rows, originals, strict=True):
            undo.append(functools.partial(setattr, module, name, old))
            setattr(module, name, new)
        for holder, key, old, new in swapped:
            undo.append(functools.partial(_put, holder, key, old))
            _put(holder, key, new)
        yield
    finally:
        for put_back in reversed(undo):
            put_back()
        _tape = None
        _busy.release()


def _put(holder: Any, key: Any, value: Any) -> None:
    if isinstance(holder, dict):
        holder[key] = value
    else:
        holder.cell_contents = value


def given_generator(name: str, annotation: str) -> Any:
    """Return a generator of the tape for an argument by its name; within `recording`."""
    if name == "seed":
        return _Random().getrandbits(32)
    if "Random" in annotation and "RandomState" not in annotation:
        return _Random()
    return _RandomState() if name == "random_state" else _Generator(_pcg64())
