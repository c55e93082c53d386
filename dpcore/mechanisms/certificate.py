"""Calibration: certificates of the true ε of noise strengths on one lexicon, and their users.

A certificate states: with noise of strength s_j the largest loss per distance over all pairs of
words and all outputs is at most ε_j. It is valid at every ε ≥ ε_j, so a look-up between two entries
takes the strength of the smaller ε; nothing is interpolated.
"""

from __future__ import annotations

import json
import math
import shlex
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.guarantee import Guarantee, MetricPrivacy, Status
from dpcore.lexicon.cache import (
    FIELDS,
    CacheEntry,
    bundled_data,
    keep,
    recall,
    refuse_of_the_system,
    write_text,
)
from dpcore.lexicon.catalogue import lexicon_option
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import CERTIFIED_AT_ONCE_WORDS
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.path import EpsilonPaths
from dpcore.outwards import at_most
from dpcore.written import Filled, Numeral, listed

_STEPS = (1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)
EPSILONS = (*(float(f"{step:g}e{power}") for power in range(-1, 3) for step in _STEPS), 1e3)
"""Values of ε for which a strength is sought: 0.1 to 1,000 in round numbers."""
_MOST_TURNS = 16
_TURNS_OF_INTERPOLATION = 4
_CLOSE = 1e-3  # relative: of a certified ε to the wanted one, or of two strengths
_CAUTION = 0.1  # share of the way to a strength that does not fit
_MARGIN = 1e-4  # margin below the estimate of a strength that is likely to fit


@dataclass(frozen=True, eq=False)
class Certificate:
    """Strengths s_j with their certified ε_j, both ascending; the arrays are read-only.

    Attributes:
        epsilons: ε_j, shape (m,).
        strengths: s_j in 1/distance, shape (m,): a larger one is less noise.
    """

    epsilons: FloatArray
    strengths: FloatArray

    def __post_init__(self) -> None:
        """Keep the entries that no other entry dominates, in ascending order."""
        epsilons = np.asarray(self.epsilons, dtype=np.float64)
        strengths = np.asarray(self.strengths, dtype=np.float64)
        # By ε; at equal ε the largest strength first, so that the others do not exceed it.
        order = np.lexsort((-strengths, epsilons))
        epsilons, strengths = epsilons[order], strengths[order]
        best = np.maximum.accumulate(strengths)
        rises = np.ones(strengths.size, dtype=bool)
        rises[1:] = strengths[1:] > best[:-1]
        for name, values in (("epsilons", epsilons[rises]), ("strengths", strengths[rises])):
            values.setflags(write=False)
            object.__setattr__(self, name, values)

    def strength(self, epsilon: float) -> float:
        """Return the largest strength certified at ε; 0 if there is none."""
        place = int(np.searchsorted(self.epsilons, epsilon, side="right"))
        return float(self.strengths[place - 1]) if place else 0.0

    def epsilon_of(self, strengths: FloatArray) -> FloatArray:
        """Return the smallest certified ε with at least this strength; ∞ if there is none."""
        places = np.searchsorted(self.strengths, strengths, side="left")
        return np.append(self.epsilons, math.inf)[places]

    def to_json(self) -> list[list[float]]:
        """Return the rows [ε, strength]."""
        return [
            list(row) for row in zip(self.epsilons.tolist(), self.strengths.tolist(), strict=True)
        ]


def search(
    evaluate: Callable[[FloatArray], FloatArray], start: FloatArray, more: Sequence[float] = ()
) -> Certificate:
    """Find strengths whose certified ε lie just below those of `EPSILONS`, and then of `more`.

    The entries are certified one by one, so nothing is assumed; where a larger strength does not
    have a larger ε, the entries are only less close to the target.

    Args:
        evaluate: the certified ε of each strength, shape (m,) to shape (m,).
        start: initial strengths, ascending, spread over the range of interest.
        more: further target ε; the entries for `EPSILONS` do not depend on them.
    """
    strengths = np.asarray(start, dtype=np.float64)
    epsilons = evaluate(strengths)
    rows: list[tuple[FloatArray, FloatArray]] = []
    for wanted in (np.array(EPSILONS), np.asarray(more, dtype=np.float64)):
        for turn in range(_MOST_TURNS):
            guesses = _guesses(epsilons, strengths, wanted, turn)
            if not guesses.size:
                break
            strengths = np.append(strengths, guesses)
            epsilons = np.append(epsilons, evaluate(guesses))
        # Keep the ends, and for each target ε the entry that a look-up would take.
        everything = Certificate(epsilons, strengths)
        used = {0, everything.epsilons.size - 1}
        used |= set((np.searchsorted(everything.epsilons, wanted, side="right") - 1).tolist())
        kept = sorted(used - {-1})
        rows.append((everything.epsilons[kept], everything.strengths[kept]))
    return Certificate(*(np.concatenate(columns) for columns in zip(*rows, strict=True)))


def around_the_rise(lexicon: Lexicon, metric: Metric | str) -> list[float]:
    """Return round ε, close together where the share of words that stay goes from 0 to 1.

    With Δ the diameter, that is around ln(n)/Δ for an exponential mechanism; beyond (ln n + 14)/Δ₀
    all but a millionth stay.
    """
    extent = lexicon.with_metric(metric).extent
    middle = math.log(max(len(lexicon), 2)) / extent.diameter
    high = math.inf
    if extent.separation > 0:
        high = (math.log(len(lexicon)) + 14.0) / extent.separation
    step = _round_below(middle / 20.0)
    first, last = math.ceil(0.4 * middle / step), math.floor(min(2.2 * middle, high) / step)
    return [float(f"{i * step:.6g}") for i in range(first, last + 1)]


def _round_below(value: float) -> float:
    """Return the largest of 1, 2, 5 times a power of ten that is at most this."""
    power = 10.0 ** math.floor(math.log10(value))
    return max(digit * power for digit in (1.0, 2.0, 5.0) if digit * power <= value)


def _guesses(
    epsilons: FloatArray, strengths: FloatArray, targets: FloatArray, turn: int
) -> FloatArray:
    """Return the next strengths to try, for target ε without a certified one close by.

    Each lies between the largest strength that fits and the next known one, which does not: at the
    estimate by interpolation in logarithms, a little below, and lower where that has failed before;
    in the last turns in the middle.
    """
    order = np.argsort(strengths)
    logs = np.log(strengths[order])
    # The least ε of this strength or a larger one: the result of a look-up.
    known = np.minimum.accumulate(np.log(epsilons[order])[::-1])[::-1]
    wanted = np.log(targets)
    place = np.searchsorted(known, wanted, side="right") - 1
    inside = (place >= 0) & (place < known.size - 1)
    wanted, place = wanted[inside], place[inside]
    low, high = logs[place], logs[place + 1]
    open_ = (wanted - known[place] > _CLOSE) & (high - low > _CLOSE)
    wanted, place, low, high = wanted[open_], place[open_], low[open_], high[open_]
    if turn >= _TURNS_OF_INTERPOLATION:
        return np.unique(np.exp(0.5 * (low + high)))
    share = (wanted - known[place]) / (known[place + 1] - known[place])
    guess = low + share * (high - low)
    guess -= _MARGIN + (_CAUTION * (high - guess) if turn else 0.0)
    return np.unique(np.exp(np.clip(guess, low + 0.25 * _CLOSE, high - 0.25 * _CLOSE)))


def known_certificate(
    fingerprint: str, name: str, settings: Mapping[str, Any]
) -> Certificate | None:
    """Return the bundled certificate, or one kept on this computer, or None.

    Args:
        fingerprint: of the lexicon.
        name: registry key of the mechanism.
        settings: its parameters.
    """
    for entry in _bundled():
        if _is(entry, fingerprint, name, settings):
            table = np.array(entry["rows"], dtype=np.float64).reshape(-1, 2)
            return Certificate(table[:, 0], table[:, 1])
    kept = recall(fingerprint, _kind(name, settings))
    if kept is None or kept.facts.get("settings") != _plain(settings):
        return None
    return Certificate(kept.arrays["epsilons"], kept.arrays["strengths"])


def keep_certificate(
    fingerprint: str, name: str, settings: Mapping[str, Any], certificate: Certificate
) -> bool:
    """Write a certificate to the cache folder; return True if it could be written."""
    arrays = {"epsilons": certificate.epsilons, "strengths": certificate.strengths}
    facts = {"settings": _plain(settings)}
    return keep(fingerprint, _kind(name, settings), CacheEntry(arrays, facts))


def write_certificate(
    path: Path,
    fingerprint: str,
    name: str,
    settings: Mapping[str, Any],
    certificate: Certificate,
    provenance: Mapping[str, Any],
) -> None:
    """Write a certificate into a JSON file such as the bundled one, replacing an older one."""
    entries: list[dict[str, Any]] = []
    if path.is_file():
        entries = json.loads(path.read_text(encoding="utf-8"))
    entries = [entry for entry in entries if not _is(entry, fingerprint, name, settings)]
    new = {"mechanism": name, "fingerprint": fingerprint, "settings": _plain(settings)}
    entries.append(new | dict(provenance) | {"rows": certificate.to_json()})
    entries.sort(key=lambda entry: (entry["mechanism"], entry["fingerprint"]))
    write_text(path, json.dumps(entries, indent=1) + "\n")


def bundled_file() -> Path:
    """Return the path of the certificates of the bundled lexicon."""
    return bundled_data("certificates", "certificates.json") / "certificates.json"


@lru_cache(maxsize=1)
def _bundled() -> tuple[dict[str, Any], ...]:
    try:
        return tuple(json.loads(bundled_file().read_text(encoding="utf-8")))
    except (OSError, *FIELDS) as error:
        refuse_of_the_system(error)
        return ()


def _is(entry: Mapping[str, Any], fingerprint: str, name: str, settings: Mapping[str, Any]) -> bool:
    entered = (entry["mechanism"], entry["fingerprint"], entry["settings"])
    return entered == (name, fingerprint, _plain(settings))


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    return dict(sorted(settings.items()))


def _kind(name: str, settings: Mapping[str, Any]) -> str:
    """Return a file name for a mechanism with these settings."""
    parts = [f"{key}-{value}" for key, value in _plain(settings).items()]
    return "-".join(["certificate", name, *parts])


# Mechanisms whose noise is as small as the true ε on this lexicon allows.
#
# Noise has a strength s (in 1/distance; larger is less noise). At ε the strength is the larger of
# two: the one that a theorem allows for every vocabulary, and the one that a certificate allows for
# this one. Both are step functions or continuous, and increasing in ε, so a draw that is a step
# function of the strength is one of ε.


@dataclass(frozen=True, eq=False, kw_only=True)
class CalibratedMechanism(Mechanism):
    """Mechanism with a strength of noise that is certified on its lexicon.

    The certificate of a vocabulary of up to 1,000 words is computed when it is first needed; that
    of a larger one is bundled or is made by `python -m dpcore calibrate`. Without one the theorem
    alone decides.
    """

    # -- required of a member

    certified_by_command: ClassVar[int] = CERTIFIED_AT_ONCE_WORDS
    """Largest vocabulary for which a command computes a missing certificate, with progress."""

    @abstractmethod
    def proved_strength(self, epsilon: float) -> float:
        """Return the strength that is proved at ε for every vocabulary; 0 if there is none."""

    @abstractmethod
    def proved_epsilon(self, strengths: FloatArray) -> FloatArray:
        """Return the ε that is proved for each strength, increasing (the inverse)."""

    @abstractmethod
    def compute_certificate(self, progress: Progress = silent) -> Certificate:
        """Evaluate the loss of all pairs of words: minutes for a large vocabulary."""

    @abstractmethod
    def promise(self, epsilon: float) -> MetricPrivacy:
        """Return the guarantee of the theorem at ε, with its reason and source."""

    # -- derived

    @property
    def calibrated(self) -> CalibratedMechanism:
        """This mechanism."""
        return self

    @cached_property
    def certificate(self) -> Certificate | None:
        """Certificate of this lexicon and these settings; None if there is none."""
        known = known_certificate(self.lexicon.fingerprint, self.key, self.settings())
        if known is not None or len(self.lexicon) > CERTIFIED_AT_ONCE_WORDS:
            return known
        return self.calibrate()

    @property
    def is_known(self) -> bool:
        """True if the certificate is bundled or was kept on this computer."""
        return known_certificate(self.lexicon.fingerprint, self.key, self.settings()) is not None

    def calibrate(self, progress: Progress = silent) -> Certificate:
        """Compute the certificate and keep it in the cache folder."""
        certificate = self.compute_certificate(progress)
        keep_certificate(self.lexicon.fingerprint, self.key, self.settings(), certificate)
        return certificate

    def write(self, path: Path, certificate: Certificate, provenance: Mapping[str, Any]) -> None:
        """Write the certificate into a file such as the bundled one, with its provenance."""
        fingerprint, settings = self.lexicon.fingerprint, self.settings()
        write_certificate(path, fingerprint, self.key, settings, certificate, provenance)

    @property
    def lowest_epsilon(self) -> float:
        """Largest ε at or below which there is no strength."""
        proved = float(self.proved_epsilon(np.zeros(1))[0])
        if self.certificate is None:
            return proved
        # The range is open, and the least certified ε must be inside.
        return min(proved, float(np.nextafter(self.certificate.epsilons[0], 0.0)))

    def strength(self, epsilon: float) -> float:
        """Return the strength of the noise at ε, in 1/distance."""
        value = self.check_epsilon(epsilon)
        # Both strengths are valid, so the one with less noise is taken.
        certified = self.certificate.strength(value) if self.certificate else 0.0
        return max(certified, self.proved_strength(value))

    def epsilon_of(self, strengths: FloatArray) -> FloatArray:
        """Return the smallest ε at which the strength is at least this, elementwise."""
        proved = self.proved_epsilon(strengths)
        if self.certificate is None:
            return proved
        return np.minimum(proved, self.certificate.epsilon_of(strengths))

    def same_law_from(self, epsilon: float) -> float:
        """Return the ε where the strength last rose: between certified ε the law is constant."""
        least = float(self.epsilon_of(np.array([self.strength(epsilon)]))[0])
        # A certificate's ε are rounded down in the last digits: prefer a round one, same law.
        neat = float(at_most(least, 3))
        if least <= neat <= epsilon and self.strength(neat) == self.strength(epsilon):
            return neat
        return min(least, epsilon)

    def in_own_epsilon(self, paths: EpsilonPaths, per_strength: float) -> EpsilonPaths:
        """Return paths whose breaks are `per_strength` times a strength, as functions of ε."""
        finite = np.isfinite(paths.breaks)
        breaks = np.full(paths.breaks.shape, np.inf)
        breaks[finite] = self.epsilon_of(paths.breaks[finite] / per_strength)
        return replace(paths, breaks=breaks, low=self.admissible.low)

    def guarantee(self, epsilon: float) -> Guarantee:
        """Return the guarantee: metric privacy, certified on this lexicon or by the theorem."""
        value = self.check_epsilon(epsilon)
        proved = self.promise(value)
        if self.certificate is None:
            return replace(proved, reason=listed((proved.reason, self._without_certificate()), " "))
        if not self.certificate.strength(value) > self.proved_strength(value):
            return proved
        return replace(
            proved,
            status=Status.CERTIFIED,
            reason=Filled(
                "The loss of all pairs of the {words:,} words and all outputs was computed or "
                "bounded: with this noise it is at most ε = {epsilon} times their distance. For "
                "another vocabulary it need not be.",
                words=len(self.lexicon),
                epsilon=Numeral(at_most(value)),
            ),
            source=Filled("computed on this lexicon; {source}", source=proved.source),
        )

    def _without_certificate(self) -> str:
        return Filled(
            "There is no certificate of this lexicon with these settings, which would allow less "
            "noise: `{command}` computes it.",
            command=self.calibrate_command,
        )

    @property
    def calibrate_command(self) -> str:
        """Shell command that computes the certificate of this lexicon and these settings."""
        parts = ["python", "-m", "dpcore", "calibrate", "--mechanism", self.short]
        for name, value in self.settings().items():
            if value != getattr(type(self), name, None):
                parts += ["--set", f"{name}={value}"]
        return shlex.join(parts + lexicon_option(self.lexicon))
