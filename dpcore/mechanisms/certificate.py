"""Tables of noise strengths whose true ε was computed on one lexicon, and how they are found.

A certificate says: with noise of strength s_j the largest loss per distance over all pairs of
words and all outputs is at most ε_j. It is valid at every ε ≥ ε_j, so a look-up between two
entries takes the strength of the smaller ε: nothing is interpolated.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.lexicon.bundled import bundled_data
from dpcore.lexicon.cache import Kept, keep, recall, write_text
from dpcore.lexicon.damage import FIELDS, refuse_of_the_system

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.metric import Metric

_STEPS = (1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)
EPSILONS = (*(float(f"{step:g}e{power}") for power in range(-1, 3) for step in _STEPS), 1e3)
"""The ε for which a strength is looked for: 0.1 to 1,000 in round numbers."""
_MOST_TURNS = 16
_TURNS_OF_INTERPOLATION = 4
_CLOSE = 1e-3  # relative: of a certified ε to the wanted one, or of two strengths
_CAUTION = 0.1  # share of the way to a strength that does not fit
_MARGIN = 1e-4  # by how much a strength that is likely to fit stays below the estimate


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
        """Keep the entries that no other one beats, in ascending order."""
        epsilons = np.asarray(self.epsilons, dtype=np.float64)
        strengths = np.asarray(self.strengths, dtype=np.float64)
        # By ε; of equal ε the largest strength first, so that the others do not rise above it.
        order = np.lexsort((-strengths, epsilons))
        epsilons, strengths = epsilons[order], strengths[order]
        best = np.maximum.accumulate(strengths)
        rises = np.ones(strengths.size, dtype=bool)
        rises[1:] = strengths[1:] > best[:-1]
        for name, values in (("epsilons", epsilons[rises]), ("strengths", strengths[rises])):
            values.setflags(write=False)
            object.__setattr__(self, name, values)

    def strength(self, epsilon: float) -> float:
        """The largest strength certified at ε; 0 if there is none."""
        place = int(np.searchsorted(self.epsilons, epsilon, side="right"))
        return float(self.strengths[place - 1]) if place else 0.0

    def epsilon_of(self, strengths: FloatArray) -> FloatArray:
        """The smallest certified ε at which the strength is at least this; ∞ if there is none."""
        places = np.searchsorted(self.strengths, strengths, side="left")
        return np.append(self.epsilons, math.inf)[places]

    def to_json(self) -> list[list[float]]:
        """Rows [ε, strength]."""
        return [
            list(row) for row in zip(self.epsilons.tolist(), self.strengths.tolist(), strict=True)
        ]


def search(
    evaluate: Callable[[FloatArray], FloatArray], start: FloatArray, more: Sequence[float] = ()
) -> Certificate:
    """Strengths whose certified ε lie just below those of `EPSILONS`, and then of `more`.

    The entries are certified one by one, so nothing is assumed; if a larger strength does not have
    a larger ε they are only less close to the target.

    Args:
        evaluate: the certified ε of each strength, shape (m,) to shape (m,).
        start: strengths to begin with, ascending, spread over the range of interest.
        more: other ε that are wanted; what is found for `EPSILONS` does not depend on them.
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
        # Kept are the ends, and for each wanted ε the entry that a look-up would take.
        everything = Certificate(epsilons, strengths)
        used = {0, everything.epsilons.size - 1}
        used |= set((np.searchsorted(everything.epsilons, wanted, side="right") - 1).tolist())
        kept = sorted(used - {-1})
        rows.append((everything.epsilons[kept], everything.strengths[kept]))
    return Certificate(*(np.concatenate(columns) for columns in zip(*rows, strict=True)))


def around_the_rise(lexicon: Lexicon, metric: Metric | str) -> list[float]:
    """Round ε close to each other where the share of words that stay goes from none to all.

    With Δ the diameter, that is around ln(n)/Δ for an exponential mechanism; beyond
    (ln n + 14)/Δ₀ all but a millionth stay.
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
    """The largest of 1, 2, 5 times a power of ten that is at most this."""
    power = 10.0 ** math.floor(math.log10(value))
    return max(digit * power for digit in (1.0, 2.0, 5.0) if digit * power <= value)


def _guesses(
    epsilons: FloatArray, strengths: FloatArray, targets: FloatArray, turn: int
) -> FloatArray:
    """Where to look next for every target ε that no certified one comes close to.

    Between the largest strength that fits and the next known one, which does not: at the estimate
    by interpolation in logarithms, a little below, and more so where that has failed before; in the
    last turns in the middle.
    """
    order = np.argsort(strengths)
    logs = np.log(strengths[order])
    # The least ε of this strength or a larger one: what a look-up finds.
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
    """The certificate that comes with the laboratory, or that was kept on this computer, or None.

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
    """Keep a certificate in the cache folder; whether it could be written."""
    arrays = {"epsilons": certificate.epsilons, "strengths": certificate.strengths}
    facts = {"settings": _plain(settings)}
    return keep(fingerprint, _kind(name, settings), Kept(arrays, facts))


def write_certificate(
    path: Path,
    fingerprint: str,
    name: str,
    settings: Mapping[str, Any],
    certificate: Certificate,
    provenance: Mapping[str, Any],
) -> None:
    """Enter a certificate in a JSON file such as the bundled one, in place of an older one."""
    entries: list[dict[str, Any]] = []
    if path.is_file():
        entries = json.loads(path.read_text(encoding="utf-8"))
    entries = [entry for entry in entries if not _is(entry, fingerprint, name, settings)]
    new = {"mechanism": name, "fingerprint": fingerprint, "settings": _plain(settings)}
    entries.append(new | dict(provenance) | {"rows": certificate.to_json()})
    entries.sort(key=lambda entry: (entry["mechanism"], entry["fingerprint"]))
    write_text(path, json.dumps(entries, indent=1) + "\n")


def bundled_file() -> Path:
    """The certificates of the bundled lexicon."""
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
    """A file name for a mechanism with these settings."""
    parts = [f"{key}-{value}" for key, value in _plain(settings).items()]
    return "-".join(["certificate", name, *parts])
