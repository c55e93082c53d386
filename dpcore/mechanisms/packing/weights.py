"""Certified weights that come with the laboratory, or that were kept on this computer."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpcore.lexicon.bundled import bundled_data
from dpcore.lexicon.cache import Kept, keep, recall, replacing
from dpcore.lexicon.damage import ARRAYS, refuse_of_the_system
from dpcore.mechanisms.packing.certified import CertifiedWeights

if TYPE_CHECKING:
    from pathlib import Path

    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.metric import Metric

_FILE = "optimal.npz"
_ARRAYS = ("epsilons", "strengths", "weights", "normalisers", "upper", "wanted")


@lru_cache(maxsize=4)
def known_weights(lexicon: Lexicon, metric: Metric) -> CertifiedWeights | None:
    """The weights of this lexicon under this metric, or None if they were never computed."""
    bundled = _bundled()
    if bundled is not None and bundled[:2] == (lexicon.fingerprint, str(metric)):
        return bundled[2]
    kept = recall(lexicon.fingerprint, _kind(metric))
    if kept is None or not set(_ARRAYS) <= kept.arrays.keys():
        return None
    return CertifiedWeights(**{name: kept.arrays[name] for name in _ARRAYS})


def keep_weights(lexicon: Lexicon, metric: Metric, table: CertifiedWeights) -> bool:
    """Keep weights in the cache folder; whether they could be written."""
    arrays = {name: getattr(table, name) for name in _ARRAYS}
    written = keep(lexicon.fingerprint, _kind(metric), Kept(arrays, {}))
    known_weights.cache_clear()
    return written


def write_weights(path: Path, lexicon: Lexicon, metric: Metric, table: CertifiedWeights) -> None:
    """Write weights to a file such as the bundled one, whole or not at all."""
    arrays = {name: getattr(table, name) for name in _ARRAYS}
    names = np.array([lexicon.fingerprint, str(metric)])
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, of=names, **arrays)


def bundled_weights_file() -> Path:
    """The weights of the bundled lexicon."""
    return bundled_data("certificates", "certificates.json") / _FILE


@lru_cache(maxsize=1)
def _bundled() -> tuple[str, str, CertifiedWeights] | None:
    try:
        with np.load(bundled_weights_file(), allow_pickle=False) as stored:
            fingerprint, metric = stored["of"].tolist()
            return fingerprint, metric, CertifiedWeights(**{name: stored[name] for name in _ARRAYS})
    except (OSError, *ARRAYS) as error:
        refuse_of_the_system(error)
        return None


def _kind(metric: Metric) -> str:
    return f"optimal-weights-{metric}"
