"""Density of the bundled lexicon, computed beforehand: its table of neighbours takes a while.

The file holds what `vocabulary_density` computes for 10 neighbours, to the bit; `python -m dpcore
density --file data/lexicon/density.npz` makes it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.lexicon.bundled import bundled_folder
from dpcore.lexicon.cache import replacing
from dpcore.lexicon.damage import ARRAYS

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

FILE = "density.npz"
_FORM = {"nearest": "<f4", "mean_distance": "<f8", "hubness": "<i4"}


def read_density(fingerprint: str, k: int, words: int) -> dict[str, NDArray[np.generic]] | None:
    """The arrays of `VocabularyDensity`, or None if the bundle holds those of another lexicon or k.

    Args:
        fingerprint: of the Euclidean lexicon.
        k: number of neighbours.
        words: n.
    """
    try:
        path = bundled_folder() / FILE
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            if str(held["fingerprint"]) != fingerprint or int(held["k"]) != k:
                return None
            found = {name: held[name] for name in _FORM}
    except (OSError, *ARRAYS):
        return None
    forms = {name: (array.shape, array.dtype.str) for name, array in found.items()}
    return found if forms == {n: ((words,), form) for n, form in _FORM.items()} else None


def write_density(
    path: Path, fingerprint: str, k: int, arrays: dict[str, NDArray[np.generic]]
) -> None:
    """Write the file of the bundle whole or not at all."""
    held: dict[str, Any] = {name: arrays[name].astype(form) for name, form in _FORM.items()}
    held |= {"fingerprint": np.str_(fingerprint), "k": np.int64(k)}
    with replacing(path) as partial, partial.open("wb") as file:
        np.savez_compressed(file, **held)
