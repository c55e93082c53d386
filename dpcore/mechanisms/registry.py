"""Registry of all mechanisms by versioned key, and plugins; short names mean the newest version.

Mechanisms of other packages follow ours; they are loaded when the registry is first used. An
installed package offers them in the group `dpcore.mechanisms`:

    [project.entry-points."dpcore.mechanisms"]
    mine = "my_package.noise:Mine"

A broken one is left out, with a warning that names it; it cannot stop the laboratory.
"""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from dpcore.arguments import a_name
from dpcore.errors import DpcoreError, ParameterError, UnknownMechanismError
from dpcore.guarantee import EpsilonMeaning
from dpcore.lexicon.lexicon import Lexicon, check_lexicon
from dpcore.mechanisms.additive.euclidean import (
    Mahalanobis,
    MultivariateLaplace,
    RandomProjection,
    Vickrey,
)
from dpcore.mechanisms.additive.hyperbolic import Hyperbolic
from dpcore.mechanisms.additive.spherical import Purkayastha, VonMisesFisher
from dpcore.mechanisms.candidates.custext import CusText
from dpcore.mechanisms.candidates.diffractor import Diffractor
from dpcore.mechanisms.candidates.rantext import RanText
from dpcore.mechanisms.candidates.syntf import SynTF
from dpcore.mechanisms.candidates.wbb import WordsBlendingBoxes
from dpcore.mechanisms.clipped.adept import Adept, AdeptManhattan
from dpcore.mechanisms.clipped.clipped import (
    ClippedGaussian,
    ClippedGaussianClassical,
    ClippedL2Laplace,
    ClippedLaplace,
)
from dpcore.mechanisms.clipped.trlaplace import TrLaplace, TrLaplaceCorrected
from dpcore.mechanisms.exponential.budget import Budget
from dpcore.mechanisms.exponential.optimal import Optimal
from dpcore.mechanisms.exponential.santext import SanText, SanTextPlus
from dpcore.mechanisms.exponential.tem import TemCalibrated, TruncatedExponential
from dpcore.mechanisms.gumbel.published import TruncatedGumbel
from dpcore.mechanisms.gumbel.repaired import TruncatedGumbelRepaired
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.response import KAryResponse, NeighbourResponse

GROUP = "dpcore.mechanisms"
_KEY = re.compile(r"(?P<short>[a-z][a-z0-9-]*)\.v[1-9]\d*")
_TYPES = re.compile(r"(str|int|float)( \| None)?")


class PluginWarning(UserWarning):
    """Warning that a mechanism of another package could not be loaded."""


@dataclass(frozen=True)
class Plugin:
    """Mechanism of another package.

    Attributes:
        kind: its class.
        package: name and version of the installed package.
    """

    kind: type[Mechanism]
    package: str


def find_plugins(ours: Mapping[str, type[Mechanism]]) -> tuple[list[Plugin], list[str]]:
    """Return the mechanisms of installed packages, and a message for each one left out.

    Args:
        ours: the mechanisms of this package, whose names are taken.
    """
    taken: dict[str, str] = dict.fromkeys((kind.short for kind in ours.values()), "the laboratory")
    plugins: list[Plugin] = []
    problems: list[str] = []
    # Sorted by name, so that a machine always takes the same one of two.
    for entry in sorted(entry_points(group=GROUP), key=lambda e: (_package(e), e.name)):
        package = _package(entry)
        try:
            kind = _sound(entry.load())
            short = kind.short
            if taken.get(short, package) != package or kind.key in {p.kind.key for p in plugins}:
                raise TypeError(f"the name {short!r} belongs to {taken[short]}: choose another one")
        except (Exception, SystemExit) as error:  # a foreign module may raise anything
            text = " ".join(str(error).split())[:200]
            reason = text if isinstance(error, TypeError) else f"{type(error).__name__}: {text}"
            problems.append(
                f"the mechanism {entry.name!r} of the package {package} is left out: {reason}"
            )
            continue
        taken[short] = package
        plugins.append(Plugin(kind, package))
    return plugins, problems


def _package(entry: EntryPoint) -> str:
    """Return the name and version of the distribution of an entry point."""
    return "unknown" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"


def _sound(kind: object) -> type[Mechanism]:
    """Check that the laboratory can show and create mechanisms of a class; return the class.

    Raises:
        TypeError: an attribute is missing or of the wrong kind; the message names it.
    """
    if not (isinstance(kind, type) and issubclass(kind, Mechanism)):
        raise TypeError("its entry point is no class that extends dpcore's Mechanism")
    if missing := sorted(getattr(kind, "__abstractmethods__", ())):
        raise TypeError(f"{kind.__name__} does not say {', '.join(missing)}")
    for name in ("key", "short", "title", "summary", "source"):
        text = getattr(kind, name, None)
        if not (isinstance(text, str) and text.strip()):
            raise TypeError(f"{name} must be a text, got {text!r}")
    match = _KEY.fullmatch(kind.key)
    if match is None or match["short"] != kind.short:
        raise TypeError(
            f"key must be short and version such as {kind.short[:40]}.v1, in small letters, "
            f"got {kind.key[:60]!r}"
        )
    if not isinstance(getattr(kind, "meaning", None), EpsilonMeaning):
        raise TypeError("meaning must be an EpsilonMeaning")
    if kind.cited:
        raise TypeError("cited is for sources of the laboratory: name yours in source")
    for name, declared in kind.parameters().items():
        if not _TYPES.fullmatch(str(declared["type"])):
            raise TypeError(
                f"parameter {name} must be annotated as str, int or float, perhaps with | None, "
                f"got {declared['type']}"
            )
    return kind


_OURS: dict[str, type[Mechanism]] = {
    kind.key: kind
    for kind in (
        MultivariateLaplace,
        Mahalanobis,
        Vickrey,
        RandomProjection,
        Hyperbolic,
        VonMisesFisher,
        Purkayastha,
        TruncatedExponential,
        TemCalibrated,
        Optimal,
        Budget,
        TruncatedGumbel,
        TruncatedGumbelRepaired,
        ClippedLaplace,
        ClippedL2Laplace,
        ClippedGaussian,
        ClippedGaussianClassical,
        TrLaplace,
        TrLaplaceCorrected,
        Adept,
        AdeptManhattan,
        KAryResponse,
        NeighbourResponse,
        SanText,
        SanTextPlus,
        CusText,
        Diffractor,
        RanText,
        WordsBlendingBoxes,
        SynTF,
    )
}


class Registry(MutableMapping[str, type[Mechanism]]):
    """Mapping of key to class, ours first, then those of other packages.

    Attributes:
        packages: key to package, for mechanisms that are not ours.
        problems: a message for each mechanism that was left out.
    """

    def __init__(self, ours: Mapping[str, type[Mechanism]]) -> None:
        """Start with ours; others are loaded on first use."""
        self._kinds = dict(ours)
        self._packages: dict[str, str] = {}
        self._problems: tuple[str, ...] = ()
        self._asked = False
        # Reentrant: a module of another package may itself ask the registry while it is imported.
        self._lock = threading.RLock()

    @property
    def _all(self) -> dict[str, type[Mechanism]]:
        with self._lock:
            if not self._asked:
                # Set first: a module that asks the registry while it is imported gets ours alone.
                self._asked = True
                plugins, problems = find_plugins(self._kinds)
                self._kinds |= {plugin.kind.key: plugin.kind for plugin in plugins}
                self._packages = {plugin.kind.key: plugin.package for plugin in plugins}
                self._problems = tuple(problems)
                for problem in problems:
                    warnings.warn(problem, PluginWarning, stacklevel=2)
            return self._kinds

    @property
    def packages(self) -> Mapping[str, str]:
        """Key to package, for mechanisms that are not ours."""
        return self._packages if self._all else {}

    @property
    def problems(self) -> tuple[str, ...]:
        """Messages for mechanisms that were left out."""
        return self._problems if self._all else ()

    def __getitem__(self, key: str) -> type[Mechanism]:
        return self._all[key]

    def __setitem__(self, key: str, kind: type[Mechanism]) -> None:
        self._all[key] = kind

    def __delitem__(self, key: str) -> None:
        del self._all[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


MECHANISMS = Registry(_OURS)
"""Registry key ("tem.v1") to class, in display order."""


def package_of(kind: type[Mechanism]) -> str | None:
    """Return the name and version of a mechanism's package; None if it is ours."""
    return MECHANISMS.packages.get(kind.key)


def resolve(name: str) -> type[Mechanism]:
    """Return the class for a key ("tem.v1") or a short name ("tem": the newest version)."""
    a_name(name, "a mechanism")
    if name in MECHANISMS:
        return MECHANISMS[name]
    # A short name means the newest version, a key exactly one.
    versions = [kind for kind in MECHANISMS.values() if kind.short == name]
    if versions:
        return max(versions, key=lambda kind: int(kind.key.rsplit(".v", 1)[1]))
    known = ", ".join(dict.fromkeys(kind.short for kind in MECHANISMS.values()))
    msg = f"unknown mechanism {name[:40]!r}; known are {known}"
    raise UnknownMechanismError(msg)


def create(name: str, lexicon: Lexicon, settings: Mapping[str, Any] | None = None) -> Mechanism:
    """Return a mechanism over a lexicon; settings may be strings, as from a command line."""
    return construct(resolve(name), lexicon, settings)


def construct(
    kind: type[Mechanism], lexicon: Lexicon, settings: Mapping[str, Any] | None = None
) -> Mechanism:
    """Create a mechanism of a class as `create` does, registered or not."""
    check_lexicon(lexicon)
    declared = kind.parameters()
    values: dict[str, Any] = {}
    for parameter, value in (settings or {}).items():
        if parameter not in declared:
            known = ", ".join(declared) or "none"
            msg = f"{kind.short} has no parameter {parameter[:40]!r}; its parameters are: {known}"
            raise ParameterError(msg)
        values[parameter] = _convert(kind, parameter, value, str(declared[parameter]["type"]))
    try:
        return kind(lexicon=lexicon, **values)
    except DpcoreError:
        raise
    except Exception as error:
        package = package_of(kind)
        if package is None:
            raise
        # Foreign code: report its error, do not stop.
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise ParameterError(
            f"{kind.short}, from the package {package}, cannot be made: {reason}"
        ) from error


def _convert(kind: type[Mechanism], parameter: str, value: object, annotation: str) -> object:
    """Return a value of the parameter's declared type, converted from a string if necessary."""
    if not isinstance(value, str) or annotation.startswith("str"):
        return value
    # A command line and a link have texts only.
    if value.lower() in {"none", "default", "auto"} and "None" in annotation:
        return None
    try:
        return int(value) if annotation.startswith("int") else float(value)
    except ValueError:
        wanted = "a whole number" if annotation.startswith("int") else "a number"
        msg = f"{parameter} of {kind.short} must be {wanted}, got {value[:40]!r}"
        raise ParameterError(msg) from None
