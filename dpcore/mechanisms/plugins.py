"""Mechanisms of other packages, found by their entry points and taken only if they are sound.

A package that is installed beside this one offers its mechanisms in the group `dpcore.mechanisms`:

    [project.entry-points."dpcore.mechanisms"]
    mine = "my_package.noise:Mine"

What is broken is left out, with a sentence that names it; nothing of it can stop the laboratory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from dpcore.guarantee import EpsilonMeaning
from dpcore.mechanisms.mechanism import Mechanism

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "dpcore.mechanisms"
_KEY = re.compile(r"(?P<short>[a-z][a-z0-9-]*)\.v[1-9]\d*")
_TYPES = re.compile(r"(str|int|float)( \| None)?")


class PluginWarning(UserWarning):
    """A mechanism of another package could not be taken."""


@dataclass(frozen=True)
class Plugin:
    """A mechanism of another package.

    Attributes:
        kind: its class.
        package: name and version of what was installed.
    """

    kind: type[Mechanism]
    package: str


def offered(ours: Mapping[str, type[Mechanism]]) -> tuple[list[Plugin], list[str]]:
    """The mechanisms of all installed packages, and a sentence for each that is left out.

    Args:
        ours: the mechanisms of this package, whose names are taken.
    """
    taken: dict[str, str] = dict.fromkeys((kind.short for kind in ours.values()), "the laboratory")
    plugins: list[Plugin] = []
    problems: list[str] = []
    # In the order of their names, so that a machine always takes the same one of two.
    for entry in sorted(entry_points(group=GROUP), key=lambda e: (_package(e), e.name)):
        package = _package(entry)
        try:
            kind = _sound(entry.load())
            short = kind.short
            if taken.get(short, package) != package or kind.key in {p.kind.key for p in plugins}:
                raise TypeError(f"the name {short!r} belongs to {taken[short]}: choose another one")
        except (Exception, SystemExit) as error:  # whatever a foreign module does
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
    """Name and version of the distribution that an entry point belongs to."""
    return "unknown" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"


def _sound(kind: object) -> type[Mechanism]:
    """A class that the laboratory can show and make.

    Raises:
        TypeError: something of it is missing or of the wrong kind; the message says what.
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
